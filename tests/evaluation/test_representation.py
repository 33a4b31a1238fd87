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
        jax.random.key(0),
        dictionary_size=K,
        input_dim=3,
        feature_dim=2,
        context_length=N,
        noise_variance=tau,
    )
    model = MultiHeadSoftmax(jnp.ones((2, 3, 3)), jnp.arange(10.0).reshape(2, 5))
    labels = task.sample_labels_batch(jax.random.key(1), 3)
    square, relative = ridge_distance(model, task, labels)
    ridge = jax.vmap(lambda y: icl_ridge(task.features, y, tau)[1])(labels[:, :N])
    predictions = jax.vmap(lambda y: model(task.tokens, y))(labels[:, :N])
    error = np.asarray(predictions - ridge)
    assert_close(square, (error**2).mean(axis=1))
    norms = np.linalg.norm(np.asarray(ridge), axis=1)
    assert_close(relative, np.linalg.norm(error, axis=1) / norms)
