"""Gradient flow of linear self-attention at any size, by an exact reduction.

On u₁₂ = u₂₁ = 0, and in the eigenbasis of the covariance, the loss is

    L(U, u) = ½ u² Σ R_ij U_ij² − u Σ ξ_i U_ii + constant,

so off-diagonal entries only decay, U_ij(t) = U_ij(0) exp(−R_ij τ) with τ̇ = u², and
what is left to solve has d + 2 unknowns instead of d² + 1. R and ξ are read off the
population loss by automatic differentiation, not from the papers' vector fields, which
can therefore be held against it.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from iclab.core import Count, Covariance, Number, PositiveFloat, checked, require
from iclab.tasks import RandomCovariance
from iclab.theory import lsa_loss, lsa_loss_random_covariance
from iclab.training._gradient_flow import integrate_flow
from iclab.training._trained import Trained

# The blocks (U₁₁, u₋₁) that the flow moves.
Blocks = tuple[Float[Array, "*saved d d"], Float[Array, "*saved"]]


@checked(finite=False)
def lsa_gradient_flow(
    law: RandomCovariance | Covariance,
    context_length: Count,
    U11: Float[Array, "d d"],
    u_last: Number,
    *,
    tolerance: PositiveFloat = 1e-10,
    max_steps: int = 4096,
    throw: bool = True,
) -> Trained[Blocks]:
    """Gradient flow on the population loss of zhang2023 from (`U11`, `u_last`).

    `law` is that of the inputs: their covariance Λ, for the loss (3.8), or a task with
    random covariances, for (4.10). N = `context_length`. Any start will do: balanced or
    not, of any sign; one that flows into the saddle at the origin comes to rest there.
    Parameters of the result are pairs (U₁₁, u₋₁). Options as in `integrate_flow`.
    """
    if isinstance(law, RandomCovariance):
        loss, distribution, V = lsa_loss_random_covariance, law.moments(), None
    else:
        eigenvalues, V = jnp.linalg.eigh(law)
        loss, distribution = lsa_loss, jnp.diag(eigenvalues)
    d = law.dimension if isinstance(law, RandomCovariance) else len(distribution)
    require(len(U11) == d, "U11", f"a {d}×{d} matrix", f"shape {U11.shape}")
    flow = _reduced_flow(
        loss,
        distribution,
        jnp.asarray(context_length),
        U11 if V is None else V.T @ U11 @ V,
        jnp.asarray(u_last, dtype=float),
        tolerance,
        max_steps,
        throw,
    )
    if V is None:
        return flow

    def back(blocks: Blocks) -> Blocks:
        return V @ blocks[0] @ V.T, blocks[1]

    found = back(flow.records), back(flow.model)
    return eqx.tree_at(lambda flow: (flow.records, flow.model), flow, found)


# Compiled once per loss and dimension: what else varies between runs is an array.
@eqx.filter_jit
def _reduced_flow(
    loss: Callable[..., Array],
    distribution: Float[Array, "rows d"],
    context_length: Int[Array, ""],
    U: Float[Array, "d d"],
    u: Float[Array, ""],
    tolerance: float,
    max_steps: int,
    throw: bool,
) -> Trained[Blocks]:
    zero, one = jnp.zeros_like(U), jnp.ones(())
    gradient = jax.grad(
        lambda entries: loss(entries, one, distribution, context_length)
    )
    # The Hessian in U is diagonal: its product with a matrix of ones is its diagonal.
    _, R = jax.jvp(gradient, (zero,), (jnp.ones_like(U),))
    xi = -jnp.diagonal(gradient(zero))
    r = jnp.diagonal(R)
    start = jnp.where(jnp.eye(len(U), dtype=bool), 0, U)

    def decayed(tau):
        return start * jnp.exp(-R * tau)

    def field(state):
        diagonal, u, tau = state
        off = decayed(tau)
        d_diagonal = -(u**2) * r * diagonal + u * xi
        d_u = -u * (jnp.sum(r * diagonal**2) + jnp.sum(R * off**2)) + xi @ diagonal
        return d_diagonal, d_u, u**2

    def speed(state):
        d_diagonal, d_u, _ = field(state)
        _, u, tau = state
        d_off = u**2 * R * decayed(tau)
        return jnp.sqrt(jnp.sum(d_diagonal**2) + d_u**2 + jnp.sum(d_off**2))

    def blocks(state):
        diagonal, u, tau = state
        return decayed(tau) + jnp.diag(diagonal), u

    result = integrate_flow(
        field,
        (jnp.diagonal(U), u, jnp.zeros(())),
        speed=speed,
        tolerance=tolerance,
        max_steps=max_steps,
        throw=throw,
    )
    found = jax.vmap(blocks)(result.records), blocks(result.model)
    return eqx.tree_at(lambda flow: (flow.records, flow.model), result, found)
