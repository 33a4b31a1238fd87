"""(15): the γ from which on (48) holds, the step of the proof that needs it."""

import numpy as np

from iclab.evidence import Measured
from iclab.papers.yang2024._descents import (
    QUICK,
    SECOND,
    SLOW,
    SMALL,
    H,
    K,
    N,
    Start,
    attention_of,
    constants_of,
    label_root_of,
    m,
    rates_of,
)
from iclab.theory import smallest_gamma


def cases(scale) -> dict[str, Start]:
    """Starts with ζ₀, ‖Z̄‖ and Δ⁽⁰⁾ of several sizes."""
    found = (QUICK, SMALL) if scale == "smoke" else (QUICK, SECOND, SMALL, *SLOW)
    return {str(start): start for start in found}


def predict(case: Start):
    """The right side of (15)."""
    zeta = rates_of(case, "simple").zeta
    return float(smallest_gamma(constants_of(case), zeta, H))


def decoy(case: Start):
    """‖b‖ ≤ ‖Z̄‖‖s‖ in (46) without the factor 2 of Lemma 2."""
    return predict(case) / np.sqrt(2)


def measure(case: Start) -> Measured:
    """Where (48) turns from false to true, with σ and α of (44)."""
    root = label_root_of(case)
    attention = attention_of(case, case.arrays[2])
    B = root @ np.transpose(attention, (2, 1, 0))
    zeta = np.linalg.svd(B, compute_uv=False).min() ** 2
    gap = _initial_gap(case)
    norm, column = np.linalg.norm(root, 2), np.linalg.norm(root, axis=0).max()

    def holds(gamma: float) -> bool:
        sigma = zeta * gamma**2 / K
        alpha = np.sqrt(2 * K) * 4 * norm / (gamma * zeta) * np.sqrt(gap)
        # (47): how far Q can get; (46): what that does to B_k.
        moved = 8 * np.sqrt(2) * gamma * alpha * column / sigma * np.sqrt(gap)
        change = 2 * norm * np.sqrt(H) * moved
        return bool(change <= (1 - 1 / np.sqrt(2)) * np.sqrt(zeta))

    low, high = 1.0, 1e15
    assert holds(high)
    assert not holds(low)
    for _ in range(60):
        middle = np.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    # ζ₀ is a squared singular value, and enters with the power 5/4.
    relative = 1e-13 + 1e-14 * norm / np.sqrt(zeta)
    reason = "60 bisections of log γ, and round-off of the singular values"
    return Measured(high, relative * high, reason)


def _initial_gap(case: Start) -> float:
    """Δ⁽⁰⁾: what the best linear prediction explains of the labels, over 2K."""
    _, features, _ = case.arrays
    covariance = features @ features.T + m * case.tau * np.eye(K)
    factor = np.linalg.cholesky(covariance[:N, :N])
    explained = np.linalg.solve(factor, covariance[:N])
    return float(np.sum(explained**2) / (2 * K))
