"""One layer of linear attention: its loss as an exact polynomial in the weights.

Expectations are Gauss–Hermite sums over inputs and tasks; no formula for moments of
Gaussian vectors or of sample covariances enters, so claims about those can fail.
"""

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import numpy as np

from iclab.core import Prompt
from iclab.models import LinearTransformer


class Moments(NamedTuple):
    """E[C⊗C], E[C⊗w] and Σ: all that the loss (15) needs to know of the prompts.

    C = (1/n) Σ zzᵀ is (d+1)×(d+1), with z = (x, ⟨w, x⟩).
    """

    square: np.ndarray
    linear: np.ndarray
    covariance: np.ndarray

    def loss(self, X) -> float:
        """E‖…‖² of (15) for X[i, j, k] = b[i] A[j, k], or any other X."""
        XSigma = X @ self.covariance
        twice = np.einsum("ijk,ijlm,lmk", XSigma, self.square, X, optimize=True)
        return float(twice + 2 * np.sum(XSigma * self.linear) + self.covariance.trace())

    def least(self) -> np.ndarray:
        """The X of least norm that minimises `loss` over all X, product or not.

        The loss is convex in X, so no weights (b, A) can do better than this.
        """
        size, _, d = self.linear.shape
        square = self.square.reshape(size**2, size**2)
        solution, *_ = np.linalg.lstsq(
            square, -self.linear.reshape(size**2, d), rcond=1e-12
        )
        return solution.reshape(size, size, d)


class Nodes(NamedTuple):
    """Prompts whose `weights` average the squared error of one layer exactly."""

    examples: np.ndarray
    labels: np.ndarray
    query: np.ndarray
    target: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class Weighted:
    """A distribution of prompts, and weights of a layer."""

    covariance: np.ndarray
    samples: int
    P: np.ndarray
    Q: np.ndarray


def moments(covariance: np.ndarray, samples: int) -> Moments:
    """Exact moments for x ~ N(0, Σ), w ~ N(0, I) and any number n of examples.

    Given w the examples are independent: E[C⊗C] has a share 1/n of the same example
    twice.
    """
    Sigma, n = covariance, samples
    same, apart, linear = _of_two_examples(tuple(map(tuple, Sigma.tolist())))
    return Moments(same / n + (1 - 1 / n) * apart, linear, Sigma)


def prompt_nodes(covariance: np.ndarray, samples: int) -> Nodes:
    """Gauss–Hermite nodes over n examples, w and the query: (3^(n+1)·2)^d of them."""
    Sigma, n = covariance, samples
    d = len(Sigma)
    three, two = (np.polynomial.hermite_e.hermegauss(nodes) for nodes in (3, 2))
    axes = [three] * (n * d + d) + [two] * d
    grids = np.meshgrid(*(line for line, _ in axes), indexing="ij")
    points = np.stack([grid.ravel() for grid in grids], axis=1)
    grids = np.meshgrid(*(weight for _, weight in axes), indexing="ij")
    weights = np.prod([grid.ravel() for grid in grids], axis=0)
    root = _root(Sigma).T
    examples = points[:, : n * d].reshape(-1, n, d) @ root
    w, query = points[:, n * d : n * d + d], points[:, n * d + d :] @ root
    labels = np.einsum("pnd,pd->pn", examples, w)
    target = np.sum(query * w, axis=1)
    return Nodes(examples, labels, query, target, weights / weights.sum())


@jax.jit
def squared_error(P, Q, nodes: Nodes):
    """The loss (5) of one layer with weights (P, Q), by its forward pass."""
    model = LinearTransformer(P[None], Q[None])
    predict = jax.vmap(lambda x, y, q: model.in_token_space(Prompt(x, y, q)))
    predictions = predict(nodes.examples, nodes.labels, nodes.query)
    return nodes.weights @ (nodes.target - predictions) ** 2


def rotated(eigenvalues: Sequence[float]) -> np.ndarray:
    """A covariance with these eigenvalues and eigenvectors that are nobody's axes."""
    values = np.asarray(eigenvalues, float)
    random = np.random.default_rng([len(values), 20])
    basis, _ = np.linalg.qr(random.standard_normal((len(values), len(values))))
    covariance = (basis * values) @ basis.T
    return (covariance + covariance.T) / 2


@functools.cache
def _of_two_examples(covariance: tuple[tuple[float, ...], ...]):
    """E[zzᵀ⊗zzᵀ] for the same and for different examples, and E[zzᵀ⊗w].

    Three nodes a coordinate are exact for the fourth powers that occur.
    """
    size = len(covariance) + 1
    x, xi = _gaussian_rule(np.array(covariance), 3)
    w, omega = _gaussian_rule(np.eye(size - 1), 3)
    z = np.concatenate(
        [np.broadcast_to(x, (len(w), *x.shape)), (w @ x.T)[..., None]], axis=2
    )
    zz = np.einsum("wxi,wxj->wxij", z, z).reshape(len(w), len(x), size**2)
    given_w = np.einsum("x,wxa->wa", xi, zz)
    weighted = zz * (omega[:, None] * xi)[..., None]
    same = np.sum(weighted.swapaxes(1, 2) @ zz, axis=0)
    apart = (given_w * omega[:, None]).T @ given_w
    linear = (given_w * omega[:, None]).T @ w
    four = (size,) * 4
    return same.reshape(four), apart.reshape(four), linear.reshape(size, size, size - 1)


def _gaussian_rule(covariance: np.ndarray, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights that average polynomials over N(0, `covariance`)."""
    d = len(covariance)
    line, weight = np.polynomial.hermite_e.hermegauss(nodes)
    points = np.array(list(itertools.product(line, repeat=d)))
    weights = np.array(list(itertools.product(weight, repeat=d))).prod(axis=1)
    return points @ _root(covariance).T, weights / weights.sum()


def _root(covariance: np.ndarray) -> np.ndarray:
    """R with RRᵀ = Σ, which may be singular."""
    eigenvalues, basis = np.linalg.eigh(covariance)
    return basis * np.sqrt(np.maximum(eigenvalues, 0))
