"""Corollary A.2: the least value of ℓ̃, and ℓ̃ above it as a complete square."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, Printed, rounded
from iclab.papers.zhang2023._fixed_covariance import Setting, settings
from iclab.papers.zhang2023._loss_landscape import bowl
from iclab.theory import gamma_matrix, lsa_loss, optimal_preconditioner

cases = settings


def predict(case: Setting):
    """The least ℓ̃, four gaps as squares, and the expanded square, equal to 2ℓ̃."""
    Lambda = np.asarray(case.covariance)
    inverse = np.asarray(optimal_preconditioner(case.covariance, case.context_length))
    return np.concatenate(
        [[-np.trace(Lambda @ Lambda @ inverse) / 2], _squares(case), _expanded(case)]
    )


def measure(case: Setting) -> Measured:
    """Minimise the exact loss by its own derivatives; evaluate it at random weights."""
    U11, u = _weights(case)
    N = jnp.asarray(case.context_length)
    constant = np.trace(case.covariance) / 2
    loss = np.asarray(_losses(U11, u, case.covariance, N)) - constant
    least = bowl(case).least - constant
    value = np.concatenate([[least], loss - least, 2 * loss])
    # Solving for the minimum loses digits with the condition of the quadratic.
    operations = 20.0 * len(case.covariance) ** 2
    return rounded(value, operations, 1 + np.max(np.abs(value)))


def decoy(case: Setting):
    """The square without Γ^{1/2} in front, and the trace term of Γ dropped below it."""
    Lambda, N = np.asarray(case.covariance), case.context_length
    least = -np.trace(Lambda) / (1 + 1 / N) / 2
    return np.concatenate([[least], _squares(case, weighted=False), _expanded(case)])


def labels(case: Setting):
    """The minimum, and two numbers of each of four weights."""
    weights = range(1, 5)
    gaps = [f"gap at weights {i}" for i in weights]
    return ["least loss", *gaps, *(f"twice the loss at weights {i}" for i in weights)]


def chain_as_printed(case: Setting):
    """Fourth line: −u₋₁tr[a − b] for the two cross terms; fifth: a Λ^{1/2} too many."""
    Lambda, Gamma, root, _ = _matrices(case)
    fourth, fifth = [], []
    for U11, u in zip(*_weights(case), strict=True):
        square = u**2 * np.trace(Gamma @ root @ U11 @ Lambda @ U11.T @ root)
        cross = _cross_terms(case, U11)
        fourth.append(square - u * (cross[0] - cross[1]))
        fifth.append(square - 2 * u * np.trace(Lambda @ Lambda @ U11 @ root))
    return np.array(fourth[:2] + fifth[:2])


def twice_the_loss(case: Setting) -> Measured:
    """2ℓ̃ at two weights, for the fourth line and again for the fifth."""
    found = measure(case)
    twice = found.value[-4:-2]
    return Measured(np.concatenate([twice, twice]), found.error, found.reason)


printed = Printed(predict=chain_as_printed, measure=twice_the_loss, nearby=True)


def _squares(case: Setting, weighted: bool = True) -> np.ndarray:
    """½‖Γ^{1/2}(u₋₁Λ^{1/2}U₁₁Λ^{1/2} − ΛΓ⁻¹)‖²."""
    Lambda, Gamma, root, gamma_root = _matrices(case)
    front = gamma_root if weighted else np.eye(len(Lambda))
    away = [
        front @ (u * root @ U11 @ root - Lambda @ np.linalg.inv(Gamma))
        for U11, u in zip(*_weights(case), strict=True)
    ]
    return np.sum(np.stack(away) ** 2, axis=(1, 2)) / 2


def _expanded(case: Setting) -> np.ndarray:
    """The fourth line with the sign that expanding gives: −u₋₁tr[a + b]."""
    Lambda, Gamma, root, _ = _matrices(case)
    return np.array(
        [
            u**2 * np.trace(Gamma @ root @ U11 @ Lambda @ U11.T @ root)
            - u * sum(_cross_terms(case, U11))
            for U11, u in zip(*_weights(case), strict=True)
        ]
    )


def _cross_terms(case: Setting, U11: np.ndarray):
    """a = tr[ΓΛΓ⁻¹Λ^{1/2}U₁₁Λ^{1/2}] and b = tr[ΓΛ^{1/2}U₁₁Λ^{3/2}Γ⁻¹]."""
    Lambda, Gamma, root, _ = _matrices(case)
    inverse = np.linalg.inv(Gamma)
    first = np.trace(Gamma @ Lambda @ inverse @ root @ U11 @ root)
    return first, np.trace(Gamma @ root @ U11 @ root @ Lambda @ inverse)


@functools.cache
def _matrices(case: Setting):
    """Λ, Γ and their square roots."""
    Lambda = np.asarray(case.covariance)
    Gamma = np.asarray(gamma_matrix(case.covariance, case.context_length))
    return Lambda, Gamma, _root(Lambda), _root(Gamma)


def _root(matrix: np.ndarray) -> np.ndarray:
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(eigenvalues)) @ vectors.T


def _weights(case: Setting):
    """Four random pairs (U₁₁, u₋₁)."""
    d = len(case.covariance)
    random = np.random.default_rng([d, 3])
    return random.standard_normal((4, d, d)) / np.sqrt(d), random.standard_normal(4)


_losses = jax.jit(jax.vmap(lsa_loss, (0, 0, None, None)))
