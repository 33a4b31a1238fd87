"""L-BFGS with a record of where it went."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from iclab.core import finite_number, positive_integer, require
from iclab.training._trained import Trained

ParametersT = TypeVar("ParametersT", bound=PyTree)


def minimise(
    loss: Callable[[ParametersT], Float[Array, ""]],
    start: ParametersT,
    *,
    max_steps: int = 500,
    tolerance: float = 1e-8,
    memory: int = 20,
) -> Trained[ParametersT]:
    """Minimise a deterministic `loss` by L-BFGS from `start`, a pytree of arrays.

    Stops when the gradient's norm is at most `tolerance`, when a step changes nothing
    any more, or after `max_steps`. `losses` and `records`, the parameters, are those at
    the start and after every step, and repeat the last ones after `step` of them. Works
    under `jit`, and under `vmap` for many starts at once, where every search stops on
    its own.
    """
    owner = "minimise"
    positive_integer(max_steps, owner, "max_steps")
    positive_integer(memory, owner, "memory")
    finite_number(tolerance, owner, "tolerance")
    require(tolerance >= 0, owner, "tolerance", "≥ 0", tolerance)
    optimiser = optax.lbfgs(memory_size=memory)
    value_and_gradient = optax.value_and_grad_from_state(loss)

    def record(history: PyTree, step: Array, parameters: PyTree) -> PyTree:
        return jax.tree.map(lambda h, p: h.at[step].set(p), history, parameters)

    def going(carry: Any) -> Any:
        _, _, step, norm, stuck, _, _ = carry
        return (step < max_steps) & (norm > tolerance) & ~stuck

    def advance(carry: Any) -> Any:
        parameters, state, step, _, _, losses, history = carry
        value, gradient = value_and_gradient(parameters, state=state)
        updates, state = optimiser.update(
            gradient, state, parameters, value=value, grad=gradient, value_fn=loss
        )
        moved = optax.apply_updates(parameters, updates)
        after = optax.tree.get(state, "value")
        norm = optax.tree.norm(optax.tree.get(state, "grad"))
        # The line search returns a null step when it finds no decrease.
        stuck = optax.tree.norm(updates) == 0
        losses = losses.at[step + 1].set(after)
        history = record(history, step + 1, moved)
        return moved, state, step + 1, norm, stuck, losses, history

    value, gradient = jax.value_and_grad(loss)(start)
    rows = max_steps + 1
    losses = jnp.zeros(rows, value.dtype).at[0].set(value)
    empty = jax.tree.map(lambda leaf: jnp.zeros((rows, *leaf.shape), leaf.dtype), start)
    carry: Any = (
        start,
        optimiser.init(start),
        jnp.asarray(0),
        optax.tree.norm(gradient),
        jnp.asarray(False),
        losses,
        record(empty, jnp.asarray(0), start),
    )
    final, _, steps, norm, _, losses, history = jax.lax.while_loop(
        going, advance, carry
    )
    index = jnp.minimum(jnp.arange(rows), steps)
    return Trained(
        final,
        losses[index],
        steps,
        records=jax.tree.map(lambda leaf: leaf[index], history),
        recorded_at=index,
        gradient_norm=norm,
        converged=norm <= tolerance,
    )
