"""NaN for what is not finite, and no factorisation of it: some of them never end."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core._prompt import Prompt

MethodT = TypeVar("MethodT", bound=Callable[..., Any])


def if_finite(
    function: Callable[..., Any],
    array: Float[Array, "..."],
    *others: Float[Array, "..."],
) -> Any:
    """`function(array, *others)`, or NaN in its place if an entry is not finite.

    The function sees zeros then: LAPACK's singular values of a matrix with an infinity
    are a loop without end.
    """
    arrays = (array, *others)
    finite = functools.reduce(
        jnp.logical_and, (jnp.all(jnp.isfinite(array)) for array in arrays)
    )
    found = function(*(jnp.where(finite, array, 0) for array in arrays))
    return jax.tree.map(lambda one: jnp.where(finite, one, jnp.nan), found)


def nan_unless_finite(method: MethodT) -> MethodT:
    """A predictor's method of a prompt, which answers NaN to one that is not finite.

    Prompts with known numbers are refused before they come here; this is for those
    inside a JAX transformation.
    """

    @functools.wraps(method)
    def guarded(self: Any, prompt: Prompt, *rest: Any, **options: Any) -> Any:
        def parts(one: Prompt) -> tuple[Any, ...]:
            return one.examples, one.labels, one.query

        def answer(*seen: Any) -> Any:
            return method(self, eqx.tree_at(parts, prompt, seen), *rest, **options)

        return if_finite(answer, *parts(prompt))

    return guarded  # pyright: ignore[reportReturnType]
