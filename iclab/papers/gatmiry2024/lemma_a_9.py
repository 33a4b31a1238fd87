"""Lemma A.9: small loss implies close to optimal, in terms of ε and δ."""

import numpy as np

from iclab.evidence import Measured
from iclab.papers.gatmiry2024._closeness import Setting, bounds, farthest, settings
from iclab.theory import closeness_bound_lemma_a_9

relation = "<="

shares = {
    "closeness_bound_lemma_a_9": (
        "gives the loss that the lemma allows; the distance is searched for"
    ),
}


def cases(scale) -> dict[str, Setting]:
    """ε just large enough for a loss above zero, and larger."""
    return settings(scale, (0.64, 1.2))


def predict(case: Setting):
    """4ε + 16δd^{1/(2L)}, of which ε is reached where S = I."""
    return bounds(case, _bound(case)[1], 1 / 4)


def decoy(case: Setting):
    """ε/4."""
    return np.array([case.tolerance / 4, *predict(case)[1:]])


def measure(case: Setting) -> Measured:
    """The largest distance among symmetric A with loss ε^{2L} − δ^{2L}(ε+2)^{2L}."""
    return farthest(case, *_bound(case))


def _bound(case: Setting) -> tuple[float, float]:
    return closeness_bound_lemma_a_9(
        case.tolerance, case.dimension, case.samples, case.loops
    )
