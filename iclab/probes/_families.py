r"""The table of families: every method that a model is compared with is one row.

A row has a name, free parameters with ranges, and a function that predicts many prompts
at once. Nothing else is special about ours: a family of your own is one more row.
Spectral rows predict $\hat y=\sum_ih(\lambda_i)\,b_i$ from the eigenvalues λ of S and
the parts b of least squares (`Spectra`).
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from iclab.core import checked, refuse, require
from iclab.probes._spectra import Sample, Spectra

_STEPS = (*range(2, 17), 20, 24, 32, 40, 50, 64, 100)
MATRIX = "gradient descent with a matrix"
# From these dimensions on a free matrix gets one step only, or none at all.
MANY, _MOST = 16, 30


@dataclass(frozen=True)
class Range:
    """Where a parameter lies: between two numbers, or one of `values`.

    `unit` is the power of the inputs' variance that it is measured in, −1 for a step
    size and 1 for a penalty on S, and `labels` that of the labels' deviation.
    """

    low: float = 0.0
    high: float = 0.0
    values: tuple[int, ...] = ()
    unit: float = 0.0
    log: bool = True
    labels: float = 0.0


@checked
@dataclass(frozen=True)
class Family:
    """A method with named free parameters, to fit to a model and compare with others.

    `predict(X, y, q, **parameters)` gets examples (B, n, d), labels (B, n), queries
    (B, d) and returns B numbers. A range is (low, high), searched on a log scale if
    both are positive, or a `range` or list of whole numbers.

    ```python
    def half_ridge(X, y, q, penalty):
        S = np.swapaxes(X, 1, 2) @ X + penalty * np.eye(X.shape[2])
        w = np.linalg.solve(S, np.swapaxes(X, 1, 2) @ y[:, :, None])[:, :, 0]
        return np.sum(w * q, axis=1) / 2

    mine = Family("half ridge", half_ridge, {"penalty": (1e-3, 1e3)})
    probe(Ridge(0.5), task, families=[mine])
    ```
    """

    name: str
    predict: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        for name, one in self.parameters.items():
            _read(name, one)

    @classmethod
    def of(cls, function: Any, name: str | None = None) -> "Family":
        """A function whose keyword-only arguments have their ranges as defaults."""
        if isinstance(function, Family):
            return function
        rule = "a `Family`, or a function f(X, y, q, *, parameter=(low, high))"
        require(callable(function), "families", rule, type(function).__name__)
        own = inspect.signature(function).parameters.values()
        ranges = {p.name: p.default for p in own if p.kind is p.KEYWORD_ONLY}
        return cls(name or getattr(function, "__name__", "mine"), function, ranges)

    def row(self) -> "Row":
        """The family as a row of the table."""
        ranges = {name: _read(name, one) for name, one in self.parameters.items()}

        def predict(s: Sample, **chosen: Any) -> Float[np.ndarray, " prompts"]:
            arrays = (np.array(a) for a in (s.examples, s.labels, s.query))
            try:
                found = np.asarray(self.predict(*arrays, **chosen), float)
            except Exception as error:
                words = " ".join(f"{type(error).__name__}: {error}".split())
                refuse(f"the family {self.name!r} raised {words}")
            P = s.labels.shape[0]
            rule = f"a family that returns shape ({P},), a number a prompt"
            shape = f"shape {found.shape} from {self.name!r}"
            require(found.shape == (P,), "families", rule, shape)
            return found

        return Row(self.name, "your own", predict, ranges)


def _read(name: str, given: Any) -> Range:
    if isinstance(given, (range, list)):
        whole = bool(given) and all(isinstance(one, int) for one in given)
        require(whole, name, "whole numbers, one at least", given)
        return Range(values=tuple(given))
    pair = isinstance(given, tuple) and len(given) == 2
    numbers = pair and all(isinstance(one, (int, float)) for one in given)
    right = numbers and given[0] < given[1]
    require(right, name, "(low, high), or a range of whole numbers", given)
    return Range(float(given[0]), float(given[1]), log=given[0] > 0)


@dataclass(frozen=True)
class Row:
    """A row of the table.

    `predict(sample, **parameters)` returns predictions, or with `linear` one column for
    each of these further parameters, which multiply the columns. `smooth` is False for
    parameters that are cut-offs.
    """

    name: str
    branch: str
    predict: Callable[..., Float[np.ndarray, "..."]]
    ranges: Mapping[str, Range] = field(default_factory=dict)
    linear: tuple[str, ...] = ()
    smooth: bool = True
    metric: str = "inputs"

    @property
    def size(self) -> int:
        """How many numbers are chosen."""
        return len(self.ranges) + len(self.linear)


# Spectral: h(λ). ---------------------------------------------------------------------


def _spectral(curve: Callable[..., Float[np.ndarray, "..."]]):
    """A prediction from a filter; several filters give a column each."""

    def predict(s: Sample, **chosen: Any):
        h = curve(s.spectra.eigenvalues, **chosen)
        return np.einsum("...pd,pd->p...", h, s.spectra.parts)

    predict.curve = curve  # type: ignore[attr-defined]
    return predict


def newton(spectra: Spectra, iterations: int) -> Float[np.ndarray, "prompts d"]:
    """Newton's iteration from S/tr(S)² leaves (1 − λ²/tr²) to the power 2ᵏ."""
    lam, trace = spectra.eigenvalues, spectra.trace[:, None]
    start = np.divide(lam, trace, out=np.zeros_like(lam), where=trace > 0) ** 2
    with np.errstate(divide="ignore"):
        return -np.expm1(2.0**iterations * np.log1p(-start))


