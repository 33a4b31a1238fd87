"""Theorem 4.4: a symmetric matrix whose loss is small is close to the optimum."""

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.gatmiry2024._closeness import Setting, bounds, farthest, settings
from iclab.theory import closeness_bound

# A = I − 78e₁e₂ᵀ: (I − A)² = 0, so that two loops remove all but the noise in S.
_OFF_DIAGONAL = 78.0

relation = "<="

shares = {
    "closeness_bound": (
        "gives the loss that the theorem allows; the distance is searched for"
    ),
}


def cases(scale) -> dict[str, Setting]:
    """ε just above 4δ, and above it."""
    return settings(scale, (0.9514, 1.2))


def predict(case: Setting):
    """(4 + 16d^{1/(2L)})ε, of which ε/2^{1/(2L)} is reached where S = I."""
    root = 1 / (2 * case.loops)
    part = 2**-root / (4 + 16 * case.dimension**root)
    return bounds(case, _bound(case)[1], part)


def decoy(case: Setting):
    """ε/2."""
    return np.array([case.tolerance / 2, *predict(case)[1:]])


def measure(case: Setting) -> Measured:
    """The largest distance found among symmetric A with loss ε^{2L}/2."""
    return farthest(case, *_bound(case))


def not_symmetric(scale) -> dict[str, Setting]:
    """The theorem says nothing of symmetry."""
    name = f"L=2, d=2, n=1e8, A = I − {_OFF_DIAGONAL:g}e₁e₂ᵀ"
    return {name: Setting(np.eye(2), 10**8, 2, 0.9514)}


def measure_not_symmetric(case: Setting) -> Measured:
    """The distance of the symmetric part, which is what ≼ compares."""
    A = np.array([[1.0, -_OFF_DIAGONAL], [0.0, 1.0]])
    (loss,) = case.losses(A[None])
    allowed, _ = _bound(case)
    assert loss <= allowed, "the hypothesis has to hold"
    distance = case.distance((A + A.T) / 2)
    reason = f"float64 round-off; its loss is {loss:.4g}, below {allowed:.4g}"
    return Measured(distance, 100 * np.finfo(float).eps * distance, reason)


printed = Printed(
    predict=predict, cases=not_symmetric, measure=measure_not_symmetric, nearby=True
)


def _bound(case: Setting) -> tuple[float, float]:
    return closeness_bound(case.tolerance, case.dimension, case.samples, case.loops)


def numbers(results, printed):
    """The largest share of the allowed distance; the matrix that is not symmetric."""
    (slip,) = printed.values()
    return {
        "share": max(one.measured[0] / one.predicted[0] for one in results.values()),
        "far": slip.measured,
        "allowed": slip.predicted[0],
    }
