"""Draws in which rare prompts are frequent, with the weights that make up for it."""

import functools
import math
from collections.abc import Sequence
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Key, UInt32

from iclab._reader import Natural, Rule, require
from iclab.core._checked import checked
from iclab.core._rules import Size

_Scales = Annotated[
    Sequence[float],
    Rule(
        "numbers from 1 on, 1 among them (it bounds the weights)",
        lambda scales: 1 in scales and all(1 <= s < math.inf for s in scales),
    ),
]

_Overall = Annotated[
    Sequence[float],
    Rule("numbers above 1", lambda scales: all(1 < c < math.inf for c in scales)),
]


@checked
class Mixture(eqx.Module):
    r"""Laws of a prompt's inputs that are stretched, and the plain law.

    $$x_i=\big(I+(s-1)uu^\top\big)z_i,\qquad z_i\sim N(0,I),\quad i=1,\dots,n,$$

    with one direction u and one scale s for the whole prompt: s is one of `scales`, u a
    row of `directions` (unit vectors) or uniform on the sphere (None). Errors of deep
    models are carried by prompts whose sample covariance S = (1/n)Σxᵢxᵢᵀ has one large
    eigenvalue, a few in a million under the plain law and many here; where it has
    several, `overall` scales c help, x_i = cz_i. The plain density of the inputs over
    that of the mixture,

    $$\frac{dP}{dQ}=\Big[\operatorname{mean}\Big\{
      s^{-n}\operatorname*{mean}_u\exp\big(\tfrac n2(1-s^{-2})\,u^\top Su\big),\;
      c^{-nd}\exp\big(\tfrac n2(1-c^{-2})\operatorname{tr}S\big)
      \Big\}\Big]^{-1},$$

    is the weight of a prompt: weighted means are means under the plain law. It needs S
    alone, and since 1 is among the scales it is at most the number of `laws`. Inputs of
    another covariance are whitened first.

    Source: iclab; importance sampling from a defensive mixture.
    """

    scales: tuple[float, ...] = eqx.field(static=True)
    directions: Float[Array, "J d"] | None
    overall: tuple[float, ...] = eqx.field(static=True)

    def __init__(
        self,
        scales: _Scales,
        directions: Float[Array, "J d"] | None = None,
        overall: _Overall = (),
    ):
        self.scales = tuple(sorted(float(s) for s in scales))
        self.overall = tuple(float(c) for c in overall)
        self.directions = directions
        if directions is not None:
            lengths = np.linalg.norm(np.asarray(directions), axis=1)
            farthest = lengths[np.argmax(np.abs(lengths - 1))]
            unit = bool(abs(farthest - 1) <= 1e-8)
            found = f"one of length {farthest:.6g}"
            require(unit, "directions", "unit vectors, one a row", found)

    @property
    def laws(self) -> int:
        """How many laws are mixed, in equal parts."""
        return len(self.scales) + len(self.overall)

    @classmethod
    def of_degree(
        cls, degree: Natural, samples: Natural, dimension: Natural
    ) -> "Mixture":
        r"""For the mean of what has degree p in S: scales 1 and s, and one overall.

        Up to degree 4 (two layers) plain draws vary as little: the plain law alone.
        Under the plain law n uᵀSu is χ² of n degrees of freedom. Weighted with its p-th
        power the mean of uᵀSu is 1 + 2p/n, which is what s² = 1 + 2p/n draws. Errors
        such as (1 − aλ)ᵖ rise faster than λᵖ, so s² = 1 + 3p/n; and c² = 1 + 3p/(nd),
        since n tr S has nd degrees of freedom.
        """
        p, n, d = degree, samples, dimension
        if p <= 4:
            return cls((1.0,))
        overall = (math.sqrt(1 + 3 * p / (n * d)),) if d > 1 else ()
        return cls((1.0, math.sqrt(1 + 3 * p / n)), overall=overall)

    def stretches(
        self, key: Key[Array, ""] | UInt32[Array, "2"], draws: Size, dimension: Size
    ) -> Float[Array, "draws d d"]:
        """I + (s − 1)uuᵀ or cI for every draw; laws take turns."""
        d = dimension
        if self.directions is None:
            u = jax.random.normal(key, (draws, d))
            u = u / jnp.linalg.norm(u, axis=1, keepdims=True)
        else:
            own = self.directions.shape[1]
            require(own == d, "directions", f"of dimension {d}", own)
            u = self.directions[
                jax.random.randint(key, (draws,), 0, len(self.directions))
            ]
        s = (*self.scales, *[1.0] * len(self.overall))
        c = (*[1.0] * len(self.scales), *self.overall)
        s, c = (jnp.resize(jnp.array(one), (draws,)) for one in (s, c))
        scaled = c[:, None, None] * jnp.eye(d)[None]
        return scaled + jnp.einsum("b,bi,bj->bij", s - 1, u, u)

    def weights(
        self, covariances: Float[Array, "draws d d"], samples: Natural
    ) -> Float[Array, " draws"]:
        """dP/dQ at sample covariances of white inputs."""
        S, n, U = covariances, samples, self.directions
        if U is None:
            a, b = _tridiagonal(S)
            log_mean = lambda tilt: _log_mean(tilt * a, tilt**2 * b)  # noqa: E731
        else:  # one matrix product, uᵀSu = ⟨uuᵀ, S⟩
            squares = (U[:, :, None] * U[:, None, :]).reshape(len(U), -1)
            along = S.reshape(len(S), -1) @ squares.T
            size = math.log(len(U))
            log_mean = lambda tilt: logsumexp(tilt * along, axis=1) - size  # noqa: E731
        logs = []
        for s in self.scales:
            tilt = n / 2 * (1 - s**-2)
            log = log_mean(tilt) if tilt > 0 else jnp.zeros(len(S))
            logs.append(log - n * math.log(s))
        trace, d = jnp.trace(S, axis1=1, axis2=2), S.shape[-1]
        for c in self.overall:
            logs.append(n / 2 * (1 - c**-2) * trace - n * d * math.log(c))
        return len(logs) * jnp.exp(-logsumexp(jnp.stack(logs), axis=0))


