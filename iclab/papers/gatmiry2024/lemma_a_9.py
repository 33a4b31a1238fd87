"""Lemma A.9: small loss implies close to optimal, in terms of ε and δ."""

import numpy as np

from iclab.evidence import Measured
from iclab.papers.gatmiry2024._closeness import Setting, bounds, farthest, settings
from iclab.theory import closeness_bound_lemma_a_9, looped_optimum_bounds

relation = "<="


def cases(scale) -> dict[str, Setting]:
    """ε just large enough for a loss above zero, and larger."""
    return settings(scale, (0.64, 1.2))


def predict(case: Setting):
    """4ε + 16δd^{1/(2L)}, of which ε is reached where S = I.

    Twice Theorem 3.2's distance of A_opt from Σ⋆⁻¹ is in it, whatever ε.
    """
    allowed = _bound(case)[1]
    twice = allowed - 4 * case.tolerance
    return np.array([*bounds(case, allowed, 1 / 4), twice, -twice])


def decoy(case: Setting):
    """ε/4."""
    return np.array([case.tolerance / 4, *predict(case)[1:]])


def measure(case: Setting) -> Measured:
    """The largest distance among symmetric A with loss ε^{2L} − δ^{2L}(ε+2)^{2L}.

    And twice the distance of Theorem 3.2.
    """
    found = farthest(case, *_bound(case))
    sizes = case.dimension, case.samples, case.loops
    twice = 2 * looped_optimum_bounds(*sizes).distance
    value = np.array([*found.value, twice, -twice])
    return found._replace(value=value, error=found.error + 1e-12)


def _bound(case: Setting) -> tuple[float, float]:
    return closeness_bound_lemma_a_9(
        case.tolerance, case.dimension, case.samples, case.loops
    )
