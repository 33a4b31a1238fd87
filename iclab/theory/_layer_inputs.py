"""What the layers of a linear transformer make of the inputs, and how conditioned."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import Covariance, checked


@checked
def layer_inputs(
    inputs: Float[Array, "n d"],
    A: Float[Array, "k d d"],
    B: Float[Array, "k d d"] | None,
) -> Float[Array, "k n d"]:
    r"""Inputs X_0, …, X_{k−1} of n examples as the k layers see them.

    $$X_{i+1}=X_i+\tfrac1nB_iX_iX_i^\top A_iX_i$$

    in the paper's columns, with X_0 = `inputs` (examples in rows, here and in what is
    returned), A_i = `A[i]` and B_i = `B[i]` (None: zeros, and all X_i are equal). The
    last B_i moves nothing that a layer sees. With A_i = a_iΣ⁻¹, B_i = b_iI, a_ib_i < 0
    this is GD++: each layer also contracts the inputs where they vary most.

    Source: ahn2023, Section 6.1, first observation; (4) with the parameters (13).
    Assumes: nothing.
    Differs from the paper: the observation leaves out Σ⁻¹ and the 1/n of (4).
    """
    n, X, seen = len(inputs), inputs, [inputs]
    for i in range(len(A) - 1):
        if B is not None:
            X = X + X @ (B[i] @ (X.T @ X / n) @ A[i]).T
        seen.append(X)
    return jnp.stack(seen)


@checked
def layer_condition_numbers(
    inputs: Float[Array, "n d"],
    A: Float[Array, "k d d"],
    B: Float[Array, "k d d"] | None,
    *,
    covariance: Covariance | None = None,
) -> Float[Array, " k"]:
    r"""Condition numbers of what the layers see, $\kappa(X_i^\top\Sigma^{-1}X_i)$.

    The largest over the smallest of the min(n, d) eigenvalues that are not 0 for every
    prompt, of the Gram matrices of the X_i of `layer_inputs`: squares of singular
    values of Σ^{−1/2}X_i. Σ = `covariance` (default I, the inputs as they are). Several
    prompts: `jax.vmap`.

    ```python
    a, b, _ = optimal_gd_plus_plus(dimension=5, samples=20, layers=3)
    X = jax.random.normal(key, (20, 5))
    I = jnp.eye(5)[None]
    layer_condition_numbers(X, a[:, None, None] * I, b[:, None, None] * I)
    ```

    Source: ahn2023, Sections 6 and 6.1 ("better condition number with each iteration").
    Assumes: nothing.
    Differs from the paper: whitening, so that Σ itself is no bad condition, is ours.
    """
    seen = layer_inputs(inputs, A, B)
    if covariance is not None:
        root = jnp.linalg.cholesky(covariance)
        whiten = lambda X: jax.scipy.linalg.solve_triangular(root, X.T, lower=True).T  # noqa: E731
        seen = jax.vmap(whiten)(seen)
    values = jnp.linalg.svd(seen, compute_uv=False)
    return (values[:, 0] / values[:, -1]) ** 2
