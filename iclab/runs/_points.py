"""What a process does with a point of a sweep: call the function, tidy its answer.

The function comes with the job, through the pipe, and is never read from disk.
"""

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def compute_point(
    config: Mapping[str, Any], seed: int, packed: bytes
) -> dict[str, Any]:
    """The answer of the packed function at a point, as columns."""
    function = _unpacked(packed, config["code"])
    if not config["keyed"]:
        answer = function(**config["point"], seed=seed)
    else:
        import jax

        answer = function(dict(config["point"]), jax.random.key(seed))
    if not isinstance(answer, Mapping):
        answer = {"value": answer}
    return {str(name): _column(name, value) for name, value in answer.items()}


def _column(name: str, value: Any) -> Any:
    """A number or an array of them; arrays of one number are numbers."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    array = None if isinstance(value, (Mapping, set)) else np.asarray(value)
    if array is None or array.dtype.kind not in "biuf":
        raise TypeError(
            "a sweep's function must return a number, an array of numbers or a dict of"
            f" these, got `{name}` of type {type(value).__name__}"
        )
    return array if array.ndim else array.item()


@functools.lru_cache(maxsize=4)
def _unpacked(packed: bytes, code: str) -> Callable[..., Any]:
    import cloudpickle

    from iclab.runs._function_code import function_digest

    function = cloudpickle.loads(packed)
    name = getattr(function, "__module__", None)
    # What came by name is what this process imports: that must be the same.
    imported = sys.modules.get(name or "")
    own = getattr(imported, getattr(function, "__qualname__", ""), None)
    if own is function and function_digest(function) != code:
        raise RuntimeError(f"{name} is not here what it is where the sweep was started")
    return function
