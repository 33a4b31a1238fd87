"""Predictors of one's own, right for every number of examples."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import AbstractPredictor, Prompt


class OneStep(AbstractPredictor):
    """The best single step of gradient descent for x, w ~ N(0, I).

    Its size depends on the number of examples: that is `prompt.count`, because a prompt
    may have rows of padding.
    """

    noise_variance: float

    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        n, d = prompt.count, prompt.dimension
        step = prompt.labels @ prompt.examples / (n + d + 1 + self.noise_variance)
        return prompt.query @ step


class BayesRidge(AbstractPredictor):
    """Ridge regression with the noise's variance as penalty: the Bayes rule.

    Sums over padding are zero, so it needs no count.
    """

    noise_variance: float

    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        X, y = prompt.examples, prompt.labels
        A = X.T @ X + self.noise_variance * jnp.eye(prompt.dimension)
        return prompt.query @ jnp.linalg.solve(A, X.T @ y)
