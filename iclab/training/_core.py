"""The one place that steps an optimiser: one run or many side by side, with hooks."""

import contextlib
import functools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Key, PyTree

from iclab.core import finite_array, require
from iclab.runs import assigned_devices
from iclab.training._at_work import asked_precision, at_work
from iclab.training._hooks import Hook, Recorder
from iclab.training._plan import AnyOptimiser, Precision, is_endless, transformation
from iclab.training._problem import AbstractProblem
from iclab.training._processes import agreed
from iclab.training._trained import Diverged, Trained

ModelT = TypeVar("ModelT")
Keys = Key[Array, "..."]

# Steps that one compiled call may take, and how long it should last. Between calls
# hooks are called. How steps are divided into calls does not change a bit of what they
# compute: the number of steps is an argument of the program.
_LONGEST_CALL, _CALL_SECONDS = 256, 0.5


class TrainingRun(Generic[ModelT]):
    """A training under way: what hooks look at. Arguments are those of `fit`.

    `step` of `steps` are taken; `model` is the model now. `name` is that of the public
    function that trains. `saved_at` is the step of the last checkpoint, if a hook
    writes them.
    """

    def __init__(
        self,
        name: str,
        problem: AbstractProblem,
        model: Any,
        optimiser: AnyOptimiser,
        *,
        steps: int,
        batch: int = 1,
        key: Keys | None = None,
        runs: tuple[int, ...] = (),
        hooks: Sequence[Hook] = (),
        limit: float = math.inf,
        precision: Precision | None = None,
        redraw_every: int = 1,
    ):
        self.name, self.problem, self.optimiser = name, problem, optimiser
        # A training with a folder of its own needs none of its job's.
        kept = any(hook.keeps for hook in hooks)
        self.hooks = (*hooks,) if kept else (*hooks, *at_work())
        self.runs, self.steps = tuple(runs), steps
        self.step = self.first = 0
        self.saved_at: int | None = None
        self.stopped_by: str | None = None
        self.precision: Precision | None = asked_precision(precision)
        self._limit = limit
        parameters, rest = split(self.cast(model), "model")
        for leaf in jax.tree.leaves(parameters):
            finite_array(leaf, "model")
        for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array)):
            rule = f"of arrays with the axes {self.runs} in front"
            fits = leaf.shape[: len(self.runs)] == self.runs
            require(fits, "model", rule, f"shape {leaf.shape}")
        frozen, static = eqx.partition(rest, eqx.is_array)
        keys = self._keys(jax.random.key(0) if key is None else key)
        program = _Program(
            problem=problem,
            frozen=frozen,
            static=static,
            key_data=jax.random.key_data(keys),
            key_kind=jax.random.key_impl(keys),
            optimiser=optimiser,
            # As a rule, neither steps nor seeds make another program.
            steps=1 if is_endless(optimiser) else steps,
            batch=batch,
            redraw_every=redraw_every,
            runs=self.runs,
            limit=float(limit),
            precision=self.precision,
            mesh=Mesh(np.array(assigned_devices()), ("batch",)),
        )
        arrays, plain = eqx.partition(program, eqx.is_array)
        self._program = eqx.combine(_everywhere(arrays, program.mesh), plain)
        start = _over(self.runs, transformation(optimiser, steps).init)
        carry = (parameters, start(parameters), parameters)
        self._carry = _everywhere(carry, program.mesh)
        self._history: list[np.ndarray] = [np.zeros((0, *self.runs, 2))]
        self._pace = _Pace()

    @property
    def model(self) -> ModelT:
        """The model as it is now."""
        return self._whole(self._carry[0])

    @property
    def losses(self) -> Float[np.ndarray, "steps *runs"]:
        """Losses of all steps so far, those before a resume included."""
        return self.history[..., 0]

    @property
    def history(self) -> Float[np.ndarray, "steps *runs 2"]:
        """Losses and norms of gradients of all steps so far."""
        self._history = [np.concatenate(self._history)]
        return self._history[0]

    @property
    def rate(self) -> float:
        """Steps a second, by the last call that compiled nothing."""
        return self._pace.rate

    @property
    def state(self) -> dict[str, Any]:
        """All that the rest of the run depends on, as arrays."""
        memories = {name: hook.memory for name, hook in self._named_hooks.items()}
        return {
            "model": self._carry[0],
            "optimiser": self._carry[1],
            "history": self.history,
            "hooks": {name: memory for name, memory in memories.items() if memory},
        }

    def restore(self, step: int, state: dict[str, Any]) -> None:
        """Go on from the `state` of a step instead of the beginning.

        Hooks that it does not know begin anew.
        """
        rule = f"at least {step}, where the checkpoint is"
        require(step <= self.steps, "steps", rule, self.steps)
        self.step = self.first = step
        carry = (state["model"], state["optimiser"], state["model"])
        self._carry = _everywhere(carry, self._program.mesh)
        self._history = [np.asarray(state["history"])]
        # `Recorder` was `Record` in checkpoints of the version before.
        older = {name: name.replace("Recorder", "Record") for name in self._named_hooks}
        for name, hook in self._named_hooks.items():
            if found := state["hooks"].get(name) or state["hooks"].get(older[name]):
                hook.recall(found, self)

    def due(self, every: int | None) -> bool:
        """Whether this is the last step or one that `every` divides, as it does 0."""
        return self.step == self.steps or (every is not None and self.step % every == 0)

    def cast(self, tree: PyTree) -> PyTree:
        """Floating-point arrays in the precision of this training."""
        return _cast(tree, _dtype(self.precision))

    def run(self) -> Trained[ModelT]:
        """Take all steps, or as many as hooks allow."""
        with contextlib.ExitStack() as stack:
            for hook in self.hooks:
                stack.callback(hook.close)
                hook.begin(self)
            reason = self._asked()
            while self.step < self.steps:
                count, stop = agreed(self._next_count(), reason is not None)
                if stop:
                    self.stopped_by = reason or "another process"
                    for hook in self.hooks:
                        hook.stopped(self)
                    break
                self._take(count)
                reason = self._asked()
        return self._result(self.model, self.step)

    @property
    def _named_hooks(self) -> dict[str, Hook]:
        """Hooks by their kind, and by their number where there are several."""
        found: dict[str, Hook] = {}
        for hook in self.hooks:
            name = type(hook).__name__
            count = sum(type(other) is type(hook) for other in found.values())
            found[f"{name}-{count + 1}" if count else name] = hook
        return found

    def _asked(self) -> str | None:
        """Call every hook; the first reason to stop."""
        reasons = [hook(self) for hook in self.hooks]
        return next((reason for reason in reasons if reason is not None), None)

    def _next_count(self) -> int:
        """Steps until something is due, or as many as the pace allows."""
        step, curriculum = self.step, self.problem.curriculum
        periods = [hook.every for hook in self.hooks if hook.every is not None]
        due = [(step // every + 1) * every for every in periods]
        limit = min(self.steps, curriculum.leaves_at(step), *due)
        return min(self._pace.steps(curriculum.padded_length(step)), int(limit) - step)

    def _take(self, count: int) -> None:
        length = self.problem.curriculum.padded_length(self.step)
        start = time.perf_counter()
        fixed, numbers = (self._program, length), np.array([self.step, count], np.int32)
        self._carry, taken, fine, values = _advance(fixed, self._carry, *numbers)
        new = np.asarray(values, float)[: int(taken)]
        self._pace.saw(length, len(new), time.perf_counter() - start)
        self._history.append(new)
        self.step += len(new)
        if not bool(np.all(np.asarray(fine))):
            bad = self.step - 1
            result = self._result(self._whole(self._carry[2]), max(bad - 1, 0))
            raise Diverged(self._explosion(bad, new[-1], np.asarray(fine)), result)

    def _explosion(self, step: int, numbers: np.ndarray, fine: np.ndarray) -> str:
        where = np.unravel_index(np.argmin(fine), fine.shape)
        loss, norm = numbers[where]
        by_loss = not (np.isfinite(loss) and loss <= self._limit)
        name, bad = ("loss", loss) if by_loss else ("gradient", norm)
        finite = self._limit == math.inf or not by_loss
        rule = "finite" if finite else f"at most `limit` = {self._limit:g}"
        run = f" of run {tuple(map(int, where))}" if where else ""
        at = self.saved_at
        saved = "" if at is None else f"; the last checkpoint is of step {at}"
        return (
            f"{self.name}: `{name}` must be {rule} (try a smaller learning rate),"
            f" got {bad} at step {step}{run}{saved}"
        )

    def _result(self, model: ModelT, step: int) -> Trained[ModelT]:
        record = next((one for one in self.hooks if isinstance(one, Recorder)), None)
        seen = (None, None) if record is None else (record.values, record.steps)
        return Trained(model, self.losses, step, self.stopped_by, *seen)

    def _whole(self, parameters: PyTree) -> Any:
        here = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)), parameters)
        return eqx.combine(here, self._program.frozen, self._program.static)

    def _keys(self, key: Keys) -> Keys:
        if not self.runs or key.shape:
            rule = f"one key or {self.runs[-1:]} of them"
            fits = key.shape == self.runs[-1:]
            require(fits, "key", rule, f"shape {key.shape}")
            return key
        fold = functools.partial(jax.random.fold_in, key)
        return jax.vmap(fold)(jnp.arange(self.runs[-1]))


