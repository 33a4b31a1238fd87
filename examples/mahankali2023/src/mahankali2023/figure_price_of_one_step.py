"""What one step of gradient descent loses to ridge regression, the Bayes rule."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure as Picture

from iclab.evaluation import error_curve
from iclab.evidence import Evidence, Tables, at_most, largest, setting
from iclab.tasks import LinearRegression
from mahankali2023._predictors import BayesRidge, OneStep
from mahankali2023._steps import one_step_loss

# Blue and vermilion of Okabe and Ito, which survive common colour blindness.
_STEP, _RIDGE = "#0072B2", "#D55E00"
_GROUPS = 50


@dataclass(frozen=True)
class Settings:
    """Sizes of the figure."""

    dimension: int = setting("Dimension of the inputs.", 5, smoke=3)
    noises: tuple[float, ...] = setting("Variances of the noise.", (0.1, 1.0, 5.0),
                                        smoke=(0.5,))  # fmt: skip
    lengths: tuple[int, ...] = setting(
        "Numbers of examples.", (1, 2, 4, 8, 16, 32, 64), smoke=(2, 8, 32)
    )
    prompts: int = setting(
        "Prompts behind a point.", 20_000, smoke=5_000, least=_GROUPS
    )


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """A job for every level of noise."""
    sizes = {
        "dimension": settings.dimension,
        "lengths": list(settings.lengths),
        "prompts": settings.prompts,
    }
    return {f"σ² = {noise:g}": {"noise": noise, **sizes} for noise in settings.noises}


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Errors of both on common prompts, and the exact loss of one step."""
    d, noise, lengths = settings["dimension"], settings["noise"], settings["lengths"]
    curves = error_curve(
        {"step": OneStep(noise), "ridge": BayesRidge(noise)},
        LinearRegression(jnp.eye(d), noise_std=noise**0.5),
        lengths,
        groups=_GROUPS,
        prompts=settings["prompts"] // _GROUPS,
        key=key,
    )
    errors = {name: np.asarray(curve.errors) for name, curve in curves.items()}
    found: dict[str, Any] = {"lengths": lengths, "dimension": d, "noise": noise}
    found["exact"] = [one_step_loss(d, n, noise) for n in lengths]
    for name, one in errors.items():
        found[name] = one.mean(axis=0)
        found[f"{name}_error"] = one.std(axis=0) / np.sqrt(len(one))
    return found


def draw(tables: Tables) -> Picture:
    """A panel for every level of noise."""
    picture = Picture(figsize=(3.4 * len(tables) + 0.6, 3.6), layout="constrained")
    axes = picture.subplots(1, len(tables), sharey=True, squeeze=False)[0]
    for axis, (name, table) in zip(axes, tables.items(), strict=True):
        x = table["lengths"]
        axis.plot(x, table["exact"], color=_STEP, label="one step, exact")
        for kind, color, label in (
            ("step", _STEP, "one step, sampled"),
            ("ridge", _RIDGE, "ridge regression"),
        ):
            bar = 5 * table[f"{kind}_error"]
            axis.errorbar(x, table[kind], bar, fmt="o", color=color, label=label)
        axis.set_title(f"{name}, d = {int(table['dimension'])}", loc="left")
        axis.set(xlabel="examples", xscale="log", yscale="log")
        axis.grid(color="#DDDDDD", linewidth=0.6)
    axes[0].set_ylabel("squared error, noise of the query left out")
    axes[0].legend(frameon=False)
    return picture


def expect(tables: Tables) -> list[Evidence]:
    """One step lies on its formula, and ridge regression nowhere above it."""
    scores = [
        largest(np.abs(table["step"] - table["exact"]) / table["step_error"])
        for table in tables.values()
    ]
    ratios = [largest(table["ridge"] / table["step"]) for table in tables.values()]
    return [
        at_most(
            "one step errs by d(1 − nη); largest deviation in standard errors",
            scores,
            5.0,
            "five standard errors: once in a million points by chance",
        ),
        at_most(
            "ridge regression is nowhere above; largest ratio of the errors",
            ratios,
            1.0,
            "the Bayes rule is below every other, on common prompts too",
        ),
    ]
