"""Figure 4: A goes to a multiple of I; many loops leave it an antisymmetric part."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from iclab.evidence import Evidence, Sentence, Tables, at_least, at_most, says, setting
from iclab.papers import _drawing as drawing
from iclab.papers._training_runs import mean_diagonal, to_multiples
from iclab.papers.gatmiry2024._curvature import curvatures
from iclab.papers.gatmiry2024._training import (
    Training,
    how,
    manners,
    to_identity,
    train,
    trained_tables,
    training_jobs,
    words,
)
from iclab.theory import looped_flow, looped_optimum

# Distances to the optimum, as shares of a*, at which the flow's clock is read.
_SHARES = np.geomspace(1, 1e-3, 601)
# The distance free of scale, that of the symmetric part, and the one to I.
_COLUMNS = {
    "to_multiples": "A to multiples of I",
    "symmetric_to_multiples": "symmetric part of A",
    "to_identity": "A to I itself",
}


@dataclass(frozen=True)
class Settings(Training):
    """Sizes of Figure 4."""

    most_loops: int = setting("Loops up to which curvatures are drawn.", 10, smoke=4)


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """Training, and what is exact for every n: optima, flows and curvatures."""
    trained = training_jobs(settings)
    first = next(iter(trained.values()))
    exact = {name: first[name] for name in ("dimension", "loops", "most_loops")}
    lengths = sorted(settings.samples)
    return trained | {f"exact, n = {n}": exact | {"samples": n} for n in lengths}


def trains(settings: Mapping[str, Any]) -> bool:
    """Whether a job is training."""
    return "protocol" in settings


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Distances by step, or the exact side; rows are numbers of loops."""
    return _trained(settings, key) if trains(settings) else _exact(settings)


def draw(tables: Tables) -> Picture:
    """A column of distances for every protocol and n; what is exact below."""
    trained, exact = trained_tables(tables), _exact_tables(tables)
    picture = drawing.sheet(
        11.0,
        "A goes to a multiple of I; with many loops an antisymmetric part stays",
        f"d = {int(trained[0]['dimension'])}, "
        rf"$\Sigma^\star=I$; {trained[0]['training']}."
        f"\n{manners(trained)}\n"
        "Lines are means over runs, bands reach from the smallest to the largest. "
        r"Distances are $\|A-(\mathrm{tr}A/d)I\|_F\,/\,\|A\|_F$, free of scale, and "
        r"$\|A-I\|_F\,/\,\|I\|_F$;"
        "\ndotted: the exact $1-a^\\star$. Curvature: second derivative of the exact "
        "loss at $a^\\star I$ along directions of norm 1, over the largest.",
    )
    upper, lower = drawing.parts(picture, 2, 1, height_ratios=(2.6, 1))
    axes = upper.subplots(len(_COLUMNS), len(trained), sharex=True, squeeze=False)
    for i, (column, title) in enumerate(_COLUMNS.items()):
        for j, table in enumerate(trained):
            letter = drawing.LETTERS[i * len(trained) + j]
            name = f"({letter}) n = {int(table['samples'])}, {table['protocol']}"
            last = i == len(_COLUMNS) - 1
            drawing.panel(axes[i, j], name, "step" if last else "", "" if j else title)
            _curves(axes[i, j], table, exact[int(table["samples"])], column)
    drawing.legend_below(upper, list(axes.flat), 5)
    _exact_panels(lower.subplots(1, 3), exact, drawing.LETTERS[axes.size :])
    return picture


