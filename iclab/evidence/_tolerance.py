"""Error bars that are computed, each with the sentence that explains it."""

import numpy as np

from iclab._reader import Natural, Numbers, Seconds, Whole, checked, require, short
from iclab.evidence._claim import Measured

# Half-width of a Monte Carlo interval in standard errors. A claim has dozens of numbers
# and a run has dozens of claims: at five, a true statement is rejected once in about a
# million numbers.
STANDARD_ERRORS = 5.0


@checked
def rounded(value: Numbers, operations: Seconds, magnitude: Numbers = 1.0) -> Measured:
    """A value known up to float64 round-off.

    `operations` is how many additions and products lie behind an entry, and `magnitude`
    how large the numbers in them are.
    """
    some = np.size(magnitude) > 0
    require(some, "magnitude", "a number at least", short(magnitude))
    size = float(np.max(np.abs(np.asarray(magnitude))))
    error = operations * np.finfo(np.float64).eps * size
    reason = (
        f"float64 round-off of {operations:.3g} operations on numbers near {size:.3g}"
    )
    return Measured(value, error, reason)


@checked
def averaged(
    mean: Numbers, standard_error: Numbers, draws: Natural, of: str
) -> Measured:
    """A Monte Carlo mean over `draws` independent draws of `of`."""
    error = STANDARD_ERRORS * np.asarray(standard_error)
    reason = f"{STANDARD_ERRORS:g} standard errors over {draws:,} {of}"
    return Measured(mean, error, reason)


@checked
def solved(
    value: Numbers, tolerance: Seconds, steps: Whole, magnitude: Seconds = 1.0
) -> Measured:
    """A value along a numerical solution whose local errors add up at most linearly."""
    error = tolerance * steps * magnitude
    reason = f"local error {tolerance:.1g} a step, {steps} steps, size {magnitude:.3g}"
    return Measured(value, error, reason)


@checked
def slope(x: Numbers, y: Numbers) -> tuple[float, float]:
    """Slope of y against x by least squares, and its standard error."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    several = x.ndim == 1 and len(np.unique(x[np.isfinite(x)])) > 1
    finite = bool(np.all(np.isfinite(x)))
    require(several and finite, "x", "a list of different numbers", short(x))
    same = y.shape == x.shape and bool(np.all(np.isfinite(y)))
    require(same, "y", f"a list of {len(x)} finite numbers like `x`", short(y))
    design = np.stack([x, np.ones_like(x)], axis=1)
    coefficients, *_ = np.linalg.lstsq(design, y, rcond=None)
    residual = y - design @ coefficients
    variance = residual @ residual / max(len(x) - 2, 1)
    spread = np.sum((x - x.mean()) ** 2)
    return float(coefficients[0]), float(np.sqrt(variance / spread))