def _ridge(lam, tau):
    return lam / (lam + tau)


def _relative_ridge(lam, share):
    tau = share * lam.sum(axis=1, keepdims=True)
    return np.divide(lam, lam + tau, out=np.zeros_like(lam), where=lam > 0)


def _flow(lam, time):
    return -np.expm1(-time * lam)


def _momentum(lam, steps, step, momentum):
    before, h = np.zeros_like(lam), step * lam
    for _ in range(steps - 1):
        before, h = h, h + step * lam * (1 - h) + momentum * (h - before)
    return h


def _nesterov(lam, steps, step):
    """FISTA's weights (t − 1)/(t + 2)."""
    before, h = np.zeros_like(lam), step * lam
    for t in range(2, steps + 1):
        ahead = h + (t - 1) / (t + 2) * (h - before)
        before, h = h, ahead + step * lam * (1 - ahead)
    return h


def _chebyshev(lam, steps, low, high):
    """1 − T_k(z(λ))/T_k(z(0)) with z from [low, low + high] onto [−1, 1]."""
    top = low + high

    def polynomial(z):
        before, now = np.ones_like(z), z
        for _ in range(steps - 1):
            before, now = now, 2 * z * now - before
        return now

    zero = np.array((top + low) / (top - low))
    return 1 - polynomial(zero - 2 * lam / (top - low)) / polynomial(zero)


def contracting(lam, eta, beta):
    """GD++: c ← c(1 − ηλs²), s ← s(1 − βλs²), h = 1 − c."""
    c, s = np.ones_like(lam), np.ones_like(lam)
    for step, contraction in zip(eta, beta, strict=True):
        power = lam * s**2
        c, s = c * (1 - step * power), s * (1 - contraction * power)
    return 1 - c


def _components(s: Sample, components: int):
    keep = np.arange(s.query.shape[1])[::-1] < components
    return s.spectra.predictions(np.broadcast_to(keep, s.spectra.parts.shape) * 1.0)


_STEP, _TAU = Range(0.01, 1.9, unit=-1), Range(1e-5, 1e2, unit=1)
_TIME = Range(0.01, 1e3, unit=-1)
_ONE = lambda lam: (lam > 0) * 1.0  # noqa: E731


def _power(degree: int):
    return lambda lam: np.stack([lam**j for j in range(1, degree + 1)])


def _two(first, second):
    return _spectral(lambda lam, **p: np.stack([first(lam, **p), second(lam)]))


