"""Where theory meets the model: the starts and ends of training, as predictors."""

from jaxtyping import Array, Float

from iclab.core import Count, Covariance, Number, checked
from iclab.models import LinearSelfAttention
from iclab.tasks import RandomCovariance
from iclab.theory import (
    largest_initial_scale,
    lsa_optimum,
    lsa_optimum_random_covariance,
)


@checked(finite=False)
def initial_lsa(
    theta: Float[Array, "d d"],
    scale: Number,
    covariance: Float[Array, "d d"],
    context_length: Count,
    *,
    any_scale: bool = False,
) -> LinearSelfAttention:
    """The start of Assumption 3.3 of zhang2023; refuses a scale σ for which Theorem 4.1
    proves nothing, unless `any_scale`.
    """
    largest = None if any_scale else largest_initial_scale(covariance, context_length)
    return LinearSelfAttention.balanced(theta, scale, largest)


@checked(finite=False)
def trained_lsa(
    law: RandomCovariance | Covariance, context_length: Count
) -> LinearSelfAttention:
    """The model that gradient flow ends with.

    `law` is that of the inputs in training: their covariance, as in Theorem 4.1 of
    zhang2023, or a task with random covariances, as in Theorem 4.5.

    ```python
    model = trained_lsa(jnp.eye(5), context_length=20)
    model(prompt)
    ```
    """
    if isinstance(law, RandomCovariance):
        found = lsa_optimum_random_covariance(law.moments(), context_length)
    else:
        found = lsa_optimum(law, context_length)
    return LinearSelfAttention(*found)
