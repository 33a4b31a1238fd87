"""The nonlinear models of Figure 1: GPT-2 trained on prompts, as in Appendix E."""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp

from iclab.core import Natural, read, require
from iclab.models import GPT2
from iclab.tasks import AbstractTask, Exponential, LinearRegression, RandomCovariance
from iclab.training import Curriculum, InContext, Plan

# Streams of a run's seed that are not samples.
_INITIALISATION = 0x1217


@dataclass(frozen=True)
class Settings:
    """A training run; the defaults are those of the paper.

    `longest` is the longest context in the table of positions: what lies beyond
    `context` stays as it was drawn, and the error jumps there. 0 makes it twice the
    context.
    """

    size: str = "standard"
    covariance: Literal["fixed", "random"] = "fixed"
    context: int = 40
    dimension: int = 20
    steps: int = 500_000
    batch: int = 64
    redraw_every: int = 1
    method: Literal["adam", "adamw", "sgd"] = "adam"
    learning_rate: float = 1e-4
    schedule: Literal["constant", "linear", "cosine", "halving"] = "constant"
    halve_every: int | None = None
    warmup: int = 0
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0
    momentum: float = 0.0
    clip: float | None = None
    clip_by: Literal["whole", "matrix"] = "whole"
    start_scale: float = 1.0
    curriculum_every: int = 2000
    loss: Literal["all", "final"] = "all"
    positional: bool = True
    longest: int = 0
    precision: Literal["float32", "float64", "bfloat16"] = "float32"
    seed: int = 0


def covariates(
    covariance: str, dimension: int, scale: float | None = None
) -> AbstractTask:
    """Prompts with x ~ N(0, I), or with c·diag(λ), λᵢ ~ Exponential(1), c = `scale`."""
    known = covariance in ("fixed", "random")
    require(known, "covariance", "fixed or random", repr(covariance))
    if covariance == "fixed":
        return LinearRegression(jnp.eye(dimension))
    return RandomCovariance((Exponential(),) * dimension, scale=scale or 1.0)


def build(settings: Settings) -> tuple[InContext, GPT2, Plan]:
    """Problem, model at its start, and plan of a run.

    `curriculum_every=0` shows all dimensions and points from the first step on.
    """
    context = read(settings.context, Natural, "context")
    d = read(settings.dimension, Natural, "dimension")
    longest = settings.longest or 2 * context
    rule = f"at least `context` = {context}"
    require(longest >= context, "longest", rule, longest)
    curriculum = None
    if settings.curriculum_every:
        every = settings.curriculum_every
        curriculum = Curriculum.growing(context + 1, d, every=every)
    problem = InContext(
        covariates(settings.covariance, d),
        context + 1,
        curriculum=curriculum,
        positions=settings.loss,
    )
    key = jax.random.fold_in(jax.random.key(settings.seed), _INITIALISATION)
    model = GPT2.of_size(
        settings.size, d, longest, positional=settings.positional, key=key
    )
    return problem, model, Plan.of(settings)
