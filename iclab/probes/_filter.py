"""The spectral filter of a model: one curve that names an algorithm."""

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from iclab import show
from iclab.core import (
    AbstractPredictor,
    Natural,
    Prompt,
    checked,
    read,
    require,
)
from iclab.probes._bootstrap import Interval, bootstrap_weights, bounds, ratio
from iclab.probes._predictions import predictions
from iclab.probes._spectra import Moments, Spectra

# Knots of the default basis, and the quantiles of the spectrum that they reach to.
KNOTS = 10
# Places of a spline, or powers of λ: a fit holds the square of this for every prompt.
_MOST = 64
_ENDS = (0.001, 1.0)
# Degrees of polynomials that are tried, and the share of E ŷ² that one may leave.
_DEGREES, _EXACT = range(1, 7), 1e-9
# How close to 1 a λg is a solution, and where it is looked for.
_SOLVED, _PLACES = 0.1, 200
# Knots closer than this in log λ are one.
_GAP = 1e-3


@checked(finite=False)
@dataclass(frozen=True)
class Filter:
    """The curve λ ↦ λg(λ) at some eigenvalues, with its band.

    `r2` is the share of E ŷ² that the filter explains; the rest no method explains that
    is linear in the labels and blind to rotations. Where a polynomial leaves nothing,
    `coefficients[j]` multiplies λ^{j+1} in it; otherwise they are None. From the
    eigenvalue `solved` on λg stays within 10 % of 1, None where it does nowhere.
    """

    eigenvalues: Float[np.ndarray, " knots"]
    value: Float[np.ndarray, " knots"]
    lower: Float[np.ndarray, " knots"]
    upper: Float[np.ndarray, " knots"]
    r2: Interval
    coefficients: Float[np.ndarray, " degree"] | None = None
    solved: Interval | None = None

    def _repr_html_(self) -> str:
        named = {"λg(λ)": (self.value, self.lower, self.upper)}
        labels = ("eigenvalue λ", "λg(λ)")
        share = show.with_interval(self.r2.value, self.r2.lower, self.r2.upper)
        picture = show.curves(self.eigenvalues, named, labels=labels)
        return f"<p>filter with R² = {share}</p>{picture}"


@checked(finite=False)
def spectral_filter(
    predictor: AbstractPredictor,
    prompts: Prompt,
    *,
    context: int | None = None,
    knots: Natural = KNOTS,
    polynomial: Natural | None = None,
    key: PRNGKeyArray | None = None,
) -> Filter:
    r"""Fit $\hat y=\sum_ig(\lambda_i)\langle u_i,x_q\rangle\langle u_i,c\rangle$ to
    the predictions on `prompts` (a batch), with (λᵢ, uᵢ) of S = (1/n)Σxxᵀ and
    c = (1/n)Σyx of their first `context` examples.

    h = λg is θ₁λ + … + θ_kλᵏ with k ≤ 6 where such a polynomial leaves nothing, as for
    k steps of gradient descent; otherwise a natural cubic spline in log λ with its
    values at `knots` places, constant beyond them. `polynomial` = k asks for degree k.

    The band is a bootstrap over prompts: at every eigenvalue it holds the best spline's
    value in 90 of 100 repetitions. The spline is not the filter itself: what lies
    between them is small beside the band as soon as a model has a percent that no
    filter explains, and is all that there is for an exact method (ridge: 10⁻³).

    ```python
    found = spectral_filter(Ridge(1.0), prompts)
    found.eigenvalues, found.value, found.r2.value
    ```
    """
    rule = f"at most {_MOST}, more than prompts can tell apart"
    for name, value in (("knots", knots), ("polynomial", polynomial)):
        require(value is None or value <= _MOST, name, rule, value)
    n = context_of(prompts, context)
    answers = predictions(predictor, prompts, [n])[:, 0]
    if key is None:
        key = jax.random.key(0)
    weights = bootstrap_weights(key, len(answers))
    spectra = Moments.of(prompts, n).spectra()
    return fit_filter(spectra, answers, weights, knots=knots, polynomial=polynomial)


def fit_filter(
    spectra: Spectra,
    answers: Float[np.ndarray, " prompts"],
    weights: Float[np.ndarray, "draws prompts"],
    *,
    knots: int = KNOTS,
    polynomial: int | None = None,
) -> Filter:
    """The filter that comes closest to given predictions."""
    places = spectrum_knots(spectra, knots)
    if polynomial is None:
        polynomial = _exact_degree(spectra, answers)
    if polynomial is None:
        basis, at = spline(places), np.eye(len(places))
        between = basis(fine := _between(spectra))
        inside = spectra.eigenvalues > 0
        logs = np.log(np.where(inside, spectra.eigenvalues, 1.0))
        features = np.einsum("pdk,pd->pk", basis(logs), spectra.parts)
    else:
        at = _powers(np.exp(places), polynomial)
        between = _powers(np.exp(fine := _between(spectra)), polynomial)
        features = _power_features(spectra, polynomial)
    theta = _least_squares(features, answers)
    residual = answers - features @ theta
    # What a draw changes is solved for, not the coefficients: exact fits stay exact.
    K = len(theta)
    outer = (features[:, :, None] * features[:, None, :]).reshape(-1, K * K)
    grams = (weights @ outer).reshape(-1, K, K)
    slopes = weights @ (features * residual[:, None])
    moves = (np.linalg.pinv(grams, hermitian=True) @ slopes[:, :, None])[:, :, 0]
    lower, upper = bounds((theta + moves) @ at.T)
    solved = _solved(np.exp(fine), between @ theta, (theta + moves) @ between.T)
    left = weights @ residual**2 - np.sum(moves * slopes, axis=1)
    power = weights @ answers**2
    ends = bounds(1 - left / np.where(power > 0, power, 1))
    share = ratio(residual**2, answers**2, weights).value
    r2 = Interval(1 - share, float(ends[0]), float(ends[1]))
    coefficients = None if polynomial is None else theta
    return Filter(np.exp(places), at @ theta, lower, upper, r2, coefficients, solved)