def paper_statements(tables: Tables) -> list[Sentence]:
    """What the caption says that a reader sees, at the largest n."""
    table = trained_tables(tables, judged=True)[-1]
    n, loops = int(table["samples"]), table["loops"]
    final = table["to_multiples"][:, :, -1].mean(1)
    literal = table["to_identity"][:, :, -1].mean(1)
    one, steps = loops == 1, _steps_until_near(table)[loops > 1]
    ours = f"n, which the paper does not give ({n} here), and steps"
    return [
        says(
            "A converges to the identity for all numbers of loops.",
            "caption",
            at_most(
                "Final distance of A to I, free of scale, with more than one loop, "
                "largest",
                final[~one],
                0.1,
                "a tenth is close to",
                name="farthest",
            ),
            caveat=ours,
            note="up to scale, as the distance of the code base that the paper names",
        ),
        says(
            "With two and three loops it does, as we expected before the run.",
            "caption",
            at_most(
                "Final distance of A to I, free of scale, with two and three loops, "
                "largest",
                final[(loops == 2) | (loops == 3)],
                0.1,
                "a tenth is close to",
            ),
            main=False,
            caveat=ours,
            note="what is left is antisymmetric, and hardly changes the loss",
        ),
        says(
            "So it does if the distance is the one to I itself.",
            "caption",
            at_most(
                "Final distance of A to I with more than one loop, largest",
                literal[~one],
                0.1,
                "a tenth of I is a generous reading",
            ),
            main=False,
            caveat="the distance, which the text does not define",
            note="the optimum is a*I, which no training passes",
        ),
        says(
            "Convergence is slower for a large number of loops.",
            "caption",
            at_least(
                "Steps until nine tenths of the way to where A ends, up to scale, most "
                "loops over fewest above one",
                steps[-1] / steps[0] if len(steps) > 1 else None,
                1.0,
                "slower",
            ),
            caveat=ours,
            note="in steps of training; along the exact gradient flow hardly",
        ),
        says(
            "Training with one loop does not converge to it, unlike the others.",
            "caption",
            at_least(
                "Final distance with one loop over the largest of other numbers of "
                "loops, free of scale or to I, the larger of the two",
                max(
                    float(distance[one].max() / distance[~one].max())
                    for distance in (final, literal)
                )
                if one.any() and not one.all()
                else None,
                1.0,
                "the caption sets one loop apart",
            ),
            note="one loop has the largest a* of all, whatever n and d; exact",
        ),
    ]


def expect(tables: Tables) -> list[Evidence]:
    """What is true of A up to scale and symmetry, and what is exact."""
    judged, exact = trained_tables(tables, judged=True), _exact_tables(tables)
    table, few = judged[-1], judged[-1]["loops"] <= 3
    first = exact[int(judged[0]["samples"])]
    ends = [(one, exact[int(one["samples"])]["steps"][:, None]) for one in judged]
    # Times until one per cent of the way is left.
    times = first["flow_times"][:, np.searchsorted(-_SHARES, -0.01)]
    return [
        at_most(
            "With any number of loops its symmetric part does: largest final distance",
            table["symmetric_to_multiples"][:, :, -1].mean(1),
            0.15,
            "antisymmetric parts hardly change the loss",
        ),
        at_most(
            "The nearest multiple of I is the exact optimum, with three loops or "
            "fewer, every n: largest relative difference from a*",
            [np.abs(one["multiples"] / a - 1)[few] for one, a in ends],
            0.1,
            "a tenth",
            post_hoc=True,
        ),
        at_most(
            "Antisymmetric parts are hardly driven back when loops are many: exact "
            "curvature there over that in symmetric directions, smallest n, smallest",
            np.min(first["antisymmetric"] / first["symmetric"]),
            0.25,
            "a quarter of the curvature; exact",
            post_hoc=True,
        ),
        at_most(
            "Along the exact gradient flow more loops are not slower by much: longest "
            "time until 1 % is left over the shortest, smallest n",
            times.max() / times.min(),
            2.0,
            "a factor of two; exact",
            post_hoc=True,
        ),
    ]


def _steps_until_near(table: Mapping[str, Any]) -> np.ndarray:
    """Steps until nine tenths of the way to the last distance, by number of loops."""
    distance = table["to_multiples"].mean(1)
    left = np.abs(distance - distance[:, -1:]) / np.abs(
        distance[:, :1] - distance[:, -1:]
    )
    return np.asarray(table["steps"])[np.argmax(left <= 0.1, axis=1)]


