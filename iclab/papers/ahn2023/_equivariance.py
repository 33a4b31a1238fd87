"""Statements of Appendix B about one prompt: layers as products, and what happens to
them when Σ^½UΣ^{−½} moves the inputs.
"""

import functools
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.core import Prompt
from iclab.evidence import Measured, rounded
from iclab.models import LinearTransformer

_LAYERS = 3
# A step in an imaginary direction: a derivative without differences.
_STEP = 1e-30


@dataclass(frozen=True, eq=False)
class Instance:
    """A point of S, a prompt X₀ with its query last, and a rotation of its inputs."""

    A: np.ndarray
    B: np.ndarray
    X: np.ndarray
    w: np.ndarray
    rotation: np.ndarray

    @property
    def samples(self) -> int:
        """Number n of examples."""
        return self.X.shape[1] - 1


@functools.cache
def instance(dimension: int, samples: int, moving: bool) -> Instance:
    """A random instance; B is not 0 if the inputs are `moving`."""
    d = dimension
    random = np.random.default_rng([d, samples, moving])
    basis, _ = np.linalg.qr(random.standard_normal((d, d)))
    eigenvalues = np.geomspace(0.2, 2, d)
    root = (basis * np.sqrt(eigenvalues)) @ basis.T
    a = -random.uniform(0.3, 1, (_LAYERS, 1, 1))
    b = moving * random.uniform(0.2, 0.8, (_LAYERS, 1, 1))
    U, _ = np.linalg.qr(random.standard_normal((d, d)))
    return Instance(
        a * (basis / eigenvalues) @ basis.T,
        b * np.eye(d),
        root @ random.standard_normal((d, samples + 1)),
        random.standard_normal(d),
        root @ U @ np.linalg.inv(root),
    )


@dataclass(frozen=True)
class Labels:
    """The query's label entry after every layer."""

    of: Instance

    def predicted(self) -> np.ndarray:
        """Y₀ Π (I + M X_ℓᵀA_ℓX_ℓ/n)."""
        return self._product()

    def printed(self) -> np.ndarray:
        """Y₀ Π (I − M X_ℓᵀA_ℓX_ℓ/n), as where G is defined."""
        return self._product(sign=-1.0)

    def decoy(self) -> np.ndarray:
        """No mask: the query attends to itself."""
        return self._product(masked=False)

    def _product(self, sign: float = 1.0, masked: bool = True) -> np.ndarray:
        one = self.of
        X, Y = one.X, one.w @ one.X
        M = np.diag(np.append(np.ones(one.samples), 0.0 if masked else 1.0))
        found = []
        for A, B in zip(one.A, one.B, strict=True):
            attention = M @ X.T @ A @ X / one.samples
            X, Y = X + B @ X @ attention, Y + sign * Y @ attention
            found.append(Y[-1])
        return np.array(found)

    def measured(self) -> Measured:
        """The model's forward pass; the true label enters additively (Lemma 10)."""
        one = self.of
        X, w = jnp.asarray(one.X), jnp.asarray(one.w)
        model = LinearTransformer.sparse(jnp.asarray(one.A), jnp.asarray(one.B))
        y = w @ X
        prompt = Prompt(X[:, :-1].T, y[:-1], X[:, -1], y[-1])
        labels = np.asarray(model.streams_in_token_space(prompt)[1:, -1] + y[-1])
        return rounded(labels, 100.0 * X.size, np.max(np.abs(np.asarray(y))))


@dataclass(frozen=True)
class Rotated:
    """X_k and G of rotated inputs, or their derivatives in one matrix of one layer.

    `layer` counts A₀, A₁, A₂, B₀, B₁, B₂; None asks for the values themselves.
    """

    of: Instance
    layer: int | None

    def predicted(self) -> np.ndarray:
        """U_Σ times what the unrotated inputs give along U_ΣᵀRU_Σ or U_Σ⁻¹SU_Σ."""
        U = self.of.rotation
        towards = np.linalg.inv(U) if self._of_B else U.T
        return self._columns(self.of.X, towards @ self._direction @ U) @ U.T

    def printed(self) -> np.ndarray:
        """The same: printed right, but for slips that leave no other sense."""
        return self.predicted()

    def decoy(self) -> np.ndarray:
        """The rotation of inputs or of directions forgotten."""
        U = self.of.rotation
        if self.layer is None:
            return self._columns(self.of.X, self._direction)
        return self._columns(self.of.X, self._direction) @ U.T

    def measured(self) -> Measured:
        """The forward pass (4) on rotated inputs, the query's column."""
        U = self.of.rotation
        value = self._columns(U @ self.of.X, self._direction)
        operations = 100.0 * self.of.X.size * np.linalg.cond(U)
        return rounded(value, operations, max(1.0, float(np.max(np.abs(value)))))

    @property
    def _of_B(self) -> bool:
        return self.layer is not None and self.layer >= _LAYERS

    @property
    def _direction(self) -> np.ndarray:
        d = len(self.of.w)
        return np.random.default_rng([d, 5]).standard_normal((d, d))

    def _columns(self, X: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Last columns of X_k and of G, a row each: labels eᵢᵀX₀ show row i of G."""
        weights = np.concatenate([self.of.A, self.of.B]).astype(complex)
        if self.layer is not None:
            weights[self.layer] += 1j * _STEP * direction
        A, B = weights[:_LAYERS], weights[_LAYERS:]
        runs = [forward(A, B, np.vstack([X, row])) for row in X]
        columns = np.array([runs[0][:-1, -1], [Z[-1, -1] for Z in runs]])
        return np.real(columns) if self.layer is None else np.imag(columns) / _STEP


def forward(A: np.ndarray, B: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Tokens after the layers: (4) with P = diag(B, 1) and Q = diag(A, 0) in full."""
    n = Z.shape[1] - 1
    mask = np.append(np.ones(n, int), 0)
    for key_query, value in zip(A, B, strict=True):
        P, Q = (np.zeros((len(Z),) * 2, Z.dtype) + 0 * A.flat[0] for _ in range(2))
        P[:-1, :-1], P[-1, -1], Q[:-1, :-1] = value, 1, key_query
        Z = Z + P @ (Z * mask) @ (Z.T @ Q @ Z) / n
    return Z
