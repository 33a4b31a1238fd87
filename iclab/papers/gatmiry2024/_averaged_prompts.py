"""The best A of a looped model: any matrix on drawn prompts, multiples of I exactly."""

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.evidence import STANDARD_ERRORS, Measured
from iclab.theory import looped_optimum, wishart_moments_zonal

# Steps of the descent, and a slope far below what the number of prompts resolves.
_MOST_STEPS = 300
_AT_REST = 1e-7
_DIFFERENCE = 1e-4


@dataclass(frozen=True)
class Setting:
    """White inputs in dimension d, n of them a prompt, and L loops."""

    dimension: int
    samples: int
    loops: int


@dataclass(frozen=True)
class Multiples(Setting):
    """The same, of which only A = aI are looked at."""


def statement(case: Setting, scale: float | None = None) -> np.ndarray:
    """A = aI with a = `scale`, or the best a: the scale, and no rest."""
    d, n, L = case.dimension, case.samples, case.loops
    a = looped_optimum(d, n, L)[0] if scale is None else scale
    return np.array([a]) if isinstance(case, Multiples) else np.array([a, 0.0, 0.0])


def best(case: Setting, key: Array, draws: int) -> Measured:
    """What `statement` is about, measured."""
    if isinstance(case, Multiples):
        return best_multiple(case)
    return _best_matrix(case, key, draws)


def best_multiple(case: Multiples) -> Measured:
    """Where the slope of E tr(I − aS)^{2L} vanishes, all in fractions, by halving."""
    degree = 2 * case.loops
    moments = wishart_moments_zonal(case.dimension, case.samples, degree)
    terms = [j * (-1) ** j * math.comb(degree, j) * m for j, m in enumerate(moments)]
    low, high = Fraction(0), Fraction(1)  # the slope is negative at 0, positive at 1
    for _ in range(55):
        a = (low + high) / 2
        slope = sum(term * a ** (j - 1) for j, term in enumerate(terms) if j)
        low, high = (a, high) if slope < 0 else (low, a)
    reason = "exact fractions; the interval that is left, and rounding to float64"
    return Measured(np.array([float(low)]), np.finfo(float).eps, reason)


def _best_matrix(case: Setting, key: Array, draws: int) -> Measured:
    """tr A/d and the norms of the rest of A, for the A that is best on drawn prompts.

    The rest is the symmetric part less its trace, and the antisymmetric part. Task and
    query are averaged over exactly, so that a prompt is its S. The descent starts from
    a small random A and knows of no symmetry.
    """
    d, n, L = case.dimension, case.samples, case.loops
    random = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    X = random.standard_normal((draws, n, d))
    S = jnp.asarray(X.swapaxes(1, 2) @ X / n)

    def average(A: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(map(np.asarray, _averages(S, A, loops=L)))

    A = _descend(average, 0.1 * random.standard_normal((d, d)))
    spread = np.sqrt(average(A)[2])
    # At a multiple of I rotations leave three curvatures, one for each part.
    turn = np.zeros((d, d))
    turn[0, 1] = 1.0
    curvature = [
        _curvature(average, A, V) for V in (np.eye(d), turn + turn.T, turn - turn.T)
    ]
    chance = spread / np.array(curvature)
    chance[0] /= np.sqrt(d)  # ‖(tr A/d)I‖ = √d tr A/d
    value = np.sqrt(np.asarray(_parts(jnp.asarray(A))))
    value[0] = np.trace(A) / d
    reason = (
        f"{STANDARD_ERRORS:g} standard errors over {draws:,} prompts: spread of the"
        " gradients' parts over the curvatures"
    )
    return Measured(value, STANDARD_ERRORS * chance / np.sqrt(draws), reason)


def _descend(average, A: np.ndarray) -> np.ndarray:
    """Gradient descent with steps from the last change (Barzilai and Borwein).

    The loss may rise from a step to the next, but not above the last few.
    """
    loss, slope, _ = average(A)
    step, last = 0.1 / np.linalg.norm(slope), [loss]
    for _ in range(_MOST_STEPS):
        change = -step * slope
        loss, after, _ = average(A + change)
        while not loss <= max(last[-5:]):
            change = change / 4
            loss, after, _ = average(A + change)
        A, older, slope = A + change, slope, after
        last.append(loss)
        if np.linalg.norm(slope) < _AT_REST:
            return A
        # Along a line that bends downwards the last step is as good as any.
        bend = np.sum(change * (slope - older))
        step = np.sum(change**2) / bend if bend > 0 else step
    raise ArithmeticError("the descent did not come to rest")


def _curvature(average, A: np.ndarray, V: np.ndarray) -> float:
    difference = average(A + _DIFFERENCE * V)[1] - average(A - _DIFFERENCE * V)[1]
    return float(np.sum(difference * V) / (2 * _DIFFERENCE * np.sum(V**2)))


@functools.partial(jax.jit, static_argnames="loops")
def _averages(S: Array, A: Array, *, loops: int) -> tuple[Array, Array, Array]:
    """Means over prompts: loss, gradient, and squares of the gradient's parts.

    With w and x_q averaged out, a prompt's loss is ‖(I − SA)ᴸ‖².
    """

    def loss(A, S):
        residual = jnp.eye(len(A)) - S @ A
        return jnp.sum(jnp.linalg.matrix_power(residual, loops) ** 2)

    losses, slopes = jax.vmap(jax.value_and_grad(loss), in_axes=(None, 0))(A, S)
    squares = jax.vmap(_parts)(slopes)
    return jnp.mean(losses), jnp.mean(slopes, axis=0), jnp.mean(squares, axis=0)


def _parts(A: Array) -> Array:
    """‖·‖² of the multiple of I in A, of the symmetric rest, of the antisymmetric."""
    scale = jnp.trace(A) / len(A)
    rest = (A + A.T) / 2 - scale * jnp.eye(len(A))
    across = (A - A.T) / 2
    return jnp.stack([len(A) * scale**2, jnp.sum(rest**2), jnp.sum(across**2)])
