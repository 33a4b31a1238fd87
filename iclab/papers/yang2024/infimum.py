"""After (64): L* of Lemma 5 is the infimum of the loss, and descent reaches it."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured
from iclab.papers.yang2024._descents import (
    STARTS,
    Descent,
    K,
    N,
    attention_of,
    m,
    path_of,
    plain_runs,
)
from iclab.theory import representation_infimum, representation_infimum_printed

shares = {
    "problem": ("letters of a table"),
    "_axes": ("of the A that descent goes to; the loss at its end is by covariances"),
}


def cases(scale) -> dict[str, Descent]:
    """Descent with steps so large that it ends within the run."""
    return {str(run): run for run in plain_runs(scale)}


def predict(case: Descent):
    """L* with mτ for the tokens k > N; no state is below it."""
    return np.full(2, _infima()[STARTS.index(case.start)][0])


def decoy(case: Descent):
    """L* as Lemma 5 prints it."""
    return np.full(2, _infima()[STARTS.index(case.start)][1])


def measure(case: Descent, scale) -> Measured:
    """(9) at the end and the least along the path, from the covariance of labels."""
    path = path_of(case, scale)
    _, features, _ = case.start.arrays
    states = np.linspace(0, len(path.gaps) - 1, 200).astype(int)
    attention = attention_of(case.start, path.key_query[states])
    weights = np.sum(path.value[states][:, :, None] * attention, axis=1)
    covariance = features @ features.T + m * case.start.tau * np.eye(K)
    error = -np.broadcast_to(np.eye(K), (len(states), K, K)).copy()
    error[:, :N] += weights
    losses = np.sum(error * (covariance @ error), axis=(1, 2)) / (2 * K)
    bar = 50 * np.finfo(float).eps * np.abs(covariance).max()
    reason = (
        f"float64 round-off of 50 operations; the gap falls from {path.gaps[0]:.2g} to"
        f" {path.gaps[-1]:.1g} in {len(path.gaps) - 1} steps"
    )
    return Measured(np.array([losses[-1], losses.min()]), bar, reason)


@functools.cache
def _infima() -> np.ndarray:
    @jax.jit
    @jax.vmap
    def both(features, tau):
        problem = (features, N, tau)
        return jnp.stack(
            [representation_infimum(*problem), representation_infimum_printed(*problem)]
        )

    features = np.stack([start.arrays[1] for start in STARTS])
    return np.asarray(both(features, np.array([start.tau for start in STARTS])))