def stepped(
    loss: Callable[[PyTree], Float[Array, ""]],
    optimiser: optax.GradientTransformation,
    limit: float,
    carry: PyTree,
    moves: bool | Bool[Array, ""] = True,
) -> tuple[PyTree, Bool[Array, ""], Float[Array, ""], Float[Array, ""]]:
    """Parameters, the optimiser's memory and the last parameters with a good loss,
    a step later; whether the step was good, its loss and the norm of its gradient.

    A bad step is not taken, nor is any unless it `moves`.
    """
    parameters, memory, good = carry
    value, gradient = jax.value_and_grad(loss)(parameters)
    norm = jnp.sqrt(sum(map(_sum_of_squares, jax.tree.leaves(gradient))))
    fine = jnp.isfinite(value) & jnp.isfinite(norm)
    if limit != math.inf:
        fine = fine & (value <= limit)
    updates, new_memory = optax.with_extra_args_support(optimiser).update(
        gradient, memory, parameters, value=value, grad=gradient, value_fn=loss
    )
    moved = (optax.apply_updates(parameters, updates), new_memory)
    taken = fine if moves is True else fine & moves
    choose = lambda new, old: jnp.where(taken, new, old)  # noqa: E731
    carry = jax.tree.map(choose, (*moved, parameters), (parameters, memory, good))
    return carry, fine, value, norm