def _between(spectra: Spectra) -> Float[np.ndarray, " places"]:
    """Places in log λ, close together, where there are eigenvalues."""
    logs = np.log(spectra.present)
    low, high = np.quantile(logs, [0.01, 0.99]) if len(logs) else (0.0, 0.0)
    return np.linspace(low, high, _PLACES)


def _solved(
    places: Float[np.ndarray, " places"],
    value: Float[np.ndarray, " places"],
    draws: Float[np.ndarray, "draws places"],
) -> Interval | None:
    """From where on λg stays within 10 % of 1, if the draws agree that it does."""

    def first(h):
        """The place after the last that is further away; NaN if that is the end."""
        outside = np.abs(h - 1) > _SOLVED
        last = h.shape[1] - 1 - np.argmax(outside[:, ::-1], axis=1)
        last = np.where(outside.any(axis=1), last, -1)
        found = places[np.minimum(last + 1, h.shape[1] - 1)]
        return np.where(last < 0.9 * h.shape[1], found, np.nan)

    own, all_ = first(value[None])[0], first(draws)
    if np.isnan(own) or np.mean(np.isnan(all_)) > 0.05:
        return None
    lower, upper = np.nanquantile(all_, [0.05, 0.95])
    return Interval(float(own), float(lower), float(upper))


def _exact_degree(
    spectra: Spectra, answers: Float[np.ndarray, " prompts"]
) -> int | None:
    """The smallest degree of a polynomial filter that leaves nothing."""
    for degree in _DEGREES:
        features = _power_features(spectra, degree)
        left = answers - features @ _least_squares(features, answers)
        if np.sum(left**2) <= _EXACT * np.sum(answers**2):
            return degree
    return None


def _powers(
    eigenvalues: Float[np.ndarray, "*shape"], degree: int
) -> Float[np.ndarray, "*shape degree"]:
    return eigenvalues[..., None] ** np.arange(1, degree + 1)


def _power_features(
    spectra: Spectra, degree: int
) -> Float[np.ndarray, "prompts degree"]:
    powers = _powers(spectra.eigenvalues, degree)
    return np.einsum("pdk,pd->pk", powers, spectra.parts)


def _least_squares(
    features: Float[np.ndarray, "prompts k"], answers: Float[np.ndarray, " prompts"]
) -> Float[np.ndarray, " k"]:
    """Coefficients, with columns of any size."""
    scale = np.linalg.norm(features, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    return np.linalg.lstsq(features / scale, answers, rcond=None)[0] / scale


def spectrum_knots(spectra: Spectra, knots: int) -> Float[np.ndarray, " knots"]:
    """Places in log λ, half way between quantiles of the spectrum and equal steps."""
    logs = np.log(spectra.present)
    low, high = np.quantile(logs, _ENDS) if len(logs) else (0.0, 0.0)
    if knots == 1 or high - low < knots * _GAP:
        return np.array([(low + high) / 2])
    quantiles = np.quantile(logs, np.linspace(*_ENDS, knots))
    return (quantiles + np.linspace(low, high, knots)) / 2


def spline(places: Float[np.ndarray, " K"]):
    """t ↦ the natural cubic splines that are 1 at one place and 0 at the others.

    They are constant outside the places.
    """
    if len(places) == 1:
        return lambda t: np.ones((*np.shape(t), 1))
    K, gaps = len(places), np.diff(places)
    # Second derivatives M of the splines: continuity of the first, none at the ends.
    system, right = np.eye(K), np.zeros((K, K))
    for j in range(1, K - 1):
        system[j, j - 1 : j + 2] = gaps[j - 1], 2 * (gaps[j - 1] + gaps[j]), gaps[j]
        right[j, j - 1] = 6 / gaps[j - 1]
        right[j, j + 1] = 6 / gaps[j]
        right[j, j] = -right[j, j - 1] - right[j, j + 1]
    M, identity = np.linalg.solve(system, right), np.eye(K)

    def basis(t: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape K"]:
        t = np.clip(t, places[0], places[-1])
        j = np.clip(np.searchsorted(places, t) - 1, 0, K - 2)
        b = ((t - places[j]) / gaps[j])[..., None]
        a = 1 - b
        bend = (a**3 - a) * M[j] + (b**3 - b) * M[j + 1]
        return (
            a * identity[j] + b * identity[j + 1] + bend * gaps[j][..., None] ** 2 / 6
        )

    return basis


def context_of(prompts: Prompt, context: int | None) -> int:
    """The number of examples to use, no more than there are."""
    batch = np.ndim(prompts.examples) == 3
    found = f"examples of shape {np.shape(prompts.examples)}"
    require(batch, "prompts", "a batch, with a leading axis", found)
    most = np.shape(prompts.examples)[1]
    n = most if context is None else read(context, Natural, "context")
    require(n <= most, "context", f"at most {most}, the prompts' own", n)
    return n
