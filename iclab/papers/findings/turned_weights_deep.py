"""With many loops unsymmetric weights halve the loss of the best symmetric ones.

Ten loops, five inputs, twenty examples. The weights are a witness: turned by J in two
planes, found by descent on sample covariances and made a little smaller, because rare
prompts punish the boldest. No claim is made that they are the best.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.core import Mixture, Prompt
from iclab.evaluation import prompt_average
from iclab.evidence import STANDARD_ERRORS, Measured
from iclab.models import LoopedTransformer
from iclab.tasks import LinearRegression
from iclab.theory import looped_optimum, sampled_looped_loss

_SAMPLES, _LOOPS = 20, 10
# Standard deviations along the axes of the inputs, those of ahn2023.
_AXES = np.array([1.0, 1.0, 0.5, 0.25, 1.0])
# Σ⋆^½AΣ⋆^½: two planes that are turned, and a line.
_WITNESS = np.diag([0.57, 0.57, 0.57, 0.57, 0.56])
_WITNESS[[0, 1, 2, 3], [1, 0, 3, 2]] = 0.38, -0.38, 0.36, -0.36

relation = "<="

shares = {
    "looped_optimum": "is quoted in the reason, and is no part of the number",
}


def cases(scale) -> dict[str, np.ndarray]:
    """The witness, in the inputs' own scale."""
    return {"d=5, n=20, L=10": _WITNESS / _AXES[:, None] / _AXES}


def predict(case: np.ndarray):
    """At most 0.55 of the exact optimum among symmetric A; and both ways agree."""
    return np.array([0.55 * _symmetric(), 0.0, 0.0])


def decoy(case: np.ndarray):
    """At most 0.45 of it, which these weights do not reach."""
    return np.array([0.45 * _symmetric(), 0.0, 0.0])


def measure(case: np.ndarray, key, scale) -> Measured:
    """The model's loss on prompts, and how far it is from `sampled_looped_loss`.

    Both draw from a mixture that has the rare prompts that carry the loss.
    """
    draws = {"smoke": 30_000, "desk": 200_000, "paper": 2_000_000}[scale]
    on_prompts, on_matrices = jax.random.split(key)
    covariance = jnp.asarray(np.diag(_AXES**2))
    found = prompt_average(
        _loss,
        LinearRegression(covariance),
        LoopedTransformer(jnp.asarray(case), loops=_LOOPS),
        examples=_SAMPLES,
        prompts=draws,
        key=on_prompts,
        mixture=Mixture.of_degree(2 * _LOOPS, _SAMPLES, len(_AXES)),
    )
    loss, error = map(float, found)
    found = sampled_looped_loss(
        jnp.asarray(case),
        covariance=covariance,
        samples=_SAMPLES,
        loops=_LOOPS,
        key=on_matrices,
        draws=draws,
    )
    other, other_error = map(float, found)
    both = np.hypot(error, other_error)
    reason = (
        f"{STANDARD_ERRORS:g} standard errors over {draws:,} prompts of a mixture; a"
        f" part {loss / _symmetric():.2f} of the symmetric optimum"
    )
    value = np.array([loss, loss - other, other - loss])
    return Measured(value, STANDARD_ERRORS * np.array([error, both, both]), reason)


def _loss(prompt: Prompt, model: LoopedTransformer) -> Array:
    """Squared errors on a prompt's inputs, tasks and queries summed over."""
    X = prompt.examples
    tasks, queries = jnp.diag(1 / jnp.asarray(_AXES)), jnp.diag(jnp.asarray(_AXES))

    def error(w, query):
        return w @ query - model(Prompt(X, X @ w, query))

    errors = jax.vmap(jax.vmap(error, (None, 0)), (0, None))(tasks, queries)
    return jnp.sum(errors**2)


def _symmetric() -> float:
    return looped_optimum(len(_AXES), _SAMPLES, _LOOPS)[1]
