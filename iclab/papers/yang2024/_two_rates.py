"""A descent with two learning rates on the exact loss, remembered on its way."""

import functools

import jax.numpy as jnp
import numpy as np

from iclab.models import MultiHeadSoftmax
from iclab.papers.yang2024._instances import GENERAL, Instances, number
from iclab.papers.yang2024._single import single
from iclab.tasks import Representation
from iclab.training import train_exact, two_rates

# η_Q and η_w: the second is near the largest with which the weights converge.
FAST = 0.02, 0.5
EVERY = 64


@functools.cache
def descent(rates: tuple[float, float]) -> Instances:
    """Q and w at the start and then every `EVERY` steps, each as a problem with γ = 1.

    The start is w = 0 and a Q with which the weights are found quickly.
    """
    count, problem = number("smoke"), single(GENERAL)
    N, tau = problem.context_length, float(problem.noise_variance[0])
    random = np.random.default_rng([9, GENERAL.heads])
    Q = 3.0 * random.standard_normal(problem.key_query.shape[1:])
    found = train_exact(
        MultiHeadSoftmax(jnp.asarray(Q), jnp.zeros(problem.value.shape[1:])),
        Representation(
            jnp.asarray(problem.tokens[0]),
            jnp.asarray(problem.features[0]),
            context_length=N,
            noise_variance=tau,
        ),
        steps=EVERY * (count - 1),
        optimiser=two_rates(*rates),
        record=lambda model: model,
        every=EVERY,
        show_progress=False,
    )
    Q, w = np.asarray(found.records.key_query), np.asarray(found.records.value)
    tokens, features, variances = (
        np.repeat(one, count, axis=0)
        for one in (problem.tokens, problem.features, problem.noise_variance)
    )
    return Instances(N, tokens, features, variances, np.ones(count), Q, w, Q, w)