def _spectral_rows() -> list[Row]:
    def row(name, curve, ranges=None, linear=(), smooth=True):
        predict = curve if curve is _components else _spectral(curve)
        return Row(name, "spectral", predict, ranges or {}, linear, smooth)

    line, steps = (lambda lam: lam), Range(values=_STEPS)
    rows = [
        row("zero", lambda lam: 0 * lam),
        row("least squares", _ONE),
        row("averaging", _power(1), {}, ("step",)),
        row(
            "gradient descent",
            lambda lam, steps, step: 1 - (1 - step * lam) ** steps,
            {"steps": steps, "step": _STEP},
        ),
        row("ridge", _ridge, {"tau": _TAU}),
        row("ridge relative to tr S", _relative_ridge, {"share": Range(1e-6, 10)}),
        row("gradient flow", _flow, {"time": _TIME}),
        Row(
            "Newton",
            "spectral",
            lambda s, iterations: s.spectra.predictions(newton(s.spectra, iterations)),
            {"iterations": Range(values=tuple(range(1, 21)))},
        ),
        row(
            "principal components",
            lambda lam, cutoff: (lam > cutoff) * 1.0,
            {"cutoff": Range(0.01, 3, unit=1)},
            smooth=False,
        ),
        row(
            "leading components",
            _components,
            {"components": Range(values=tuple(range(1, 9)))},
        ),
        row(
            "Nesterov",
            _nesterov,
            {"steps": Range(values=_STEPS[1:20]), "step": _STEP},
        ),
        row(
            "momentum",
            _momentum,
            {
                "steps": Range(values=_STEPS[1:15]),
                "step": _STEP,
                "momentum": Range(0.05, 0.95, log=False),
            },
        ),
        row(
            "Chebyshev",
            _chebyshev,
            {
                "steps": Range(values=(3, 4, 5, 6, 8, 10)),
                "low": Range(1e-3, 1.0, unit=1),
                "high": Range(0.3, 5.0, unit=1),
            },
        ),
        row(
            "GD++",
            lambda lam, steps, step, contraction: contracting(
                lam, [step] * steps, [contraction] * steps
            ),
            {
                "steps": Range(values=(2, 3, 4, 5)),
                "step": Range(0.1, 1.9, unit=-1),
                "contraction": Range(0.02, 1.0, unit=-1),
            },
        ),
        *(
            row(
                "gradient descent, free steps",
                _power(k),
                {},
                tuple(f"λ^{j}" for j in range(1, k + 1)),
            )
            for k in (2, 3, 4, 5, 6)
        ),
    ]
    rows += [
        Row(
            "GD++, free steps",
            "spectral",
            _spectral(
                lambda lam, k=k, **p: contracting(
                    lam,
                    [p[f"step {t}"] for t in range(1, k + 1)],
                    [*(p[f"contraction {t}"] for t in range(1, k)), 0.0],
                )
            ),
            {
                **{
                    f"step {t}": Range(0.1, 1.6, unit=-1, log=False)
                    for t in range(1, k + 1)
                },
                **{
                    f"contraction {t}": Range(-0.3, 1.0, unit=-1, log=False)
                    for t in range(1, k)
                },
            },
        )
        for k in (2, 3)
    ]
    mixed = (
        ("ridge and averaging", _two(_ridge, line), {"tau": _TAU}),
        ("ridge and least squares", _two(_ridge, _ONE), {"tau": _TAU}),
        ("gradient flow and averaging", _two(_flow, line), {"time": _TIME}),
        ("gradient flow and least squares", _two(_flow, _ONE), {"time": _TIME}),
        ("averaging and least squares", _two(line, _ONE), {}),
    )
    for name, predict, ranges in mixed:
        shares = ("first share", "second share")
        rows.append(Row(f"mixture of {name}", "spectral", predict, ranges, shares))
    scaled = lambda curve: _spectral(lambda lam, **p: curve(lam, **p)[None])  # noqa: E731
    for name, curve, ranges in (
        ("scaled least squares", _ONE, {}),
        ("scaled ridge", _ridge, {"tau": _TAU}),
        ("scaled gradient flow", _flow, {"time": _TIME}),
    ):
        rows.append(Row(name, "spectral", scaled(curve), ranges, ("share",)))
    return rows


# With a matrix: linear in the labels, not blind to rotations. ------------------------


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


def _matrix_rows(d: int) -> list[Row]:
    """w ← w + ηQ(c − Sw), Q symmetric; entries of Q are parameters, and η₁ = 1."""
    half = d * (d + 1) // 2
    names = [f"Q{i + 1}{j + 1}" for i, j in zip(*np.triu_indices(d), strict=True)]

    def one(s: Sample):
        return by_upper_half(s.query[:, :, None] * s.moments.correlation[:, None, :])

    def several(s: Sample, **p: float):
        values = np.array(list(p.values()))
        Q, eta = symmetric(values[:half], d), np.append(1.0, values[half:])
        w = np.zeros_like(s.query)
        for step in eta:
            left = s.moments.correlation - np.einsum("pij,pj->pi", s.moments.gram, w)
            w = w + step * left @ Q
        return np.sum(s.query * w, axis=1)

    rows = [Row(MATRIX, "matrix", one, {}, tuple(names))]
    for k in (2, 3) if d < MANY else ():
        entry = Range(-2.0, 3.0, unit=-1, log=False)
        ranges = dict.fromkeys(names, entry)
        ranges |= {f"step {t}": Range(0.05, 5.0) for t in range(2, k + 1)}
        rows.append(Row(MATRIX, "matrix", several, ranges))
    return rows


