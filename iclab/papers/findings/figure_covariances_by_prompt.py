"""How many layers when every prompt has its own covariance? Exact losses, and GPT-2."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture
from scipy.optimize import minimize

from iclab.evaluation import sampled_risk
from iclab.evidence import Evidence, Tables, at_least, at_most, setting
from iclab.models import shipped
from iclab.papers import _drawing as drawing
from iclab.papers.findings._exponential_covariances import least, moments
from iclab.tasks import Exponential, RandomCovariance

# Inputs of the shipped models, and layers without B whose loss is exact here.
_DIMENSION, _DEPTH = 5, 4
_LONG = "n = ∞"
_STARTS = 6


@dataclass(frozen=True)
class Settings:
    """Lengths at which models are shipped, and prompts to judge them."""

    lengths: tuple[int, ...] = setting(
        "Examples n of a prompt: 10, 18 or 26, where a GPT-2 is shipped.",
        (10, 18, 26),
        smoke=(10,),
    )
    prompts: int = setting("Prompts for GPT-2.", 4096, smoke=512, paper=65_536)
    depth: int = setting("Layers on infinitely long prompts, up to.", 12, least=4)


seeded = True


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """A job for every length, and one for infinite length."""
    common = {"depth": settings.depth, "prompts": settings.prompts}
    found = {f"n = {n}": common | {"samples": n} for n in settings.lengths}
    return found | {_LONG: common | {"samples": 0}}


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Least losses by layers, with B and without; what GPT-2 leaves."""
    n, depth = settings["samples"], settings["depth"]
    if n == 0:  # E λ^{j+1} = (j + 1)!
        m = np.array([math.factorial(j + 1) for j in range(27)], float)
        steps = [2 / ((k + 1) * (k + 2)) for k in range(1, depth + 1)]
        moved = [_moved(m, k) for k in (1, 2, 3)]
        return {"steps": steps, "moved": moved, "samples": 0}
    m = moments(_DIMENSION, n, 2 * _DEPTH)
    task = RandomCovariance((Exponential(),) * _DIMENSION)
    models = {kind: shipped(f"gpt2-{kind}-{n}") for kind in ("random", "fixed")}
    risks = sampled_risk(models, task, examples=n, prompts=settings["prompts"], key=key)
    return {
        "steps": [least(m, k) for k in range(1, _DEPTH + 1)],
        "moved": [_moved(m, k) for k in (1, 2)],
        "samples": n,
    } | {
        kind: np.array([risks[kind].mean, risks[kind].standard_error]) / _DIMENSION
        for kind in models
    }


def _moved(m: np.ndarray, layers: int) -> float:
    """Least loss of layers a_i I with B_i = b_i I, by descents from many starts."""

    def loss(parameters: np.ndarray) -> float:
        a, beta = parameters[:layers], parameters[layers:]
        c = s = np.ones(1)
        for i in range(layers):
            step = np.concatenate([[0.0], np.convolve(s, s)])
            one = np.eye(1, len(step))[0]
            c = np.convolve(c, one + a[i] * step)
            if i < layers - 1:  # the last b moves nothing
                s = np.convolve(s, one + beta[i] * step)
        square = np.convolve(c, c)
        return float(square @ m[: len(square)])

    random = np.random.default_rng(layers)
    ends = []
    for _ in range(_STARTS):
        a = -np.sort(10 ** random.uniform(-1, 0.3, layers))
        beta = -(10 ** random.uniform(-2, -0.3, layers - 1))
        found = minimize(
            loss,
            np.concatenate([a, beta]),
            method="Nelder-Mead",
            options={"maxiter": 4000, "xatol": 1e-8, "fatol": 1e-11},
        )
        ends.append(found.fun)
    return min(ends)


def draw(tables: Tables) -> Picture:
    """Losses by depth, a curve for every length, and GPT-2 as levels."""
    picture = drawing.sheet(
        4.4,
        "How many layers when every prompt has its own covariance?",
        f"Λ = diag(λ), λᵢ ~ Exp(1) anew for every prompt, d = {_DIMENSION},"
        " w ~ N(0, I), without noise: least squares leaves 0 from n = d on.\n"
        "Full lines: A_i = a_i I, B = 0; dotted: B_i = b_i I too; both exact. Levels:"
        " the shipped GPT-2 trained on this law, at its own length.",
    )
    (page,) = drawing.parts(picture, 1, 1)
    axis = page.subplots(1, 1)
    drawing.panel(axis, "", "layers", "loss over that of predicting 0")
    for (name, table), (color, marker) in zip(
        tables.items(), drawing.CURVES, strict=False
    ):
        steps, moved = np.asarray(table["steps"]), np.asarray(table["moved"])
        axis.plot(
            np.arange(1, len(steps) + 1), steps, color=color, marker=marker, label=name
        )
        axis.plot(
            np.arange(1, len(moved) + 1),
            moved,
            ":",
            color=color,
            marker=marker,
            markerfacecolor="white",
        )
        if "random" in table:
            axis.axhline(float(table["random"][0]), color=color, linewidth=1, ls="--")
    axis.set_yscale("log")
    drawing.legend_below(page, [axis], 5)
    return picture


def expect(tables: Tables) -> list[Evidence]:
    """What depth buys, as numbers."""
    finite = [table for name, table in tables.items() if name != _LONG]
    long = np.asarray(tables[_LONG]["steps"])
    steps = [np.asarray(table["steps"]) for table in finite]
    return [
        at_least(
            "Longer prompts help at every depth: smallest loss over that at n = ∞",
            [one / long[: len(one)] for one in steps],
            1.0,
            "the limit of long prompts",
        ),
        at_most(
            "Two layers with B do better than three without: largest ratio of losses",
            [float(t["moved"][1]) / float(t["steps"][2]) for t in tables.values()],
            1.0,
            "a polynomial of degree four against three",
            post_hoc=True,
        ),
        at_least(
            "Two layers with B do no better than four without: smallest ratio",
            [float(t["moved"][1]) / float(t["steps"][3]) for t in tables.values()],
            1 - 1e-9,
            "theirs is one polynomial of degree four, those have the best",
        ),
        at_most(
            "GPT-2 of this law does better than four layers: largest ratio of losses",
            [float(t["random"][0]) / float(t["steps"][3]) for t in finite],
            0.5,
            "half",
            post_hoc=True,
        ),
    ]
