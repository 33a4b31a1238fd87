"""The best k-step methods on random least squares, as numbers rather than runs."""

import functools
from typing import Annotated, Any  # Any: mpmath makes its classes at run time

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
from jaxtyping import Array, Float

from iclab.core import (
    Natural,
    NonNegative,
    Positive,
    PositiveFloat,
    Size,
    between,
    checked,
    require,
)
from iclab.theory._linear_transformer_loss import scalar_filter
from iclab.theory._wishart_quadrature import (
    gauss_rule,
    spectrum_rule,
    wishart_quadrature,
)

_Steps = Annotated[int, between(1, 64)]

# Beyond, descents to the best real steps on noisy labels end above the best of fewer.
_NOISY_STEPS = 32

# Descents towards the best real steps where the best residual has complex zeros.
_STARTS, _EVALUATIONS = 6, 300

# Restarts and Levenberg–Marquardt iterations of the search in `optimal_gd_plus_plus`.
_RESTARTS = 1024
_ITERATIONS = 200
# Below this, residuals at the nodes are mostly float64 round-off, and restarts end
# anywhere: with d = 5, n = 10⁹ and three layers they differ by a factor of 100.
_SMALLEST_LOSS = 1e-30


@checked
def optimal_steps(
    dimension: Size,
    samples: Natural,
    layers: _Steps,
    *,
    noise_variance: NonNegative = 0.0,
    signal_variance: Positive = 1.0,
) -> tuple[Float[Array, " k"], float]:
    r"""Step sizes of the best k-step preconditioned gradient descent, and its loss.

    $$\min_{\eta\in\mathbb R^k}d\int\Big[v\,p(\lambda)^2+\frac{\sigma^2}n\,
      \frac{(1-p(\lambda))^2}\lambda\Big]d\mu(\lambda),\qquad
      p(\lambda)=\prod_{i=1}^k(1-\eta_i\lambda)$$

    with d = `dimension`, k = `layers` and μ the mean spectrum of the whitened sample
    covariance of n = `samples` inputs. A linear transformer with A_i = −η_i Σ⁻¹ has
    this loss. The minimiser is orthogonal, in λ dμ, to every polynomial of lower
    degree: its zeros 1/η_i are the k Gauss nodes of λ dμ. Returns η, ascending and
    positive (their order in the network does not matter), and the minimum, the loss.
    No optimisation is involved; both are right to float64.

    With noise of variance σ² = `noise_variance` on the labels the best residual is that
    of `optimal_filter`. Its zeros may come in complex pairs, which no real steps have:
    then the best real ones are found by descents from many starts, equal in pairs, and
    the loss is above that of `optimal_filter`. v = `signal_variance` is 1 for
    w ~ N(0, Σ⁻¹) and tr(ΩΣ)/d for w ~ N(0, Ω).

    ```python
    steps, loss = optimal_steps(dimension=5, samples=20, layers=3)
    ```

    Source: ahn2023, the set S of Theorem 4; the closed form is iclab's.
    Assumes: x ~ N(0, Σ) for any Σ, k ≤ 64, with noise k ≤ 32.
    Differs from the paper: a_i = −η_i; the paper proves that stationary points exist,
        for labels without noise.
    """
    d, n, k = dimension, samples, layers
    noise, signal = float(noise_variance), float(signal_variance)
    rule = f"at most {_NOISY_STEPS} with noise (optimal_filter has no such limit)"
    require(noise == 0 or k <= _NOISY_STEPS, "layers", rule, k)
    if noise == 0:
        steps, loss = _optimal_steps(d, n, k)
    else:
        steps, loss = _optimal_noisy_steps(d, n, k, noise / (n * signal))
    return jnp.asarray(steps), signal * loss