def _sum_of_squares(leaf: Float[Array, "..."]) -> Float[Array, ""]:
    """Rows by a product with ones.

    On CPUs XLA divides a sum over an array that it has transposed, as gradients of
    stacked matrices are, into small windows: fifty times slower than adding it up.
    """
    rows = jnp.atleast_2d(leaf**2)
    ones = jnp.ones(rows.shape[-1], rows.dtype)
    return jnp.sum(jnp.matmul(rows, ones, precision=jax.lax.Precision.HIGHEST))


class _Program(eqx.Module):
    """All that steps depend on, apart from the state; equal ones compile once."""

    problem: AbstractProblem
    frozen: PyTree
    static: PyTree
    key_data: Array
    key_kind: Any
    optimiser: AnyOptimiser
    steps: int
    batch: int
    redraw_every: int
    runs: tuple[int, ...]
    limit: float
    precision: Precision | None
    mesh: Mesh


@eqx.filter_jit(donate="all-except-first")
def _advance(
    fixed: tuple[_Program, int], carry: PyTree, first: Any, count: Any
) -> tuple[PyTree, Array, Array, Array]:
    """State after at most `count` steps, how many they were, whether all is finite, and
    the loss and gradient norm of each.
    """
    program, length = fixed
    problem, runs, precision = program.problem, program.runs, program.precision
    keys = jax.random.wrap_key_data(program.key_data, impl=program.key_kind)
    by_sample = NamedSharding(program.mesh, PartitionSpec("batch"))
    everywhere = NamedSharding(program.mesh, PartitionSpec())
    dtype = _dtype(precision)
    optimiser = transformation(program.optimiser, program.steps)

    every = program.redraw_every

    def drawn(step):
        def draw(key):
            stage = problem.curriculum.stage(step // every * every, length)
            samples = problem.batch(key, step // every, program.batch, stage)
            return jax.lax.with_sharding_constraint(samples, by_sample)

        # Runs along all axes but the last see the same.
        return (jax.vmap(draw) if runs else draw)(keys)

    def unfinished(loop):
        taken, _, fine, *_ = loop
        return (taken < count) & jnp.all(fine)

    def body(loop):
        taken, carry, _, values, kept = loop
        step = first + taken
        if every == 1:
            samples = drawn(step)
        else:
            # What does not change the numbers: a call draws its first batch anew.
            fresh = (taken == 0) | (step % every == 0)
            samples = kept = jax.lax.cond(fresh, drawn, lambda step: kept, step)

        def one_run(carry, frozen, samples):
            def loss(parameters):
                stage = problem.curriculum.stage(step, length)
                if precision == "bfloat16":
                    parameters = _cast(parameters, jnp.bfloat16)
                model = eqx.combine(parameters, frozen, program.static)
                return problem.loss(model, _cast(samples, dtype), stage)

            return stepped(loss, optimiser, program.limit, carry)

        all_runs = _over(runs, one_run, samples_last=True)
        carry, fine, *numbers = all_runs(carry, program.frozen, samples)
        values = values.at[taken].set(jnp.stack(numbers, -1).astype(values.dtype))
        return taken + 1, carry, fine, values, kept

    empty = jnp.zeros((_LONGEST_CALL, *runs, 2), dtype or float)
    like = None if every == 1 else eqx.filter_eval_shape(drawn, first)
    kept = jax.tree.map(lambda one: jnp.zeros(one.shape, one.dtype), like)
    loop = (jnp.int32(0), carry, jnp.ones(runs, bool), empty, kept)
    taken, carry, fine, values, _ = jax.lax.while_loop(unfinished, body, loop)
    return jax.lax.with_sharding_constraint((carry, taken, fine, values), everywhere)


def _over(
    runs: tuple[int, ...], function: Callable, *, samples_last: bool = False
) -> Callable:
    """`function` of one run, for all; samples differ along the last axis only."""
    for axis in reversed(range(len(runs))):
        own = 0 if axis == len(runs) - 1 else None
        function = jax.vmap(function, in_axes=(0, 0, own) if samples_last else 0)
    return function


class _Pace:
    """How many steps the next call should take to last half a second."""

    def __init__(self):
        self.rate = 0.0
        self._seconds: dict[int, float] = {}  # of a step, by the length of prompts

    def steps(self, length: int) -> int:
        seconds = self._seconds.get(length, math.inf)
        return int(np.clip(_CALL_SECONDS / seconds, 1, _LONGEST_CALL))

    def saw(self, length: int, steps: int, seconds: float) -> None:
        known = length in self._seconds  # the first call compiled
        each = max(seconds, 1e-9) / max(steps, 1)
        self._seconds[length] = each if known else math.inf
        self.rate = 1 / each if known else self.rate


def split(model: Any, name: str) -> tuple[Any, Any]:
    """What is trained of a model, and the rest."""
    dynamic, rest = eqx.partition(model, eqx.is_inexact_array)
    rule = "a pytree with arrays of numbers to train"
    require(bool(jax.tree.leaves(dynamic)), name, rule, "none")
    return dynamic, rest


def _dtype(precision: Precision | None) -> Any:
    """Type of the weights, of the optimiser's state and of the samples; None: as is."""
    if precision is None:
        return None
    return jnp.float64 if precision == "float64" else jnp.float32


def _cast(tree: PyTree, dtype: Any) -> PyTree:
    """Floating-point arrays in another precision."""
    if dtype is None:
        return tree
    floating = lambda leaf: eqx.is_inexact_array(leaf)  # noqa: E731
    return jax.tree.map(lambda a: a.astype(dtype) if floating(a) else a, tree)


def _everywhere(tree: PyTree, mesh: Mesh) -> PyTree:
    """A copy of every array on every device."""
    sharding = NamedSharding(mesh, PartitionSpec())

    def place(leaf: Array | np.ndarray) -> Array:
        value = np.array(leaf)  # a copy, because steps write over what they are given
        return jax.make_array_from_callback(value.shape, sharding, lambda i: value[i])

    return jax.tree.map(place, tree)
