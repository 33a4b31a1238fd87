"""Linear transformers on two inputs: every prompt's law is integrated, not sampled.

For d = 2 the whitened sample covariance is (t/2n)(I + u R) with t ~ χ²_{2n},
u² ~ Beta(1, (n−1)/2) and a reflection R = (cos φ, sin φ; sin φ, −cos φ), φ uniform, all
independent. The loss is a polynomial in t, u cos φ and u sin φ, and what is odd in u
averages out over φ: equal steps in φ and Gauss rules in t and v = u² are exact.

With Σ = I the loss is a mean of squares, those of the entries of G: descents over all
entries of all matrices are Levenberg and Marquardt's.
"""

import functools
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

_MOST_STEPS = 400
_SEARCH_STEPS = 150
# Slopes below this are rest; steps smaller than what this damping leaves are none.
_REST = 1e-9
_MOST_DAMPING = 1e11
_DIFFERENCE = 1e-5


class End(NamedTuple):
    """Where a descent ended, and the norm of the gradient that is left."""

    point: np.ndarray
    loss: float
    slope: float


class Rests(NamedTuple):
    """Ends of a search for critical points, and what the loss is like there."""

    points: np.ndarray
    losses: np.ndarray
    slopes: np.ndarray
    curvatures: np.ndarray


