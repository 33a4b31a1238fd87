"""The loss of in-context learners, on prompts of a task."""

from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from iclab.core import Size, checked, require
from iclab.tasks import AbstractTask
from iclab.training._curriculum import Curriculum, Stage
from iclab.training._losses import Loss, squared
from iclab.training._problem import AbstractProblem


@checked
class InContext(AbstractProblem):
    r"""Mean error of predictions in prompts of `task`, squared unless `loss` is given.

    A prompt has `points` points, of which the last is the query. With
    `positions="all"` the loss is

    $$\frac1n\sum_{i=1}^n\big(\hat y(x_1,y_1,\dots,x_{i-1},y_{i-1},x_i)-y_i\big)^2$$

    where all points follow the law of the examples. It takes a model that has
    `predictions(inputs, labels)`, such as `models.GPT2`; one with `batch_predictions`
    too is asked for all prompts at once. `"final"` looks at the query only, in what the
    task itself samples, and takes any predictor. `loss` is `squared`,
    `HuberLoss(1.0)` or any function of predictions and targets, number by number.

    Source: zhang2023, Appendix E (all positions), (3.8) without its 1/2 (the query).
    """

    task: AbstractTask
    curriculum: Curriculum
    positions: Literal["all", "final"]
    pointwise: Loss

    def __init__(
        self,
        task: AbstractTask,
        points: Size,
        *,
        curriculum: Curriculum | None = None,
        positions: Literal["all", "final"] = "all",
        loss: Loss = squared,
    ):
        require(points >= 2, "points", "≥ 2", points)
        if curriculum is None:
            curriculum = Curriculum.constant(points, task.dimension)
        wanted = f"{points} points and {task.dimension} dimensions"
        ends = (curriculum.points.end, curriculum.dimensions.end)
        found = f"{ends[0]} points and {ends[1]} dimensions"
        require(found == wanted, "curriculum", f"one that ends at {wanted}", found)
        short = curriculum.points.start
        require(short >= 2, "curriculum", "of ≥ 2 points", short)
        ramp = curriculum.dimensions
        plain = ramp.start == ramp.end or type(task).sample is AbstractTask.sample
        rule = f"of all dimensions from the start for a {type(task).__name__}"
        require(positions == "all" or plain, "curriculum", rule, "fewer")
        self.task, self.curriculum, self.positions = task, curriculum, positions
        self.pointwise = loss

    def sample(self, key: PRNGKeyArray, stage: Stage) -> PyTree[Array]:
        """A prompt, or with `positions="all"` inputs and labels of all points.

        Dimensions that are not active are zero.
        """
        task, n, active = self.task, stage.points, stage.active_dimensions
        if self.positions == "final":
            ramps = (self.curriculum.dimensions, self.curriculum.points)
            grows, lengthens = (ramp.start < ramp.end for ramp in ramps)
            prompt = (_Active(task, active) if grows else task).sample(key, n - 1)
            return prompt.prefix(stage.active_points - 1) if lengthens else prompt
        for_latent, for_inputs, for_noise = jax.random.split(key, 3)
        latent = task.latent(for_latent)
        X = _first(task.inputs(latent, n, for_inputs), active)
        return X, task.labels(latent, X) + task.noise(latent, n, for_noise)

    def loss(
        self, model: Any, samples: PyTree[Array], stage: Stage
    ) -> Float[Array, ""]:
        found = type(model).__name__
        if self.positions == "final":
            require(callable(model), "model", "a predictor", found)
            return jnp.mean(self.pointwise(jax.vmap(model)(samples), samples.target))
        inputs, labels = samples
        rule = "a predictor at all positions, with `predictions`"
        require(hasattr(model, "predictions"), "model", rule, found)
        predict = getattr(model, "batch_predictions", None)
        predict = jax.vmap(model.predictions) if predict is None else predict
        errors = self.pointwise(predict(inputs, labels), labels)
        counts = jnp.arange(stage.points) < stage.active_points
        total = jnp.sum(jnp.where(counts[None], errors, 0))
        return total / (len(labels) * stage.active_points)


class _Active(AbstractTask):
    """A task of which the first dimensions count, and the others are zero."""

    task: AbstractTask
    active: Int[Array, ""]
    dimension: int

    def __init__(self, task: AbstractTask, active: Int[Array, ""]):
        self.task, self.active, self.dimension = task, active, task.dimension

    def latent(self, key: PRNGKeyArray) -> Any:
        return self.task.latent(key)

    def inputs(
        self, latent: Any, count: int, key: PRNGKeyArray
    ) -> Float[Array, "count d"]:
        return _first(self.task.inputs(latent, count, key), self.active)

    def labels(
        self, latent: Any, inputs: Float[Array, "count d"]
    ) -> Float[Array, " count"]:
        return self.task.labels(latent, inputs)

    def noise(
        self, latent: Any, count: int, key: PRNGKeyArray
    ) -> Float[Array, " count"]:
        return self.task.noise(latent, count, key)

    def query(
        self, latent: Any, examples: Float[Array, "n d"], key: PRNGKeyArray
    ) -> Float[Array, " d"]:
        return _first(self.task.query(latent, examples, key)[None], self.active)[0]

    def target_noise(self, latent: Any, key: PRNGKeyArray) -> Float[Array, ""] | float:
        return self.task.target_noise(latent, key)


def _first(X: Float[Array, "n d"], active: Int[Array, ""]) -> Float[Array, "n d"]:
    return jnp.where((jnp.arange(X.shape[1]) < active)[None], X, 0)
