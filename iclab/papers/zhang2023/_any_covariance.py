"""Random covariances of any law: full matrices, dependent entries, laws by entry."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.evidence import Scale
from iclab.papers.zhang2023._trajectory import Trajectory, at_rest, balanced_theta
from iclab.tasks import (
    DrawnCovariance,
    RotatedCovariance,
    Uniform,
    WishartCovariance,
)
from iclab.theory import lsa_full_loss_given_covariances, lsa_loss
from iclab.training import Trained, gradient_flow

# Covariances of a law, some of them equal: one number for all compiles once.
ATOMS = 32

# A balanced start at this fraction of the largest scale that (4.11) allows.
_FRACTION = 0.7


@dataclass(frozen=True, eq=False)
class Law:
    """Finitely many covariances with their chances, and a balanced start."""

    covariances: Float[Array, "m d d"]
    shares: Float[Array, " m"]
    context_length: int
    theta: Float[Array, "d d"]

    @property
    def dimension(self) -> int:
        """d."""
        return self.covariances.shape[-1]

    @property
    def start(self) -> tuple[Float[Array, "d d"], Float[Array, ""]]:
        """U₁₁(0) = σΘΘᵀ and u₋₁(0) = σ, with σ below what (4.11) allows."""
        d, N, theta = self.dimension, self.context_length, np.asarray(self.theta)
        known, s = np.asarray(self.covariances), np.asarray(self.shares)
        traces = np.trace(known, axis1=1, axis2=2)
        norms = (1 + 1 / N) * np.linalg.eigvalsh(known)[:, -1] + traces / N
        mean = s @ (norms * np.sum(known**2, axis=(1, 2)))
        alignment = np.sum((np.einsum("m,mij->ij", s, known) @ theta) ** 2)
        sigma = _FRACTION * np.sqrt(2 * alignment / (np.sqrt(d) * mean))
        return jnp.asarray(sigma * theta @ theta.T), jnp.asarray(sigma)


@functools.cache
def full(scale: Scale) -> Mapping[str, Law]:
    """Matrices that do not commute: two atoms, Wishart draws, rotated spectra."""
    sizes = {"smoke": ((2, 3),), "desk": ((2, 3), (3, 10)), "paper": ((3, 10), (5, 20))}
    found = {}
    for d, N in sizes[scale]:
        ramp = jnp.diag(jnp.linspace(0.3, 1.0, d))
        spectrum = (Uniform(0.05, 0.15),) * (d - 1) + (Uniform(1.0, 2.0),)
        laws = {
            "2 matrices": (WishartCovariance(ramp, d), 2),
            "32 Wishart matrices": (WishartCovariance(ramp, d + 1), ATOMS),
            "32 rotated spectra": (RotatedCovariance(spectrum), ATOMS),
        }
        for kind, (law, count) in laws.items():
            draws = law.draws(jax.random.key(d), count)
            found[f"d={d}, {kind}, N={N}"] = _law(jnp.resize(draws, (ATOMS, d, d)), N)
    return MappingProxyType(found)


@functools.cache
def dependent(scale: Scale) -> Mapping[str, Law]:
    """Diagonal matrices whose entries are not independent."""
    found = {}
    for d, N in ((2, 5),) if scale == "smoke" else ((2, 5), (3, 20)):
        ramp = jnp.linspace(0.5, 1.5, d)

        def one_scale(key, ramp=ramp):
            return jnp.diag(jax.random.exponential(key) * ramp)

        def opposed(key, ramp=ramp):
            moved = jax.random.uniform(key, minval=0.1, maxval=1.9)
            turns = jnp.where(jnp.arange(len(ramp)) % 2 == 0, moved, 2 - moved)
            return jnp.diag(turns * ramp)

        for kind, draw in {"one scale": one_scale, "opposed": opposed}.items():
            draws = DrawnCovariance(draw).draws(jax.random.key(d), ATOMS)
            found[f"d={d}, {kind} for all entries, N={N}"] = _law(draws, N)
    return MappingProxyType(found)


def _law(draws: Array, N: int) -> Law:
    count, d, _ = draws.shape
    shares = np.random.default_rng([count, d]).uniform(0.5, 1.5, count)
    theta = balanced_theta(np.random.default_rng([d, N, count]), d)
    return Law(draws, jnp.asarray(shares / shares.sum()), N, theta)


def block_loss(
    U11: Array, u_last: Array, covariances: Array, shares: Array, N: Array | int
) -> Array:
    """Exact population loss (4.10) where u₁₂ = u₂₁ = 0."""
    return shares @ jax.vmap(lambda one: lsa_loss(U11, u_last, one, N))(covariances)


@jax.jit
def loss_of_all(U: Array, covariances: Array, shares: Array, N: Array | int) -> Array:
    """Exact population loss (4.10) at U = (U₁₁ u₁₂; u₂₁ᵀ u₋₁), all that matters."""
    empty = jnp.zeros_like(U)
    W_KQ, W_PV = empty.at[:, :-1].set(U[:, :-1]), empty.at[-1].set(U[:, -1])
    return lsa_full_loss_given_covariances(W_KQ, W_PV, covariances, N, shares=shares)


# The gradient in U, compiled once for a shape.
slope_of_all = jax.jit(jax.grad(loss_of_all))


@functools.cache
def trajectory(law: Law) -> Trajectory:
    """Gradient flow on the exact loss, of which no Γ_τ is known; solved once."""
    arguments = law.covariances, law.shares, jnp.asarray(law.context_length)
    return at_rest(block_loss, _flow(law.start, *arguments), *arguments)


# Compiled once for a shape: laws are arguments, and all of them have as many atoms.
@eqx.filter_jit
def _flow(start: tuple[Array, Array], *arguments: Array) -> Trained:
    return gradient_flow(
        lambda blocks: block_loss(*blocks, *arguments), start, tolerance=1e-9
    )
