"""Exact Gaussian expectations of polynomials, by a tensor Gauss–Hermite rule."""

import itertools

import numpy as np


def gaussian_grid(variables: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (P, `variables`) and weights (P,) of the standard Gaussian.

    Exact for polynomials of degree up to 2·`nodes` − 1 in each variable.
    """
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights = weights / weights.sum()
    index = np.array(list(itertools.product(range(nodes), repeat=variables)))
    return points[index], np.prod(weights[index], axis=1)


class Prompts:
    """All prompts of a Gauss–Hermite rule: d inputs, `examples` of them, query, weight.

    `X` (P, n, d), `query` (P, d), `weight` (P, d), `noise` (P, n) if asked for.
    """

    def __init__(
        self,
        covariance: np.ndarray,
        examples: int,
        *,
        query_covariance: np.ndarray | None = None,
        weight_covariance: np.ndarray | None = None,
        weight: np.ndarray | None = None,
        nodes: int = 4,
        noise: bool = False,
    ):
        d = len(covariance)
        free = d if weight is None else 0
        size = examples * d + d + free + (examples if noise else 0)
        points, self.mass = gaussian_grid(size, nodes)
        X, query, w, rest = np.split(
            points, [examples * d, examples * d + d, examples * d + d + free], axis=1
        )
        root = np.linalg.cholesky(covariance)
        query_root = root if query_covariance is None else _root(query_covariance)
        weight_root = (
            np.eye(d) if weight_covariance is None else _root(weight_covariance)
        )
        self.X = X.reshape(-1, examples, d) @ root.T
        self.query = query @ query_root.T
        self.weight = (
            w @ weight_root.T
            if weight is None
            else np.broadcast_to(weight, self.query.shape)
        )
        self.noise = rest if noise else np.zeros((1, examples))
        self.labels = np.einsum("pnd,pd->pn", self.X, self.weight)
        self.target = np.sum(self.query * self.weight, axis=1)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Expectation of values given prompt by prompt."""
        return np.einsum("p,p...->...", self.mass, values)


def _root(covariance: np.ndarray) -> np.ndarray:
    return np.linalg.cholesky(covariance)