@checked
def optimal_filter(
    dimension: Size,
    samples: Natural,
    layers: _Steps,
    *,
    noise_variance: NonNegative = 0.0,
    signal_variance: Positive = 1.0,
) -> tuple[Float[Array, " k"], float]:
    r"""The best prediction cᵀg(S)x_q with g of degree k − 1, for noisy labels.

    $$\min_{\deg g<k}d\int\Big[v(1-\lambda g)^2+\frac{\sigma^2}n\lambda g^2\Big]d\mu,
      \qquad g(\lambda)=\frac{1-\pi_k(\lambda)/\pi_k(-\tau)}{\lambda+\tau},\quad
      \tau=\frac{\sigma^2}{nv}$$

    with c = (1/n)Σyᵢxᵢ in whitened inputs, π_k the k-th orthogonal polynomial of λ dμ
    and the rest as in `optimal_steps`. (λ + τ)g − 1 is orthogonal to all polynomials of
    lower degree, and −1 at −τ: no equations are solved. As k grows g tends to
    1/(λ + τ), ridge regression with τ, which is the Bayes rule. Returns the
    coefficients of g, ascending, and the loss, which is dv∫(1 − λg) dμ.

    Where 1 − λg has complex zeros, a pair of them is a quadratic factor that two layers
    of multiples of Σ⁻¹ do not have; steps with momentum do. `optimal_steps` keeps to
    what layers can do.

    Source: iclab.
    Assumes: w ~ N(0, Ω) with tr(ΩΣ)/d = v, x ~ N(0, Σ), k ≤ 64.
    Differs from the paper: no paper states it.
    """
    d, n, k = dimension, samples, layers
    noise, signal = float(noise_variance), float(signal_variance)
    residual, loss = _best_residual(d, n, k, noise / (n * signal))
    g = [-float(coefficient) for coefficient in residual[1:]]
    return jnp.array(g), signal * float(loss)


@checked
def marchenko_pastur_optimal_steps(
    ratio: PositiveFloat, layers: Annotated[int, between(1, 10**6)]
) -> tuple[Float[Array, " k"], float]:
    r"""The result of `optimal_steps` in the limit d, n → ∞ with d/n → c.

    $$\eta_j=\frac1{1+c+2\sqrt c\cos\frac{j\pi}{k+1}},\qquad
      \frac{\text{loss}}d\to\frac{c^k(1-c)}{1-c^{k+1}}=\frac{c^k}{1+c+\dots+c^k}$$

    with c = `ratio` and k = `layers`. Returns η, ascending, and the loss divided by d.
    For c > 1 the loss tends to 1 − 1/c as k grows: what lies outside the span of the
    inputs cannot be learned.

    Source: iclab; λ dμ is Chebyshev's second weight when μ is the Marchenko–Pastur law.
    Assumes: the limit at fixed ratio, otherwise as `optimal_steps`.
    Differs from the paper: no paper states it.
    """
    c, k = ratio, layers
    theta = np.arange(1, k + 1) * np.pi / (k + 1)
    # 1 + c + 2√c cos θ without cancellation near c = 1, θ = π.
    nodes = (1 - np.sqrt(c)) ** 2 + 4 * np.sqrt(c) * np.cos(theta / 2) ** 2
    # Both forms are the same number; each is free of overflow on its side of 1.
    powers = np.arange(k + 1)
    loss = c**k / np.sum(c**powers) if c <= 1 else 1 / np.sum(c**-powers)
    return jnp.asarray(1 / nodes), float(loss)


