"""Models that know nothing of JAX: a function of NumPy arrays as a predictor."""

from collections.abc import Callable
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab._reader import Rule, is_traced, refuse, require
from iclab.core._checked import checked
from iclab.core._predictor import AbstractPredictor
from iclab.core._prompt import Prompt


@checked
class Foreign(AbstractPredictor):
    """A function of NumPy arrays that predicts a batch: PyTorch, a server, anything.

    `function(examples, labels, queries)` gets float64 arrays of shapes (B, n, d),
    (B, n), (B, d) and returns B finite numbers. It must be a function: the same
    arrays, the same answer.

    ```python
    def nearest(X, y, q):
        distances = np.linalg.norm(X - q[:, None], axis=-1)
        return y[np.arange(len(y)), distances.argmin(axis=1)]

    model = Foreign(nearest)
    jax.vmap(model)(prompts)   # one call with the whole batch
    model.on_batch(prompts)    # the same without JAX in between
    ```

    Prompts may come padded (`Prompt.prefix`): the function sees only real examples, in
    one call for each context length. It works under `jit` and `vmap`, and has no
    gradient.
    """

    function: Annotated[
        Callable[..., Any], Rule("a function of (examples, labels, queries)", callable)
    ] = eqx.field(static=True)

    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        parts = (prompt.examples, prompt.labels, prompt.query, prompt.count)
        dtype = prompt.labels.dtype
        if not any(map(is_traced, parts)):
            return jnp.asarray(self._answers(*(part[None] for part in parts))[0], dtype)
        shape = jax.ShapeDtypeStruct((), dtype)

        def batch(*arrays: Any) -> np.ndarray:
            lead = np.shape(arrays[3])
            flat = [
                np.asarray(a).reshape(-1, *np.shape(a)[len(lead) :]) for a in arrays
            ]
            return self._answers(*flat).reshape(lead).astype(dtype)

        return jax.pure_callback(batch, shape, *parts, vmap_method="broadcast_all")

    def on_batch(self, prompts: Prompt) -> Float[np.ndarray, " prompts"]:
        """Predictions for prompts with a leading axis, straight from the function."""
        parts = (prompts.examples, prompts.labels, prompts.query, prompts.count)
        return self._answers(*parts)

    def _answers(self, *parts: Any) -> np.ndarray:
        """Predictions of a batch, context length by context length."""
        X, y, q, count = map(np.asarray, parts)
        found = np.full(len(y), np.nan)
        # Known prompts are finite; others are answered with NaN inside of `jit`.
        finite = (
            np.isfinite(q).all(1) & np.isfinite(y).all(1) & np.isfinite(X).all((1, 2))
        )
        for n in np.unique(count[finite]):
            mine = finite & (count == n)
            # Copies, so that a function that works in place harms nobody.
            given = (np.array(a, float) for a in (X[mine, :n], y[mine, :n], q[mine]))
            found[mine] = self._call(*given)
        return found

    def _call(self, X: np.ndarray, y: np.ndarray, q: np.ndarray) -> np.ndarray:
        try:
            answer = np.asarray(self.function(X, y, q))
        except Exception as error:
            words = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(":")
            refuse(f"`function` raised {words}")
        real = answer.dtype.kind in "fiu"
        rule = "a function that returns real numbers"
        require(real, "function", rule, f"dtype {answer.dtype}")
        rule = f"a function that returns shape ({len(y)},), a number a prompt"
        same = answer.shape == (len(y),)
        require(same, "function", rule, f"shape {answer.shape}")
        bad = int(np.sum(~np.isfinite(answer)))
        rule = "a function that returns finite numbers"
        require(bad == 0, "function", rule, f"{bad} of {len(y)} that are not")
        return answer.astype(float)
