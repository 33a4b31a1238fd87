"""E[Λ̂²] = ΓΛ: where Γ comes from, in the proof of Lemma 5.2 before (A.7)."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, averaged, rounded
from iclab.papers.zhang2023._fixed_covariance import settings
from iclab.papers.zhang2023._gaussian_prompts import exact_prompts, small_weights
from iclab.theory import gamma_matrix


@dataclass(frozen=True, eq=False)
class Case:
    """Inputs with a covariance: `draws` random sets of N, or exact quadrature if 0."""

    covariance: np.ndarray
    context_length: int
    draws: int


def cases(scale):
    """Sampled inputs in three dimensions; quadrature in two."""
    draws = {"smoke": 1 << 15, "desk": 1 << 16, "paper": 1 << 18}[scale]
    found = {
        f"{name}, quadrature": Case(case.covariance, case.context_length, 0)
        for name, case in small_weights(scale).items()
    }
    for name, setting in settings(scale).items():
        if len(setting.covariance) == 3:
            covariance = np.asarray(setting.covariance)
            found[name] = Case(covariance, setting.context_length, draws)
    return found


def predict(case: Case):
    """ΓΛ."""
    Gamma = np.asarray(gamma_matrix(jnp.asarray(case.covariance), case.context_length))
    return _upper(Gamma @ case.covariance)


def measure(case: Case, key) -> Measured:
    """The mean square of the second moment of N inputs."""
    N, d = case.context_length, len(case.covariance)
    if not case.draws:
        prompts = exact_prompts(case.covariance, N)
        squares = _squared_gram(np.swapaxes(prompts.tokens[:, :d, :N], 1, 2))
        size = np.trace(case.covariance) ** 2
        return rounded(prompts.weights @ squares, len(squares) ** 0.5, size)
    random = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    root = np.linalg.cholesky(case.covariance).T
    squares = _squared_gram(random.standard_normal((case.draws, N, d)) @ root)
    error = np.std(squares, axis=0, ddof=1) / np.sqrt(case.draws)
    return averaged(np.mean(squares, axis=0), error, case.draws, f"sets of {N} inputs")


def decoy(case: Case):
    """The trace term of Γ dropped."""
    Lambda = case.covariance
    return _upper((1 + 1 / case.context_length) * Lambda @ Lambda)


def _squared_gram(inputs: np.ndarray) -> np.ndarray:
    gram = np.swapaxes(inputs, 1, 2) @ inputs / inputs.shape[1]
    return _upper(gram @ gram)


def _upper(matrices: np.ndarray) -> np.ndarray:
    """Entries on and above the diagonal."""
    rows, columns = np.triu_indices(matrices.shape[-1])
    return matrices[..., rows, columns]
