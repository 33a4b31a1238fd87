"""Labels that are any function of the input."""

import jax
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.core import (
    Covariance,
    NonNegative,
    Size,
    checked,
    refuse,
    require,
    square_root,
)
from iclab.tasks._label_functions import (
    AbstractLabelFunction,
    LabelMoments,
    sampled_moments,
)
from iclab.tasks._task import AbstractTask, Inputs, Labels, Latent


@checked
class NonlinearRegression(AbstractTask):
    """y = f(x) + noise with x ~ N(0, Λ) and one fixed function f.

    f = `function`, Λ = `covariance`, σ = `noise_std`. The query's label is noisy like
    the others, as in the risk of Theorem 4.2 of zhang2023.

    Source: zhang2023, Theorem 4.2.
    """

    function: AbstractLabelFunction
    covariance: Float[Array, "d d"]
    noise_std: NonNegative
    dimension: int
    _input_root: Float[Array, "d d"]

    def __init__(
        self,
        function: AbstractLabelFunction,
        covariance: Covariance,
        *,
        noise_std: NonNegative = 0.0,
    ):
        self.covariance, self.dimension = covariance, len(covariance)
        rule = f"of dimension {self.dimension}, that of `covariance`"
        found = f"dimension {function.dimension}"
        require(function.dimension == self.dimension, "function", rule, found)
        self.function, self.noise_std = function, noise_std
        self._input_root = square_root(covariance)

    def moments(
        self, *, key: PRNGKeyArray | None = None, draws: Size = 1_000_000
    ) -> LabelMoments:
        """E[xy], E[y²], Cov(xy): exactly where the function allows it, else sampled.

        Sampling needs a `key`; the result then carries an error bar.
        """
        exact = self.function.moments(self.covariance)
        if exact is None:
            name = type(self.function).__name__
            if key is None:
                refuse(f"{name} has no exact moments; give a `key` to sample them")
            exact = sampled_moments(
                self.function, self.covariance, key=key, draws=draws
            )
        return exact.with_noise(self.noise_std**2, self.covariance)

    def latent(self, key: PRNGKeyArray) -> None:
        return None

    def inputs(self, latent: Latent, count: Size, key: PRNGKeyArray) -> Inputs:
        return jax.random.normal(key, (count, self.dimension)) @ self._input_root

    def input_root(self, latent: Latent) -> Float[Array, "d d"]:
        return self._input_root

    def labels(self, latent: Latent, inputs: Inputs) -> Labels:
        return jax.vmap(self.function)(inputs)

    def noise(self, latent: Latent, count: Size, key: PRNGKeyArray) -> Labels:
        return self.noise_std * jax.random.normal(key, (count,))

    def target_noise(self, latent: Latent, key: PRNGKeyArray) -> Float[Array, ""]:
        return self.noise_std * jax.random.normal(key)
