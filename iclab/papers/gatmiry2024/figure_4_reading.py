"""Figure 4: with one loop A does not converge to I; with more it does not either."""

from iclab.evidence import Measured
from iclab.papers.gatmiry2024._averaged_prompts import (
    Multiples,
    Setting,
    best,
    statement,
)
from iclab.theory import convergence_time, looped_optimum

_DRAWS = {"smoke": 4_000, "desk": 10_000, "paper": 100_000}

shares = {
    "_normalised": "divides exact moments by powers of n",
}


def cases(scale) -> dict[str, Setting]:
    """The d = 10 of Section 5, with 20 examples a prompt."""
    loops = (1,) if scale == "smoke" else (1, 2)
    found = {f"d=10, n=20, L={L}": Setting(10, 20, L) for L in loops}
    for L in (2, 3, 5, 10):
        found[f"d=10, n=20, L={L}, A=aI"] = Multiples(10, 20, L)
    return found


def predict(case: Setting):
    """A = a⋆I, where a⋆ = n/(n+d+1) = 20/31 for one loop."""
    return statement(case)


def decoy(case: Setting):
    """The optimum of one example more."""
    more = looped_optimum(case.dimension, case.samples + 1, case.loops)
    return statement(case, more[0])


def measure(case: Setting, key, scale) -> Measured:
    """Scale and shape of the best A on drawn prompts; the best multiple exactly."""
    return best(case, key, _DRAWS[scale])


def numbers(results):
    """Multiples of I that are best among symmetric A; corrected times to ξ = 0.1."""
    at = "d=10, n=20, L={}, A=aI"
    return {
        "time_two": convergence_time(0.1, 2, dimension=10),
        "time_ten": convergence_time(0.1, 10, dimension=10),
        "two": results[at.format(2)].measured[0],
        "ten": results[at.format(10)].measured[0],
    }