@checked
def optimal_gd_plus_plus(
    dimension: Size, samples: Natural, layers: Annotated[int, between(1, 4)]
) -> tuple[Float[Array, " k"], Float[Array, " k"], float]:
    r"""The best linear transformer with A_i = a_i Σ⁻¹ and B_i = b_i I, and its loss.

    $$\min_{a,b}d\int c_k(h)^2\,d\mu(h),\qquad
      c_{i+1}=c_i(1+a_ihs_i^2),\quad s_{i+1}=s_i(1+b_ia_ihs_i^2),\quad c_0=s_0=1$$

    with d = `dimension`, k = `layers` and μ the mean spectrum of the whitened sample
    covariance of n = `samples` inputs. The integral is exact (`wishart_quadrature`),
    the search global in practice, not in proof: many deterministic restarts of
    Levenberg–Marquardt, the best one polished by Newton's method with 50 digits until
    the gradient is below 1e-12. Returns a, b and the loss; b of the last layer has no
    effect and is 0.

    Source: ahn2023, the set S of Theorem 5.
    Assumes: w ~ N(0, Σ⁻¹), x ~ N(0, Σ) for any Σ, noiseless labels, k ≤ 4; n not so
        large that the loss falls below 1e-30 a dimension (an error says so).
    Differs from the paper: signs as there (a < 0); the paper proves that stationary
        points exist, not where.
    """
    a, b, loss = _optimal_gd_plus_plus(dimension, samples, layers)
    return jnp.asarray(a), jnp.asarray(b), loss


@checked
def residual_polynomial(
    a: Float[Array, " k"], b: Float[Array, " k"] | None = None
) -> Float[Array, " m"]:
    r"""Coefficients of the factor c(h) that a scalar network leaves on an eigenvalue h.

    $$c_{i+1}=c_i\,(1+a_ihs_i^2),\quad s_{i+1}=s_i\,(1+b_ia_ihs_i^2),\quad c_0=s_0=1$$

    with a_i = `a[i]` and b_i = `b[i]` (None: zeros). Entry j multiplies hʲ; there are
    k + 1 entries without b, (3ᵏ + 1)/2 with it. Differentiable.

    Source: ahn2023, the sets S of Theorems 4 and 5, worked out per eigenvalue.
    Assumes: A_i = a_i Σ⁻¹, B_i = b_i I; h is an eigenvalue of the whitened S.
    Differs from the paper: nothing.
    """
    c = s = one = jnp.ones(1, a.dtype)
    for i in range(a.shape[0]):
        step = jnp.concatenate([jnp.zeros(1, a.dtype), a[i] * jnp.convolve(s, s)])
        c = jnp.convolve(c, step.at[0].add(1))
        if b is not None:
            s = jnp.convolve(s, jnp.concatenate([one, b[i] * step[1:]]))
    return c


@functools.lru_cache(maxsize=256)
def _optimal_steps(d: int, n: int, k: int) -> tuple[np.ndarray, float]:
    nodes, _ = gauss_rule(d, n, k, 1)
    with mpmath.workdps(50):
        steps = [float(1 / xi) for xi in reversed(nodes)]
    return np.array(steps), float(_filter_loss(d, n, k, mpmath.mpf(0)))


def _filter_loss(d: int, n: int, k: int, tau: Any) -> Any:
    """d∫(p² + τλg²) dμ of the best filter, by a rule that is exact for it.

    Products over nodes, and no differences: with k = 64 powers of λ would cancel in
    more digits than nodes have. Here 30 of theirs are left.
    """
    nodes, _ = gauss_rule(d, n, k, 1)
    with mpmath.workdps(50):
        total = mpmath.mpf(0)
        for h, weight in zip(*spectrum_rule(d, n, k + 1), strict=True):
            q = mpmath.fprod((xi - h) / (xi + tau) for xi in nodes)  # π_k(h)/π_k(−τ)
            p = q if tau == 0 else (tau + h * q) / (h + tau)
            noise = 0 if tau == 0 else tau * h * ((1 - q) / (h + tau)) ** 2
            total += weight * (p**2 + noise)
        return d * total