# Linear in the labels, and the order matters. ----------------------------------------


def _swept(s: Sample, gain, sweeps: int):
    """w ← w + gain(i) xᵢ (yᵢ − ⟨w, xᵢ⟩) along the prompt."""
    w = np.zeros_like(s.query)
    for _ in range(sweeps):
        for i in range(s.labels.shape[1]):
            x = s.examples[:, i]
            left = s.labels[:, i] - np.sum(w * x, axis=1)
            w = w + (gain(i) * left)[:, None] * x
    return np.sum(s.query * w, axis=1)


def _lms(s: Sample, sweeps, step):
    return _swept(s, lambda i: step, sweeps)


def _normalised_lms(s: Sample, sweeps, step):
    return _swept(s, lambda i: step / np.maximum(s.squares[:, i], 1e-30), sweeps)


def _damped_lms(s: Sample, step, damping):
    return _swept(s, lambda i: step / (damping + s.squares[:, i]), 1)


def _weighted(s: Sample, weights, tau: float):
    """Least squares with weights of the examples, ridge nτ, or minimum norm at 0."""
    _n, d = s.examples.shape[1:]
    X = s.examples * weights[..., None]
    gram = np.matmul(np.swapaxes(X, 1, 2), s.examples)
    right = np.einsum("pni,pn->pi", X, s.labels)
    if tau > 0:
        w = np.linalg.solve(gram + tau * np.eye(d), right[:, :, None])[:, :, 0]
        return np.sum(w * s.query, axis=1)
    values, U = np.linalg.eigh(gram)
    kept = values > 1e-12 * values[:, -1:]
    inverse = np.where(kept, 1 / np.where(kept, values, 1), 0)
    inner = np.einsum("pij,pi->pj", U, right) * inverse
    return np.sum(np.einsum("pij,pj->pi", U, inner) * s.query, axis=1)


def _ages(s: Sample):
    return np.arange(s.labels.shape[1])[::-1]


def _forgetting(s: Sample, forgetting, tau):
    weights = np.broadcast_to(forgetting ** _ages(s), s.labels.shape)
    return _weighted(s, weights, tau)


def _window(s: Sample, window):
    short = Sample(s.examples[:, -window:], s.labels[:, -window:], s.query)
    return short.spectra.least_squares()


def _fading(s: Sample, forgetting):
    weights = forgetting ** _ages(s) / s.labels.shape[1]
    return np.sum(s.products * s.labels * weights, axis=1)[:, None]


def _order_rows(n: int) -> list[Row]:
    sweeps = Range(values=(1, 2, 3, 5, 10))
    row = lambda name, *rest: Row(name, "order", *rest)  # noqa: E731
    windows = {"window": Range(values=tuple(range(2, min(n, 64))))} if n > 2 else None
    return [
        row("last label", lambda s: s.labels[:, -1:], {}, ("share",)),
        row("last example", lambda s: _window(s, 1)),
        row("LMS", _lms, {"sweeps": sweeps, "step": Range(0.003, 1.0, unit=-1)}),
        row(
            "normalised LMS",
            _normalised_lms,
            {"sweeps": sweeps, "step": Range(0.02, 1.98, log=False)},
        ),
        row(
            "damped normalised LMS",
            _damped_lms,
            {"step": Range(0.05, 1.98), "damping": Range(0.01, 30, unit=1)},
        ),
        row(
            "recursive least squares with forgetting",
            _forgetting,
            {
                "forgetting": Range(0.3, 0.999, log=False),
                "tau": Range(1e-8, 10.0, unit=1),
            },
        ),
        *([row("sliding window", _window, windows)] if windows else []),
        row(
            "averaging with forgetting",
            _fading,
            {"forgetting": Range(0.2, 0.999, log=False)},
            ("step",),
        ),
    ]


# Not linear in the labels. -----------------------------------------------------------


