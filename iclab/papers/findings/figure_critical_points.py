"""All critical points of two layers: exactly with one input, searched with two."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure as Picture

from iclab.evidence import Evidence, Tables, at_least, at_most, setting
from iclab.papers import _drawing as drawing
from iclab.papers.findings._critical_points import Census, census, census_without_B
from iclab.papers.findings.critical_points_two_inputs import (
    Case,
    descents,
    minimum_off_S,
    off_S,
    rests,
)
from iclab.theory import optimal_gd_plus_plus, optimal_steps, residual_polynomial

_ONE = "one input"
_REST, _DEEPER, _FLAT, _SAME = 1e-7, 1e-10, 1e-7, 1e-5
# Entries of descents that ran off are of this size and more.
_FAR = 20.0


@dataclass(frozen=True)
class Settings:
    """Sizes: examples with one input, examples and searches with two."""

    lengths: tuple[int, ...] = setting(
        "Examples n in panel (a), one input.",
        (1, 2, 5, 10, 20, 50, 100),
        smoke=(2, 20),
    )
    shown: int = setting("Examples n in panel (b), one input.", 20)
    samples: int = setting("Examples n in panel (c), two inputs.", 10)
    starts: int = setting(
        "Searches for each kind in panel (c).", 100, smoke=30, paper=1000
    )


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """One input; two inputs with B and without."""
    s = settings
    two = {"samples": s.samples, "starts": s.starts}
    return {
        _ONE: {"lengths": list(s.lengths), "shown": s.shown},
        "two inputs, B free": two | {"with_B": True},
        "two inputs, B = 0": two | {"with_B": False},
    }


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Losses and falling directions of all points, and what minima leave."""
    if "lengths" in settings:
        return _one_input(settings["lengths"], settings["shown"])
    return _two_inputs(settings["samples"], settings["with_B"], settings["starts"])


def _one_input(lengths: list[int], shown: int) -> dict[str, Any]:
    found = [census(1, n) for n in lengths]
    points = [_all(one) for one in found]
    places = np.linspace(0, 4, 201)
    minima = [one for one in census(1, shown).points if one.falling == 0]
    left = [
        np.polyval(np.asarray(_residual(one.a, one.b))[::-1], places) for one in minima
    ]
    steps, _ = optimal_steps(1, shown, 2)
    plain = np.polyval(np.asarray(residual_polynomial(-steps))[::-1], places)
    return {
        "lengths": lengths,
        "losses": [[point.loss for point in one] for one in points],
        "indices": [[point.falling for point in one] for one in points],
        "far": [one.far for one in found],
        "best": [optimal_gd_plus_plus(1, n, 2)[2] for n in lengths],
        "without": [list(census_without_B(1, n)) for n in lengths],
        "places": places,
        "left": left,
        "plain": plain,
        "steps": [[*one.a, one.b] for one in minima],
        "shown": shown,
    }


def _all(found: Census) -> list[Any]:
    return [*found.points, found.one_step]


def _residual(a: tuple[float, float], b: float):
    return residual_polynomial(jnp.array(a), jnp.array([b, 0.0]))


def _two_inputs(samples: int, with_B: bool, starts: int) -> dict[str, Any]:
    searched = Case(samples, with_B, starts, any=True)
    network, found = searched.network, rests(searched)
    at_rest = found.slopes < _DEEPER
    points, losses = found.points[at_rest], found.losses[at_rest]
    indices = np.sum(found.curvatures[at_rest] < -_FLAT, axis=1)
    descended = descents(Case(samples, with_B, starts))
    ended = [one for one in descended if one.slope < _REST]
    ends = np.array([one.point for one in ended])
    if with_B:
        ends = np.concatenate([ends, minimum_off_S(Case(samples, True)).point[None]])
    values = [network.loss(end) for end in ends]
    falling = [np.sum(network.curvatures(end) < -_FLAT) for end in ends]
    losses, indices = np.append(losses, values), np.append(indices, falling)
    away = np.append(off_S(network, points), off_S(network, ends)) > _SAME
    # One of each kind: orbits of rotations have one loss.
    _, first = np.unique(np.round(losses, 8), return_index=True)
    if with_B:
        best = optimal_gd_plus_plus(2, samples, 2)[2]
    else:
        best = optimal_steps(2, samples, 2)[1]
    gone = sum(
        one.slope >= _REST and np.max(np.abs(one.point)) > _FAR for one in descended
    )
    return {
        "losses": losses[first],
        "indices": indices[first],
        "away": away[first].astype(float),
        "best": best,
        "lowest": float(np.mean([one.loss < best * (1 + _SAME) for one in descended])),
        "gone": gone / len(descended),
    }


