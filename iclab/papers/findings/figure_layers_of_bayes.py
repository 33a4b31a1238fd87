"""How many layers is the Bayes rule worth? Exact losses by depth, and the filters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

from iclab.evidence import Evidence, Tables, at_least, at_most, setting
from iclab.papers import _drawing as drawing
from iclab.theory import (
    looped_optimum,
    optimal_filter,
    optimal_steps,
    wishart_quadrature,
)

# Degree of the rule for 1/(λ + τ), which is no polynomial.
_DEGREE = 201


@dataclass(frozen=True)
class Settings:
    """Sizes: the five inputs and twenty examples of the papers."""

    dimension: int = setting("Dimension d of the inputs.", 5)
    samples: int = setting("Examples in a prompt, n.", 20)
    noises: tuple[float, ...] = setting(
        "Variances σ² of the label noise: a curve for each.",
        (0.05, 0.25, 1.0, 5.0),
        smoke=(0.25, 5.0),
    )
    depth: int = setting("Layers or loops, up to.", 10, smoke=5, paper=16, least=3)


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """A job for every level of noise."""
    s = settings
    common = {"dimension": s.dimension, "samples": s.samples, "depth": s.depth}
    return {f"σ² = {one:g}": common | {"noise": one} for one in s.noises}


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Exact optima by depth, the Bayes risk, and filters at three depths."""
    d, n, noise = (settings[name] for name in ("dimension", "samples", "noise"))
    depths = range(1, settings["depth"] + 1)
    tau = noise / n
    h, weight = map(np.asarray, wishart_quadrature(d, n, _DEGREE))
    filters = [optimal_filter(d, n, k, noise_variance=noise) for k in depths]
    places = np.linspace(0, 2.5, 126)
    shown = (1, 2, max(depths))
    return {
        "filter": [loss for _, loss in filters],
        "steps": [optimal_steps(d, n, k, noise_variance=noise)[1] for k in depths],
        "loops": [looped_optimum(d, n, k, noise_variance=noise)[1] for k in depths],
        "bayes": d * float(weight @ (tau / (h + tau))),
        "places": places,
        "ridge": places / (places + tau),
        "shown": shown,
        "gains": [
            places * np.polyval(np.asarray(filters[k - 1][0])[::-1], places)
            for k in shown
        ],
        "dimension": d,
        "samples": n,
        "noise": noise,
    }


def draw(tables: Tables) -> Picture:
    """Excess over the Bayes rule by depth, and λg(λ) against that of ridge."""
    first = next(iter(tables.values()))
    d, n = int(first["dimension"]), int(first["samples"])
    picture = drawing.sheet(
        4.6,
        "How many layers is the Bayes rule worth?",
        f"d = {d}, n = {n}, w ~ N(0, Σ⁻¹), exact. Excess: loss over that of ridge "
        "regression with σ²/n, less one. Full lines: any polynomial of degree k;\n"
        "dashed: k layers with a step of their own; dotted: one layer, k loops. (b): "
        "what is made of an eigenvalue λ of the whitened S, λg(λ); thick: ridge.",
    )
    (page,) = drawing.parts(picture, 1, 1)
    left, right = page.subplots(1, 2)
    drawing.panel(
        left, "(a) excess over the Bayes rule", "layers or loops", "loss/Bayes − 1"
    )
    drawing.panel(right, "(b) filters", "eigenvalue λ", "λg(λ)")
    for table, (color, marker) in zip(tables.values(), drawing.CURVES, strict=False):
        depths = np.arange(1, len(table["filter"]) + 1)
        label = f"σ² = {float(table['noise']):g}"
        for name, line in (("filter", "-"), ("steps", "--"), ("loops", ":")):
            left.plot(
                depths,
                np.asarray(table[name]) / float(table["bayes"]) - 1,
                line,
                color=color,
                marker=marker if name == "filter" else None,
                markersize=4,
                label=label if name == "filter" else None,
            )
        right.plot(table["places"], table["ridge"], color=color, linewidth=2.2)
        right.plot(
            table["places"], np.asarray(table["gains"])[-1], "--", color=drawing.BLACK
        )
    left.set_yscale("log")
    right.set_ylim(-0.1, 1.3)
    right.plot([], [], "--", color=drawing.BLACK, label="best polynomial, deepest")
    drawing.legend_below(page, [left, right], 6)
    return picture


def expect(tables: Tables) -> list[Evidence]:
    """What depth buys, as numbers."""
    every = list(tables.values())
    free, steps, loops = (
        [np.asarray(table[name]) for table in every]
        for name in ("filter", "steps", "loops")
    )
    bayes = np.array([float(table["bayes"]) for table in every])
    loud = [
        (s, l) for s, l, t in zip(steps, loops, every, strict=True) if t["noise"] >= 5
    ]
    return [
        at_least(
            "No method beats the Bayes rule: smallest loss over its own",
            [one.min() / b for one, b in zip(free, bayes, strict=True)],
            1.0,
            "the posterior mean is the best predictor",
        ),
        at_most(
            "Every layer gains: largest ratio of neighbouring depths",
            [one[1:] / one[:-1] for one in free],
            1.0,
            "polynomials of higher degree include the lower ones",
        ),
        at_least(
            "Steps of their own do no worse than a shared one: smallest ratio",
            [l / s for s, l in zip(steps, loops, strict=True)],
            1 - 1e-9,
            "equal steps are among them; round-off of the searches",
        ),
        at_most(
            "With σ² of 5 or more the best real steps are equal: largest gain of "
            "steps of their own from two layers on",
            [np.abs(l / s - 1)[1:] for s, l in loud],
            1e-6,
            "the best residual has no real zeros; steps are found to 1e-8",
        ),
        at_most(
            "The deepest polynomial is near the Bayes rule: largest excess",
            [one[-1] / b - 1 for one, b in zip(free, bayes, strict=True)],
            0.3,
            "five layers at the smallest scale; ten leave some per cent",
            post_hoc=True,
        ),
    ]
