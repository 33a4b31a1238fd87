"""Exact loss of A = aI on inputs whose covariance is not I."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from iclab.papers.gatmiry2024._wishart_products import wishart_products


def shifted_loss_by_loops(
    steps: Sequence[float],
    eigenvalues: Sequence[Fraction],
    multiplicities: Sequence[int],
    samples: int,
    loops: int,
) -> np.ndarray:
    r"""Losses of A = aI after 1, 2, …, L loops on inputs N(0, Σ): a row for every a.

    $$\mathbb E\operatorname{tr}\Sigma(I-aS)^{2\ell}
      =\sum_{j=0}^{2\ell}\binom{2\ell}j(-a)^j\operatorname{tr}\Sigma\,\mathbb E[S^j],
      \qquad\ell=1,\dots,L$$

    with a from `steps`, Σ of these `eigenvalues`, n = `samples` and L = `loops`. The
    sum cancels a good deal, so all of it is in fractions.

    Source: gatmiry2024, Section 5.3; w ~ N(0, I) lets both residuals meet in one power.
    Assumes: w ~ N(0, I), Gaussian inputs, noiseless labels.
    Differs from the paper: the paper shows sampled losses.
    """
    unit = math.lcm(*(value.denominator for value in eigenvalues))
    whole = [int(unit * value) for value in eigenvalues]
    V = wishart_products(whole, multiplicities, samples)
    weights = [m * value for m, value in zip(multiplicities, whole, strict=True)]
    moments = []
    for j in range(2 * loops + 1):
        trace = sum(w * v for w, v in zip(weights, V(j, ()), strict=True))
        moments.append(Fraction(trace, unit ** (j + 1) * samples**j))
    losses = np.zeros((len(steps), loops))
    for row, step in enumerate(steps):
        terms = [(-Fraction(step)) ** j * moment for j, moment in enumerate(moments)]
        for l in range(1, loops + 1):
            total = sum(math.comb(2 * l, j) * terms[j] for j in range(2 * l + 1))
            losses[row, l - 1] = float(total)
    return losses
