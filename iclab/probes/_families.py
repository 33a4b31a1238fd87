r"""Families of algorithms as filters, each with its derivative by the parameters.

A member of a family predicts $\hat y=\sum_ih(\lambda_i)\,b_i$ from the eigenvalues λ of
S and the parts b of least squares (`Spectra`). What is here is $h$ and $\partial h$.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from iclab.probes._spectra import Moments, Spectra

# Numbers of steps that are tried.
CONSTANT_STEPS = (*range(2, 17), 20, 24, 32, 40, 50, 64, 100)
FREE_STEPS = (2, 3, 4, 5, 6)
CONSTANT_CONTRACTIONS = (2, 3, 4, 5)
FREE_CONTRACTIONS = (2, 3)
NEWTON_ITERATIONS = tuple(range(1, 21))
PRECONDITIONED_STEPS = (1, 2, 3)
# From this dimension on a free matrix gets one step only: its entries are many.
_MANY = 16
MATRIX = "preconditioned gradient descent"

Parameters = Float[np.ndarray, " m"]
Answer = tuple[Float[np.ndarray, " prompts"], Float[np.ndarray, "prompts m"]]


@dataclass(frozen=True)
class Candidate:
    """A family with its discrete choice made: predictions as a function of parameters.

    `size` counts what was chosen to fit: parameters, and the number of steps.
    `predict(θ)` gives predictions and their derivatives by θ.
    """

    family: str
    steps: int | None
    size: int
    predict: Callable[[Parameters], Answer]
    starts: Float[np.ndarray, "starts m"]
    metric: str = "inputs"
    free: bool = False


def candidates(
    moments: Moments, metric: str, *, matrices: bool = True
) -> list[Candidate]:
    """All families in one metric; those without parameters only in the inputs' own."""
    spectra = moments.spectra()
    d = spectra.eigenvalues.shape[1]
    top = float(np.median(spectra.eigenvalues[:, -1])) or 1.0

    def of(family, steps, size, starts, free=False):
        curve = curve_of(family, steps, free, spectra)
        assert curve is not None

        def predict(theta):
            h, dh = curve(theta)
            return spectra.predictions(h), np.einsum("pdm,pd->pm", dh, spectra.parts)

        return Candidate(family, steps, size, predict, starts, metric, free)

    nothing = np.zeros((1, 0))
    taus = np.log((top * np.geomspace(1e-6, 1e2, 33))[:, None])
    times = np.log(np.geomspace(0.01, 1e3, 33)[:, None] / top)
    sizes = np.geomspace(0.01, 1.9, 31)[:, None] / top
    known = ("zero", "least squares") if metric == "inputs" else ()
    found = [
        *(of(family, None, 0, nothing) for family in known),
        of("averaging", 1, 1, np.ones((1, 1))),
        of("ridge", None, 1, taus),
        of("gradient flow", None, 1, times),
        *(of("Newton", k, 1, nothing) for k in NEWTON_ITERATIONS),
        *(of("gradient descent", k, 2, sizes) for k in CONSTANT_STEPS),
        *(of("gradient descent", k, k + 1, np.zeros((1, k)), True) for k in FREE_STEPS),
        *(of("GD++", k, 3, _pairs(top)) for k in CONSTANT_CONTRACTIONS),
        *(of("GD++", k, 2 * k, _spread(k, top), True) for k in FREE_CONTRACTIONS),
    ]
    if matrices:
        for k in PRECONDITIONED_STEPS[: 1 if d >= _MANY else None]:
            size = d * (d + 1) // 2 + k
            predict, start = _preconditioned(moments, k, top)
            found.append(Candidate(MATRIX, k, size, predict, start, metric, True))
    return found


def fixed(
    family: str, values: Float[np.ndarray, " prompts"], metric: str = "inputs"
) -> Candidate:
    """A rule without parameters, by its predictions."""
    answer = (values, np.zeros((len(values), 0)))
    return Candidate(family, None, 0, lambda theta: answer, np.zeros((1, 0)), metric)


def curve_of(family: str, steps: int | None, free: bool, spectra: Spectra):
    """θ ↦ h(λ) and ∂h of a family; None for one that is no filter."""
    lam, k = spectra.eigenvalues, steps or 1
    match family:
        case "zero":
            return _constant(np.zeros_like(lam))
        case "least squares":
            return _constant((lam > 0).astype(float))
        case "averaging":
            return _polynomial(lam, 1)
        case "ridge":
            return _ridge(lam)
        case "gradient flow":
            return _flow(lam)
        case "Newton":
            return _constant(newton(spectra, k))
        case "gradient descent":
            return _polynomial(lam, k) if free else _steps(lam, k)
        case "GD++":
            curve = _contracting(lam, k)
            return curve if free else _tied(curve, k)
    return None


def _constant(h):
    return lambda theta: (h, np.zeros((*h.shape, 0)))


def _polynomial(lam, degree: int):
    """h = Σ θ_j λʲ: k steps of any sizes are every such polynomial."""
    powers = lam[:, :, None] ** np.arange(1, degree + 1)
    return lambda theta: (powers @ theta, powers)


def _ridge(lam):
    """h = λ/(λ + τ), θ = log τ."""

    def curve(theta):
        tau = np.exp(min(theta[0], 300.0))
        h = lam / (lam + tau)
        return h, (-h * tau / (lam + tau))[:, :, None]

    return curve


