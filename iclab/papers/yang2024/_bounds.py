"""Both sides of the bounds of Appendix B, problem by problem.

The bounds come from `theory`, what they bound from the model and its derivatives.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.evidence import Claim, Measured, Printed, Scale
from iclab.papers.yang2024._instances import Instances, families, is_random
from iclab.papers.yang2024._population import (
    Evaluated,
    best_weights,
    evaluated,
    evaluated_other,
    second_moments,
)
from iclab.theory import (
    RepresentationConstants,
    multi_head_weights,
    representation_constants,
    representation_gap,
    representation_optimum,
)


class Tightest(NamedTuple):
    """Both sides where the left one is the largest part of the right one.

    `miss` is where a wrong right side is exceeded most, if one was given: left, right,
    error and the wrong one.
    """

    left: float
    right: float
    error: float
    tested: int
    miss: tuple[float, ...] | None = None

    @property
    def part(self) -> float:
        """How much of the bound is used."""
        return self.left / self.right if self.right > 0 else 0.0


def tightest(
    left: np.ndarray,
    right: np.ndarray,
    error: np.ndarray,
    wrong: np.ndarray | None = None,
) -> Tightest:
    """The closest case among all entries, and that of a wrong right side."""
    sides = (left, right, error) if wrong is None else (left, right, error, wrong)
    left, right, error, *others = (np.ravel(one) for one in np.broadcast_arrays(*sides))
    # What is certain counts: a violation beyond round-off anywhere is one here too. A
    # bound of zero allows nothing but round-off.
    certain = left - error
    none = np.where(certain > 0, np.inf, 0.0)

    def closest(bound):
        return int(
            np.argmax(np.divide(certain, bound, out=none.copy(), where=bound > 0))
        )

    worst, miss = closest(right), None
    if others:
        at = closest(others[0])
        miss = tuple(float(one[at]) for one in (left, right, error, others[0]))
    return Tightest(
        float(left[worst]), float(right[worst]), float(error[worst]), len(left), miss
    )


def as_measured(found: list[Tightest]) -> Measured:
    """Left sides, one a bound."""
    parts = ", ".join(f"{one.part:.4g}" for one in found)
    numbers = ", ".join(f"{one.tested:,}" for one in found)
    reason = f"float64 round-off; tightest of {numbers}, {parts} of the bound"
    return Measured(
        np.array([one.left for one in found]),
        np.array([one.error for one in found]),
        reason,
    )


def as_bounds(found: list[Tightest]) -> np.ndarray:
    """Right sides, one a bound."""
    return np.array([one.right for one in found])


# How far problems that a bound is sharp for may be from the limit in which it is.
_SHARP = 0.01


def bound_claim(
    id: str,
    sides: Callable[[Instances], list[Tightest]],
    parts: Callable[[Instances], Sequence[float | None]],
    *,
    cases: Callable[[Scale], Mapping[str, Instances]] = families,
    wrong: Callable[[Instances], Any] = lambda case: None,
    printed: Printed[Instances] | None = None,
    numbers: Callable[..., Mapping[str, Any]] | None = None,
) -> Claim[Instances]:
    """Bounds that hold in every problem, and what part of them is reached where.

    `parts` knows, for problems built to be extreme, the part of each bound that is
    reached in the limit (None: not known; nothing: not extreme). There the left side is
    that part of the bound, no more and no less than one in a hundred: a bound that is
    too large is seen as well as one that is too small. `wrong` is a decoy for problems
    that are neither; random ones have what `sides` misses most.
    """

    def known(case: Instances) -> list[tuple[Tightest, float]]:
        pairs = zip(sides(case), parts(case), strict=False)
        return [(one, part) for one, part in pairs if part is not None]

    def misses(case: Instances) -> list[tuple[float, ...]]:
        found = sides(case) if is_random(case) else ()
        return [one.miss for one in found if one.miss is not None]

    def predict(case: Instances):
        ends = [
            sign * (1 + sign * _SHARP) * part * one.right
            for one, part in known(case)
            for sign in (1, -1)
        ]
        ends += [right for _, right, _, _ in misses(case)]
        return np.array([*as_bounds(sides(case)), *ends])

    def measure(case: Instances) -> Measured:
        found = as_measured(sides(case))
        ends = [sign * one.left for one, _ in known(case) for sign in (1, -1)]
        errors = [one.error for one, _ in known(case) for _ in range(2)]
        ends += [left for left, _, _, _ in misses(case)]
        errors += [error for _, _, error, _ in misses(case)]
        return Measured(
            np.array([*found.value, *ends]),
            np.array([*found.error, *errors]),
            found.reason,
        )

    def decoy(case: Instances):
        """The part that is reached, and two in a hundred less; or a near miss."""
        if missed := misses(case):
            return np.array([*as_bounds(sides(case)), *(one[-1] for one in missed)])
        if not known(case):
            return wrong(case)
        smaller = predict(case)
        for i, (one, part) in enumerate(known(case)):
            smaller[len(sides(case)) + 2 * i] = (1 - 2 * _SHARP) * part * one.right
        return smaller

    return Claim(
        id,
        cases=cases,
        predict=predict,
        measure=measure,
        decoy=decoy,
        relation="<=",
        printed=printed,
        numbers=numbers,
    )


# Additions and products behind one entry of a gradient: a few hundred label vectors.
_OPERATIONS = 1000 * np.finfo(float).eps


def rounding(*sizes: np.ndarray) -> np.ndarray:
    """Round-off of a difference or sum of numbers of these sizes."""
    return _OPERATIONS * np.sum(np.abs(np.broadcast_arrays(*sizes)), axis=0)


def norms(array: np.ndarray, *axes: int) -> np.ndarray:
    """Euclidean norms over `axes`."""
    return np.sqrt(np.sum(array**2, axis=axes))


def in_alpha(case: Instances, found: Evaluated) -> np.ndarray:
    """∂ℓ/∂α = γ ∂L/∂w."""
    return case.gamma[:, None, None] * found.value_gradient


def attended_norms(case: Instances, attention: np.ndarray) -> np.ndarray:
    """‖b‖ = √E⟨y, s⟩² of vectors s of weights on labels, N on the third axis."""
    N = case.context_length
    moments = second_moments(case)[:, :N, :N]
    squares = np.einsum("bhnk,bnl,bhlk->bhk", attention, moments, attention)
    return np.sqrt(np.maximum(squares, 0))


def residuals(case: Instances) -> np.ndarray:
    """δ = Â − A."""
    return evaluated(case).weights - best_weights(case)


def residual_changes(case: Instances) -> np.ndarray:
    """δ − δ'."""
    return evaluated(case).weights - evaluated_other(case).weights


