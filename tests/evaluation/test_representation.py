"""Distances to ridge regression."""

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evaluation import error_curve, ridge_distance
from iclab.models import MultiHeadSoftmax, OnPrompts
from iclab.tasks import Representation
from iclab.theory import icl_ridge
from tests.assertions import assert_close, assert_mean_close


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


def test_dictionary_models_have_error_curves():
    """The exact risk: labels of a token pair have covariance F Fᵀ + τmI."""
    K, N, m, tau = 4, 2, 2, 0.3
    key = jax.random.key(1, impl="rbg")
    task = Representation.random(
        key, dictionary_size=K, input_dim=3, feature_dim=m, context_length=N,
        noise_variance=tau,
    )  # fmt: skip
    model = MultiHeadSoftmax(jnp.ones((2, 3, 3)), jnp.arange(8.0).reshape(2, K) / 9)
    curve = error_curve(
        {"softmax": OnPrompts(model, task.tokens)}, task, [N], prompts=32, key=key
    )["softmax"]
    F = np.asarray(task.features)
    covariance = F @ F.T + tau * m * np.eye(K)
    # ŷ − y = (Â, 0)ᵀy − y for the K tokens, each asked for with the same chance.
    residual = np.vstack([model.weights(task.tokens, N), np.zeros((K - N, K))])
    residual = residual - np.eye(K)
    expected = np.trace(residual.T @ covariance @ residual) / K
    error = (curve.upper - curve.lower) / 3.29
    assert_mean_close(curve.mean, error, [expected])
