"""The mean spectrum of the whitened S of one input and of two, by other means."""

import numpy as np
from scipy.special import roots_genlaguerre, roots_jacobi

# Nodes in each variable: exact up to degree 59 in λ.
_NODES = 30


def spectrum(dimension: int, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of S and their chances, for polynomials as good as the law itself.

    With one input nS ~ χ²_n. With two n tr S ~ χ²_{2n}, and y = 4 det S/(tr S)², which
    is independent of it, has the density of Beta((n − 1)/2, 1).
    """
    d, n = dimension, samples
    x, by_trace = roots_genlaguerre(_NODES, d * n / 2 - 1)
    traces, by_trace = 2 * x / n, by_trace / by_trace.sum()
    if d == 1:
        return traces, by_trace
    z, by_shape = roots_jacobi(_NODES, 0, (n - 1) / 2 - 1)
    gap, by_shape = np.sqrt((1 - z) / 2), by_shape / by_shape.sum()
    halves = [np.outer(traces, 1 + gap) / 2, np.outer(traces, 1 - gap) / 2]
    chances = np.outer(by_trace, by_shape).ravel() / 2
    return np.concatenate([one.ravel() for one in halves]), np.tile(chances, 2)
