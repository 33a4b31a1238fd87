"""L-BFGS with a record of where it went."""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PyTree

from iclab.core import NonNegativeFloat, Size, checked, is_traced, require
from iclab.runs import bench
from iclab.training._at_work import Keeper
from iclab.training._starts import parameters, scalar
from iclab.training._trained import Trained

ParametersT = TypeVar("ParametersT", bound=PyTree)

# How long one compiled call should last in a job that is watched and may be killed.
_CALL_SECONDS = 2.0


class _State(NamedTuple):
    """A search under way; of `losses` and `records` the first `step` + 1 are filled."""

    parameters: PyTree
    memory: PyTree
    step: Array
    norm: Array
    stuck: Array
    losses: Array
    records: PyTree


@checked(finite=False)
def minimise(
    loss: Callable[[ParametersT], Float[Array, ""]],
    start: ParametersT,
    *,
    max_steps: Size = 500,
    tolerance: NonNegativeFloat = 1e-8,
    memory: Size = 20,
) -> Trained[ParametersT]:
    """Minimise a deterministic `loss` by L-BFGS from `start`, a pytree of arrays.

    Stops when the gradient's norm is at most `tolerance`, when a step changes nothing
    any more, or after `max_steps`. `losses` and `records`, the parameters, are those at
    the start and after every step, and repeat the last ones after `step` of them. Works
    under `jit`, and under `vmap` for many starts at once, where every search stops on
    its own.

    Called from a job, and not from inside of a program, it comes up for air: the job
    tells how far it is, and one that was killed goes on where it was. A `loss` that is
    a Module brings its arrays as arguments, and compiles once for all of its kind.
    """
    start = parameters(start)
    scalar(loss, start)
    state = _begin(loss, start, max_steps, memory)
    traced = is_traced(state.norm)
    if not traced:
        first, slope = float(state.losses[0]), float(state.norm)
        rule, found = "where `loss` is finite", f"{first:.3g} of gradient {slope:.3g}"
        require(math.isfinite(first + slope), "start", rule, found)
    if traced or bench() is None:
        state = _advance(loss, state, jnp.asarray(max_steps), tolerance, memory)
    else:
        state = _watched(loss, state, max_steps, tolerance, memory)
    index = jnp.minimum(jnp.arange(max_steps + 1), state.step)
    return Trained(
        state.parameters,
        state.losses[index],
        state.step,
        records=jax.tree.map(lambda leaf: leaf[index], state.records),
        recorded_at=index,
        gradient_norm=state.norm,
        converged=state.norm <= tolerance,
    )


@eqx.filter_jit
def _begin(loss: Any, start: PyTree, max_steps: int, memory: int) -> _State:
    value, gradient = jax.value_and_grad(loss)(start)

    def rows(first: Array) -> Array:
        empty = jnp.zeros((max_steps + 1, *first.shape), first.dtype)
        return empty.at[0].set(first)

    return _State(
        start,
        optax.lbfgs(memory_size=memory).init(start),
        jnp.asarray(0),
        optax.tree.norm(gradient),
        jnp.asarray(False),
        rows(value),
        jax.tree.map(rows, start),
    )


@eqx.filter_jit
def _advance(
    loss: Any, state: _State, until: Array, tolerance: float, memory: int
) -> _State:
    """The search after step `until`, or where it stopped before."""
    optimiser = optax.lbfgs(memory_size=memory)
    value_and_gradient = optax.value_and_grad_from_state(loss)

    def going(state: _State) -> Any:
        return (state.step < until) & (state.norm > tolerance) & ~state.stuck

    def advance(state: _State) -> _State:
        parameters = state.parameters
        value, gradient = value_and_gradient(parameters, state=state.memory)
        updates, memory = optimiser.update(
            gradient, state.memory, parameters, value=value, grad=gradient,
            value_fn=loss,
        )  # fmt: skip
        moved = optax.apply_updates(parameters, updates)
        step = state.step + 1
        return _State(
            moved,
            memory,
            step,
            optax.tree.norm(optax.tree.get(memory, "grad")),
            # The line search returns a null step when it finds no decrease.
            optax.tree.norm(updates) == 0,
            state.losses.at[step].set(optax.tree.get(memory, "value")),
            jax.tree.map(lambda rows, p: rows.at[step].set(p), state.records, moved),
        )

    return jax.lax.while_loop(going, advance, state)


def _watched(
    loss: Any, state: _State, max_steps: int, tolerance: float, memory: int
) -> _State:
    """The whole search in short calls, kept on the way in the folder of the job."""
    here = bench()
    assert here is not None
    keeper = Keeper(here, "search")
    found = keeper.load({"search": state, "history": np.zeros((0, 0))})
    if found is not None:
        state = jax.tree.map(jnp.asarray, found[1]["search"])
    count, done = 1, int(state.step)

    def going() -> bool:
        going = float(state.norm) > tolerance and not bool(state.stuck)
        return done < max_steps and going

    while going():
        start = time.monotonic()
        # An array: how steps are divided into calls makes no other program.
        until = jnp.asarray(min(done + count, max_steps))
        state = _advance(loss, state, until, tolerance, memory)
        done = int(state.step)
        took = time.monotonic() - start
        count = max(1, min(2 * count, int(count * _CALL_SECONDS / max(took, 1e-3))))
        here.progress(done / max_steps, f"loss {float(state.losses[done]):.3g}")
        if keeper.due(last=not going()):
            # Losses are in the state: checkpoints know only the length of history.
            keeper.save(done, {"search": state, "history": np.zeros((done, 0))})
    return state
