"""The prompt: what every predictor sees."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from iclab._reading import reads_by_itself
from iclab.core._checked import checked
from iclab.core._errors import finite_array, is_traced, positive_integer, require

# What predictors see.
_SEEN = ("examples", "labels", "query")
_ARRAYS = (jax.Array, np.ndarray, np.generic)


@checked
class Prompt(eqx.Module):
    """Examples with labels, a query, and the label that the query should get.

    A prompt is unbatched: `jax.vmap` makes batches. `count` is the number of real
    examples; rows from `count` on are zero, so that sums over examples need no mask and
    one compiled function serves every context length (see `prefix`). Examples, labels
    and query must be finite; inside a JAX transformation, where this cannot be seen,
    predictors answer NaN to those that are not.

    ```python
    X = jnp.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    prompt = Prompt(X, X @ jnp.array([2.0, 3.0]), jnp.array([1.0, -1.0]))
    prompt.prefix(2)       # the first two examples; the third row is zero
    ```
    """

    examples: Float[Array, "n d"]
    labels: Float[Array, " n"]
    query: Float[Array, " d"]
    target: Float[Array, ""]
    count: Int[Array, ""]

    @reads_by_itself
    def __init__(
        self,
        examples: Float[Array, "n d"],
        labels: Float[Array, " n"],
        query: Float[Array, " d"],
        target: Float[Array, ""] | float = jnp.nan,
        count: Int[Array, ""] | int | None = None,
    ):
        examples = _floating(examples, "examples")
        labels, query = _floating(labels, "labels"), _floating(query, "query")
        matrix = examples.ndim == 2 and examples.shape[0] >= 1
        found = f"shape {examples.shape}"
        require(matrix, "Prompt", "examples", "an n×d matrix with n ≥ 1", found)
        n, d = examples.shape
        rule = f"a vector of {n} labels, one per example"
        found = f"shape {labels.shape}"
        require(labels.shape == (n,), "Prompt", "labels", rule, found)
        rule = f"a vector of the examples' dimension {d}"
        found = f"shape {query.shape}"
        require(query.shape == (d,), "Prompt", "query", rule, found)
        self.examples = examples
        self.labels = labels
        self.query = query
        for name in _SEEN:
            finite_array(getattr(self, name), "Prompt", name)
        self.target = _floating(target, "target").astype(labels.dtype)
        require(
            self.target.shape == (),
            "Prompt",
            "target",
            "a number",
            f"shape {self.target.shape}",
        )
        self.count = jnp.asarray(n) if count is None else _count(count, n)

    def _see_finite(self, owner: str, name: str) -> None:
        """Refuse a prompt that a copy with other arrays has made infinite."""
        for part in _SEEN:
            value = getattr(self, part)
            bad = 0 if is_traced(value) else int(np.sum(~np.isfinite(value)))
            found = f"{bad} entries of `{part}` that are not"
            require(bad == 0, owner, name, "finite", found)

    @property
    def dimension(self) -> int:
        """Dimension d of the inputs."""
        return self.examples.shape[-1]

    @checked(finite=False)  # a target that is not known is NaN
    def prefix(self, length: int | Int[Array, ""]) -> "Prompt":
        """The prompt with only its first `length` examples; the rest become zero."""
        positive_integer(length, "Prompt.prefix", "length")
        kept = jnp.arange(self.examples.shape[0]) < length
        return Prompt(
            jnp.where(kept[:, None], self.examples, 0),
            jnp.where(kept, self.labels, 0),
            self.query,
            self.target,
            jnp.minimum(length, self.count),
        )

    def gram(self) -> Float[Array, "d d"]:
        """Empirical second moment S = (1/n) Σ xᵢ xᵢᵀ."""
        return self.examples.T @ self.examples / self.count

    def correlation(self) -> Float[Array, " d"]:
        """Empirical correlation (1/n) Σ yᵢ xᵢ of labels and inputs."""
        return self.labels @ self.examples / self.count

    def moments(
        self,
    ) -> tuple[Float[Array, "d d"], Float[Array, " d"], Float[Array, ""]]:
        """(1/n) Σ xᵢ xᵢᵀ, (1/n) Σ yᵢ xᵢ, (1/n) Σ yᵢ²: what linear attention sees."""
        power = jnp.sum(self.labels**2) / self.count
        return self.gram(), self.correlation(), power


def _floating(value: Any, name: str) -> Array:
    """`value` as an array of floating-point numbers; integers become floats."""
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError, OverflowError):
        array = None
    kinds = (jnp.floating, jnp.integer)
    real = array is not None and any(jnp.issubdtype(array.dtype, k) for k in kinds)
    require(real, "Prompt", name, "an array of real numbers", type(value).__name__)
    assert array is not None
    floating = jnp.issubdtype(array.dtype, jnp.floating)
    return array if floating else array.astype(float)


def _count(value: Any, n: int) -> Int[Array, ""]:
    """How many of `n` examples are real: at least one."""
    if not is_traced(value):
        number = isinstance(value, _ARRAYS) and value.shape == ()
        known = np.asarray(value).item() if number else value
        whole = positive_integer(known, "Prompt", "count")
        rule = f"at most {n}, the number of examples"
        require(whole <= n, "Prompt", "count", rule, whole)
    return jnp.asarray(value)
