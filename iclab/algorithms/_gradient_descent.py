"""Predictors that walk towards the weights, step by step."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import (
    AbstractPredictor,
    Natural,
    Prompt,
    checked,
    nan_unless_finite,
    same_dimension,
)


@checked
class GradientDescent(AbstractPredictor):
    r"""Gradient descent from zero on $\frac1{2n}\sum_i(\langle w,x_i\rangle-y_i)^2$.

    $w\leftarrow w+\eta_t\frac1n\sum_i(y_i-\langle w,x_i\rangle)x_i$ with
    η_t = `step_sizes[t]`; as many steps as there are sizes.
    """

    step_sizes: Float[Array, " steps"]

    @nan_unless_finite
    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        return prompt.query @ _descend(prompt, self.step_sizes, None)


@checked
class PreconditionedGradientDescent(AbstractPredictor):
    r"""Gradient descent whose steps are multiplied by a fixed matrix.

    $w\leftarrow w+\eta_tP\frac1n\sum_i(y_i-\langle w,x_i\rangle)x_i$ with
    P = `preconditioner`, η_t = `step_sizes[t]`. One step of size 1 is what a trained
    layer of linear attention computes (zhang2023, (4.3)).
    """

    preconditioner: Float[Array, "d d"]
    step_sizes: Float[Array, " steps"]

    def __init__(
        self,
        preconditioner: Float[Array, "d d"],
        step_sizes: Float[Array, " steps"] | None = None,
    ):
        self.preconditioner = preconditioner
        self.step_sizes = jnp.ones(1) if step_sizes is None else step_sizes

    @nan_unless_finite
    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        same_dimension(len(self.preconditioner), prompt)
        return prompt.query @ _descend(prompt, self.step_sizes, self.preconditioner)


@checked
class GradientDescentPlusPlus(AbstractPredictor):
    r"""Gradient descent that also contracts the inputs between its steps (GD++).

    With $S=\frac1n\sum_ix_ix_i^\top$ of the current inputs, step t first moves every
    residual, $r(x)\leftarrow r(x)-\eta_t\frac1n\sum_ir_i\langle x_i,x\rangle$, and then
    every input, the query too, $x\leftarrow(I-\beta_tS)x$. η_t = `step_sizes[t]`,
    β_t = `contractions[t]`. The prediction is what the query's residual lost.

    Source: ahn2023, (13) and the set of Theorem 5, with η_t = −a_t, β_t = −a_tb_t.
    Assumes: inputs with covariance near the identity; whiten them otherwise.
    """

    step_sizes: Float[Array, " steps"]
    contractions: Float[Array, " steps"]

    @nan_unless_finite
    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        def step(state, sizes):
            X, r, x, prediction = state
            eta, beta = sizes
            b, S = r @ X / prompt.count, X.T @ X / prompt.count
            contraction = jnp.eye(len(S)) - beta * S
            prediction = prediction + eta * (b @ x)
            return (X @ contraction, r - eta * X @ b, contraction @ x, prediction), None

        zero = jnp.zeros_like(prompt.target)
        start = (prompt.examples, prompt.labels, prompt.query, zero)
        (_, _, _, prediction), _ = jax.lax.scan(
            step, start, (self.step_sizes, self.contractions)
        )
        return prediction


@checked
class IterativeNewton(AbstractPredictor):
    r"""Newton's iteration for the pseudo-inverse of the second moment.

    $M_0=S/\operatorname{tr}(S)^2$, $M\leftarrow 2M-MSM$, `iterations` times, and
    $\hat w=M\frac1n\sum_iy_ix_i$. Converges to least squares of minimum norm,
    quadratically in the end.
    """

    iterations: Natural

    @nan_unless_finite
    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        S = prompt.gram()
        trace = jnp.maximum(jnp.trace(S), jnp.finfo(S.dtype).tiny)
        start = S / trace / trace  # not by trace², which is 0 for a tiny trace
        M = jax.lax.fori_loop(0, self.iterations, lambda _, M: 2 * M - M @ S @ M, start)
        return prompt.query @ M @ prompt.correlation()


def _descend(
    prompt: Prompt,
    step_sizes: Float[Array, " steps"],
    preconditioner: Float[Array, "d d"] | None,
) -> Float[Array, " d"]:
    """Weights after one step per entry of `step_sizes`, through S and (1/n)Σyx."""
    S, b = prompt.gram(), prompt.correlation()

    def step(weight, eta):
        direction = b - S @ weight
        if preconditioner is not None:
            direction = preconditioner @ direction
        return weight + eta * direction, None

    weight, _ = jax.lax.scan(step, jnp.zeros_like(b), step_sizes)
    return weight
