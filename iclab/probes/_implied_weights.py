"""The weight vector that a model acts with, and whose it is."""

from collections.abc import Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from iclab.core import (
    AbstractPredictor,
    Prompt,
    checked,
    named_predictors,
)
from iclab.probes._bootstrap import Interval, bootstrap_weights, ratio
from iclab.probes._filter import context_of
from iclab.probes._predictions import predictions

# Queries for every dimension of the inputs.
_QUERIES = 8


@checked(finite=False)
@dataclass(frozen=True)
class ImpliedWeights:
    """Weights ŵ with ŷ ≈ ⟨ŵ, x_q⟩ as x_q varies, prompt by prompt.

    `nonlinearity` is the share of E ŷ² over queries that no weights explain;
    `distances` are E‖ŵ − w‖² / E‖ŵ‖² for the weights w of other predictors, found in
    the same way.
    """

    weights: Float[np.ndarray, "prompts d"]
    nonlinearity: Interval
    distances: Mapping[str, Interval]


@checked(finite=False)
def implied_weights(
    predictor: AbstractPredictor,
    prompts: Prompt,
    *,
    context: int | None = None,
    against: Mapping[str, AbstractPredictor] | None = None,
    key: PRNGKeyArray | None = None,
) -> ImpliedWeights:
    """Ask every prompt many queries, those of the other prompts, and fit a line."""
    others = named_predictors(against or {}, "against")
    n = context_of(prompts, context)
    weights = bootstrap_weights(
        jax.random.key(0) if key is None else key, len(prompts.target)
    )
    own, left, power = _weights(predictor, prompts, n)
    distances = {
        name: ratio(
            np.sum((own - _weights(other, prompts, n)[0]) ** 2, axis=1),
            np.sum(own**2, axis=1),
            weights,
        )
        for name, other in others.items()
    }
    return ImpliedWeights(own, ratio(left, power, weights), distances)


def _weights(
    predictor: AbstractPredictor, prompts: Prompt, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, squared residuals and squared predictions, summed over queries."""
    total, d = np.shape(prompts.query)
    asked = _QUERIES * d
    # Prompt p asks the queries of prompts p, p + 1, …; few prompts ask some again.
    whose = (np.arange(total)[:, None] + np.arange(asked)[None]) % total
    queries = np.asarray(prompts.query)[whose]
    repeat = lambda leaf: jnp.repeat(jnp.asarray(leaf), asked, axis=0)  # noqa: E731
    many = jax.vmap(Prompt)(
        repeat(prompts.examples),
        repeat(prompts.labels),
        jnp.asarray(queries.reshape(-1, d)),
        repeat(prompts.target),
        repeat(prompts.count),
    )
    answers = predictions(predictor, many, [n])[:, 0].reshape(total, asked)
    found = np.linalg.pinv(queries) @ answers[:, :, None]
    left = answers - (queries @ found)[:, :, 0]
    return found[:, :, 0], np.sum(left**2, axis=1), np.sum(answers**2, axis=1)
