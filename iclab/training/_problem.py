"""What a trainer minimises: samples, and a loss on them."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from iclab.core import Size, checked, require
from iclab.training._curriculum import Curriculum, Stage


@checked
class AbstractProblem(eqx.Module):
    """Samples and a loss: all that the trainer knows about what it trains."""

    curriculum: eqx.AbstractVar[Curriculum]

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, stage: Stage) -> PyTree[Array]:
        """Draw one sample."""

    @abc.abstractmethod
    def loss(
        self, model: Any, samples: PyTree[Array], stage: Stage
    ) -> Float[Array, ""]:
        """Mean loss over samples, which have a leading axis."""

    def batch(
        self, key: PRNGKeyArray, step: Int[Array, ""], size: Size, stage: Stage
    ) -> PyTree[Array]:
        """Samples of a step, `size` along a leading axis; by default fresh ones."""
        keys = jax.random.split(jax.random.fold_in(key, step), size)
        return jax.vmap(lambda one: self.sample(one, stage))(keys)


@checked
class FixedSet(AbstractProblem):
    """Another problem on `count` samples that are drawn once, from `key`.

    Every epoch goes through them once, in an order of its own, in full batches: what
    does not fill the last one waits for the next epoch. An epoch is ⌊count/batch⌋
    steps.
    """

    problem: AbstractProblem
    samples: PyTree[Array]
    curriculum: Curriculum

    def __init__(self, problem: AbstractProblem, count: Size, *, key: PRNGKeyArray):
        self.problem, self.curriculum = problem, problem.curriculum
        ramps = self.curriculum.points, self.curriculum.dimensions
        flat = all(ramp.start == ramp.end for ramp in ramps)
        require(flat, "problem", "one without a curriculum", "one that has")
        keys = jax.random.split(key, count)
        self.samples = drawn(problem, self.curriculum.last(), keys)
        known = bool(jax.tree.leaves(self.samples))
        require(known, "problem", "one that draws samples", "one without")

    def sample(self, key: PRNGKeyArray, stage: Stage) -> PyTree[Array]:
        """One of the set."""
        index = jax.random.randint(key, (), 0, self._count)
        return jax.tree.map(lambda leaf: leaf[index], self.samples)

    def batch(
        self, key: PRNGKeyArray, step: Int[Array, ""], size: Size, stage: Stage
    ) -> PyTree[Array]:
        count = self._count
        rule = f"at most {count} samples, all there are, in a batch"
        require(size <= count, "size", rule, size)
        an_epoch = count // size
        of_epoch = jax.random.fold_in(key, step // an_epoch)
        order = jax.random.permutation(of_epoch, count)
        rows = jax.lax.dynamic_slice_in_dim(order, step % an_epoch * size, size)
        return jax.tree.map(lambda leaf: leaf[rows], self.samples)

    def loss(
        self, model: Any, samples: PyTree[Array], stage: Stage
    ) -> Float[Array, ""]:
        return self.problem.loss(model, samples, stage)

    @property
    def _count(self) -> int:
        return len(jax.tree.leaves(self.samples)[0])


@checked
class Exact(AbstractProblem):
    """A loss that needs no samples: a function of the model alone.

    One that is an Equinox module brings its arrays along, and equal ones compile once.
    """

    function: Callable[[Any], Float[Array, ""]]
    curriculum: Curriculum

    def __init__(self, function: Callable[[Any], Float[Array, ""]]):
        self.function, self.curriculum = function, Curriculum.constant(1, 1)

    def sample(self, key: PRNGKeyArray, stage: Stage) -> None:
        """Nothing."""

    def batch(
        self, key: PRNGKeyArray, step: Int[Array, ""], size: Size, stage: Stage
    ) -> None:
        """Nothing."""

    def loss(self, model: Any, samples: None, stage: Stage) -> Float[Array, ""]:
        return self.function(model)


@eqx.filter_jit
def drawn(problem: AbstractProblem, stage: Stage, keys: Array) -> PyTree[Array]:
    """A sample for every key."""
    return jax.vmap(lambda key: problem.sample(key, stage))(keys)
