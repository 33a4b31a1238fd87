"""The best predictor when the task is one of finitely many."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.algorithms._numbers import positive
from iclab.core import (
    AbstractPredictor,
    Positive,
    Prompt,
    checked,
    is_traced,
    nan_unless_finite,
    require,
    same_dimension,
)


@checked
class BayesOverTasks(AbstractPredictor):
    r"""Posterior mean of the query's label if w is one of the rows of `tasks`.

    $$\hat y=\sum_t\pi_t(X,y)\langle w_t,x_q\rangle,\qquad\pi_t(X,y)\propto\pi_t
      \exp\Big(-\frac1{2\sigma^2}\sum_i(y_i-\langle w_t,x_i\rangle)^2\Big)$$

    with σ² = `noise_variance` of the labels and the prior π, uniform unless `prior`
    says otherwise. No predictor has a smaller risk on these tasks.
    """

    tasks: Float[Array, "T d"]
    noise_variance: Float[Array, ""]
    prior: Float[Array, " T"]

    def __init__(
        self,
        tasks: Float[Array, "T d"],
        noise_variance: Positive,
        prior: Float[Array, " T"] | None = None,
    ):
        self.tasks, T = tasks, len(tasks)
        self.noise_variance = positive(noise_variance)
        self.prior = jnp.full(T, 1 / T) if prior is None else prior

    def __check_init__(self):
        prior = self.prior
        if not is_traced(prior):
            smallest, total = float(min(prior)), float(sum(prior))
            chances = smallest >= 0 and abs(total - 1) < 1e-6
            found = f"a smallest one of {smallest:g} and a sum of {total:g}"
            require(chances, "prior", "≥ 0 with sum 1", found)

    @property
    def dimension(self) -> int:
        """Dimension d of the inputs."""
        return self.tasks.shape[1]

    @nan_unless_finite
    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        same_dimension(self.dimension, prompt)
        answers = self.tasks.astype(prompt.query.dtype) @ prompt.query
        return self.posterior(prompt) @ answers

    @nan_unless_finite
    def posterior(self, prompt: Prompt) -> Float[Array, " T"]:
        """How probable every task is, given the examples."""
        dtype = prompt.labels.dtype
        residuals = (
            prompt.labels[:, None] - prompt.examples @ self.tasks.astype(dtype).T
        )
        squares = jnp.sum(residuals**2, axis=0)
        evidence = -squares / (2 * self.noise_variance.astype(dtype))
        return jax.nn.softmax(jnp.log(self.prior.astype(dtype)) + evidence)
