"""Prompts that training never sees, at the edge of what Theorem 4.5 allows."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.papers.gatmiry2024._rotations import best_turned
from iclab.theory import looped_optimum, out_of_distribution_bound

# Of test prompts: only their sample covariance matters.
LENGTH = 6


@dataclass(frozen=True, eq=False)
class Prompts:
    """A model trained on n samples of N(0, Σ⋆), prompts, and the ζ that they meet.

    Inputs (·, m, d), queries (·, d) and weights (·, d), labels without noise. The model
    has the best symmetric A or, for two loops and inputs, the best of all (`turned`).
    """

    covariance: np.ndarray
    samples: int
    loops: int
    margin: float
    inputs: np.ndarray
    query: np.ndarray
    weights: np.ndarray
    turned: bool = False

    @property
    def A(self) -> np.ndarray:
        """Its weights: a⋆Σ⋆⁻¹, or with εJ beside a⋆I, J the rotation by 90°."""
        d = len(self.covariance)
        if not self.turned:
            a, _ = looped_optimum(d, self.samples, self.loops)
            return a * np.linalg.inv(self.covariance)
        a, epsilon, _ = best_turned(self.samples)
        whitener = np.linalg.inv(root(self.covariance))
        spin = epsilon * np.array([[0.0, 1.0], [-1.0, 0.0]])
        return whitener @ (a * np.eye(d) + spin) @ whitener

    def bound(self, *, corrected: bool) -> float:
        """The least bound of any prompt, or a refusal if one is beyond the edge."""
        X = self.inputs
        S = X.swapaxes(1, 2) @ X / LENGTH
        found = [
            out_of_distribution_bound(
                jnp.asarray(query),
                jnp.asarray(weights),
                covariance=jnp.asarray(self.covariance),
                sample_covariance=jnp.asarray(one + one.T) / 2,
                margin=self.margin,
                samples=self.samples,
                loops=self.loops,
                corrected=corrected,
            )
            for query, weights, one in zip(self.query, self.weights, S, strict=True)
        ]
        return min(found)


def random_prompts(Sigma: np.ndarray, n: int, L: int, margin: float, count: int):
    """Random S at the edge; half of the prompts ask in the direction that is worst."""
    random = np.random.default_rng([L, count])
    S = at_the_edge(Sigma, margin, count, random)
    half = root(Sigma)
    whitener = np.linalg.inv(half)
    x, w = random.standard_normal((2, count, len(Sigma)))
    # Where S = ζΣ⋆ the model learns least.
    slow = np.linalg.eigh(whitener @ S @ whitener)[1][..., 0]
    x[::2], w[::2] = slow[::2], slow[::2]
    # Norms of 1, so that all prompts have one bound and the largest error counts.
    x, w = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (x, w))
    X = _with_covariance(S, random)
    return Prompts(Sigma, n, L, margin, X, x @ half, w @ whitener)


def across(low: float = 0.2) -> Prompts:
    """x_q along an input that hardly varies, w along another that does."""
    Sigma = np.diag([1.0, 1e-3])
    turn = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2)
    half = root(Sigma)
    S = half @ (turn * np.array([low, 1.8])) @ turn.T @ half
    X = _with_covariance(S[None], np.random.default_rng(45))
    x, w = np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]])
    return Prompts(Sigma, 10**16, 1, 0.2, X, x, w)


def at_the_edge(
    covariance: np.ndarray, margin: float, count: int, random: np.random.Generator
) -> np.ndarray:
    """Random S with ζΣ⋆ ≼ S ≼ (2−ζ)Σ⋆, both attained, in random directions."""
    d = len(covariance)
    relative = random.uniform(margin, 2 - margin, (count, d))
    relative[:, 0], relative[:, -1] = margin, 2 - margin
    axes = np.linalg.qr(random.standard_normal((count, d, d)))[0]
    whitened = (axes * relative[:, None, :]) @ axes.swapaxes(1, 2)
    half = root(covariance)
    return half @ whitened @ half


def root(covariance: np.ndarray) -> np.ndarray:
    """Σ^½, of one matrix or of many."""
    eigenvalues, axes = np.linalg.eigh(covariance)
    return (axes * np.sqrt(eigenvalues)[..., None, :]) @ axes.swapaxes(-1, -2)


def _with_covariance(S: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Inputs whose sample covariances are exactly S."""
    count, d, _ = S.shape
    frames = np.linalg.qr(random.standard_normal((count, LENGTH, d)))[0]
    return np.sqrt(LENGTH) * frames @ root(S)
