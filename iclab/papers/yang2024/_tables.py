"""Tables of features, and what NumPy says about labels that are linear in them."""

import functools
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Table:
    """Features of K tokens, standard Gaussian; the first N tokens are labelled."""

    K: int
    N: int
    m: int
    tau: float
    seed: int

    @functools.cached_property
    def features(self) -> np.ndarray:
        """f(v_k), a row per token."""
        return self.random(0).standard_normal((self.K, self.m))

    @property
    def Z_hat(self) -> np.ndarray:
        """Ẑ = (z_1, …, z_K), m×K."""
        return self.features.T

    @property
    def Z(self) -> np.ndarray:
        """The first N columns of Ẑ."""
        return self.Z_hat[:, : self.N]

    @property
    def Z_query(self) -> np.ndarray:
        """Z^Q, the other columns."""
        return self.Z_hat[:, self.N :]

    @property
    def gram(self) -> np.ndarray:
        """ZᵀZ + mτI."""
        return self.Z.T @ self.Z + self.m * self.tau * np.eye(self.N)

    @functools.cached_property
    def condition(self) -> float:
        """Condition number of `gram`, by which solving enlarges round-off."""
        return float(np.linalg.cond(self.gram))

    def random(self, stream: int) -> np.random.Generator:
        """Random numbers of this table, another stream for every use."""
        return np.random.default_rng([self.seed, stream])


class Wave(Table):
    """Tokens at angles 0, 1, 2, 3 on the circle with f(v) = (v₁, v₁v₂)."""

    def __init__(self):
        super().__init__(K=4, N=2, m=2, tau=0.25, seed=0)

    @functools.cached_property
    def features(self) -> np.ndarray:
        angle = np.arange(4.0)
        return np.stack([np.cos(angle), np.cos(angle) * np.sin(angle)], axis=1)


def tables(scale) -> dict[str, Table]:
    """Fewer labels than features, as many, and more."""
    found: dict[str, Table] = {"K=4, N=m=2, f(v) = (v₁, v₁v₂)": Wave()}
    sizes = [(7, 3, 5, 0.3), (8, 5, 2, 0.3)]
    if scale != "smoke":
        sizes += [
            (*shape, tau)
            for shape in ((10, 4, 4), (12, 6, 3), (15, 4, 10))
            for tau in (0.02, 4.0)
        ]
    for K, N, m, tau in sizes:
        found[f"K={K}, N={N}, m={m}, τ={tau}"] = Table(K, N, m, tau, K)
    return found


def expected_loss(weights: np.ndarray, table: Table) -> float:
    """(9) for ŷ = Âᵀy with Â = `weights`, from the covariance of all K labels.

    ŷ − y is linear in them, and E yyᵀ = ẐᵀẐ + mτI.
    """
    K, N = table.K, table.N
    covariance = table.Z_hat.T @ table.Z_hat + table.m * table.tau * np.eye(K)
    error = -np.eye(K)
    error[:N] += weights
    return float(np.sum(error * (covariance @ error)) / (2 * K))


def ridge_by_rows(Z: np.ndarray, y: np.ndarray, penalty: float) -> np.ndarray:
    """argmin ‖Zᵀλ − y‖² + ρ‖λ‖², as plain least squares with m more rows."""
    m = len(Z)
    rows = np.concatenate([Z.T, np.sqrt(penalty) * np.eye(m)])
    targets = np.concatenate([y, np.zeros((m, *y.shape[1:]))])
    return np.linalg.lstsq(rows, targets, rcond=None)[0]
