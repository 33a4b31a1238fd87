"""(4.13) and after: the trained model predicts a third of the truth for Exponential(1).

So it is at a query that is held fixed while Λ_new is averaged. The mean that is printed
is one given x_q, of prompts whose query comes from N(0, Λ_new): given x_q, an entry λᵢ
of Exponential(1) has a density as λ^{-1/2} exp(−λ − xᵢ²/(2λ)), with mean ½ + |xᵢ|/√2.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy.special import kve

from iclab.core import Prompt
from iclab.evidence import Measured, Printed, averaged
from iclab.models import LinearSelfAttention
from iclab.papers.zhang2023._random_covariance import (
    DRAWS,
    drawn_diagonals,
    sample_mean,
    settings,
    trained_on_long_prompts,
)
from iclab.tasks import RandomCovariance
from iclab.theory import lsa_limit_factor

# First coordinates of a query that comes with its prompt; the others are zero.
_QUERIES = np.array([0.1, 1.0, 4.0])


@dataclass(frozen=True, eq=False)
class Fixed:
    """A query that is held fixed: the unit vectors in turn."""

    task: RandomCovariance


@dataclass(frozen=True, eq=False)
class Given:
    """Prompts of Exponential(1) whose query came with them and is one of these."""

    task: RandomCovariance


def cases(scale) -> dict[str, Fixed | Given]:
    """Equal and mixed laws; the mean does not depend on the dimension."""
    tasks = {
        kind: settings("smoke")[f"d=5, {kind}, N=2"].task
        for kind in ("Exponential(1)", "mixed laws")
    }
    found: dict[str, Fixed | Given] = {
        f"d=5, {kind}, fixed query": Fixed(task) for kind, task in tasks.items()
    }
    return found | printed_cases(scale)


def printed_cases(scale):
    """Queries from N(0, Λ_new), as the set-up has them."""
    task = settings("smoke")["d=5, Exponential(1), N=2"].task
    return {"d=5, Exponential(1), given a query from the prompt's law": Given(task)}


def predict(case: Fixed | Given):
    """E λᵢ² E λᵢ / E λᵢ³, the multiple of xᵢwᵢ in the mean prediction.

    Given the query E λᵢ² E[λᵢ | xᵢ] / E λᵢ³, a sixth of 1 + √2|xᵢ|.
    """
    if isinstance(case, Given):
        return (1 + np.sqrt(2) * _QUERIES) / 6
    return lsa_limit_factor(case.task.moments())


def as_printed(case: Given):
    """A third, whatever the query is."""
    return np.full(len(_QUERIES), 1 / 3)


printed = Printed(predict=as_printed, cases=printed_cases)


def decoy(case: Fixed | Given):
    """Training that divides E Λ by E Λ², ½ and not ⅓: a power of Λ forgotten; or a
    query whose density lacks its 1/√λ.
    """
    if isinstance(case, Given):
        # Then λ given x has mean |x| K₂(√2|x|) / (√2 K₁(√2|x|)).
        argument = np.sqrt(2) * _QUERIES
        return _QUERIES / np.sqrt(2) * kve(2, argument) / kve(1, argument) / 3
    first, second, _ = case.task.moments()
    return first**2 / second


def labels(case: Fixed | Given):
    """The query's coordinate."""
    if isinstance(case, Given):
        return [f"given x₁ = {x:g}" for x in _QUERIES]
    return [f"coordinate {i + 1}" for i in range(case.task.dimension)]


def measure(case: Fixed | Given, key, scale) -> Measured:
    """Mean prediction of the trained model with w = 1, over sampled prompts.

    M = 20 will do: the mean over prompts is the same for every M. Prompts whose query
    is given are weighted by its density under their own covariance.
    """
    model = trained_on_long_prompts(case.task)
    keys = jax.random.split(key, 1 if scale == "smoke" else 4)
    drawn = [_drawn(case.task, one) for one in keys]
    values = np.concatenate([_predictions(model, inputs) for _, inputs in drawn])
    if isinstance(case, Fixed):
        return sample_mean(values, "prompts")
    variance = np.concatenate([diagonal[:, :1] for diagonal, _ in drawn])
    weight = np.exp(-(_QUERIES**2) / (2 * variance)) / np.sqrt(variance)
    mean = np.mean(weight * values[:, :1], axis=0) / np.mean(weight, axis=0)
    # A ratio of means: its error to first order.
    away = weight * (values[:, :1] - mean) / np.mean(weight, axis=0)
    error = np.std(away, axis=0, ddof=1) / np.sqrt(len(away))
    return averaged(mean, error, len(away), "weighted prompts")


def numbers(results, printed):
    """Factors given a query."""
    (given,) = printed.values()
    return dict(zip(("near", "one", "far"), given.measured, strict=True))


def _drawn(task: RandomCovariance, key) -> tuple[np.ndarray, Array]:
    """Diagonals of Λ_new, and 20 inputs from each."""
    for_diagonals, for_inputs = jax.random.split(key)
    diagonals = drawn_diagonals(task.laws, for_diagonals)
    white = jax.random.normal(for_inputs, (DRAWS, 20, task.dimension))
    return diagonals, white * np.sqrt(diagonals)[:, None, :]


@jax.jit
def _predictions(model: LinearSelfAttention, inputs: Array) -> Array:
    """Predictions of every prompt for every unit vector."""

    def one(examples: Array, query: Array) -> Array:
        return model(Prompt(examples, jnp.sum(examples, axis=1), query))

    over_queries = jax.vmap(one, in_axes=(None, 0))
    queries = jnp.eye(model.dimension)
    return jax.vmap(over_queries, in_axes=(0, None))(inputs, queries)
