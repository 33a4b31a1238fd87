"""Single prompts that are the same at every call, and the forward pass as written."""

from typing import NamedTuple

import numpy as np


class Instance(NamedTuple):
    """Inputs as columns of X, the task w and a query, as the paper writes them."""

    X: np.ndarray
    w: np.ndarray
    query: np.ndarray

    @property
    def labels(self) -> np.ndarray:
        """Labels y = Xᵀw, without noise."""
        return self.w @ self.X

    @property
    def columns(self) -> np.ndarray:
        """[X x_q]."""
        return np.column_stack([self.X, self.query])

    @property
    def S(self) -> np.ndarray:
        """Sample covariance XXᵀ/n."""
        return self.X @ self.X.T / self.X.shape[1]


def instance(d: int, n: int) -> Instance:
    """Normal inputs with unequal variances."""
    random = np.random.default_rng([d, n, 31])
    X = random.standard_normal((d, n)) * np.linspace(1.3, 0.5, d)[:, None]
    return Instance(X, random.standard_normal(d), random.standard_normal(d))


def token_rows(A: np.ndarray, u: np.ndarray, prompt: Instance) -> np.ndarray:
    """Last rows of Z⁽⁰⁾, Z⁽¹⁾, … by (2), (3) with the weights (11) of every layer."""
    d, n = prompt.X.shape
    Z = np.vstack([prompt.columns, np.append(prompt.labels, 0.0)])
    M = np.diag(np.append(np.ones(n), 0.0))
    rows = [Z[-1]]
    for A_t, u_t in zip(A, u, strict=True):
        Q, P = np.zeros((2, d + 1, d + 1))
        Q[:d, :d] = A_t
        P[d] = np.append(u_t, 1.0)
        Z = Z - P @ Z @ M @ (Z.T @ Q @ Z) / n
        rows.append(Z[-1])
    return np.array(rows)