def draw(tables: Tables) -> Picture:
    """Losses by n, what the minima leave, and losses by falling directions."""
    one = tables[_ONE]
    picture = drawing.sheet(
        4.8,
        "All critical points of two layers",
        "w ~ N(0, Σ⁻¹), no noise, exact losses over the least one. (a) One input, B"
        " free: all seven points, counted in whole numbers; dotted: least loss as b₀"
        " → ∞. (b) What the three\nminima leave of an eigenvalue h, numbered from the"
        " lowest; dashed: the two Gauss steps of B = 0. (c) Two inputs, all entries"
        " free: critical points that searches found.",
    )
    (page,) = drawing.parts(picture, 1, 1)
    left, middle, right = page.subplots(1, 3)
    drawing.panel(left, "(a) one input", "examples n", "loss/least loss")
    drawing.panel(middle, "(b) the three minima", "eigenvalue h", "residual c(h)")
    drawing.panel(
        right, "(c) two inputs", "falling directions (Morse index)", "loss/least loss"
    )
    lengths = np.asarray(one["lengths"])
    losses, indices = np.asarray(one["losses"]), np.asarray(one["indices"])
    least = losses.min(axis=1)
    for index, color, marker, label in (
        (0, drawing.BLUE, "o", "minimum"),
        (1, drawing.ORANGE, "s", "saddle"),
    ):
        for n, row, kinds, low in zip(lengths, losses, indices, least, strict=True):
            chosen = row[kinds == index] / low
            left.plot([n] * len(chosen), chosen, marker, color=color, markersize=4)
        left.plot([], [], marker, color=color, label=label)
    far = np.asarray(one["far"]) / least
    left.plot(lengths, far, ":", color=drawing.BLACK, label="b₀ → ∞")
    left.set_xscale("log")
    left.set_yscale("log")
    for i, row in enumerate(np.asarray(one["left"])):
        color, _ = drawing.CURVES[i]
        middle.plot(one["places"], row, color=color, label=f"minimum {i + 1}")
    middle.plot(one["places"], one["plain"], "--", color=drawing.BLACK, label="B = 0")
    middle.set_ylim(-1.05, 1.05)
    for place, (name, color) in enumerate(
        (("B free", drawing.BLUE), ("B = 0", drawing.VERMILION))
    ):
        table = tables[f"two inputs, {name}"]
        for away, marker, where in ((0, "o", "on S"), (1, "^", "off S")):
            chosen = np.asarray(table["away"]) == away
            right.plot(
                np.asarray(table["indices"])[chosen] + 0.12 * (2 * place - 1),
                np.asarray(table["losses"])[chosen] / float(table["best"]),
                marker,
                color=color,
                markersize=5,
                markerfacecolor=color if away else "none",
                label=f"{name}, {where}",
            )
    right.set_yscale("log")
    drawing.legend_below(page, [left, middle, right], 6)
    return picture


def expect(tables: Tables) -> list[Evidence]:
    """What the points are, as numbers."""
    one, free, plain = (
        tables[name] for name in (_ONE, "two inputs, B free", "two inputs, B = 0")
    )
    losses, indices = np.asarray(one["losses"]), np.asarray(one["indices"])
    least = losses.min(axis=1)
    away = np.asarray(free["away"]) == 1
    minima = np.asarray(free["indices"]) == 0
    return [
        at_least(
            "With one input there are three minima: fewest over the lengths",
            np.sum(indices == 0, axis=1),
            3,
            "counted exactly",
        ),
        at_most("… and most", np.sum(indices == 0, axis=1), 3, "counted exactly"),
        at_most(
            "The lowest of them is the best point of S: largest relative gap",
            np.abs(least / np.asarray(one["best"]) - 1),
            1e-9,
            "two routes to one number",
        ),
        at_least(
            "Nothing lower lies far away: least loss as b₀ → ∞ over the least",
            np.asarray(one["far"]) / least,
            1.0,
            "else the infimum would not be attained",
        ),
        at_least(
            "With two inputs no point that was found is below the best of S",
            np.asarray(free["losses"]) / float(free["best"]),
            1 - 1e-9,
            "if that one is the global minimum",
        ),
        at_least(
            "Nor with B = 0",
            np.asarray(plain["losses"]) / float(plain["best"]),
            1 - 1e-9,
            "if that one is the global minimum",
        ),
        at_least(
            "With B some minimum is off S: how many kinds were found",
            float(np.sum(away & minima)),
            1.0,
            "one was found in earlier searches",
            post_hoc=True,
        ),
        at_least(
            "Every descent with B = 0 ends at the best point of S: their share",
            float(plain["lowest"]),
            1.0,
            "no other minimum was found in earlier searches",
            post_hoc=True,
            name="plain",
        ),
        at_least(
            "With B most descents do: their share",
            float(free["lowest"]),
            0.5,
            "earlier searches had 70 %",
            post_hoc=True,
            name="lowest",
        ),
    ]
