"""Where a search or a flow begins, and what it follows, seen before it starts."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from iclab.core import finite_array, require


def parameters(start: Any) -> Any:
    """`start` as a tree of finite floating-point arrays; numbers become arrays."""
    tree = jax.tree.map(_array, start)
    leaves = jax.tree.leaves(tree)
    rule = "arrays of real numbers, at least one"
    real = bool(leaves) and all(map(eqx.is_inexact_array, leaves))
    real = real and not any(map(jnp.iscomplexobj, leaves))
    require(real, "start", rule, type(start).__name__)
    for leaf in leaves:
        finite_array(leaf, "start")
    return tree


def scalar(loss: Callable[[Any], Any], start: Any) -> None:
    """See that `loss` gives one real number at `start`."""
    found = eqx.filter_eval_shape(loss, start)
    is_array = isinstance(found, jax.ShapeDtypeStruct)
    real = is_array and jnp.issubdtype(found.dtype, jnp.floating)
    text = f"shape {found.shape} of {found.dtype}" if is_array else repr(found)
    rule = "a function that returns one real number"
    require(real and found.shape == (), "loss", rule, text)


def like_start(field: Callable[[Any], Any], start: Any) -> None:
    """See that `field` gives at `start` arrays of its shapes."""
    found = eqx.filter_eval_shape(field, start)
    shapes = [jax.tree.map(np.shape, tree) for tree in (found, start)]
    rule = "a function that returns arrays like `start`"
    require(shapes[0] == shapes[1], "field", rule, f"{shapes[0]}")


def _array(leaf: Any) -> Any:
    """Real numbers as a JAX array; what else there is stays, to be refused."""
    kind = getattr(getattr(leaf, "dtype", None), "kind", "")
    if kind in ("i", "u", "f"):
        return jnp.asarray(leaf, None if kind == "f" else float)
    known = isinstance(leaf, (int, float)) and not isinstance(leaf, bool)
    return jnp.asarray(float(leaf)) if known and abs(leaf) < 1e300 else leaf
