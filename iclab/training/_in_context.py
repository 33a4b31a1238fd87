"""What a trainer minimises, and the loss of in-context learners."""

import abc
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from iclab.core import Prompt, positive_integer, require
from iclab.tasks import AbstractTask
from iclab.training._curriculum import Curriculum, Stage


class AbstractProblem(eqx.Module):
    """Samples and a loss: all that the trainer knows about what it trains."""

    curriculum: eqx.AbstractVar[Curriculum]

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, stage: Stage) -> PyTree[Array]:
        """Draw one sample; the trainer maps this over keys."""

    @abc.abstractmethod
    def loss(
        self, model: Any, samples: PyTree[Array], stage: Stage
    ) -> Float[Array, ""]:
        """Mean loss over samples, which have a leading axis."""


class InContext(AbstractProblem):
    r"""Mean squared error of predictions in prompts of `task`.

    A prompt has `points` points, of which the last is the query. With
    `positions="all"` the loss is

    $$\frac1n\sum_{i=1}^n\big(\hat y(x_1,y_1,\dots,x_{i-1},y_{i-1},x_i)-y_i\big)^2$$

    which takes a model that has `predictions(inputs, labels)`, such as `models.GPT2`;
    `"final"` looks at the query only, and takes any predictor.

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

    def sample(
        self, key: PRNGKeyArray, stage: Stage
    ) -> tuple[Float[Array, "n d"], Float[Array, " n"]]:
        """Inputs and labels of a prompt; dimensions that are not active are zero."""
        n = stage.points
        for_latent, for_inputs, for_noise = jax.random.split(key, 3)
        latent = self.task.latent(for_latent)
        active = jnp.arange(self.task.dimension) < stage.active_dimensions
        X = jnp.where(active[None], self.task.inputs(latent, n, for_inputs), 0)
        y = self.task.labels(latent, X) + self.task.noise(latent, n, for_noise)
        return X, y

    def loss(
        self,
        model: Any,
        samples: tuple[Float[Array, "b n d"], Float[Array, "b n"]],
        stage: Stage,
    ) -> Float[Array, ""]:
        inputs, labels = samples
        if self.positions == "final":
            prompts, targets = jax.vmap(lambda X, y: _prompt(X, y, stage))(*samples)
            return jnp.mean((jax.vmap(model)(prompts) - targets) ** 2)
        errors = (jax.vmap(model.predictions)(inputs, labels) - labels) ** 2
        counts = jnp.arange(stage.points) < stage.active_points
        total = jnp.sum(jnp.where(counts[None], errors, 0))
        return total / (len(labels) * stage.active_points)


def _prompt(
    X: Float[Array, "n d"], y: Float[Array, " n"], stage: Stage
) -> tuple[Prompt, Float[Array, ""]]:
    """The last active point as the query, those before it as examples."""
    last = stage.active_points - 1
    return Prompt(X[:-1], y[:-1], X[last]).prefix(last), y[last]