def each(formula: Callable[..., Array], *arguments: Any, **sizes: int) -> np.ndarray:
    """`formula` of every problem, down the first axis of the arguments; `sizes` are
    the same for all.
    """
    return np.asarray(_each(formula, tuple(sizes.items()), arguments))


@functools.partial(jax.jit, static_argnames=("formula", "sizes"))
def _each(formula: Callable[..., Array], sizes, arguments: tuple[Any, ...]) -> Array:
    return jax.vmap(functools.partial(formula, **dict(sizes)))(*arguments)


def constants(case: Instances) -> RepresentationConstants:
    """‖Z̄‖, f̄_max, ‖A‖ and the rest, for every problem."""
    return _known(case)[0]


def gaps(case: Instances) -> np.ndarray:
    """ℓ − L* at (Q, α), for every problem, by Lemma 5."""
    return _known(case)[1]


@functools.cache
def _known(case: Instances) -> tuple[RepresentationConstants, np.ndarray]:
    arrays = case.tokens, case.features, case.noise_variance
    arrays = *arrays, case.key_query, case.weights
    found = _constants_and_gap(arrays, context_length=case.context_length)
    return jax.tree.map(np.asarray, found)


@functools.partial(jax.jit, static_argnames="context_length")
def _constants_and_gap(arrays: tuple[Array, ...], *, context_length: int):
    N = context_length

    def one(arrays):
        tokens, features, tau, Q, w = arrays
        constants = representation_constants(features, N, tau)
        A = representation_optimum(features, N, tau)
        weights = multi_head_weights(Q, w, tokens, N)
        gap = representation_gap(weights, A, features, tau)
        return jax.tree.map(jnp.asarray, constants), gap

    # A loop: factorisations of one large batch may wait for each other's threads.
    return jax.lax.map(one, arrays)
