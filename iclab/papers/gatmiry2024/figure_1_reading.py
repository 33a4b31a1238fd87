"""Figure 1: A converges to multiples of I even for n < d; to I itself it does not."""

from iclab.evidence import Measured, Printed
from iclab.papers.gatmiry2024._averaged_prompts import (
    Multiples,
    Setting,
    best,
    statement,
)
from iclab.theory import looped_optimum, marchenko_pastur_looped_optimum

_DRAWS = {"smoke": 5_000, "desk": 20_000, "paper": 200_000}
# A generous reading of 'very close to I'.
_CLOSE = 0.9

shares = {
    "_normalised": "divides exact moments by powers of n",
}


def cases(scale) -> dict[str, Setting]:
    """d = 5 as in the figure, fewer examples than inputs, and more."""
    pairs = [(3, 1)]
    if scale != "smoke":
        pairs += [(3, 2), (20, 2), (100, 1)]
    found = {f"d=5, n={n}, L={L}": Setting(5, n, L) for n, L in pairs}
    return found | multiples(scale)


def multiples(scale) -> dict[str, Setting]:
    """A = aI, for which any number of loops is exact."""
    pairs = [(2, 10), (3, 2), (20, 2), (20, 10)]
    return {f"d=5, n={n}, L={L}, A=aI": Multiples(5, n, L) for n, L in pairs}


def predict(case: Setting):
    """a⋆, and nothing besides a multiple of I."""
    return statement(case)


def decoy(case: Setting):
    """The limit of many inputs and examples; where all is exact, one example more."""
    if isinstance(case, Multiples):
        more = looped_optimum(case.dimension, case.samples + 1, case.loops)
        return statement(case, more[0])
    ratio = case.dimension / case.samples
    return statement(case, marchenko_pastur_looped_optimum(ratio, case.loops)[0])


def measure(case: Setting, key, scale) -> Measured:
    """Scale and shape of the best A on drawn prompts; the best multiple exactly."""
    return best(case, key, _DRAWS[scale])


def as_printed(case: Setting):
    """A scale of at least 0.9."""
    return _CLOSE


printed = Printed(predict=as_printed, cases=multiples, relation=">=", nearby=True)


def numbers(results, printed):
    """Multiples of I that are best among symmetric A."""
    at = "d=5, n={}, L={}, A=aI"
    return {
        "few_one": results["d=5, n=3, L=1"].predicted[0],
        "few_two": printed[at.format(3, 2)].measured[0],
        "many_ten": printed[at.format(20, 10)].measured[0],
    }
