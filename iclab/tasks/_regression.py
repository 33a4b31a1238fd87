"""Prompts put together from laws: covariance, inputs, labels, noise, query."""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.core import (
    Natural,
    NonNegative,
    SecondMoment,
    Size,
    checked,
    require,
    square_root,
)
from iclab.tasks._covariance_laws import AbstractCovarianceLaw
from iclab.tasks._label_functions import AbstractLabelFunction
from iclab.tasks._task import AbstractTask, Input, Inputs, Labels, Latent
from iclab.tasks._vector_laws import AbstractVectorLaw, GaussianVectors


class AbstractLabelLaw(eqx.Module):
    """Law of the function that labels one prompt."""

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, dimension: Size) -> Any:
        """Draw what fixes the function."""

    @abc.abstractmethod
    def labels(self, drawn: Any, inputs: Inputs) -> Labels:
        """The function, row by row."""


@checked
class LinearLabels(AbstractLabelLaw):
    """⟨w, x⟩ with w = Ω^{1/2}z, z of `law` and Ω = `covariance` (default I)."""

    law: AbstractVectorLaw
    _root: Float[Array, "d d"] | None

    def __init__(
        self,
        covariance: SecondMoment | None = None,
        *,
        law: AbstractVectorLaw | None = None,
    ):
        self.law = GaussianVectors() if law is None else law
        self._root = None if covariance is None else square_root(covariance)

    def sample(self, key: PRNGKeyArray, dimension: Size) -> Float[Array, " d"]:
        z = self.law.sample(key, 1, dimension)[0]
        if self._root is None:
            return z
        d = len(self._root)
        require(d == dimension, "covariance", f"of dimension {dimension}", d)
        return self._root @ z

    def labels(self, drawn: Any, inputs: Inputs) -> Labels:
        return inputs @ drawn


@checked
class NetworkLabels(AbstractLabelLaw):
    r"""A two-layer network for every prompt, $\sqrt{2/H}\sum_kv_k\max(0,u_k^\top x)$.

    u_k ~ N(0, I) and v ~ N(0, I), with H = `width`: E y² = E ‖x‖².
    """

    width: Natural

    def sample(self, key: PRNGKeyArray, dimension: Size) -> tuple[Array, Array]:
        for_hidden, for_output = jax.random.split(key)
        H = int(self.width)
        hidden = jax.random.normal(for_hidden, (H, dimension))
        return hidden, jax.random.normal(for_output, (H,)) * np.sqrt(2 / H)

    def labels(self, drawn: Any, inputs: Inputs) -> Labels:
        hidden, output = drawn
        return jnp.maximum(inputs @ hidden.T, 0) @ output


@checked
class FixedLabels(AbstractLabelLaw):
    """The same `function` in every prompt."""

    function: AbstractLabelFunction

    def sample(self, key: PRNGKeyArray, dimension: Size) -> None:
        d = self.function.dimension
        require(d == dimension, "function", f"of dimension {dimension}", d)

    def labels(self, drawn: Any, inputs: Inputs) -> Labels:
        return jax.vmap(self.function)(inputs)


@checked
class QueryLaw(eqx.Module):
    r"""A query with a law of its own, $x_q=\mu+\rho\,x_J+\sqrt{1-\rho^2}\,Rz$.

    z is of `law`, μ = `mean` (default 0), RRᵀ = `covariance` (default that of the
    prompt's inputs), and x_J is one of the examples, each with the same chance: ρ =
    `correlation` between −1 and 1 is 0 for an independent query.
    """

    law: AbstractVectorLaw
    mean: Float[Array, " d"] | None
    correlation: float
    _root: Float[Array, "d d"] | None

    def __init__(
        self,
        law: AbstractVectorLaw | None = None,
        *,
        mean: Float[Array, " d"] | None = None,
        covariance: SecondMoment | None = None,
        correlation: float = 0.0,
    ):
        self.law = GaussianVectors() if law is None else law
        self.mean, self.correlation = mean, correlation
        require(abs(correlation) <= 1, "correlation", "from −1 to 1", correlation)
        self._root = None if covariance is None else square_root(covariance)

    def sample(
        self,
        key: PRNGKeyArray,
        examples: Float[Array, "n k"],
        root: Float[Array, "k k"],
    ) -> Float[Array, " k"]:
        """Draw the query of a prompt with these `examples`; inputs have R = `root`."""
        for_vector, for_example = jax.random.split(key)
        n, d = examples.shape
        for name, own in (("mean", self.mean), ("covariance", self._root)):
            if own is not None:
                require(len(own) == d, name, f"of dimension {d}", len(own))
        R, rho = root if self._root is None else self._root, self.correlation
        z = self.law.sample(for_vector, 1, d)[0]
        near = examples[jax.random.randint(for_example, (), 0, n)]
        mean = 0.0 if self.mean is None else self.mean
        return mean + rho * near + jnp.sqrt(1 - rho**2) * (R @ z)


