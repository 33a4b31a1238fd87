"""The loss of in-context learners, on prompts of a task."""

from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from iclab.core import Prompt, positive_integer, require
from iclab.tasks import AbstractTask
from iclab.training._curriculum import Curriculum, Stage
from iclab.training._problem import AbstractProblem


class InContext(AbstractProblem):
    r"""Mean squared error of predictions in prompts of `task`.

    A prompt has `points` points, of which the last is the query. With
    `positions="all"` the loss is

    $$\frac1n\sum_{i=1}^n\big(\hat y(x_1,y_1,\dots,x_{i-1},y_{i-1},x_i)-y_i\big)^2$$

    where all points follow the law of the examples. It takes a model that has
    `predictions(inputs, labels)`, such as `models.GPT2`. `"final"` looks at the query
    only, with the law that the task has for it, and takes any predictor.

    Source: zhang2023, Appendix E (all positions), (3.8) without its 1/2 (the query).
    """

    task: AbstractTask
    curriculum: Curriculum
    positions: Literal["all", "final"]

    def __init__(
        self,
        task: AbstractTask,
        points: int,
        *,
        curriculum: Curriculum | None = None,
        positions: Literal["all", "final"] = "all",
    ):
        positive_integer(points, "InContext", "points")
        require(points >= 2, "InContext", "points", "≥ 2", points)
        known = positions in ("all", "final")
        require(known, "InContext", "positions", "all or final", repr(positions))
        if curriculum is None:
            curriculum = Curriculum.constant(points, task.dimension)
        ends = (curriculum.points.end, curriculum.dimensions.end)
        rule = f"one that ends at {points} points and {task.dimension} dimensions"
        found = f"{ends[0]} points and {ends[1]} dimensions"
        same = ends == (points, task.dimension)
        require(same, "InContext", "curriculum", rule, found)
        short = curriculum.points.start
        require(short >= 2, "InContext", "curriculum", "of ≥ 2 points", short)
        self.task, self.curriculum, self.positions = task, curriculum, positions

    def sample(self, key: PRNGKeyArray, stage: Stage) -> PyTree[Array]:
        """A prompt, or with `positions="all"` inputs and labels of all points.

        Dimensions that are not active are zero.
        """
        if self.positions == "final":
            return self._prompt(key, stage)
        n = stage.points
        for_latent, for_inputs, for_noise = jax.random.split(key, 3)
        latent = self.task.latent(for_latent)
        X = self._active(self.task.inputs(latent, n, for_inputs), stage)
        return X, self.task.labels(latent, X) + self.task.noise(latent, n, for_noise)

    def loss(
        self, model: Any, samples: PyTree[Array], stage: Stage
    ) -> Float[Array, ""]:
        if self.positions == "final":
            return jnp.mean((jax.vmap(model)(samples) - samples.target) ** 2)
        inputs, labels = samples
        errors = (jax.vmap(model.predictions)(inputs, labels) - labels) ** 2
        counts = jnp.arange(stage.points) < stage.active_points
        total = jnp.sum(jnp.where(counts[None], errors, 0))
        return total / (len(labels) * stage.active_points)

    def _prompt(self, key: PRNGKeyArray, stage: Stage) -> Prompt:
        """As `AbstractTask.sample` draws it, in the active dimensions."""
        task, n = self.task, stage.points - 1
        keys = jax.random.split(key, 5)
        latent = task.latent(keys[0])
        X = self._active(task.inputs(latent, n, keys[1]), stage)
        y = task.labels(latent, X) + task.noise(latent, n, keys[2])
        x_q = self._active(task.query(latent, X, keys[3])[None], stage)
        target = task.labels(latent, x_q)[0] + task.target_noise(latent, keys[4])
        return Prompt(X, y, x_q[0], target).prefix(stage.active_points - 1)

    def _active(self, X: Float[Array, "n d"], stage: Stage) -> Float[Array, "n d"]:
        active = jnp.arange(self.task.dimension) < stage.active_dimensions
        return jnp.where(active[None], X, 0)