def _trained(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    # All layers of a loop are the first one.
    A = train(settings, key, shared=True).A[:, :, :, 0]
    symmetric = (A + np.swapaxes(A, -1, -2)) / 2
    return {
        "loops": settings["loops"],
        "steps": settings["every"] * np.arange(A.shape[2]),
        "to_identity": to_identity(A),
        "to_multiples": to_multiples(A),
        "symmetric_to_multiples": to_multiples(symmetric),
        "multiples": mean_diagonal(A[:, :, -1]),
        "dimension": settings["dimension"],
        "samples": settings["samples"],
        "judged": settings["judged"],
        "protocol": settings["protocol"],
        "how": how(settings),
        "training": words(settings),
    }


def _exact(settings: Mapping[str, Any]) -> dict[str, Any]:
    d, n = settings["dimension"], settings["samples"]
    counts = range(1, settings["most_loops"] + 1)
    optima = {
        L: looped_optimum(d, n, L)[0] for L in sorted({*counts, *settings["loops"]})
    }
    bends = [curvatures(optima[L], d, n, L) for L in counts]
    steps = [optima[L] for L in settings["loops"]]
    return {
        "loops": settings["loops"],
        "steps": steps,
        "flow_times": [
            _flow_times(a, d, n, L)
            for a, L in zip(steps, settings["loops"], strict=True)
        ],
        "symmetric": [bend.symmetric for bend in bends],
        "antisymmetric": [bend.antisymmetric for bend in bends],
        "dimension": d,
        "samples": n,
    }


def _exact_tables(tables: Tables) -> dict[int, Any]:
    """The exact side by n."""
    found = [table for table in tables.values() if "training" not in table]
    return {int(table["samples"]): table for table in found}


def _flow_times(optimum: float, d: int, n: int, L: int) -> np.ndarray:
    """When the flow from a = 0 has `_SHARES` of its way left: ∫ da/ȧ, by trapezia.

    In the logarithm of the share the integrand is smooth and of order one.
    """
    a = jnp.asarray(optimum * (1 - _SHARES))
    speeds = np.asarray(jax.vmap(lambda one: looped_flow(one, d, n, L))(a))
    rates = optimum * _SHARES / speeds
    slices = (rates[1:] + rates[:-1]) / 2 * -np.diff(np.log(_SHARES))
    return np.concatenate([[0.0], np.cumsum(slices)])


def _curves(axis: Axes, table: Mapping[str, Any], exact: Any, column: str) -> None:
    colors = itertools.cycle(drawing.CURVES)
    for row, (L, (color, marker)) in enumerate(
        zip(table["loops"], colors, strict=False)
    ):
        label = f"{int(L)} loop{'s' if L > 1 else ''}"
        style = {"marker": marker, "markevery": 8, "markersize": 5}
        drawing.band(axis, table[column][row], label, color, table["steps"], **style)
        if column == "to_identity":
            far = 1 - float(exact["steps"][row])
            axis.axhline(far, color=color, linestyle=":", linewidth=1.2)
    drawing.log_scale(axis)
    axis.set_ylim(0.005, 1.3)


def _exact_panels(axes: Any, exact: Mapping[int, Any], letters: str) -> None:
    """Flow at the smallest n, curvature at all, and 1 − a* by n."""
    titles = "exact flow from A = 0, $1-a/a^\\star$", "curvature at $a^\\star I$"
    horizontal = "time", "loops", "n"
    titles += ("exact $1-a^\\star$",)
    for axis, letter, title, x in zip(axes, letters, titles, horizontal, strict=False):
        drawing.panel(axis, f"({letter}) {title}", x, "")
    lengths = sorted(exact)
    first = exact[lengths[0]]
    colors = itertools.cycle(drawing.CURVES)
    for row, (color, marker) in zip(range(len(first["loops"])), colors, strict=False):
        axes[0].plot(first["flow_times"][row], _SHARES, color=color)
        far = [1 - float(exact[n]["steps"][row]) for n in lengths]
        axes[2].plot(lengths, far, color=color, marker=marker, markersize=5)
    drawing.log_scale(axes[0], (1,))
    drawing.log_scale(axes[2])
    axes[2].set_xscale("log")
    axes[2].set_xticks(lengths, [str(n) for n in lengths])
    axes[2].minorticks_off()
    for n, line in zip(lengths, itertools.cycle(("-", "--", ":")), strict=False):
        loops = np.arange(1, len(exact[n]["symmetric"]) + 1)
        largest = exact[n]["symmetric"].max()
        for column, name, color in (
            ("symmetric", "symmetric", drawing.BLUE),
            ("antisymmetric", "antisymmetric", drawing.VERMILION),
        ):
            label, values = f"{name}, n = {n}", exact[n][column] / largest
            axes[1].plot(loops, values, line, color=color, label=label, linewidth=1.3)
    axes[1].axhline(0, color=drawing.BLACK, linewidth=0.6)
    axes[1].set_yscale("symlog", linthresh=0.01)
    axes[1].minorticks_off()
    drawing.below(axes[1], 2)
