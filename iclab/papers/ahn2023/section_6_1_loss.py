"""Section 6.1: with B free the loss of three layers gets small, but not 0."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.polynomial import Polynomial

from iclab.evidence import Measured, Printed, rounded
from iclab.papers.ahn2023._equivariance import forward
from iclab.papers.ahn2023._multiples import STARTS, trained
from iclab.papers.ahn2023._two_inputs import LAYERS, derivatives
from iclab.theory import optimal_gd_plus_plus, optimal_steps, wishart_moments_zonal

shares = {"_normalised": "units: moments divided by d nᵏ"}


@dataclass(frozen=True)
class Case:
    """Inputs and examples; `rational` arithmetic, or the model on every prompt."""

    dimension: int
    samples: int
    rational: bool


def cases(scale) -> dict[str, Case]:
    """The experiment's sizes, those of Section 5.3, and two inputs."""
    return {
        "d=5, n=10": Case(5, 10, True),
        "d=5, n=20": Case(5, 20, True),
        "d=2, n=10, forward passes": Case(2, 10, False),
    }


def predict(case: Case):
    """The least loss on S that a search over 1,024 starts finds."""
    return optimal_gd_plus_plus(case.dimension, case.samples, LAYERS)[2]


def as_printed(case: Case):
    """Training reaches 0."""
    return 0.0


printed = Printed(predict=as_printed, nearby=True)


def measure(case: Case) -> Measured:
    """The network's loss where descents from Gaussian starts end, on all prompts."""
    d, n = case.dimension, case.samples
    a, b, _, reached = trained(d, n)
    ended = f"; {reached} of {STARTS} descents ended here"
    if case.rational:
        square = _residual(a, b) ** 2
        moments = wishart_moments_zonal(d, n, 3**LAYERS - 1)
        terms = zip(square.coef[::2], moments, strict=True)
        loss = float(d * sum(q * m for q, m in terms))
        # Exact but for the last digits of a and b, and stationary in them.
        found = rounded(loss, 10, loss)
        return found._replace(reason=found.reason + ended)
    A, B = (one[:, None, None] * np.eye(d) for one in (a, b))
    by_rule = derivatives(A, B, np.eye(d), n)
    reason = "float64 round-off over all nodes of an exact rule" + ended
    return Measured(by_rule.loss, by_rule.loss_error, reason)


def decoy(case: Case):
    """The least loss with one example more, as if the query counted."""
    return optimal_gd_plus_plus(case.dimension, case.samples + 1, LAYERS)[2]


def _residual(a: np.ndarray, b: np.ndarray) -> Polynomial:
    """The query's label after the layers, for one example x = y and a query of 1.

    A polynomial in x, even, in rational arithmetic: on S every eigenvalue x² of the
    whitened sample covariance meets this network.
    """
    A, B = np.empty((2, LAYERS, 1, 1), object)
    A[:, 0, 0], B[:, 0, 0] = [*map(Fraction, a)], [*map(Fraction, b)]
    Z = np.empty((2, 2), object)
    Z[0, 0] = Z[1, 0] = Polynomial([Fraction(0), Fraction(1)])
    Z[0, 1] = Z[1, 1] = Polynomial([Fraction(1)])
    return forward(A, B, Z)[-1, -1]


def numbers(results):
    """Least losses found, and that with B = 0; predicting 0 has d = 5."""
    few, more = results["d=5, n=10"], results["d=5, n=20"]
    return {
        "loss": few.measured,
        "share": few.measured / 5,
        "plain": optimal_steps(5, 10, LAYERS)[1],
        "more": more.measured,
    }