def _conjugate(s: Sample, steps):
    S, r = s.moments.gram, s.moments.correlation
    w, p, size = np.zeros_like(r), r, np.sum(r * r, axis=1)
    first = size
    for _ in range(steps):
        Sp = np.einsum("pij,pj->pi", S, p)
        bend = np.sum(p * Sp, axis=1)
        # Where nothing is left steps would be noise over noise.
        going = (size > 1e-24 * first) & (bend > 0)
        a = np.where(going, size / np.where(going, bend, 1), 0)
        w, r = w + a[:, None] * p, r - a[:, None] * Sp
        after = np.sum(r * r, axis=1)
        p = r + np.where(going, after / np.where(going, size, 1), 0)[:, None] * p
        size = after
    return np.sum(w * s.query, axis=1)


def _empirical_bayes(s: Sample):
    """Ridge whose penalty σ²/ω² has the largest likelihood, prompt by prompt."""
    X, y = s.examples, s.labels
    n = X.shape[1]
    values, U = np.linalg.eigh(n * s.moments.gram)
    values = np.maximum(values, 0)
    b = np.einsum("pij,pi->pj", U, n * s.moments.correlation) ** 2
    total = np.sum(y**2, axis=1)[:, None]

    def loss(log):
        r = np.exp(log)[:, :, None]
        # yᵀ(I + XXᵀ/r)⁻¹y and log det, the scale maximised out.
        square = total - np.sum(b[:, None] / (values[:, None] + r), axis=2)
        det = np.sum(np.log1p(values[:, None] / r), axis=2)
        least = np.maximum(1e-12 * total, np.finfo(float).tiny)  # labels may be 0
        return n * np.log(np.maximum(square, least)) + det

    grid = np.broadcast_to(np.linspace(-16, 9, 101), (len(y), 101))
    width, best = 0.25, grid[:, :1]
    for _ in range(8):
        best = np.take_along_axis(grid, np.argmin(loss(grid), 1)[:, None], 1)
        grid = best + width * np.linspace(-1, 1, 11)[None]
        width /= 5
    tau = np.exp(best) / n
    lam = s.spectra.eigenvalues
    return s.spectra.predictions(_ridge(lam, tau))


def _lasso(s: Sample, penalty):
    """½ wᵀSw − cᵀw + penalty |w|₁ by coordinate descent."""
    S, c = s.moments.gram, s.moments.correlation
    w, todo, d = np.zeros_like(c), np.arange(len(c)), c.shape[1]
    for _ in range(40):
        part, right, own = S[todo], c[todo], w[todo]
        diagonal = np.maximum(np.einsum("pii->pi", part), 1e-30)
        for _ in range(20):
            for j in range(d):
                left = right[:, j] - np.sum(part[:, j] * own, axis=1)
                left += diagonal[:, j] * own[:, j]
                size = np.maximum(np.abs(left) - penalty, 0) / diagonal[:, j]
                own[:, j] = np.sign(left) * size
        # Sweeps are slow where S is nearly singular: solved, if the signs are right.
        on, sign = own != 0, np.sign(own)
        system = np.where(on[:, :, None] & on[:, None, :], part, 0.0)
        system += np.einsum("pi,ij->pij", ~on + 1e-13, np.eye(d))
        aim = np.where(on, right - penalty * sign, 0.0)
        exact = np.linalg.solve(system, aim[:, :, None])[:, :, 0]
        slope = np.abs(right - np.einsum("pij,pj->pi", part, exact))
        done = np.all(np.where(on, exact * sign > 0, slope <= penalty + 1e-9), axis=1)
        w[todo] = np.where(done[:, None], exact, own)
        todo = todo[~done]
        if len(todo) == 0:
            break
    return np.sum(w * s.query, axis=1)


def _sparse_bayes(s: Sample, noise):
    """A variance of its own for every weight, by 30 steps of EM, noise σ² = n·noise."""
    S, c = s.moments.gram, s.moments.correlation
    d = c.shape[1]
    alpha, w = np.ones_like(c), np.zeros_like(c)
    for _ in range(30):
        system = S + noise * np.einsum("pi,ij->pij", alpha, np.eye(d))
        inverse = np.linalg.inv(system)
        w = np.einsum("pij,pj->pi", inverse, c)
        spread = noise * np.einsum("pii->pi", inverse)
        alpha = 1 / np.maximum(w**2 + spread, 1e-8)
    return np.sum(w * s.query, axis=1)


