"""First remark after Theorem 1: what the best A becomes for many examples."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import STANDARD_ERRORS, Measured, Printed
from iclab.papers.ahn2023._single_layer import moments, rotated


@dataclass(frozen=True)
class Case:
    """Eigenvalues of Σ, and many examples."""

    eigenvalues: tuple[float, ...]
    samples: int


def cases(scale):
    """A spectrum on which Σ, Σ⁻¹ and their negatives are easily told apart."""
    lengths = {"smoke": (10**5,), "desk": (10**4, 10**6), "paper": (10**4, 10**6)}
    return {
        f"spectrum 1, 1/4, 1/16, n={n:,}": Case((1.0, 0.25, 0.0625), n)
        for n in lengths[scale]
    }


def predict(case: Case):
    """Eigenvalues of −Σ⁻¹, and −1 twice: A times the Gram matrix is −I."""
    inverse = np.sort(-1 / np.array(case.eigenvalues))
    return np.append(inverse, [-1, -1])


def as_printed(case: Case):
    """A ≈ Σ⁻¹, with the Gram matrix as close to Σ as it is."""
    return -predict(case)


printed = Printed(predict=as_printed, nearby=True)


def decoy(case: Case):
    """−Σ^{−1/2}, which would whiten the inputs."""
    root = np.sort(-1 / np.sqrt(case.eigenvalues))
    return np.append(root, [-1, -1])


def measure(case: Case) -> Measured:
    """Minimise the exact loss at n, and multiply with a sampled Gram matrix."""
    A, change = _best(case)
    return _with_extremes(case, A, change, A @ _gram(case))


def _best(case: Case) -> tuple[np.ndarray, float]:
    """The best A at n, and by how much relatively it differs from that at n/2."""
    found = []
    for n in (case.samples // 2, case.samples):
        X = moments(rotated(case.eigenvalues), n).least()
        d = len(case.eigenvalues)
        found.append(X[d, :d] + X[:d, d])
    half, full = found
    return full, float(np.linalg.norm(full - half, 2) / np.linalg.norm(full, 2))


def _gram(case: Case) -> np.ndarray:
    """(1/n) Σ xxᵀ of one prompt."""
    d, n = len(case.eigenvalues), case.samples
    white = np.random.default_rng([d, n]).standard_normal((n, d))
    root = np.linalg.cholesky(rotated(case.eigenvalues))
    return root @ (white.T @ white / n) @ root.T


def _with_extremes(
    case: Case, A: np.ndarray, change: float, product: np.ndarray
) -> Measured:
    """Eigenvalues of A, smallest and largest one of the product, and their errors."""
    d, n = len(A), case.samples
    eigenvalues = np.linalg.eigvalsh((A + A.T) / 2)
    extremes = np.sort(np.linalg.eigvals(product).real)[[0, -1]]
    value = np.append(eigenvalues, extremes)
    # A(n) − A(∞) is of order 1/n, so it is about what halving n changes.
    error = np.full(len(value), 2 * change * np.max(np.abs(eigenvalues)))
    # ‖S − Σ‖_F² of whitened inputs has mean d(d+1)/n.
    error[d:] = STANDARD_ERRORS * np.sqrt(d * (d + 1) / n) + 2 * change
    reason = (
        f"twice the change from n/2 to n; {STANDARD_ERRORS:g} standard deviations of a "
        "Gram matrix"
    )
    return Measured(value, error, reason)
