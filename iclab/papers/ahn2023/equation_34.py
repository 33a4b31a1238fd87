"""(34): all matrices moved at once, the direction within S does what any does."""

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.ahn2023.equation_31 import Slopes, slopes


def cases(scale) -> dict[str, Slopes]:
    """A point of S, and random directions of all A_j and B_j together."""
    seeds = range({"smoke": 1, "desk": 2, "paper": 4}[scale])
    return {f"d=2, n=10, directions {seed + 1}": slopes(seed) for seed in seeds}


def predict(case: Slopes):
    """The slope of f on S along r_jΣ⁻¹ and s_jI, all j together."""
    return float(np.sum(case.predicted()))


def as_printed(case: Slopes):
    """R̃_j = r_jI, as right after (34)."""
    along = np.einsum("jii->j", case.derivatives().A) * case.r
    return float(np.sum(along) + np.sum(case.predicted()[len(along) :]))


printed = Printed(predict=as_printed, nearby=True)


def measure(case: Slopes) -> Measured:
    """⟨∇f, (R, S)⟩ with the gradient of the exact loss in all entries of A and B."""
    value, error, reason = case.measured()
    return Measured(np.sum(value), error * np.size(value), reason)


def decoy(case: Slopes):
    """s_j = Tr(Σ^{−½}S_jΣ^{−½})/d, with Σ^{−½} on both sides."""
    half = len(case.R)
    found = case.predicted()
    wrong = np.einsum("jab,ba->j", case.S, np.linalg.inv(case.covariance)) / 2
    return float(np.sum(found[:half]) + np.sum(found[half:] / case.s * wrong))
