"""Gradient flow as an ordinary differential equation, solved until it comes to rest."""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from iclab.core import PositiveFloat, Size, checked
from iclab.training._starts import like_start, parameters, scalar
from iclab.training._trained import Trained

ParametersT = TypeVar("ParametersT", bound=PyTree)


@checked(finite=False)
def integrate_flow(
    field: Callable[[ParametersT], ParametersT],
    start: ParametersT,
    *,
    speed: Callable[[ParametersT], Float[Array, ""]] | None = None,
    tolerance: PositiveFloat = 1e-10,
    rtol: PositiveFloat = 1e-10,
    atol: PositiveFloat = 1e-12,
    max_time: PositiveFloat = 1e9,
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
    reported by `converged` when `throw` is false.
    """
    # Here, because they take half a second that every other training can do without.
    import diffrax
    import optimistix as optx

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
    # The last accepted step instead of the infinities that pad unused rows.
    rows = jnp.minimum(jnp.arange(len(solution.ts)), last)
    times, path = jax.tree.map(lambda leaf: leaf[rows], (solution.ts, solution.ys))
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
        records=path,
        recorded_at=times,
        gradient_norm=last_speed,
        converged=converged,
    )


@checked(finite=False)
def gradient_flow(
    loss: Callable[[ParametersT], Float[Array, ""]],
    start: ParametersT,
    *,
    tolerance: PositiveFloat = 1e-10,
    rtol: PositiveFloat = 1e-10,
    atol: PositiveFloat = 1e-12,
    max_time: PositiveFloat = 1e9,
    max_steps: Size = 2048,
    throw: bool = True,
) -> Trained[ParametersT]:
    """Follow ẏ = −∇loss(y) from `start`, the gradient by automatic differentiation.

    Any pytree of arrays may be the parameters; options as in `integrate_flow`.
    """
    start = parameters(start)
    scalar(loss, start)
    gradient = jax.grad(loss)
    return integrate_flow(
        lambda y: jax.tree.map(jnp.negative, gradient(y)),
        start,
        tolerance=tolerance,
        rtol=rtol,
        atol=atol,
        max_time=max_time,
        max_steps=max_steps,
        throw=throw,
    )
