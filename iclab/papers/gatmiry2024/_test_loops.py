"""Losses of a looped model by the number of loops it is run for: exact and drawn."""

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.core import Mixture, Prompt
from iclab.evaluation import prompt_average
from iclab.evidence import Measured, averaged
from iclab.models import LoopedTransformer
from iclab.tasks import LinearRegression
from iclab.theory import looped_optimum, wishart_moments_zonal


@dataclass(frozen=True)
class Exact:
    """The best step for `trained` loops, run for 1, 2, …, `most` loops."""

    dimension: int
    samples: int
    trained: int
    most: int

    @property
    def step(self) -> float:
        """a⋆ of training."""
        return looped_optimum(self.dimension, self.samples, self.trained)[0]


@dataclass(frozen=True)
class Drawn(Exact):
    """The same on drawn prompts, rare ones among them oftener than by chance."""


@functools.cache
def by_fractions(case: Exact) -> np.ndarray:
    """E tr(I − aS)^{2ℓ}, ℓ = 1, …, with a and the moments of S as fractions."""
    d, a = case.dimension, Fraction(case.step)
    moments = wishart_moments_zonal(d, case.samples, 2 * case.most)
    losses = []
    for l in range(1, case.most + 1):
        terms = (math.comb(2 * l, j) * (-a) ** j * moments[j] for j in range(2 * l + 1))
        losses.append(float(d * sum(terms, Fraction(0))))
    return np.array(losses)


def by_prompts(case: Drawn, key: Array, draws: int) -> Measured:
    """Mean squared errors of the model on prompts of a mixture."""
    model = LoopedTransformer(case.step * jnp.eye(case.dimension), loops=case.most)
    mean, error = prompt_average(
        _squared_errors,
        LinearRegression(jnp.eye(case.dimension)),
        model,
        examples=case.samples,
        prompts=draws,
        key=key,
        mixture=Mixture.of_degree(2 * case.most, case.samples, case.dimension),
    )
    return averaged(np.asarray(mean), np.asarray(error), draws, "prompts of a mixture")


def _squared_errors(prompt: Prompt, model: LoopedTransformer) -> Array:
    """After each loop."""
    return (model.predictions_by_depth(prompt)[1:] - prompt.target) ** 2