@dataclass(frozen=True)
class Network:
    """Layers on prompts of n = `samples` examples, x and w from N(0, I₂).

    A point is the entries of A_0 … A_{k−1} and, with `with_B`, of B_0 … B_{k−2}; B of
    the last layer moves only what nothing reads.
    """

    layers: int
    samples: int
    with_B: bool

    @property
    def size(self) -> int:
        """How many entries a point has."""
        return 4 * (2 * self.layers - 1 if self.with_B else self.layers)

    def matrices(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A and B of all layers."""
        entries = np.append(point, np.zeros(8 * self.layers - len(point)))
        A, B = entries.reshape(2, self.layers, 2, 2)
        return A, B

    def point(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The point A_i = a_iI, B_i = b_iI."""
        scalars = np.concatenate([a, b])[:, None, None] * np.eye(2)
        return scalars.ravel()[: self.size]

    def start(self, random: np.random.Generator, scale: float) -> np.ndarray:
        """Gaussian matrices."""
        return scale * random.standard_normal(self.size)

    def descend(self, point: np.ndarray) -> End:
        """Levenberg–Marquardt with Marquardt's scaling, until nearly at rest."""
        loss, slope, normal = self._normal(point)
        damping = 1.0
        for _ in range(_MOST_STEPS):
            if np.linalg.norm(slope) < _REST or damping > _MOST_DAMPING:
                break
            ridge = np.diag(damping * np.diag(normal) + 1e-12)
            trial = point - np.linalg.solve(normal + ridge, slope)
            found = self._normal(trial)
            if found[0] < loss:  # False for NaN
                point, (loss, slope, normal) = trial, found
                damping /= 4
            else:
                damping *= 3
        return End(point, loss, 2 * float(np.linalg.norm(slope)))

    def towards_rest(self, starts: np.ndarray) -> "Rests":
        """From every start to where the gradient's norm is least: saddles, too."""
        found = _towards_rest(starts, *self._rule, layers=self.layers)
        return Rests(*map(np.asarray, found))

    def curvatures(self, point: np.ndarray) -> np.ndarray:
        """Eigenvalues of the Hessian, by central differences of the gradient."""
        units = _DIFFERENCE * np.eye(len(point))
        sides = [
            (self._normal(point + u)[1], self._normal(point - u)[1]) for u in units
        ]
        hessian = np.array([above - below for above, below in sides]) / _DIFFERENCE
        return np.linalg.eigvalsh((hessian + hessian.T) / 2)

    def loss(self, point: np.ndarray) -> float:
        """The mean over all prompts."""
        return self._normal(point)[0]

    def _normal(self, point: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Σr², Jᵀr and JᵀJ."""
        found = _normal(point, *self._rule, layers=self.layers)
        loss, slope, normal = map(np.asarray, found)
        return float(loss), slope, normal

    @property
    def _rule(self) -> tuple[np.ndarray, np.ndarray]:
        k = self.layers
        return rule(self.samples, 3**k - 1 if self.with_B else 2 * k)


@functools.cache
def rule(samples: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Whitened sample covariances and their weights, exact up to `degree` in S."""
    n, N = samples, degree // 2 + 1
    # Laguerre polynomials for t^{n−1}e^{−t}, Jacobi polynomials for (1−v)^{(n−3)/2}.
    j, alpha = np.arange(N), n - 1
    t, of_t = _gauss(2 * j + 1 + alpha, np.sqrt(j * (j + alpha)))
    j, alpha = np.arange(N // 2 + 1), (n - 3) / 2
    m = 2 * j + alpha
    middle = -(alpha**2) / (m * (m + 2))
    beside = 2 * j * (j + alpha) / (m * np.sqrt(np.abs(m**2 - 1)))
    v, of_v = _gauss((1 + middle) / 2, beside / 2)
    phi = 2 * np.pi * np.arange(degree + 1) / (degree + 1)
    trace, v, phi = np.meshgrid(2 * t / n, v, phi, indexing="ij")
    c, s = np.sqrt(v) * np.cos(phi), np.sqrt(v) * np.sin(phi)
    S = np.stack([1 + c, s, s, 1 - c], axis=-1) * trace[..., None] / 2
    weights = np.broadcast_to(np.multiply.outer(of_t, of_v)[..., None], phi.shape)
    return S.reshape(-1, 2, 2), weights.ravel() / np.sum(weights)


def _gauss(middle: np.ndarray, beside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights from a recurrence's coefficients (Golub and Welsch)."""
    jacobi = np.diag(middle) + np.diag(beside[1:], 1) + np.diag(beside[1:], -1)
    nodes = np.linalg.eigvalsh(jacobi)
    # Weights by Christoffel: right in their digits where they are tiny, too.
    p, before, total = np.ones_like(nodes), np.zeros_like(nodes), np.zeros_like(nodes)
    for j in range(len(middle)):
        total += p**2
        if j + 1 < len(middle):
            after = (nodes - middle[j]) * p - beside[j] * before
            p, before = after / beside[j + 1], p
    return nodes, 1 / total


@functools.partial(jax.jit, static_argnames="layers")
def _normal(point: Array, nodes: Array, weights: Array, *, layers: int):
    errors = functools.partial(_errors, layers=layers)
    root = jnp.sqrt(weights)[:, None]
    r = root * jax.vmap(errors, (None, 0))(point, nodes)
    J = root[..., None] * jax.vmap(jax.jacfwd(errors), (None, 0))(point, nodes)
    r, J = r.ravel(), J.reshape(-1, len(point))
    return r @ r, r @ J, J.T @ J


@functools.partial(jax.jit, static_argnames="layers")
def _towards_rest(starts: Array, nodes: Array, weights: Array, *, layers: int):
    """Levenberg–Marquardt on the gradient, whose Jacobian is the Hessian."""
    errors = functools.partial(_errors, layers=layers)

    def loss(point):
        return weights @ jnp.sum(jax.vmap(errors, (None, 0))(point, nodes) ** 2, axis=1)

    slope = jax.grad(loss)
    hessian = jax.jacfwd(slope)

    def step(_, state):
        point, g, H, damping = state
        normal = H @ H
        ridge = jnp.diag(damping * jnp.diag(normal) + 1e-14)
        trial = point - jnp.linalg.solve(normal + ridge, H @ g)
        trial_g, trial_H = slope(trial), hessian(trial)
        better = jnp.sum(trial_g**2) < jnp.sum(g**2)  # False for NaN
        return (
            jnp.where(better, trial, point),
            jnp.where(better, trial_g, g),
            jnp.where(better, trial_H, H),
            jnp.clip(jnp.where(better, damping / 5, damping * 4), 1e-13, 1e12),
        )

    def one(point):
        state = point, slope(point), hessian(point), jnp.ones(())
        point, g, H, _ = jax.lax.fori_loop(0, _SEARCH_STEPS, step, state)
        return point, loss(point), jnp.linalg.norm(g), jnp.linalg.eigvalsh(H)

    return jax.lax.map(one, starts)


def _errors(point: Array, S: Array, layers: int) -> Array:
    """Entries of G: the query's label after the layers is wᵀG x_query."""
    entries = jnp.concatenate([point, jnp.zeros(8 * layers - len(point))])
    A, B = entries.reshape(2, layers, 2, 2)
    G = F = jnp.eye(2)
    for i in range(layers):
        step = S @ F.T @ A[i] @ F
        G = G + G @ step
        F = F + B[i] @ F @ step
    return G.ravel()
