"""Expectations over Gaussian vectors by a product rule, exact for polynomials."""

import itertools

import numpy as np
from numpy.typing import ArrayLike


def gaussian_rule(covariance: ArrayLike, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights that average over N(0, `covariance`).

    `nodes` per dimension: exact for polynomials of degree 2·`nodes` − 1 in every
    whitened coordinate.
    """
    Lambda = np.asarray(covariance)
    line, weight = np.polynomial.hermite_e.hermegauss(nodes)
    weight = weight / weight.sum()
    grid = np.array(list(itertools.product(line, repeat=len(Lambda))))
    weights = np.array(list(itertools.product(weight, repeat=len(Lambda)))).prod(axis=1)
    return grid @ np.linalg.cholesky(Lambda).T, weights
