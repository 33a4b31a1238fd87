"""With many loops unsymmetric weights halve the loss of the best symmetric ones.

Ten loops, five inputs, twenty examples. The weights are a witness: turned by J in two
planes, found by descent on sample covariances and made a little smaller, because rare
prompts punish the boldest. No claim is made that they are the best.
"""

import jax
import jax.numpy as jnp
import numpy as np

from iclab.core import Prompt
from iclab.evidence import STANDARD_ERRORS, Measured
from iclab.models import LoopedTransformer
from iclab.theory import looped_optimum, sampled_looped_loss

_SAMPLES, _LOOPS = 20, 10
# Standard deviations along the axes of the inputs, those of ahn2023.
_AXES = np.array([1.0, 1.0, 0.5, 0.25, 1.0])
# Σ⋆^½AΣ⋆^½: two planes that are turned, and a line.
_WITNESS = np.diag([0.57, 0.57, 0.57, 0.57, 0.56])
_WITNESS[[0, 1, 2, 3], [1, 0, 3, 2]] = 0.38, -0.38, 0.36, -0.36

relation = "<="


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
    """The model's loss on prompts, and how far it is from `sampled_looped_loss`."""
    draws = {"smoke": 30_000, "desk": 200_000, "paper": 2_000_000}[scale]
    on_prompts, on_matrices = jax.random.split(key)
    losses = _losses(case, draws, on_prompts)
    loss, error = losses.mean(), losses.std() / np.sqrt(draws)
    found = sampled_looped_loss(
        jnp.asarray(case),
        covariance=jnp.asarray(np.diag(_AXES**2)),
        samples=_SAMPLES,
        loops=_LOOPS,
        key=on_matrices,
        draws=draws,
    )
    other, other_error = map(float, found)
    both = np.hypot(error, other_error)
    reason = (
        f"{STANDARD_ERRORS:g} standard errors over {draws:,} prompts; a part"
        f" {loss / _symmetric():.2f} of the symmetric optimum"
    )
    value = np.array([loss, loss - other, other - loss])
    return Measured(value, STANDARD_ERRORS * np.array([error, both, both]), reason)


def _losses(case: np.ndarray, count: int, key) -> np.ndarray:
    """Squared errors by prompt, tasks and queries summed over."""
    model = LoopedTransformer(jnp.asarray(case), loops=_LOOPS)
    tasks, queries = jnp.diag(1 / jnp.asarray(_AXES)), jnp.diag(jnp.asarray(_AXES))

    def one(X):
        def error(w, query):
            return w @ query - model(Prompt(X, X @ w, query))

        errors = jax.vmap(jax.vmap(error, (None, 0)), (0, None))(tasks, queries)
        return jnp.sum(errors**2)

    X = jax.random.normal(key, (count, _SAMPLES, len(_AXES))) * _AXES[None, None]
    return np.asarray(jax.jit(lambda X: jax.lax.map(one, X, batch_size=1000))(X))


def _symmetric() -> float:
    return looped_optimum(len(_AXES), _SAMPLES, _LOOPS)[1]