@checked
class Regression(AbstractTask):
    r"""y = f(x) + noise, every part of a prompt with a law of its own.

    x = Λ^{1/2}z with z of `inputs` and Λ = `covariance`: a matrix, or a law that draws
    one for every prompt. f is of `labels`: a law of functions, or one function. Noise
    on the examples is `noise_std` times `noise`; the query's label has none. The query
    is another input unless `query` is given. Everything is Gaussian and linear, with
    weights N(0, I), unless said otherwise.

    ```python
    task = Regression(
        WishartCovariance(jnp.eye(3), degrees=6),
        inputs=StudentVectors(degrees=5),
        noise=SignVectors(),
        noise_std=0.5,
        query=QueryLaw(mean=jnp.ones(3), correlation=0.5),
    )
    ```

    Source: zhang2023, Definitions 3.1 and 4.4, whose laws are arbitrary.
    """

    covariance: Float[Array, "d d"] | AbstractCovarianceLaw
    input_law: AbstractVectorLaw
    label_law: AbstractLabelLaw
    noise_law: AbstractVectorLaw
    query_law: QueryLaw | None
    noise_std: NonNegative
    dimension: int
    _root: Float[Array, "d d"] | None

    def __init__(
        self,
        covariance: AbstractCovarianceLaw | SecondMoment,
        *,
        inputs: AbstractVectorLaw | None = None,
        labels: AbstractLabelLaw | AbstractLabelFunction | None = None,
        noise: AbstractVectorLaw | None = None,
        noise_std: NonNegative = 0.0,
        query: QueryLaw | None = None,
    ):
        drawn = isinstance(covariance, AbstractCovarianceLaw)
        self.covariance = covariance
        self.dimension = covariance.dimension if drawn else len(covariance)
        self._root = None if drawn else square_root(covariance)
        self.input_law = GaussianVectors() if inputs is None else inputs
        self.noise_law = GaussianVectors() if noise is None else noise
        self.noise_std, self.query_law = noise_std, query
        if isinstance(labels, AbstractLabelFunction):
            labels = FixedLabels(labels)
        self.label_law = LinearLabels() if labels is None else labels
        # Parts that do not fit are refused here, not at the first prompt.
        jax.eval_shape(lambda key: self.sample(key, 1), jax.random.key(0))

    def latent(self, key: PRNGKeyArray) -> tuple[Array, Any]:
        """R of the prompt's covariance Λ = RRᵀ, and what fixes its labels."""
        for_covariance, for_labels = jax.random.split(key)
        drawn = self.label_law.sample(for_labels, self.dimension)
        if isinstance(self.covariance, AbstractCovarianceLaw):
            return square_root(self.covariance.sample(for_covariance)), drawn
        return jnp.asarray(self._root), drawn

    def inputs(self, latent: Latent, count: Size, key: PRNGKeyArray) -> Inputs:
        return self.input_law.sample(key, count, self.dimension) @ latent[0].T

    def input_root(self, latent: Latent) -> Float[Array, "d d"] | None:
        return latent[0] if isinstance(self.input_law, GaussianVectors) else None

    def labels(self, latent: Latent, inputs: Inputs) -> Labels:
        return self.label_law.labels(latent[1], inputs)

    def noise(self, latent: Latent, count: Size, key: PRNGKeyArray) -> Labels:
        return self.noise_std * self.noise_law.sample(key, count, 1)[:, 0]

    def query(self, latent: Latent, examples: Inputs, key: PRNGKeyArray) -> Input:
        if self.query_law is None:
            return self.inputs(latent, 1, key)[0]
        return self.query_law.sample(key, examples, latent[0])

    def heavy_law(self) -> str | None:
        parts: dict[str, AbstractVectorLaw | None] = {
            "inputs": self.input_law,
            "noise": self.noise_law if np.any(np.asarray(self.noise_std) > 0) else None,
            "query": None if self.query_law is None else self.query_law.law,
            "weights": getattr(self.label_law, "law", None),
        }
        for name, law in parts.items():
            if law is not None and law.second_moment(self.dimension) is None:
                return f"{name} of {law}"
        return None
