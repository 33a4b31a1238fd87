"""The prompt: what every predictor sees."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from iclab._reader import finite_array, is_traced, require
from iclab.core._checked import checked
from iclab.core._rules import Count

# What predictors see.
_SEEN = ("examples", "labels", "query")


@checked(finite=False)  # a target that is not known is NaN
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

    def __init__(
        self,
        examples: Float[Array, "n d"],
        labels: Float[Array, " n"],
        query: Float[Array, " d"],
        target: Float[Array, ""] | float = jnp.nan,
        count: Count | None = None,
    ):
        n = len(examples)
        if count is not None and not is_traced(count):
            rule = f"at most {n}, the number of examples"
            require(bool(count <= n), "count", rule, count)
        self.examples, self.labels, self.query = examples, labels, query
        for name in _SEEN:
            finite_array(getattr(self, name), name)
        self.target = jnp.asarray(target, labels.dtype)
        self.count = jnp.asarray(n if count is None else count)

    def _see_finite(self, name: str) -> None:
        """Refuse a prompt that a copy with other arrays has made infinite."""
        for part in _SEEN:
            value = getattr(self, part)
            bad = 0 if is_traced(value) else int(np.sum(~np.isfinite(value)))
            found = f"{bad} entries of `{part}` that are not"
            require(bad == 0, name, "finite", found)

    @property
    def dimension(self) -> int:
        """Dimension d of the inputs."""
        return self.examples.shape[-1]

    def prefix(self, length: Count) -> "Prompt":
        """The prompt with only its first `length` examples; the rest become zero."""
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