@functools.lru_cache(maxsize=256)
def _best_residual(d: int, n: int, k: int, tau: float) -> tuple[list[Any], Any]:
    """Coefficients of p = 1 − λg, ascending, and the loss, to 30 digits."""
    nodes, _ = gauss_rule(d, n, k, 1)
    with mpmath.workdps(50):
        shift = mpmath.mpf(tau)
        q = [mpmath.mpf(1)]  # coefficients of π_k(λ)/π_k(−τ), ascending
        for xi in nodes:
            q = [
                ((q[j] if j < len(q) else 0) * xi - (q[j - 1] if j > 0 else 0))
                / (xi + shift)
                for j in range(len(q) + 1)
            ]
        # p = (τ + λq)/(λ + τ), divided from the highest power down.
        above = [shift, *q]
        p, carry = [mpmath.mpf(0)] * (k + 1), mpmath.mpf(0)
        for j in range(k, -1, -1):
            carry = above[j + 1] - shift * carry
            p[j] = carry
    return p, _filter_loss(d, n, k, mpmath.mpf(tau))


@functools.lru_cache(maxsize=256)
def _optimal_noisy_steps(
    d: int, n: int, k: int, tau: float
) -> tuple[np.ndarray, float]:
    """Reciprocal zeros of the best residual if they are real, else the best real."""
    p, loss = _best_residual(d, n, k, tau)
    nodes, _ = gauss_rule(d, n, k, 1)
    with mpmath.workdps(50):
        # Zeros of the reversed polynomial are the reciprocals, the steps themselves;
        # without noise they are those of the nodes.
        beside = [mpmath.mpc(1, (-1) ** i / 10) / xi for i, xi in enumerate(nodes)]
        options = {"maxsteps": 500, "extraprec": 400, "asc": True}
        steps = mpmath.polyroots(p[::-1], roots_init=beside, **options)
        tiny = mpmath.mpf(10) ** -20 * max(abs(step) for step in steps)
        if all(abs(mpmath.im(step)) <= tiny for step in steps):
            return np.array(sorted(float(mpmath.re(step)) for step in steps)), float(
                loss
            )
    real = [complex(step).real for step in steps if abs(mpmath.im(step)) <= tiny]
    pairs = [complex(step).real for step in steps if mpmath.im(step) > tiny]
    return _search_real_steps(d, n, tau, np.array(real), np.array(pairs))


def _search_real_steps(
    d: int, n: int, tau: float, single: np.ndarray, double: np.ndarray
) -> tuple[np.ndarray, float]:
    """The best real steps, those of `double` twice each, by least squares from near.

    Where the best residual has a complex pair of zeros, real ones meet at its edge.
    """
    # Here, because it takes half a second that no other formula needs.
    from scipy.optimize import least_squares

    times = np.array([1] * len(single) + [2] * len(double))
    h, weight = map(np.asarray, wishart_quadrature(d, n, 2 * int(times.sum())))

    def residuals(eta: np.ndarray) -> np.ndarray:
        c, g = np.ones_like(h), np.zeros_like(h)
        for step in np.repeat(eta, times):
            c, g = c * (1 - step * h), g + step * c
        return np.concatenate([np.sqrt(weight) * c, np.sqrt(tau * weight * h) * g])

    near = np.concatenate([single, double])

    def slopes(eta: np.ndarray) -> np.ndarray:
        factors = 1 - eta[:, None] * h
        ones = np.ones((1, len(h)))
        left = np.cumprod(np.concatenate([ones, factors[:-1] ** times[:-1, None]]), 0)
        behind = factors[:0:-1] ** times[:0:-1, None]
        right = np.cumprod(np.concatenate([ones, behind]), 0)[::-1]
        # c with one factor fewer, as often as the factor stands in it.
        fewer = (times[:, None] * left * factors ** (times - 1)[:, None] * right).T
        noise = np.sqrt(tau * weight * h)[:, None]
        return np.concatenate([-(np.sqrt(weight) * h)[:, None] * fewer, noise * fewer])

    spread = np.random.default_rng([d, n, len(near)]).standard_normal(
        (_STARTS, len(near))
    )
    starts = [near, np.full(len(near), near.mean()), *near * np.exp(0.3 * spread)]
    found = [
        least_squares(
            residuals,
            start,
            slopes,  # pyright: ignore[reportArgumentType]  SciPy's stub wants a string
            xtol=1e-12,
            ftol=1e-15,
            max_nfev=_EVALUATIONS,
        )
        for start in starts
    ]
    best = min(found, key=lambda one: one.cost)
    steps = np.sort(np.repeat(best.x, times))
    return steps, float(d * np.sum(residuals(best.x) ** 2))


