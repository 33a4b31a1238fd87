"""Test prompts that are not like the training prompts, one difference at a time."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.core import (
    NonNegative,
    SecondMoment,
    Size,
    checked,
    require,
    square_root,
)
from iclab.tasks._task import AbstractTask, Input, Inputs, Labels, Latent


@checked
class AbstractShift(AbstractTask):
    """A task like `task` but for the one piece that a final class replaces."""

    task: eqx.AbstractVar[AbstractTask]

    def latent(self, key: PRNGKeyArray) -> Any:
        return self.task.latent(key)

    def inputs(self, latent: Latent, count: Size, key: PRNGKeyArray) -> Inputs:
        return self.task.inputs(latent, count, key)

    def input_root(self, latent: Latent) -> Float[Array, "d d"] | None:
        return self.task.input_root(latent)

    def heavy_law(self) -> str | None:
        return self.task.heavy_law()

    def labels(self, latent: Latent, inputs: Inputs) -> Labels:
        return self.task.labels(latent, inputs)

    def noise(self, latent: Latent, count: Size, key: PRNGKeyArray) -> Labels:
        return self.task.noise(latent, count, key)

    def query(self, latent: Latent, examples: Inputs, key: PRNGKeyArray) -> Input:
        return self.task.query(latent, examples, key)

    def target_noise(
        self, latent: Latent, key: PRNGKeyArray
    ) -> Float[Array, ""] | float:
        return self.task.target_noise(latent, key)


@checked
class TaskShift(AbstractShift):
    """Inputs and query of `task`, labels (weights and noise too) of `labelling`.

    Source: zhang2023, Section 4.2, task shifts.
    """

    task: AbstractTask
    labelling: AbstractTask
    dimension: int

    def __init__(self, task: AbstractTask, labelling: AbstractTask):
        self.task, self.labelling = task, labelling
        self.dimension = task.dimension
        rule = f"of dimension {task.dimension}, that of `task`"
        found = f"dimension {labelling.dimension}"
        same = labelling.dimension == task.dimension
        require(same, "labelling", rule, found)

    def latent(self, key: PRNGKeyArray) -> tuple[Any, Any]:
        first, second = jax.random.split(key)
        return self.task.latent(first), self.labelling.latent(second)

    def inputs(self, latent: Latent, count: Size, key: PRNGKeyArray) -> Inputs:
        return self.task.inputs(latent[0], count, key)

    def input_root(self, latent: Latent) -> Float[Array, "d d"] | None:
        return self.task.input_root(latent[0])

    def heavy_law(self) -> str | None:
        return self.task.heavy_law() or self.labelling.heavy_law()

    def labels(self, latent: Latent, inputs: Inputs) -> Labels:
        return self.labelling.labels(latent[1], inputs)

    def noise(self, latent: Latent, count: Size, key: PRNGKeyArray) -> Labels:
        return self.labelling.noise(latent[1], count, key)

    def query(self, latent: Latent, examples: Inputs, key: PRNGKeyArray) -> Input:
        return self.task.query(latent[0], examples, key)

    def target_noise(
        self, latent: Latent, key: PRNGKeyArray
    ) -> Float[Array, ""] | float:
        return self.labelling.target_noise(latent[1], key)


@checked
class QueryShift(AbstractShift):
    """Prompts of `task` whose query comes from N(0, `query_covariance`).

    Source: zhang2023, Section 4.2, query shifts.
    """

    task: AbstractTask
    dimension: int
    _query_root: Float[Array, "d d"]

    def __init__(self, task: AbstractTask, query_covariance: SecondMoment):
        self.task, self.dimension = task, task.dimension
        _same_dimension(task, "query_covariance", query_covariance)
        self._query_root = square_root(query_covariance)

    def query(self, latent: Latent, examples: Inputs, key: PRNGKeyArray) -> Input:
        return self._query_root @ jax.random.normal(key, (self.dimension,))


@checked
class NoisyLabels(AbstractShift):
    """Prompts of `task` with noise N(0, `noise_std`²) on the examples, and no other.

    Inputs, weights and targets are those of `task`.
    """

    task: AbstractTask
    noise_std: float | Float[Array, ""]
    dimension: int

    def __init__(self, task: AbstractTask, noise_std: NonNegative):
        self.task, self.dimension, self.noise_std = task, task.dimension, noise_std

    def noise(self, latent: Latent, count: Size, key: PRNGKeyArray) -> Labels:
        return self.noise_std * jax.random.normal(key, (count,))


@checked
class OrthogonalQuery(AbstractShift):
    """Prompts of `task` whose query is orthogonal to every example.

    The query of `task` loses its component in the span of the examples, so there must
    be fewer examples than dimensions for anything to be left.

    Source: zhang2023, Section 4.2, remark on query shifts.
    """

    task: AbstractTask
    dimension: int

    def __init__(self, task: AbstractTask):
        self.task, self.dimension = task, task.dimension

    def query(self, latent: Latent, examples: Inputs, key: PRNGKeyArray) -> Input:
        rule = f"fewer than the dimension {self.dimension}"
        enough = len(examples) < self.dimension
        require(enough, "examples", rule, len(examples))
        basis, _ = jnp.linalg.qr(examples.T)
        query = self.task.query(latent, examples, key)
        return query - basis @ (basis.T @ query)


@checked
class CovariateShift(AbstractShift):
    """Prompts of `task` with every input, the query too, multiplied by `transform`.

    Labels follow the new inputs: y = h(Tx). `c * jnp.eye(d)` scales the inputs by c,
    and so their covariance by c².

    Source: zhang2023, Section 4.2, covariate shifts.
    """

    task: AbstractTask
    transform: Float[Array, "d d"]
    dimension: int

    def __init__(self, task: AbstractTask, transform: Float[Array, "d d"]):
        self.task, self.dimension = task, task.dimension
        _same_dimension(task, "transform", transform)
        self.transform = transform

    def inputs(self, latent: Latent, count: Size, key: PRNGKeyArray) -> Inputs:
        return self.task.inputs(latent, count, key) @ self.transform.T

    def input_root(self, latent: Latent) -> Float[Array, "d d"] | None:
        root = self.task.input_root(latent)
        return None if root is None else self.transform @ root

    def query(self, latent: Latent, examples: Inputs, key: PRNGKeyArray) -> Input:
        return self.transform @ self.task.query(latent, examples, key)


def _same_dimension(task: AbstractTask, name: str, matrix: Float[Array, "d d"]) -> None:
    d = task.dimension
    require(len(matrix) == d, name, f"a {d}×{d} matrix", f"shape {matrix.shape}")
