"""Linear attention in Gram space: what it makes of a prompt's moments, once for all."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

Moments = tuple[Float[Array, "d d"], Float[Array, " d"], Float[Array, ""]]


def query_through_layers(
    value: Float[Array, "layers heads k k"],
    key_query: Float[Array, "layers heads k k"],
    moments: Moments,
    query: Float[Array, " d"],
    count: int | Int[Array, ""],
    *,
    masked: bool,
    residual: bool = True,
) -> Float[Array, "states k"]:
    r"""The query's token before the first layer and after every one, O(d³) each.

    It enters as (x_q, 0). A layer multiplies every token by the same matrix
    $I+\sum_hP_hGQ_h$, where G is the second moment of the current examples, and of the
    query too unless it is `masked`.
    """
    gram, correlation, label_power = moments
    last_row = jnp.append(correlation, label_power)[None]
    G = jnp.concatenate([jnp.column_stack([gram, correlation]), last_row])
    dtype = jnp.result_type(G, value)
    G, token = G.astype(dtype), jnp.append(query, 0.0).astype(dtype)
    identity = jnp.eye(len(G), dtype=dtype) if residual else jnp.zeros_like(G)

    def layer(state, weights):
        G, token = state
        keys = G if masked else G + jnp.outer(token, token) / count
        heads = (P @ keys @ Q for P, Q in zip(*weights, strict=True))
        step = functools.reduce(jnp.add, heads, identity)
        token = step @ token
        return (step @ G @ step.T, token), token

    _, tokens = jax.lax.scan(layer, (G, token), (value, key_query))
    return jnp.concatenate([token[None], tokens])


def query_past_fixed_inputs(
    A: Float[Array, "layers d d"],
    u: Float[Array, "layers d"],
    moments: Moments,
    query: Float[Array, " d"],
) -> Float[Array, "states k"]:
    r"""The same in O(d²) a layer where nothing moves but labels.

    With the matrices of `SparseWeights` and B = 0 a layer acts on the query's label ŷ
    and on c = (1/n) Σ yᵢxᵢ alone, $\hat y\leftarrow\hat y+p^\top x_q$ and $c\leftarrow
    c+Sp$ with $p=A^\top(c+Su)$.
    """
    S, c, _ = moments

    def layer(state, weights):
        c, label = state
        A, u = weights
        pull = A.T @ (c + S @ u)
        label = label + pull @ query
        return (c + S @ pull, label), label

    zero = jnp.zeros((), query.dtype)
    _, labels = jax.lax.scan(layer, (c, zero), (A, u))
    labels = jnp.append(zero, labels)
    return jnp.column_stack(
        [jnp.broadcast_to(query, (len(labels), len(query))), labels]
    )
