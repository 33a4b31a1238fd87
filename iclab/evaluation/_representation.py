"""How close a model over a dictionary comes to ridge regression."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import checked, require
from iclab.models import Encoder, MultiHeadSoftmax
from iclab.tasks import Representation
from iclab.theory import representation_optimum_closed


@checked(finite=False)
def ridge_distance(
    model: MultiHeadSoftmax | Encoder,
    task: Representation,
    labels: Float[Array, "prompts K"],
) -> tuple[Float[Array, " prompts"], Float[Array, " prompts"]]:
    r"""$\frac1K\lVert\hat y-\hat y^\star\rVert^2$ for every row of `labels`, and
    $\lVert\hat y-\hat y^\star\rVert/\lVert\hat y^\star\rVert$.

    ŷ* is ridge regression with penalty mτ that copies shown labels. Rows are label
    vectors of all K tokens, from `task.sample_labels_batch`; only N are used.

    Source: yang2024, Figure 2; (22) has ½ of the first.
    """
    N, K = task.context_length, task.tokens.shape[0]
    require(labels.shape[1] == K, "labels", f"of {K} columns", labels.shape[1])
    shown = labels[:, :N]
    ridge = shown @ representation_optimum_closed(task.features, N, task.noise_variance)
    predictions = jax.vmap(lambda y: model(task.tokens, y))(shown)
    square = jnp.sum((predictions - ridge) ** 2, axis=1)
    size = jnp.sum(ridge**2, axis=1)
    return square / K, jnp.sqrt(square / size)