def _flow(lam):
    """h = 1 − exp(−tλ), many small steps of gradient descent; θ = log t."""

    def curve(theta):
        time = np.exp(min(theta[0], 300.0))
        decay = np.exp(-time * lam)
        return 1 - decay, (time * lam * decay)[:, :, None]

    return curve


def newton(spectra: Spectra, iterations: int) -> Float[np.ndarray, "prompts d"]:
    """Newton's iteration from S/tr(S)² leaves (1 − λ²/tr²) to the power 2ᵏ."""
    lam, trace = spectra.eigenvalues, spectra.trace[:, None]
    start = np.divide(lam, trace, out=np.zeros_like(lam), where=trace > 0) ** 2
    with np.errstate(divide="ignore"):
        return -np.expm1(2.0**iterations * np.log1p(-start))


def _steps(lam, k: int):
    """h = 1 − (1 − ηλ)ᵏ."""

    def curve(theta):
        left = 1 - theta[0] * lam
        return 1 - left**k, (k * lam * left ** (k - 1))[:, :, None]

    return curve


def _contracting(lam, k: int):
    """GD++: c ← c(1 − ηλs²), s ← s(1 − βλs²), h = 1 − c; θ = η₁…η_k, β₁…β_{k−1}."""

    def curve(theta):
        eta, beta = theta[:k], np.append(theta[k:], 0.0)
        shape = (*lam.shape, 2 * k)
        c, s = np.ones_like(lam), np.ones_like(lam)
        dc, ds = np.zeros(shape), np.zeros(shape)
        wide = lam[:, :, None]
        for t in range(k):
            power, dpower = lam * s**2, 2 * wide * s[:, :, None] * ds
            dc_new = dc * (1 - eta[t] * power)[:, :, None]
            dc_new -= (c * eta[t])[:, :, None] * dpower
            dc_new[:, :, t] -= c * power
            ds_new = ds * (1 - beta[t] * power)[:, :, None]
            ds_new -= (s * beta[t])[:, :, None] * dpower
            ds_new[:, :, k + t] -= s * power
            c, s = c * (1 - eta[t] * power), s * (1 - beta[t] * power)
            dc, ds = dc_new, ds_new
        return 1 - c, -dc[:, :, : 2 * k - 1]

    return curve


def _tied(curve, k: int):
    """The same with one step size and one contraction: θ = η, β."""
    spread = np.zeros((2 * k - 1, 2))
    spread[:k, 0] = spread[k:, 1] = 1.0

    def tied(theta):
        h, dh = curve(spread @ theta)
        return h, dh @ spread

    return tied


def _pairs(top: float) -> Float[np.ndarray, "starts 2"]:
    eta, beta = np.meshgrid([0.15, 0.3, 0.6, 0.9, 1.3], [0.0, 0.2, 0.6])
    return np.column_stack([eta.ravel(), beta.ravel()]) / top


def _spread(k: int, top: float) -> Float[np.ndarray, "starts m"]:
    """Starts of GD++ with free sizes, the same in every run."""
    rng = np.random.default_rng(k)
    eta = rng.uniform(0.1, 2.0, (24, k))
    beta = rng.uniform(-0.2, 1.2, (24, k - 1))
    tied = _pairs(top)[:, [0] * k + [1] * (k - 1)]
    return np.concatenate([np.column_stack([eta, beta]) / top, tied])


def _preconditioned(moments: Moments, k: int, top: float):
    """w ← w + η_t Q(c − Sw) with Q symmetric, θ = Q's upper half, η₂…η_k (η₁ = 1)."""
    S, c, x = moments.gram, moments.correlation, moments.query
    d = x.shape[1]
    entries = d * (d + 1) // 2

    def predict(theta):
        Q, eta = symmetric(theta[:entries], d), np.append(1.0, theta[entries:])
        w, residuals = np.zeros_like(c), []
        for t in range(k):
            r = c - np.einsum("pij,pj->pi", S, w)
            residuals.append(r)
            w = w + eta[t] * r @ Q
        # Backwards: z is the derivative of the prediction by w.
        z, by_Q, by_eta = x, np.zeros_like(S), np.zeros((len(x), k))
        for t in reversed(range(k)):
            r = residuals[t]
            by_eta[:, t] = np.sum((z @ Q) * r, axis=1)
            by_Q += eta[t] * z[:, :, None] * r[:, None, :]
            z = z - eta[t] * np.einsum("pij,pj->pi", S, z @ Q)
        by = np.column_stack([by_upper_half(by_Q), by_eta[:, 1:]])
        return np.sum(x * w, axis=1), by

    start = np.append(np.eye(d)[np.triu_indices(d)] / top, np.ones(k - 1))
    return predict, start[None]


def symmetric(
    entries: Float[np.ndarray, "*draws half"], d: int
) -> Float[np.ndarray, "*draws d d"]:
    """The symmetric matrix with these entries in its upper half."""
    rows, columns = np.triu_indices(d)
    whole = np.zeros((*entries.shape[:-1], d, d))
    whole[..., rows, columns] = whole[..., columns, rows] = entries
    return whole


def by_upper_half(
    by: Float[np.ndarray, "prompts d d"],
) -> Float[np.ndarray, "prompts half"]:
    """Derivatives by a symmetric matrix's upper half, from those by all entries."""
    rows, columns = np.triu_indices(by.shape[1])
    both = by[:, rows, columns] + by[:, columns, rows]
    return both * np.where(rows == columns, 0.5, 1.0)
