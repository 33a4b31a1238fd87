"""Regression that outliers cannot carry away."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from iclab.algorithms._numbers import positive
from iclab.core import (
    AbstractPredictor,
    Natural,
    NonNegativeFloat,
    Prompt,
    checked,
    nan_unless_finite,
)


@checked
class Huber(AbstractPredictor):
    r"""Regression with Huber's loss, square up to δ = `threshold` and linear beyond,
    $\min_w\sum_i\rho_\delta(y_i-\langle w,x_i\rangle)$.

    Steps of least squares on residuals cut at ±δ, until one moves the weights by less
    than `tolerance` times their size; then the optimality conditions are solved exactly
    for the residuals that are cut. With fewer examples than dimensions it is least
    squares of minimum norm. More than `max_steps` steps are an error.
    """

    threshold: Float[Array, ""] = eqx.field(converter=positive)
    tolerance: NonNegativeFloat = 1e-10
    max_steps: Natural = 100_000

    @nan_unless_finite
    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        return prompt.query @ self.weight(prompt)

    @nan_unless_finite
    def weight(self, prompt: Prompt) -> Float[Array, " d"]:
        """The minimiser."""
        X, y = prompt.examples, prompt.labels
        threshold = self.threshold.astype(y.dtype)
        found, done = self._descend(*jax.lax.stop_gradient((X, y, threshold)))
        exact, known = _solved_given_cuts(X, y, threshold, found)
        return eqx.error_if(
            jnp.where(known, exact, found),
            ~(done | known),
            f"Huber: no minimum to `tolerance` = {self.tolerance:g} in"
            f" `max_steps` = {self.max_steps} steps; allow more of either",
        )

    def _descend(
        self, X: Float[Array, "n d"], y: Float[Array, " n"], threshold: Float[Array, ""]
    ) -> tuple[Float[Array, " d"], Bool[Array, ""]]:
        """Weights after steps on cut residuals, and whether they came to rest."""
        inverse = jnp.linalg.pinv(X, rtol=1e-12)
        start = inverse @ y

        def step(state):
            w, _, count = state
            move = inverse @ jnp.clip(y - X @ w, -threshold, threshold)
            return w + move, jnp.max(jnp.abs(move)), count + 1

        smallest = self.tolerance * jnp.max(jnp.abs(start))

        def going(state):
            return (state[1] > smallest) & (state[2] < self.max_steps)

        far = jnp.full((), jnp.inf, y.dtype)
        w, change, _ = jax.lax.while_loop(going, step, (start, far, 0))
        return w, change <= smallest


def _solved_given_cuts(
    X: Float[Array, "n d"],
    y: Float[Array, " n"],
    threshold: Float[Array, ""],
    near: Float[Array, " d"],
) -> tuple[Float[Array, " d"], Bool[Array, ""]]:
    """The minimiser, if its residuals are cut where those of `near` are; or not."""
    residuals = jax.lax.stop_gradient(y - X @ near)
    cut = jnp.abs(residuals) > jax.lax.stop_gradient(threshold)
    signs = jnp.where(cut, jnp.sign(residuals), 0)
    # KᵀKw = Kᵀy + δΣsx, with K the examples whose residuals are not cut.
    inverse = jnp.linalg.pinv(jnp.where(cut[:, None], 0, X), rtol=1e-12)
    w = inverse @ (y + inverse.T @ (threshold * (signs @ X)))
    left = jax.lax.stop_gradient(y - X @ w)
    outside = jnp.where(cut, signs * left, jnp.inf) >= threshold * (1 - 1e-9)
    inside = jnp.where(cut, 0, jnp.abs(left)) <= threshold * (1 + 1e-9)
    slope = jnp.clip(left, -threshold, threshold) @ X
    rest = jnp.max(jnp.abs(slope)) <= 1e-9 * jnp.max(jnp.abs(y @ X))
    return w, jnp.all(outside) & jnp.all(inside) & rest
