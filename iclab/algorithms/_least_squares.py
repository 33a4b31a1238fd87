"""Predictors that solve for the weights at once, and those that do not try."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.algorithms._numbers import non_negative
from iclab.core import (
    AbstractPredictor,
    NonNegativeFloat,
    Prompt,
    checked,
    nan_unless_finite,
)


@checked
class Zero(AbstractPredictor):
    """Predicts 0: what every method must beat."""

    @nan_unless_finite
    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        return jnp.zeros_like(prompt.target)


@checked
class Averaging(AbstractPredictor):
    r"""One step of gradient descent from zero with unit step,
    $\hat y=x_q^\top\frac1n\sum_iy_ix_i$.
    """

    @nan_unless_finite
    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        return prompt.query @ prompt.correlation()


@checked
class LeastSquares(AbstractPredictor):
    r"""Least squares; of minimum norm when there are fewer examples than dimensions.

    $\hat w=X^+y$. Singular values below `cutoff` times the largest count as zero.
    """

    cutoff: NonNegativeFloat = 1e-12

    @nan_unless_finite
    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        weight, *_ = jnp.linalg.lstsq(prompt.examples, prompt.labels, rcond=self.cutoff)
        return prompt.query @ weight


@checked
class Ridge(AbstractPredictor):
    r"""Ridge regression, $\hat w=(X^\top X+\lambda I)^{-1}X^\top y$.

    λ = `penalty` stands beside the plain sum over examples, without 1/n or 1/2. It is
    an array, so that one compiled function serves every λ.

    ```python
    Ridge(0.5)(prompt)                   # a prediction
    jax.vmap(Ridge(0.5))(prompts)        # a batch of them
    ```
    """

    penalty: Float[Array, ""] = eqx.field(converter=non_negative)

    @nan_unless_finite
    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        X, y = prompt.examples, prompt.labels
        # Through the singular values: λ → 0 gives least squares, also when n < d.
        U, s, Vt = jnp.linalg.svd(X, full_matrices=False)
        present = s > s[0] * 1e-12
        penalised = s**2 + self.penalty.astype(s.dtype)
        gains = jnp.where(present, s / jnp.where(present, penalised, 1), 0)
        return prompt.query @ (Vt.T @ (gains * (U.T @ y)))
