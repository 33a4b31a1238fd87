"""What may happen along a training, beside the training itself."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from iclab._reader import Rule
from iclab.core import Natural, NonNegative, Size, checked, require
from iclab.training._problem import AbstractProblem, drawn


def _is_run(value: Any) -> bool:
    names = ("step", "steps", "first", "losses", "name")
    return all(hasattr(value, name) for name in names)


AnyRun = Annotated[Any, Rule("a `TrainingRun`, as `train` gives one", _is_run)]


@checked
class Hook:
    """Something that looks at a training on its way, and may end it.

    It is called before the first step and then now and then, whenever the compiled
    program comes up for air, and surely at every multiple of `every` and at the end;
    `run.due(self.every)` tells these from the others. What a call returns, if it
    is not None, is the reason why training stops here.

    ```python
    class Alarm(Hook):
        every = 100

        def __call__(self, run):
            if run.due(self.every) and run.losses[-1:].sum() > 10:
                return "the alarm"
    ```
    """

    every: int | None = None
    # Whether it keeps the state of the training, so that nobody else has to.
    keeps: bool = False

    def begin(self, run: AnyRun) -> None:
        """Called once, before everything."""

    def __call__(self, run: AnyRun) -> str | None:
        """Look at `run`, a `TrainingRun`; a reason ends it."""

    def stopped(self, run: AnyRun) -> None:
        """Called when something ended the training before its last step."""

    def close(self) -> None:
        """Called at the end, whatever the end is."""

    @property
    def memory(self) -> dict[str, np.ndarray]:
        """What a resumed run must know of this one: it goes into checkpoints."""
        return {}

    def recall(self, memory: dict[str, np.ndarray], run: AnyRun) -> None:
        """Take up the memory of the run that is resumed."""


@checked
class _Looking(Hook):
    """Looks at the start, at every multiple of `every` and at the end."""

    def __init__(self, every: Natural):
        self.every = every
        self._found: list[Any] = []
        self._steps: list[int] = []

    @property
    def steps(self) -> Int[np.ndarray, " times"]:
        """When it looked."""
        return np.array(self._steps, int)

    def __call__(self, run: AnyRun) -> None:
        due = run.due(self.every) or not self._steps
        if due and run.step not in self._steps[-1:]:
            self._found.append(self._look(run))
            self._steps.append(run.step)

    def _look(self, run: Any) -> Any:
        raise NotImplementedError


@checked
class Recorder(_Looking):
    """Keeps `look(model)` at the start, at every multiple of `every` and at the end."""

    def __init__(self, look: Callable[[Any], PyTree], every: Natural):
        super().__init__(every)
        self._raw, self._compiled = look, eqx.filter_jit(look)

    def _look(self, run: Any) -> PyTree:
        return jax.tree.map(np.asarray, self._compiled(run.model))

    @property
    def values(self) -> PyTree:
        """All that was seen, stacked; None before that."""
        if not self._found:
            return None
        return jax.tree.map(lambda *leaves: np.stack(leaves), *self._found)

    @property
    def memory(self) -> dict[str, np.ndarray]:
        leaves = enumerate(jax.tree.leaves(self.values))
        return {"steps": self.steps} | {str(i): leaf for i, leaf in leaves}

    def recall(self, memory: dict[str, np.ndarray], run: AnyRun) -> None:
        tree = jax.tree.structure(eqx.filter_eval_shape(self._raw, run.model))
        leaves = [memory.get(str(i)) for i in range(tree.num_leaves)]
        if all(leaf is not None for leaf in leaves):
            _knows(memory, "steps")
            self._steps = memory["steps"].tolist()
            rows = zip(*leaves, strict=True)
            self._found = [jax.tree.unflatten(tree, row) for row in rows]


@checked
class Validation(_Looking):
    """The loss on `count` samples of `problem` that stay the same, from time to time.

    ```python
    problem = InContext(task, points=11, positions="final")
    model, plan = initial_lsa(jnp.eye(5), 0.1, jnp.eye(5), 10), Plan(steps=40)
    validation = Validation(problem, 512, key=key, every=20)
    stop = EarlyStopping(validation, patience=5)
    train(problem, model, plan, hooks=[validation, stop])
    validation.losses, validation.steps, validation.best
    ```

    `best` is the model with the least such loss. A problem with a curriculum is judged
    as it will be at the end of it. `train` writes the loss into its metrics.
    """

    def __init__(
        self,
        problem: AbstractProblem,
        count: Size,
        *,
        key: PRNGKeyArray,
        every: Natural = 100,
    ):
        super().__init__(every)
        self.best: Any = None
        self._problem, self._stage = problem, problem.curriculum.last()
        keys = jax.random.split(key, count)
        self._samples = drawn(problem, self._stage, keys)

    @property
    def losses(self) -> Float[np.ndarray, " times"]:
        """What was found."""
        return np.array(self._found)

    def begin(self, run: AnyRun) -> None:
        require(not run.runs, "run", "of one model", f"runs {run.runs}")
        self._samples = run.cast(self._samples)

    def _look(self, run: Any) -> float:
        loss = float(_judged(self._problem, self._samples, self._stage, run.model))
        if not loss >= min(self._found, default=np.inf):
            self.best = run.model
        return loss

    @property
    def memory(self) -> dict[str, np.ndarray]:
        leaves = enumerate(jax.tree.leaves(eqx.filter(self.best, eqx.is_array)))
        best = {f"best.{i}": np.asarray(leaf) for i, leaf in leaves}
        return {"losses": self.losses, "steps": self.steps, **best}

    def recall(self, memory: dict[str, np.ndarray], run: AnyRun) -> None:
        _knows(memory, "losses", "steps")
        self._found, self._steps = memory["losses"].tolist(), memory["steps"].tolist()
        arrays, rest = eqx.partition(run.model, eqx.is_array)
        tree = jax.tree.structure(arrays)
        places = [f"best.{i}" for i in range(tree.num_leaves)]
        _knows(memory, *places)
        best = [jnp.asarray(memory[place]) for place in places]
        self.best = eqx.combine(jax.tree.unflatten(tree, best), rest)


@checked
class EarlyStopping(Hook):
    """Ends training when a validation has not fallen for `patience` looks.

    To have fallen, a loss must be below the least one before by more than `margin`.
    """

    def __init__(
        self,
        validation: Validation,
        *,
        patience: Natural = 10,
        margin: NonNegative = 0.0,
    ):
        self.every = validation.every
        self._validation, self._patience, self._margin = validation, patience, margin

    def begin(self, run: AnyRun) -> None:
        here = self._validation in run.hooks
        require(here, "validation", "among the hooks too", "another")

    def __call__(self, run: AnyRun) -> str | None:
        losses = self._validation.losses
        bounds = np.minimum.accumulate(losses[:-1]) - self._margin
        fell = np.flatnonzero(losses[1:] < bounds)
        since = len(losses) - 1 - (fell[-1] + 1 if len(fell) else 0)
        return "early stopping" if since >= self._patience else None


def _knows(memory: Mapping[str, Any], *names: str) -> None:
    """Refuse the memory of something else."""
    missing = [name for name in names if not hasattr(memory.get(name), "tolist")]
    rule = "what `memory` of the same hook was"
    require(not missing, "memory", rule, f"nothing under {missing}")


@eqx.filter_jit
def _judged(problem: AbstractProblem, samples: PyTree, stage: Any, model: Any) -> Array:
    return problem.loss(model, samples, stage)
