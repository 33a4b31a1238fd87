"""Theorem 5: with B as well, S holds a point where the gradient in all entries of all
matrices vanishes.
"""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured
from iclab.papers.ahn2023._multi_layer import AXES, setting
from iclab.papers.ahn2023._sampled_gradient import SLOPES, Sampled
from iclab.papers.ahn2023._two_inputs import LAYERS, derivatives
from iclab.theory import optimal_gd_plus_plus, optimal_steps


@dataclass(frozen=True, eq=False)
class Exact:
    """Two inputs: norms of the gradients in A_i and B_i, every prompt integrated."""

    covariance: np.ndarray
    samples: int
    layers: int

    def norms(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, float]:
        """‖∇f‖_F for A and B of every layer at A_i = a_iΣ⁻¹, B_i = b_iI; its error."""
        padding = np.zeros(max(0, LAYERS - self.layers))
        a, b = np.concatenate([a, padding]), np.concatenate([b, padding])
        A = a[:, None, None] * np.linalg.inv(self.covariance)
        B = b[:, None, None] * np.eye(2)
        found = derivatives(A, B, self.covariance, self.samples)
        of_A, of_B = found.A[: self.layers], found.B[: self.layers]
        norms = np.linalg.norm(np.concatenate([of_A, of_B]), axis=(1, 2))
        return norms, 2 * found.error


def cases(scale) -> dict[str, Exact | Sampled]:
    """Two inputs exactly, two to four layers; five inputs by sampling."""
    Sigma = np.array([[1.3, 0.4], [0.4, 0.5]])
    found: dict[str, Exact | Sampled] = {
        "d=2, n=10, three layers": Exact(Sigma, 10, 3),
        "d=2, n=20, three layers": Exact(Sigma, 20, 3),
    }
    if scale != "smoke":
        found["d=2, n=10, two layers"] = Exact(Sigma, 10, 2)
        found["d=2, n=10, four layers"] = Exact(Sigma, 10, 4)
        draws = {"desk": 1 << 10, "paper": 1 << 14}[scale]
        sampled = Sampled(setting(np.square(AXES), 20), draws)
        found["d=5, n=20, two layers, sampled"] = sampled
    return found


def predict(case: Exact | Sampled):
    """No gradient at the best point of S."""
    return np.zeros(2 * case.layers if isinstance(case, Exact) else SLOPES)


def measure(case: Exact | Sampled, key) -> Measured:
    """Derivatives in every entry, from the model on all prompts or from sampled S."""
    if isinstance(case, Sampled):
        d, n = case.setting.dimension, case.setting.samples
        a, b, _ = optimal_gd_plus_plus(d, n, 2)
        return case.slopes(np.asarray(a), np.asarray(b), key)
    a, b, _ = optimal_gd_plus_plus(2, case.samples, case.layers)
    value, error = case.norms(np.asarray(a), np.asarray(b))
    return Measured(value, error, "float64 round-off over all nodes of an exact rule")


def decoy(case: Exact | Sampled):
    """The best point with B = 0: stationary in A (Theorem 4), not in B."""
    if isinstance(case, Sampled):
        d, n = case.setting.dimension, case.setting.samples
        a = -np.asarray(optimal_steps(d, n, 2)[0])
        return case.exact_slopes(a, 0 * a)
    a = -np.asarray(optimal_steps(2, case.samples, case.layers)[0])
    return case.norms(a, 0 * a)[0]