@functools.lru_cache(maxsize=64)
def _optimal_gd_plus_plus(
    d: int, n: int, k: int
) -> tuple[np.ndarray, np.ndarray, float]:
    nodes, weights = spectrum_rule(d, n, (3**k + 1) // 2)
    # As n → ∞ the best a_i and b_i tend to −(9/4)ⁱ and 1/3, where c = O((h − 1)^m)
    # with m = 2ᵏ − 1: if these do too well, the best ones do.
    limit = [-(2.25**i) for i in range(k)] + [-(2.25**i) / 3 for i in range(k - 1)]
    with mpmath.workdps(50):
        loss, _ = _loss_and_gradient(mpmath.matrix(limit), nodes, weights)
    _large_enough(loss, d, n, k)
    with jax.ensure_compile_time_eval():
        found = np.asarray(_search(*wishart_quadrature(d, n, 3**k - 1), k))
    parameters, loss = _polish(d, n, found, nodes, weights)
    a, beta = parameters[:k], parameters[k:]
    b = [float(y / x) for x, y in zip(a, beta, strict=False)]  # β is one shorter
    return np.array(a, dtype=float), np.array([*b, 0.0]), float(loss)


def _residuals(
    parameters: Float[Array, " p"],
    h: Float[Array, " m"],
    root_weight: Float[Array, " m"],
) -> Float[Array, " m"]:
    """√w c(h), whose sum of squares is the loss; parameters are a and β_i = a_i b_i."""
    k = (parameters.shape[0] + 1) // 2
    return root_weight * scalar_filter(parameters[:k], parameters[k:], h)[0]


@functools.partial(jax.jit, static_argnums=3)
def _levenberg_marquardt(
    start: Float[Array, " p"],
    h: Float[Array, " m"],
    root_weight: Float[Array, " m"],
    iterations: int,
) -> tuple[Float[Array, " p"], Float[Array, ""]]:
    """Least squares from one start, with Marquardt's scaling of the parameters."""

    def residuals(parameters):
        return _residuals(parameters, h, root_weight)

    def iterate(_, state):
        parameters, loss, damping = state
        r, J = residuals(parameters), jax.jacfwd(residuals)(parameters)
        normal = J.T @ J
        scale = jnp.diag(jnp.diag(normal) + 1e-30)
        step = jnp.linalg.solve(normal + damping * scale, -J.T @ r)
        trial = parameters + step
        trial_loss = jnp.sum(residuals(trial) ** 2)
        better = trial_loss < loss  # False for NaN
        return (
            jnp.where(better, trial, parameters),
            jnp.where(better, trial_loss, loss),
            jnp.clip(jnp.where(better, damping / 4, damping * 3), 1e-14, 1e14),
        )

    loss = jnp.sum(residuals(start) ** 2)
    state = (start, loss, jnp.ones_like(loss))
    parameters, loss, _ = jax.lax.fori_loop(0, iterations, iterate, state)
    return parameters, loss


@functools.partial(jax.jit, static_argnames="k")
def _search(
    h: Float[Array, " m"], weight: Float[Array, " m"], k: int
) -> Float[Array, " p"]:
    """The best of many descents; parameters are a and β_i = a_i b_i."""
    key_a, key_beta = jax.random.split(jax.random.key(0))
    # Log-uniform magnitudes around 1/⟨h⟩ = 1. Later steps act on contracted inputs and
    # tend to be larger: half of the starts say so, half leave it open.
    a = -(10 ** jax.random.uniform(key_a, (_RESTARTS, k), float, -1, 1.2))
    beta = -(10 ** jax.random.uniform(key_beta, (_RESTARTS, k - 1), float, -2, 0.7))
    grows = jnp.arange(_RESTARTS)[:, None] % 2 == 0
    a = jnp.where(grows, jnp.sort(a, axis=1, descending=True), a)
    descend = jax.vmap(_levenberg_marquardt, in_axes=(0, None, None, None))
    starts = jnp.concatenate([a, beta], axis=1)
    ends, losses = descend(starts, h, jnp.sqrt(weight), _ITERATIONS)
    losses = jnp.where(jnp.isfinite(losses), losses, jnp.inf)
    return ends[jnp.argmin(losses)]


def _large_enough(loss: Any, d: int, n: int, k: int) -> None:
    if loss < _SMALLEST_LOSS:
        raise ArithmeticError(
            f"optimal_gd_plus_plus: with dimension {d}, samples {n} and {k} layers "
            f"the loss falls below {_SMALLEST_LOSS:g} a dimension, where float64 "
            "cannot find the best of them; take fewer samples or layers"
        )


def _polish(
    d: int, n: int, start: np.ndarray, nodes: list[Any], weights: list[Any]
) -> tuple[list[Any], Any]:
    """Newton's method on the loss with 50 digits, from a good float64 start."""
    k = (len(start) + 1) // 2
    with mpmath.workdps(50):
        x = mpmath.matrix([mpmath.mpf(float(value)) for value in start])
        loss, gradient = _loss_and_gradient(x, nodes, weights)
        for _ in range(30):
            step = -mpmath.lu_solve(_hessian(x, gradient, nodes, weights), gradient)
            trial = x + step
            trial_loss, trial_gradient = _loss_and_gradient(trial, nodes, weights)
            if not trial_loss < loss:  # converged, or float64 came as close as it gets
                break
            x, loss, gradient = trial, trial_loss, trial_gradient
        slope = d * max(abs(slope) for slope in gradient)
        if not slope < mpmath.mpf("1e-12"):
            raise ArithmeticError(
                f"optimal_gd_plus_plus: the search for dimension {d}, samples {n} and "
                f"{k} layers stopped at a gradient of {float(slope):.1e}, not a minimum"
            )
        _large_enough(loss, d, n, k)
        return list(x), d * loss


def _loss_and_gradient(x: Any, nodes: list[Any], weights: list[Any]) -> tuple[Any, Any]:
    """∫c² dμ and its derivatives in a and β, node by node, forwards."""
    size = len(x)
    k = (size + 1) // 2
    loss, gradient = mpmath.mpf(0), mpmath.zeros(size, 1)
    for h, weight in zip(nodes, weights, strict=True):
        c = s = mpmath.mpf(1)
        dc, ds = [mpmath.mpf(0)] * size, [mpmath.mpf(0)] * size
        for i in range(k):
            u = h * s * s
            du = [2 * h * s * t for t in ds]
            grown = 1 + x[i] * u
            dc = [grown * t + c * x[i] * v for t, v in zip(dc, du, strict=True)]
            dc[i] += c * u
            c *= grown
            if i < k - 1:
                beta = x[k + i]
                # s(1 + βhs²) has slope 1 + 3βhs² in s.
                ds = [(1 + 3 * beta * u) * t for t in ds]
                ds[k + i] += s * u
                s *= 1 + beta * u
        loss += weight * c * c
        for j in range(size):
            gradient[j] += 2 * weight * c * dc[j]
    return loss, gradient


def _hessian(
    x: Any,
    gradient: Any,
    nodes: list[Any],
    weights: list[Any],
) -> Any:
    """Differences of the gradient over 1e-20, good to about 20 of the 50 digits."""
    size, width = len(x), mpmath.mpf("1e-20")
    H = mpmath.zeros(size)
    for j in range(size):
        moved = x.copy()
        moved[j] += width
        _, there = _loss_and_gradient(moved, nodes, weights)
        for i in range(size):
            H[i, j] = (there[i] - gradient[i]) / width
    return H