def _huber(s: Sample, threshold):
    """Residuals above the threshold count linearly; reweighted least squares."""
    weights = np.ones_like(s.labels)
    d, w = s.query.shape[1], np.zeros_like(s.query)
    for _ in range(80):
        X = s.examples * weights[:, :, None]
        gram = np.matmul(np.swapaxes(X, 1, 2), s.examples)
        gram += 1e-9 * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(d)
        right = np.einsum("pni,pn->pi", X, s.labels)
        before, w = w, np.linalg.solve(gram, right[:, :, None])[:, :, 0]
        left = np.abs(s.labels - np.einsum("pni,pi->pn", s.examples, w))
        weights = threshold / np.maximum(left, threshold)
        if np.max(np.abs(w - before)) < 1e-9 * np.max(np.abs(w), initial=1e-300):
            break
    return np.sum(w * s.query, axis=1)


def _pursuit(s: Sample, atoms):
    """Orthogonal matching pursuit."""
    S, c = s.moments.gram, s.moments.correlation
    d, scale = c.shape[1], np.sqrt(np.maximum(np.einsum("pii->pi", S), 1e-30))
    chosen, w = np.zeros(c.shape, bool), np.zeros_like(c)
    for _ in range(min(atoms, d)):
        left = np.abs(c - np.einsum("pij,pj->pi", S, w)) / scale
        chosen[np.arange(len(c)), np.argmax(np.where(chosen, -1, left), 1)] = True
        both = chosen[:, :, None] & chosen[:, None, :]
        system = np.where(both, S, 0) + np.einsum("pi,ij->pij", ~chosen, np.eye(d))
        system += 1e-12 * np.eye(d) * scale.max(axis=1)[:, None, None] ** 2
        w = np.linalg.solve(system, np.where(chosen, c, 0)[:, :, None])[:, :, 0]
    return np.sum(w * s.query, axis=1)


def _nonlinear_rows(n: int, d: int) -> list[Row]:
    row = lambda name, *rest: Row(name, "nonlinear", *rest)  # noqa: E731
    counts = Range(values=tuple(range(1, min(d, 12))) or (1,))
    return [
        row("conjugate gradients", _conjugate, {"steps": counts}),
        row("empirical Bayes", _empirical_bayes),
        row("Lasso", _lasso, {"penalty": Range(1e-3, 1.0, unit=0.5, labels=1)}),
        row("sparse Bayes", _sparse_bayes, {"noise": Range(1e-4, 1.0)}),
        row("Huber", _huber, {"threshold": Range(0.01, 3.0, labels=1)}),
        row("matching pursuit", _pursuit, {"atoms": counts}),
    ]


# Local: near examples count, far ones do not. ----------------------------------------


def _kernel_mean(s: Sample, logs):
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.sum(weights * s.labels, axis=1) / np.sum(weights, axis=1)


def _kernel_ridge(s: Sample, width, penalty):
    scale = -0.5 / width**2
    K = np.exp(scale * s.pairs) + penalty * np.eye(s.labels.shape[1])
    w = np.linalg.solve(K, s.labels[:, :, None])[:, :, 0]
    return np.sum(np.exp(scale * s.distances) * w, axis=1)


def _neighbours(s: Sample, neighbours):
    k = min(neighbours, s.labels.shape[1])
    near = np.argsort(s.distances, axis=1, kind="stable")[:, :k]
    return np.mean(np.take_along_axis(s.labels, near, axis=1), axis=1)


def _local_rows(n: int) -> list[Row]:
    row = lambda name, *rest: Row(name, "local", *rest)  # noqa: E731
    width = Range(0.1, 10, unit=0.5)
    count = Range(values=tuple(range(1, min(n, 20) + 1)))
    return [
        row("mean label", lambda s: s.labels.mean(1)[:, None], {}, ("share",)),
        row("nearest neighbours", _neighbours, {"neighbours": count}),
        row(
            "softmax attention",
            lambda s, sharpness: _kernel_mean(s, sharpness * s.products)[:, None],
            {"sharpness": Range(0.02, 20, unit=-1)},
            ("share",),
        ),
        row(
            "Gaussian kernel",
            lambda s, width: _kernel_mean(s, -0.5 / width**2 * s.distances)[:, None],
            {"width": width},
            ("share",),
        ),
        row("kernel ridge", _kernel_ridge, {"width": width, "penalty": Range(1e-6, 3)}),
    ]


def rows_for(n: int, d: int, branch: str | None = None) -> list[Row]:
    """The table for prompts of n examples in d dimensions; one branch, or all."""
    found = [*_spectral_rows(), *(_matrix_rows(d) if 1 < d <= _MOST else [])]
    if n > 1:
        found += [*_order_rows(n), *_nonlinear_rows(n, d), *_local_rows(n)]
    return [one for one in found if branch in (None, one.branch)]
