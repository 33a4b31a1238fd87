"""The loss from which on Theorem 3.4 holds: main text and appendix differ by 4ᴸ."""

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.gatmiry2024._dominance import Scattered
from iclab.theory import dominance_constant, dominance_threshold, looped_delta

shares = {
    "dominance_threshold": (
        "says which losses lie between the thresholds; the other one is made of δ"
    ),
}


def cases(scale) -> dict[str, Scattered]:
    """Sizes of problem whose losses can be differentiated for any A."""
    found = {"L=2, d=3, n=1e18": Scattered(np.eye(3), 10**18, 2)}
    if scale != "smoke":
        found["L=1, d=3, n=1e10"] = Scattered(np.eye(3), 10**10, 1)
        found["L=3, d=2, n=1e18"] = Scattered(np.eye(2), 10**18, 3)
    return found


def predict(case: Scattered):
    """16Ld16ᴸ/√n; no violation between the smaller threshold and this one."""
    return np.array([dominance_threshold(*_sizes(case)), 0])


def main_text(case: Scattered):
    """16Ld4ᴸ/√n."""
    return np.array([dominance_threshold(*_sizes(case), form="main"), 0])


printed = Printed(predict=main_text, nearby=True)


def decoy(case: Scattered):
    """2(2δ)^{2L}·2ᴸ: the geometric mean of the two."""
    return np.array([dominance_threshold(*_sizes(case)) / 2.0**case.loops, 0])


def measure(case: Scattered) -> Measured:
    """2(4δ)^{2L} with the δ of Section 3.5, and how often dominance fails below it.

    Losses between the thresholds, to which the proof says nothing, are the ones
    counted.
    """
    d, n, L = _sizes(case)
    threshold = 2 * (4 * looped_delta(d, n, L)) ** (2 * L)
    found = case.slopes()
    between = found.loss >= dominance_threshold(d, n, L, form="main")
    between &= found.loss < threshold
    ratio, error = found.ratio((2 * L - 1) / L)
    short = ratio + error < dominance_constant(d, L)
    assert np.any(between), "no loss between the thresholds"
    reason = (
        f"float64 round-off of a power; a count over {int(np.sum(between))} matrices"
        f" with smallest ratio {np.min(ratio[between]):.4g}"
    )
    round_off = 8 * L * np.finfo(float).eps * threshold
    value = np.array([threshold, np.sum(between & short)])
    return Measured(value, np.array([round_off, 0.0]), reason)


def _sizes(case: Scattered) -> tuple[int, int, int]:
    return case.dimension, case.samples, case.loops