def log_mean_on_sphere(matrices: Float[Array, "draws d d"]) -> Float[Array, " draws"]:
    r"""log of the mean of exp(uᵀMu) over unit vectors u, for symmetric M.

    $$\int e^{u^\top Mu}d\sigma(u)
      =\Gamma(\tfrac d2)\,\frac1{2\pi i}\int e^t\det(t-M)^{-1/2}\,dt,$$

    since ∫exp(xᵀMx − t|x|²)dx over all x is π^{d/2}det(t − M)^{-1/2}, a Laplace
    transform in |x|². The contour surrounds the eigenvalues; Talbot's, with a trapezium
    rule, gives nine digits or more for d ≤ 50. No eigenvalues are needed: M is brought
    to three diagonals, whose determinants are products of pivots.

    Source: iclab; the normalising constant of Bingham's law.
    """
    return _log_mean(*_tridiagonal(matrices))


def _tridiagonal(
    M: Float[Array, "draws d d"],
) -> tuple[Float[Array, "d draws"], Float[Array, "d draws"]]:
    """Diagonal of QᵀMQ, tridiagonal, and squares of what is left of it (first 0)."""
    if M.shape[-1] == 1:
        return M[:, :, 0].T, jnp.zeros((1, len(M)))
    _, diagonal, beside, _ = jax.lax.linalg.tridiagonal(M)
    return diagonal.T, jnp.pad(beside.T**2, ((1, 0), (0, 0)))


def _log_mean(
    a: Float[Array, "d draws"], b: Float[Array, "d draws"]
) -> Float[Array, " draws"]:
    """`log_mean_on_sphere` of tridiagonal matrices."""
    d, shift = len(a), _above(a, b)
    t, weight = _contour(d)
    gap = shift[None] - a
    size = 1 + jnp.abs(gap)  # divided out, so that no product of pivots overflows

    def root(t: Array) -> Array:
        """det(t + shift − M)^½, on the branch that is positive for positive t.

        In the upper half plane pivots are in it too, so that the argument of their
        product rises by less than π with each: where the product passes the positive
        axis, it has turned once more, and the root changes its sign.
        """

        def row(state: tuple, own: tuple) -> tuple[tuple, None]:
            pivot, product, sign = state
            gap, size, b = own
            over = b / (pivot.real**2 + pivot.imag**2)
            pivot = t + gap - over * jnp.conj(pivot)
            found = product * pivot / size
            sign = jnp.where((product.imag < 0) & (found.imag >= 0), -sign, sign)
            return (pivot, found, sign), None

        one = jnp.ones_like(shift)
        start = (one + 0j, one + 0j, one)
        (_, product, sign), _ = jax.lax.scan(row, start, (gap, size, b))
        return sign * 1j * jnp.sqrt(-product)  # of an argument from 0 to 2π

    # The upper half of the contour; the lower half has the conjugate values.
    integral = jnp.imag(weight @ (1 / jax.vmap(root)(jnp.asarray(t))))
    outside = shift - jnp.sum(jnp.log(size), axis=0) / 2
    return outside + jnp.log(integral) + math.lgamma(d / 2)


def _above(
    a: Float[Array, "d draws"], b: Float[Array, "d draws"]
) -> Float[Array, " draws"]:
    """A little more than the largest eigenvalue of tridiagonal matrices.

    Laguerre's iteration from a bound by Gershgorin: it does not pass the eigenvalue,
    and steps of nine tenths keep it from where a pivot is zero.
    """
    d, beside = len(a), jnp.sqrt(b)
    bound = jnp.max(a + beside + jnp.roll(beside, -1, axis=0), axis=0) + 1

    def step(x: Array) -> Array:
        def row(state: tuple, own: tuple) -> tuple[tuple, None]:
            pivot, slope, bend, first, second = state
            a, b = own
            over, ratio = b / pivot, slope / pivot
            bend = over * (bend / pivot - 2 * ratio**2)
            pivot, slope = x - a - over, 1 + over * ratio
            ratio = slope / pivot
            second = second + ratio**2 - bend / pivot
            return (pivot, slope, bend, first + ratio, second), None

        one, zero = jnp.ones_like(x), jnp.zeros_like(x)
        # Σ 1/(x − m_j) and Σ 1/(x − m_j)² over all eigenvalues m_j.
        start = (one, zero, zero, zero, zero)
        (*_, first, second), _ = jax.lax.scan(row, start, (a, b))
        spread = jnp.clip((d - 1) * (d * second - first**2), 0)
        return x - 0.9 * d / (first + jnp.sqrt(spread))

    return jax.lax.fori_loop(0, 6, lambda _, x: step(x), bound)


@functools.cache
def _contour(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of Talbot's contour in the upper half plane, and e^t dt/π at each.

    With numbers as Weideman has them. t^{-d/2} needs a contour that grows with d.
    """
    N = 24 + d + d % 2
    theta = (2 * np.arange(N // 2) + 1) * np.pi / N
    cot = 1 / np.tan(0.6407 * theta)
    t = N * (0.5017 * theta * cot - 0.6122 + 0.2645j * theta)
    slope = 0.5017 * (cot - 0.6407 * theta * (1 + cot**2)) + 0.2645j
    return t, 2 * np.exp(t) * slope
