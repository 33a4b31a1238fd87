"""Is gradient descent robust, and are trained transformers for that reason?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure as Picture
from scipy.optimize import brentq

from iclab.evaluation import error_curve
from iclab.evidence import Evidence, Tables, at_least, at_most, setting
from iclab.models import shipped
from iclab.papers import _drawing as drawing
from iclab.tasks import LinearRegression
from iclab.theory import looped_optimum, optimal_steps, wishart_quadrature

# Shares of the step that is best for that many loops: from careful to best.
_SHARES = np.linspace(0.2, 1.0, 33)
_MODEL = "gpt2-fixed-18"


@dataclass(frozen=True)
class Settings:
    """Sizes: those of the shipped models, whose longest training prompt has 18."""

    dimension: int = setting("Dimension d of the inputs.", 5)
    samples: int = setting("Examples in a prompt, n.", 18)
    layers: tuple[int, ...] = setting("Steps of the methods.", (1, 2, 3, 5, 8))
    prompts: int = setting(
        "Prompts for each variance, for the model.", 2048, smoke=256, paper=16_384
    )


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """Formulas, and the trained model."""
    s = settings
    sizes = {"dimension": s.dimension, "samples": s.samples}
    found: dict[str, dict[str, Any]] = {
        f"{k} steps": sizes | {"layers": k} for k in s.layers
    }
    return found | {"trained": sizes | {"prompts": s.prompts}}


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Errors over those of predicting zero, by the variance of the test inputs."""
    d, n = settings["dimension"], settings["samples"]
    scales = np.geomspace(0.1, 10, 41)
    if "prompts" in settings:
        scales = np.array([0.1, 0.25, 0.5, 1, 1.41, 2, 2.83, 4, 5.66, 9])
        found = [_trained(d, n, float(s), settings["prompts"], key) for s in scales]
        mean, lower, upper = np.array(found).T
        return {"scales": scales, "error": mean, "lower": lower, "upper": upper}
    k = settings["layers"]
    free, _ = optimal_steps(d, n, k)
    shared, _ = looped_optimum(d, n, k)
    h, weight = map(np.asarray, wishart_quadrature(d, n, 2 * k))

    def error(steps: Any, s: float) -> float:
        left = np.prod(1 - np.asarray(steps)[:, None] * s * h, axis=0)
        return float(weight @ left**2)

    careful = [np.full(k, share * float(shared)) for share in _SHARES]

    def breaks(steps: Any) -> float:
        return float(brentq(lambda s: error(steps, s) - 1, 1.0, 100.0))  # type: ignore[arg-type]

    return {
        "layers": k,
        "scales": scales,
        "error": [error(free, float(s)) for s in scales],
        "least": error(free, 1.0),
        "breaks": breaks(free),
        "shares": _SHARES,
        "careful": [error(steps, 1.0) for steps in careful],
        "careful breaks": [breaks(steps) for steps in careful],
    }


def _trained(
    d: int, n: int, s: float, prompts: int, key: Any
) -> tuple[float, float, float]:
    curve = error_curve(
        {"": shipped(_MODEL)},
        LinearRegression(s * jnp.eye(d)),
        [n],
        groups=prompts,
        prompts=1,
        normalisation=d * s,
        key=jax.random.fold_in(key, round(100 * s)),
        mixture=False,
    )[""]
    return float(curve.mean[0]), float(curve.lower[0]), float(curve.upper[0])


def draw(tables: Tables) -> Picture:
    """Errors by variance, and what a careful step costs."""
    picture = drawing.sheet(
        4.6,
        "Is gradient descent robust to the scale of the inputs?",
        "Labels without noise; error over that of predicting zero, for inputs of s "
        "times the variance in training. Lines in (a): exact, the best k steps at "
        "s = 1; black: a\ntrained GPT-2 of three blocks, 90 % intervals. (b): the best "
        "steps (dots), and equal steps from a fifth of the best such one (top) to all "
        "of it.",
    )
    (page,) = drawing.parts(picture, 1, 1)
    left, right = page.subplots(1, 2)
    drawing.panel(left, "(a) another variance", "variance at test time, s", "error")
    drawing.panel(
        right,
        "(b) the price of robustness",
        "s from which on predicting zero is better",
        "error at s = 1",
    )
    curves = iter(drawing.CURVES)
    for name, table in tables.items():
        if name == "trained":
            mean = np.asarray(table["error"])
            ends = np.abs(np.stack([table["lower"], table["upper"]]) - mean)
            left.errorbar(
                table["scales"], mean, ends, fmt="o", color=drawing.BLACK, ms=4,
                label="trained GPT-2",
            )  # fmt: skip
            continue
        color, _ = next(curves)
        steps = int(table["layers"])
        label = "1 step" if steps == 1 else f"{steps} steps"
        left.plot(table["scales"], table["error"], color=color, label=label)
        right.plot(table["careful breaks"], table["careful"], color=color)
        right.plot(table["breaks"], table["least"], "o", color=color)
    left.axhline(1.0, color=drawing.BLACK, linewidth=0.6)
    for axis, ticks in ((left, (0.1, 1, 10)), (right, (1.5, 2, 3, 5, 10))):
        drawing.log_scale(axis, (1,))
        axis.set_xscale("log")
        axis.set_xticks(ticks, [f"{one:g}" for one in ticks])
        axis.minorticks_off()
    left.set_ylim(1e-4, 10)
    drawing.legend_below(page, [left, right], 6)
    return picture


def expect(tables: Tables) -> list[Evidence]:
    """What optimality costs, and what a trained model does not pay."""
    formulas = [table for name, table in tables.items() if name != "trained"]
    breaks = np.array([float(table["breaks"]) for table in formulas])
    found = [
        at_most(
            "The more of the best steps, the sooner they do worse than predicting "
            "zero: largest ratio of that variance to the one with fewer steps",
            breaks[1:] / breaks[:-1],
            1.0,
            "larger steps come nearer to two over the largest eigenvalue",
        ),
        at_least(
            "Equal steps of a fifth of the best one bear at least three times the "
            "variance of the best ones: smallest ratio",
            [float(t["careful breaks"][0]) / float(t["breaks"]) for t in formulas],
            3.0,
            "a fifth of the step bears five times the variance of equal steps",
        ),
    ]
    trained = tables["trained"]
    error, scales = np.asarray(trained["error"]), np.asarray(trained["scales"])
    deep = [table for table in formulas if int(table["layers"]) == 5]
    return [
        *found,
        at_most(
            "The trained model is better than predicting zero up to nine times the "
            "variance: largest error",
            error,
            0.5,
            "half of what predicting zero has",
            post_hoc=True,
        ),
        at_least(
            "At s = 1 it is as good as few steps, at s = 2 the five best ones are "
            "worse: smallest ratio of their error to its own there",
            [
                np.interp(2.0, table["scales"], table["error"])
                / error[np.argmin(np.abs(scales - 2))]
                for table in deep
            ],
            10.0,
            "the best five steps have broken by then",
            post_hoc=True,
        ),
    ]
