"""Distances to ridge regression."""

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evaluation import ridge_distance
from iclab.models import MultiHeadSoftmax
from iclab.tasks import Representation
from iclab.theory import icl_ridge
from tests.assertions import assert_close


def test_distances_are_those_to_the_ridge_predictions():
    K, N, tau = 5, 2, 0.3
    task = Representation.random(
        jax.random.key(0, impl="rbg"),
        dictionary_size=K,
        input_dim=3,
        feature_dim=2,
        context_length=N,
        noise_variance=tau,
    )
    model = MultiHeadSoftmax(jnp.ones((2, 3, 3)), jnp.arange(10.0).reshape(2, 5))
    labels = jnp.cos(jnp.arange(15.0)).reshape(3, K)
    square, relative = jax.jit(lambda labels: ridge_distance(model, task, labels))(
        labels
    )

    @jax.jit
    @jax.vmap
    def both(shown):
        return icl_ridge(task.features, shown, tau)[1], model(task.tokens, shown)

    ridge, predictions = both(labels[:, :N])
    error = np.asarray(predictions) - np.asarray(ridge)
    assert_close(square, (error**2).mean(axis=1))
    norms = np.linalg.norm(np.asarray(ridge), axis=1)
    assert_close(relative, np.linalg.norm(error, axis=1) / norms)
