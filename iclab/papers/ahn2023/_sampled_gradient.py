"""Slopes of the loss of two layers with B, estimated from drawn sample covariances."""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.evidence import Measured, averaged
from iclab.papers.ahn2023._multi_layer import Setting
from iclab.theory import sampled_transformer_loss, scalar_transformer_loss

_LAYERS = 2
# Independent estimates of the gradient, whose spread is the standard error.
_BATCHES = 32
# Random directions for each matrix in which the gradient is looked at.
_DIRECTIONS = 2
SLOPES = (2 * _LAYERS - 1) * _DIRECTIONS


@dataclass(frozen=True, eq=False)
class Sampled:
    """Slopes at points A_i = a_iΣ⁻¹, B_i = b_iI, along directions outside S too."""

    setting: Setting
    draws: int

    def slopes(self, a: np.ndarray, b: np.ndarray, key) -> Measured:
        """From gradients in all entries on random S, w and the query integrated out."""
        d, n = self.setting.dimension, self.setting.samples
        gradients = _gradients(
            jax.random.split(key, _BATCHES),
            jnp.asarray(a[:, None, None] * self.setting.inverse),
            jnp.asarray(b[:, None, None] * np.eye(d)),
            jnp.asarray(self.setting.covariance),
            samples=n,
            draws=self.draws,
        )
        of_A, of_B = map(np.asarray, gradients)
        gradient = np.concatenate([of_A, of_B[:, : _LAYERS - 1]], axis=1)
        slopes = np.einsum("bmij,mrij->bmr", gradient, self._directions)
        slopes = slopes.reshape(_BATCHES, SLOPES)
        error = np.std(slopes, axis=0, ddof=1) / np.sqrt(_BATCHES)
        draws = _BATCHES * self.draws
        return averaged(np.mean(slopes, axis=0), error, draws, "draws of S")

    def exact_slopes(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """By (36) and (37) only the part of a direction within S counts."""
        d, n = self.setting.dimension, self.setting.samples

        def loss(a, b):
            return scalar_transformer_loss(a, b, d, n)

        gradient = jax.jit(jax.grad(loss, (0, 1)))(jnp.asarray(a), jnp.asarray(b))
        of_A, of_B = self._directions[:_LAYERS], self._directions[_LAYERS:]
        r = np.trace(of_A @ self.setting.covariance, axis1=2, axis2=3) / d
        s = np.trace(of_B, axis1=2, axis2=3) / d
        within = np.concatenate([r, s])
        partial = np.concatenate([np.asarray(one) for one in gradient])[: len(within)]
        return (partial[:, None] * within).ravel()

    @property
    def _directions(self) -> np.ndarray:
        """Directions for A₀, A₁ and B₀, of size near 1 after whitening."""
        d, root = self.setting.dimension, self.setting.root
        random = np.random.default_rng([d, 5])
        R = random.standard_normal((2 * _LAYERS - 1, _DIRECTIONS, d, d)) / d
        inverse = np.linalg.inv(root)
        of_A, of_B = inverse @ R[:_LAYERS] @ inverse, root @ R[_LAYERS:] @ inverse
        return np.concatenate([of_A, of_B])


@functools.partial(jax.jit, static_argnames=("samples", "draws"))
def _gradients(
    keys: Array, A: Array, B: Array, covariance: Array, *, samples: int, draws: int
) -> tuple[Array, Array]:
    """An estimate of the gradient in A and B for every key."""

    def loss(A, B, key):
        mean, _ = sampled_transformer_loss(
            A, B, covariance=covariance, samples=samples, key=key, draws=draws
        )
        return mean

    return jax.lax.map(lambda key: jax.grad(loss, (0, 1))(A, B, key), keys)
