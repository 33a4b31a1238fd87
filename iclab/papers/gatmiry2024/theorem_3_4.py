"""Theorem 3.4 (A.11): the gradient of the loss dominates a power of the loss.

The corrected constant leaves a factor of four: the sharp one is 4L²d^{−(L−1)/L}, which
A = 0 reaches for every number of samples.
"""

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.gatmiry2024._dominance import TOO_LARGE, Even, Scattered, smallest
from iclab.theory import dominance_constant, dominance_threshold

# Where the printed constant fails at A = 0, and the dimension just below, by L.
_BREAKS = {2: 65537, 3: 13825, 4: 10322, 5: 10120}
# Enough for the hypothesis with a threshold of 16Ld16ᴸ/√n.
_SAMPLES = 10**18
# With so many samples S is the identity up to 10⁻⁸, whichever is drawn.
_DRAWS = 4

relation = ">="

shares = {
    "dominance_constant": "is quoted in the reason, and is no part of the number",
}


def cases(scale) -> dict[str, Even | Scattered]:
    """Random A of two sizes of problem, and multiples of I in a high dimension."""
    Sigma = np.array([[1.5, 0.3, 0.0], [0.3, 0.8, -0.1], [0.0, -0.1, 0.3]])
    n = _SAMPLES
    found: dict[str, Even | Scattered] = {
        "L=2, d=3, n=1e18, covariance I": Scattered(np.eye(3), n, 2),
        "L=2, d=3, n=1e18, A aligned with Σ⋆": Scattered(Sigma, n, 2, aligned=True),
        "L=2, d=3, n=1e18, A not aligned": Scattered(Sigma, n, 2),
    }
    if scale != "smoke":
        found["L=1, d=3, n=1e10, covariance I"] = Scattered(np.eye(3), 10**10, 1)
        found["L=2, d=3, n=5, covariance I"] = Scattered(np.eye(3), 5, 2)
        found["L=3, d=2, n=1e18, covariance I"] = Scattered(np.eye(2), n, 3)
        for L in (4, 5):
            drawn = Scattered(np.eye(5), n, L, draws=_DRAWS)
            found[f"L={L}, d=5, n=1e18, drawn S"] = drawn
    for L, d in _high(scale).items():
        found[f"L={L}, d={d}, A a multiple of I"] = Even(d, n, L, (0.0, 0.2, -2.0, 4.0))
    return found


def at_zero(scale) -> dict[str, Even]:
    """A = 0 where the printed constant last holds and where it first fails."""
    found = {}
    for L, d in _high(scale).items():
        found[f"L={L}, d={d - 1}, A=0"] = Even(d - 1, _SAMPLES, L)
        found[f"L={L}, d={d}, A=0"] = Even(d, _SAMPLES, L)
    return found


def predict(case: Even | Scattered):
    """L²d^{−(L−1)/L}."""
    return dominance_constant(case.dimension, case.loops)


def as_printed(case: Even | Scattered):
    """1/16."""
    return dominance_constant(case.dimension, case.loops, corrected=False)


printed = Printed(predict=as_printed, cases=at_zero)


def measure(case: Even | Scattered) -> Measured:
    """The smallest ‖∇L‖²/L^{(2L−1)/L} among losses above the threshold."""
    d, L = case.dimension, case.loops
    found = case.slopes()
    ratio, error = found.ratio((2 * L - 1) / L)
    tested = found.loss >= dominance_threshold(d, case.samples, L)
    return smallest(ratio, error, tested, dominance_constant(d, L))


def decoy(case: Even | Scattered):
    """More than the sharp constant, where all eigenvalues agree."""
    return TOO_LARGE * predict(case) if isinstance(case, Even) else None


def _high(scale) -> dict[int, int]:
    return {2: _BREAKS[2]} if scale == "smoke" else _BREAKS


def numbers(results):
    """The smallest ratios found, in units of κ: all of them, and with few examples."""
    ratios = {name: one.measured / one.predicted for name, one in results.items()}
    few = [ratios[name] for name in ratios if "n=5" in name]
    return {"least": min(ratios.values())} | ({"few": few[0]} if few else {})
