"""Predictors that look for weights with few entries."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from iclab.algorithms._numbers import non_negative
from iclab.core import (
    AbstractPredictor,
    Natural,
    NonNegativeFloat,
    Prompt,
    checked,
    if_finite,
    nan_unless_finite,
)


@checked
class Lasso(AbstractPredictor):
    r"""Least squares with a penalty on absolute values,
    $\min_w\sum_i(y_i-\langle w,x_i\rangle)^2+\lambda\lVert w\rVert_1$.

    λ = `penalty` stands beside the plain sum over examples, as in `Ridge`. Proximal
    gradient steps with momentum, until a step moves the weights by less than
    `tolerance` times the first one; then the optimality conditions are solved exactly
    on the entries that are not zero. More than `max_steps` steps are an error.
    """

    penalty: Float[Array, ""] = eqx.field(converter=non_negative)
    tolerance: NonNegativeFloat = 1e-10
    max_steps: Natural = 100_000

    @nan_unless_finite
    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        return prompt.query @ self.weight(prompt)

    @nan_unless_finite
    def weight(self, prompt: Prompt) -> Float[Array, " d"]:
        """The minimiser."""
        S, b = prompt.gram(), prompt.correlation()
        penalty = self.penalty.astype(b.dtype) / prompt.count
        found, done = self._descend(*jax.lax.stop_gradient((S, b, penalty)))
        signs, exact = _solved_on_signs(S, b, penalty, jnp.sign(found))
        known = jnp.any(signs != 0) | jnp.all(found == 0)
        return eqx.error_if(
            jnp.where(known, exact, found),
            ~(done | known),
            f"Lasso: no minimum to `tolerance` = {self.tolerance:g} in"
            f" `max_steps` = {self.max_steps} steps; allow more of either",
        )

    def _descend(
        self, S: Float[Array, "d d"], b: Float[Array, " d"], penalty: Float[Array, ""]
    ) -> tuple[Float[Array, " d"], Bool[Array, ""]]:
        """Weights after proximal gradient steps, and whether they came to rest."""
        curvature = jnp.linalg.eigvalsh(S)[-1]
        # Of wᵀSw/2 − bᵀw, half of what is minimised.
        rate = 1 / jnp.where(curvature > 0, curvature, 1)
        smallest = self.tolerance * rate * jnp.max(jnp.abs(b))

        def step(state):
            w, z, t, _, count = state
            moved = z + rate * (b - S @ z)
            new = _shrunk(moved, rate * penalty / 2)
            # Momentum that points uphill is dropped.
            uphill = jnp.dot(z - new, new - w) > 0
            following = jnp.where(uphill, 1.0, (1 + jnp.sqrt(1 + 4 * t**2)) / 2)
            pull = jnp.where(uphill, 0.0, (t - 1) / following)
            change = jnp.max(jnp.abs(new - z))
            return new, new + pull * (new - w), following, change, count + 1

        def going(state):
            return (state[3] > smallest) & (state[4] < self.max_steps)

        zero = jnp.zeros_like(b)
        one, far = jnp.ones((), b.dtype), jnp.full((), jnp.inf, b.dtype)
        w, _, _, change, _ = jax.lax.while_loop(going, step, (zero, zero, one, far, 0))
        return w, change <= smallest


@checked
class OrthogonalMatchingPursuit(AbstractPredictor):
    r"""Least squares on coordinates that are chosen one after the other.

    `sparsity` times, or until nothing is left to explain, the coordinate j joins whose
    $|\sum_ir_ix_{ij}|$ with the current residuals r is largest.
    """

    sparsity: Natural

    @nan_unless_finite
    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        return prompt.query @ self.weight(prompt)

    @nan_unless_finite
    def weight(self, prompt: Prompt) -> Float[Array, " d"]:
        """Weights with at most `sparsity` entries that are not zero."""
        S, b = prompt.gram(), prompt.correlation()
        # Below this a correlation is the rounding of sums over examples.
        nothing = 1e-12 * jnp.max(jnp.abs(b))

        def choose(_, chosen):
            left = jnp.abs(b - S @ _solved_on(S, b, chosen))
            left = jnp.where(chosen, 0, left)
            best = jnp.arange(len(b)) == jnp.argmax(left)
            return chosen | (best & (left > nothing))

        steps = min(self.sparsity, prompt.dimension)
        chosen = jax.lax.fori_loop(0, steps, choose, jnp.zeros(len(b), bool))
        # Where sums over examples overflow, no coordinate is chosen.
        return if_finite(lambda S, b: _solved_on(S, b, chosen), S, b)


def _shrunk(values: Float[Array, " d"], by: Float[Array, ""]) -> Float[Array, " d"]:
    return jnp.sign(values) * jnp.maximum(jnp.abs(values) - by, 0)


def _solved_on(
    S: Float[Array, "d d"], b: Float[Array, " d"], chosen: Bool[Array, " d"]
) -> Float[Array, " d"]:
    """The w with Sw = b at the chosen coordinates and w = 0 at the others."""
    both = chosen[:, None] & chosen[None]
    return jnp.linalg.solve(
        jnp.where(both, S, jnp.eye(len(b))), jnp.where(chosen, b, 0)
    )


def _solved_on_signs(
    S: Float[Array, "d d"],
    b: Float[Array, " d"],
    penalty: Float[Array, ""],
    signs: Float[Array, " d"],
) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
    """Signs that a minimiser has, and that minimiser; zeros where these have none."""

    def minimiser(signs):
        return _solved_on(S, b - penalty / 2 * signs, signs != 0)

    w = jax.lax.stop_gradient(minimiser(signs))
    slack = penalty / 2 * (1 + 1e-9) + 1e-12 * jnp.max(jnp.abs(b))
    holds = jnp.all(jnp.sign(w) == signs) & jnp.all(jnp.abs(b - S @ w) <= slack)
    signs = jnp.where(holds, signs, 0)
    return signs, minimiser(signs)
