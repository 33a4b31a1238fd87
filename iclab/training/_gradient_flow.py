"""Gradient flow as an ordinary differential equation, solved until it comes to rest."""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from iclab.core import (
    Size,
    checked,
    is_traced,
    require,
)
from iclab.training._starts import like_start, parameters, scalar
from iclab.training._trained import Trained

ParametersT = TypeVar("ParametersT", bound=PyTree)


@checked(finite=False)
def integrate_flow(
    field: Callable[[ParametersT], ParametersT],
    start: ParametersT,
    *,
    speed: Callable[[ParametersT], Float[Array, ""]] | None = None,
    tolerance: float = 1e-10,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    max_time: float = 1e9,
    max_steps: Size = 2048,
    throw: bool = True,
) -> Trained[ParametersT]:
    """Follow ẏ = field(y) from `start` until ‖field(y)‖ ≤ `tolerance`.

    The solver is implicit (fifth order), because the rates of a flow near a badly
    conditioned minimum lie many decades apart; it chooses its steps from `rtol` and
    `atol`. `speed` replaces ‖field(y)‖ as what must fall below `tolerance`, and what it
    is at the end is the result's `gradient_norm`; `records` are the accepted steps, at
    the times `recorded_at`, and repeat the last one after `step` of them. Works under
    `jit` and `vmap`. Not coming to rest within `max_time` or `max_steps` raises, or is
    told by `converged` when `throw` is false.
    """
    # Here, because they take half a second that every other training can do without.
    import diffrax
    import optimistix as optx

    require(tolerance > 0, "tolerance", "> 0", tolerance)
    for name, value in (("rtol", rtol), ("atol", atol), ("max_time", max_time)):
        require(is_traced(value) or value > 0, name, "> 0", value)
    start = parameters(start)
    like_start(field, start)

    def norm(y: ParametersT) -> Float[Array, ""]:
        return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(field(y))))

    pace = norm if speed is None else speed
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: field(y)),
        # A full Newton solve for each stage: the default, which keeps one Jacobian for
        # all of them, rejects every other step at tight tolerances.
        diffrax.Kvaerno5(root_finder=optx.Newton(rtol=rtol, atol=atol)),
        t0=0.0,
        t1=max_time,
        dt0=None,
        y0=start,
        stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol),
        saveat=diffrax.SaveAt(t0=True, steps=True),
        event=diffrax.Event(lambda t, y, args, **_: pace(y) <= tolerance),
        max_steps=max_steps,
        throw=False,
    )
    assert solution.ts is not None
    steps = solution.stats["num_accepted_steps"]
    last = jnp.minimum(steps, len(solution.ts) - 1)

    def settle(leaf: Array) -> Array:
        """Replace the infinities that pad unused rows by the last accepted step."""
        index = jnp.minimum(jnp.arange(len(leaf)), last)
        return leaf[index]

    times = settle(solution.ts)
    trajectory = jax.tree.map(settle, solution.ys)
    final = jax.tree.map(lambda leaf: leaf[last], solution.ys)
    last_speed = pace(final)
    converged = last_speed <= tolerance
    if throw:
        last_speed = eqx.error_if(
            last_speed,
            ~converged,
            "integrate_flow: the flow did not come to rest;"
            " raise `max_time` or `max_steps`, loosen `tolerance` or tighten `atol`",
        )
    return Trained(
        final,
        jnp.zeros(0),
        steps,
        records=trajectory,
        recorded_at=times,
        gradient_norm=last_speed,
        converged=converged,
    )


@checked(finite=False)
def gradient_flow(
    loss: Callable[[ParametersT], Float[Array, ""]],
    start: ParametersT,
    *,
    tolerance: float = 1e-10,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    max_time: float = 1e9,
    max_steps: int = 2048,
    throw: bool = True,
) -> Trained[ParametersT]:
    """Follow ẏ = −∇loss(y) from `start`, the gradient by automatic differentiation.

    Any pytree of arrays may be the parameters; options as in `integrate_flow`.
    """
    start = parameters(start)
    scalar(loss, start)
    gradient = jax.grad(loss)

    def field(y: ParametersT) -> ParametersT:
        return jax.tree.map(jnp.negative, gradient(y))

    return integrate_flow(
        field,
        start,
        tolerance=tolerance,
        rtol=rtol,
        atol=atol,
        max_time=max_time,
        max_steps=max_steps,
        throw=throw,
    )
