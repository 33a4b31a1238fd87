"""(4.13) and after: the trained model predicts a third of the truth for Exponential(1).

The query is held fixed while Λ_new is averaged, as the display after (4.13) does. A
query drawn with its prompt would carry information about Λ_new.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.core import Prompt
from iclab.evidence import Measured
from iclab.models import LinearSelfAttention
from iclab.papers.zhang2023._random_covariance import (
    drawn_inputs,
    sample_mean,
    settings,
    trained_on_long_prompts,
)
from iclab.tasks import RandomCovariance
from iclab.theory import lsa_limit_factor


def cases(scale) -> dict[str, RandomCovariance]:
    """Equal and mixed laws; the mean does not depend on the dimension."""
    kinds = ("Exponential(1)", "mixed laws")
    return {
        f"d=5, {kind}": settings("smoke")[f"d=5, {kind}, N=2"].task for kind in kinds
    }


def predict(case: RandomCovariance):
    """E λᵢ² E λᵢ / E λᵢ³, the multiple of xᵢwᵢ in the mean prediction."""
    return lsa_limit_factor(case.moments())


def decoy(case: RandomCovariance):
    """Query and covariance not held apart: (E λᵢ²)² / (E λᵢ³ E λᵢ), 2/3 and not 1/3."""
    first, second, third = case.moments()
    return second**2 / (third * first)


def measure(case: RandomCovariance, key, scale) -> Measured:
    """Mean prediction of the trained model with w = 1 and the unit vectors as queries.

    M = 20 will do: the mean over prompts is the same for every M.
    """
    model = trained_on_long_prompts(case)
    keys = jax.random.split(key, 1 if scale == "smoke" else 4)
    values = [_predictions(model, drawn_inputs(case.laws, 20, one)) for one in keys]
    return sample_mean(np.concatenate(values), "prompts")


@jax.jit
def _predictions(model: LinearSelfAttention, inputs: Array) -> Array:
    """Predictions of every prompt for every unit vector."""

    def one(examples: Array, query: Array) -> Array:
        return model(Prompt(examples, jnp.sum(examples, axis=1), query))

    over_queries = jax.vmap(one, in_axes=(None, 0))
    queries = jnp.eye(model.dimension)
    return jax.vmap(over_queries, in_axes=(0, None))(inputs, queries)
