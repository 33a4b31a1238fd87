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
    to_identity,
    train_looped,
    training_job,
    words,
)
from iclab.theory import looped_flow, looped_optimum

# Distances to the optimum, as shares of a*, at which the flow's clock is read.
_SHARES = np.geomspace(1, 1e-3, 601)


@dataclass(frozen=True)
class Settings(Training):
    """Sizes of Figure 4."""

    most_loops: int = setting("Loops up to which curvatures are drawn.", 10, smoke=4)


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """Training, and what is exact: optima, flows and curvatures."""
    common = training_job(settings)
    return {
        "trained": common | {"kind": "trained"},
        "exact": common | {"kind": "exact", "most_loops": settings.most_loops},
    }


def trains(settings: Mapping[str, Any]) -> bool:
    """Whether a job is training."""
    return settings["kind"] == "trained"


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Distances by step, or the exact side; rows are numbers of loops."""
    return _exact(settings) if settings["kind"] == "exact" else _trained(settings, key)


def draw(tables: Tables) -> Picture:
    """Distances to I and to its multiples above, exact flow and curvature below."""
    exact, trained = tables["exact"], tables["trained"]
    picture = drawing.sheet(
        8.4,
        "A goes to a multiple of I; with many loops an antisymmetric part stays",
        f"d = {int(exact['dimension'])}, n = {int(exact['samples'])}, "
        rf"$\Sigma^\star=I$; {trained['training']}. "
        "Lines are means over runs,\nbands reach from the smallest to the largest. "
        r"Distances are $\|A-I\|_F\,/\,\|I\|_F$ and "
        r"$\mathrm{min}_\alpha\,\|A-\alpha I\|_F\,/\,\|A\|_F$. "
        "Dotted: the exact $1-a^\\star$.\nCurvature: second derivative of the exact "
        "loss at $a^\\star I$ along directions of norm 1, exact.",
    )
    upper, lower = drawing.parts(picture, 2, 1, height_ratios=(1.1, 1))
    axes = upper.subplots(1, 3)
    drawing.panel(axes[0], "(a) distance of A to I", "step", "distance")
    drawing.panel(axes[1], "(b) distance of A to multiples of I", "step", "distance")
    drawing.panel(axes[2], "(c) the same of its symmetric part", "step", "distance")
    flow, curvature = lower.subplots(1, 2)
    drawing.panel(flow, "(d) exact gradient flow from A = 0", "time", r"$1-a/a^\star$")
    for row, (color, marker) in zip(
        range(len(exact["loops"])), itertools.cycle(drawing.CURVES), strict=False
    ):
        L, step = int(exact["loops"][row]), float(exact["steps"][row])
        label = f"{L} loop{'s' if L > 1 else ''}, $a^\\star$ = {step:.3f}"
        style = {"marker": marker, "markevery": 8, "markersize": 5}
        for axis, column in zip(
            axes, ("to_identity", "to_multiples", "symmetric_to_multiples"), strict=True
        ):
            drawing.band(
                axis, trained[column][row], label, color, trained["steps"], **style
            )
        axes[0].axhline(1 - step, color=color, linestyle=":", linewidth=1.2)
        times = exact["flow_times"][row]
        flow.plot(
            times, _SHARES, color=color, marker=marker, markevery=75, markersize=5
        )
    axes[0].plot([], [], ":", color=drawing.BLACK, label="exact $1-a^\\star$")
    axes[0].set_ylim(0, 1.05)
    for axis in axes[1:]:
        drawing.log_scale(axis)
        axis.set_ylim(0.02, 1.2)
    drawing.log_scale(flow, (1,))
    _curvature_panel(curvature, exact)
    drawing.legend_below(upper, list(axes), 3)
    return picture


def paper_statements(tables: Tables) -> list[Sentence]:
    """What the caption says that a reader sees."""
    exact, trained = tables["exact"], tables["trained"]
    final = trained["to_identity"][:, :, -1].mean(1)
    one = exact["loops"] == 1
    n = int(exact["samples"])
    steps = _steps_until_near(trained)
    return [
        says(
            "A converges to the identity for all numbers of loops.",
            "caption",
            at_most(
                "Final distance of A to I with more than one loop, largest",
                final[~one],
                0.1,
                "a tenth of I is a generous reading",
                name="farthest",
            ),
            caveat=f"n, which the paper does not give ({n} here)",
            note="the distance is not defined in the text",
        ),
        says(
            "Convergence is slower for a large number of loops.",
            "caption",
            at_least(
                "Steps until nine tenths of the way to where A ends, most loops "
                "over fewest",
                steps[-1] / steps[0],
                1.0,
                "slower",
            ),
            note="in steps of training; along the exact gradient flow hardly",
        ),
        says(
            "Training with one loop does not converge to it, unlike the others.",
            "caption",
            at_least(
                "Final distance of A to I with one loop, as a share of the exact "
                "1 − a*",
                final[one] / (1 - exact["steps"][one]),
                0.9,
                "nine tenths of the exact distance",
                post_hoc=True,
            ),
            at_least(
                "The same over the largest distance of other numbers of loops",
                float(final[one].max() / final[~one].max())
                if one.any() and not one.all()
                else None,
                1.0,
                "the caption sets one loop apart",
            ),
        ),
    ]


def _steps_until_near(trained: Mapping[str, Any]) -> np.ndarray:
    """Steps until nine tenths of the way to the last distance, by number of loops."""
    distance = trained["to_identity"].mean(1)
    left = np.abs(distance - distance[:, -1:]) / np.abs(
        distance[:, :1] - distance[:, -1:]
    )
    return np.asarray(trained["steps"])[np.argmax(left <= 0.1, axis=1)]


def expect(tables: Tables) -> list[Evidence]:
    """What the caption says that a reader sees, true up to scale and symmetry."""
    exact, trained = tables["exact"], tables["trained"]
    steps = exact["steps"][:, None]
    final = trained["to_identity"][:, :, -1]
    few = exact["loops"] <= 3
    # Times until one per cent of the way is left.
    times = exact["flow_times"][:, np.searchsorted(-_SHARES, -0.01)]
    return [
        at_least(
            "With more loops neither: smallest final distance to I, as a share of the "
            "exact 1 − a*",
            final / (1 - steps),
            0.9,
            "nine tenths of the exact distance",
            post_hoc=True,
        ),
        at_most(
            "The nearest multiple of I is the exact optimum: largest relative "
            "difference from a*",
            np.abs(trained["multiples"] / steps - 1),
            0.1,
            "a tenth",
            post_hoc=True,
        ),
        at_most(
            "With three loops or fewer A comes close to multiples of I: largest final "
            "distance",
            trained["to_multiples"][few, :, -1],
            0.2,
            "a fifth of A",
            post_hoc=True,
        ),
        at_most(
            "With any number of loops its symmetric part does: largest final distance",
            trained["symmetric_to_multiples"][:, :, -1],
            0.3,
            "three tenths of A",
            post_hoc=True,
        ),
        at_most(
            "Antisymmetric parts are hardly driven back when loops are many: exact "
            "curvature there over that in symmetric directions, smallest",
            np.min(exact["antisymmetric"] / exact["symmetric"]),
            0.25,
            "a quarter of the curvature; exact",
            post_hoc=True,
        ),
        at_most(
            "Along the exact gradient flow more loops are not slower by much: longest "
            "time until 1 % is left over the shortest",
            times.max() / times.min(),
            2.0,
            "a factor of two; exact",
            post_hoc=True,
        ),
    ]


def _trained(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    A = np.asarray(train_looped(settings, key).A)
    symmetric = (A + np.swapaxes(A, -1, -2)) / 2
    return {
        "steps": settings["every"] * np.arange(A.shape[2]),
        "to_identity": to_identity(A),
        "to_multiples": to_multiples(A),
        "symmetric_to_multiples": to_multiples(symmetric),
        "multiples": mean_diagonal(A[:, :, -1]),
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


def _flow_times(optimum: float, d: int, n: int, L: int) -> np.ndarray:
    """When the flow from a = 0 has `_SHARES` of its way left: ∫ da/ȧ, by trapezia.

    In the logarithm of the share the integrand is smooth and of order one.
    """
    a = jnp.asarray(optimum * (1 - _SHARES))
    speeds = np.asarray(jax.vmap(lambda one: looped_flow(one, d, n, L))(a))
    rates = optimum * _SHARES / speeds
    slices = (rates[1:] + rates[:-1]) / 2 * -np.diff(np.log(_SHARES))
    return np.concatenate([[0.0], np.cumsum(slices)])


def _curvature_panel(axis: Axes, exact: Mapping[str, Any]) -> None:
    drawing.panel(
        axis, "(e) curvature of the loss at the optimum", "loops", "curvature"
    )
    loops = np.arange(1, len(exact["symmetric"]) + 1)
    axis.axhline(0, color=drawing.BLACK, linewidth=0.6)
    for column, label, color, marker in (
        ("symmetric", "symmetric directions of trace 0", drawing.BLUE, "o-"),
        ("antisymmetric", "antisymmetric directions", drawing.VERMILION, "s--"),
    ):
        axis.plot(loops, exact[column], marker, color=color, markersize=5, label=label)
    axis.set_yscale("symlog", linthresh=0.1)
    ticks = [-0.1, 0, 0.1, 1]
    axis.set_yticks(ticks, [f"{tick:g}".replace("-", "−") for tick in ticks])
    axis.minorticks_off()
    axis.set_xticks(loops)
    drawing.below(axis, 2)
