"""Symmetries, implied weights, layers and shifts of models with known answers."""

import jax.numpy as jnp
import numpy as np

from iclab.algorithms import Averaging, GradientDescent, LeastSquares, Ridge
from iclab.core import AbstractPredictor
from iclab.models import LinearTransformer
from iclab.probes import extrapolations, implied_weights, kind_tests, layers, shifts
from tests.assertions import assert_close
from tests.probes.models import PROMPTS, TASK, D, N, NearestNeighbour
from tests.refusals import refused


class Positional(AbstractPredictor):
    """Minds the order: example i counts i times."""

    def __call__(self, prompt):
        weight = jnp.arange(1.0, len(prompt.labels) + 1) * prompt.labels
        return prompt.query @ (weight @ prompt.examples) / prompt.count


class WrongScale(AbstractPredictor):
    """Averaging of labels that are squashed: a wrong convention inside."""

    def __call__(self, prompt):
        return prompt.query @ (jnp.tanh(prompt.labels) @ prompt.examples) / prompt.count


def _broken(predictor):
    found = kind_tests(predictor, PROMPTS, TASK)
    return {one.name for one in found if one.broken}


def _off_the_law(predictor):
    return {one.name: one.change.value for one in extrapolations(predictor, PROMPTS)}


def test_least_squares_passes_all():
    assert _broken(LeastSquares()) == set()
    found = _off_the_law(LeastSquares())
    assert max(found["doubled labels"], found["doubled inputs"]) < 1e-15
    assert_close(found["outlier, linearly"], 1.0)
    assert found["outlier"] > 1


def test_positions_show():
    """Its second moment is weighted by place: flips of signs are no matter."""
    assert _broken(Positional()) == {"order"}


def test_squashed_labels_show():
    assert _broken(WrongScale()) == {"label sums", "label scale"}
    assert _off_the_law(WrongScale())["outlier, linearly"] < 0.5


def test_neighbours_are_local():
    broken = _broken(NearestNeighbour())
    assert {"signs", "query sums"} <= broken
    assert not broken & {"label sums", "order", "rotation"}


def test_implied_weights():
    rivals = {"ridge": Ridge(1.0), "averaging": Averaging()}
    found = implied_weights(Ridge(1.0), PROMPTS, against=rivals)
    assert found.nonlinearity.value < 1e-20
    assert found.distances["ridge"].value < 1e-20
    assert found.distances["averaging"].lower > 0.01
    X, y = np.asarray(PROMPTS.examples), np.asarray(PROMPTS.labels)
    system = X.transpose(0, 2, 1) @ X + np.eye(D)
    right = (y[:, None, :] @ X)[:, 0, :, None]
    expected = np.linalg.solve(system, right)[:, :, 0]
    assert_close(found.weights, expected, rtol=1e-8)


def test_a_nearest_neighbour_is_not_linear_in_the_query():
    found = implied_weights(NearestNeighbour(), PROMPTS)
    assert found.nonlinearity.lower > 0.1


def test_layers_of_a_linear_transformer_are_steps():
    """Layer ℓ is ℓ steps of gradient descent, and its stream says nothing more."""
    step = 0.3
    A = jnp.broadcast_to(-step * jnp.eye(D), (3, D, D))
    found = layers(LinearTransformer.sparse(A), PROMPTS)
    errors = [one.own_error.value for one in found.layers]
    assert_close(errors[0], 1.0)
    assert errors == sorted(errors, reverse=True)
    X, q = np.asarray(PROMPTS.examples), np.asarray(PROMPTS.query)
    half = len(q) // 2
    S = X.transpose(0, 2, 1) @ X / N
    # After two steps ⟨w, x_q⟩ − ŷ = wᵀ(I − ηS)²x_q, and w follows from the labels.
    w = np.linalg.pinv(X) @ np.asarray(PROMPTS.labels)[:, :, None]
    left = (np.eye(D) - step * S) @ ((np.eye(D) - step * S) @ q[:, :, None])
    residual = np.sum(w * left, axis=(1, 2))[half:]
    expected = np.mean(residual**2) / np.mean(np.asarray(PROMPTS.target)[half:] ** 2)
    assert_close(errors[2], expected)
    # A linear read-out of (x_q, ŷ) rescales ŷ at best.
    assert found.layers[3].error.value < found.layers[1].error.value < 1
    assert found.layers[2].filter.r2.value > 0.99


def test_layers_of_what_has_none():
    rule = "one that shows its layers (`streams`, `predictions_by_depth`)"
    with refused(f"layers: `predictor` must be {rule}, got Ridge"):
        layers(Ridge(1.0), PROMPTS)


def test_shifts():
    step = GradientDescent(jnp.array([0.5]))
    found = {
        one.name: one
        for one in shifts(step, TASK, context=N, lengths=(2, N, 40), prompts=256)
    }
    assert set(found) == {"context", "scale", "tilt", "noise", "query"}
    context = found["context"]
    assert context.error[0] > context.error[1] > context.error[2]
    # A step that is right for inputs of size 1 is far too long for inputs of size 4.
    scale = found["scale"]
    assert scale.error[-1] > 10 * scale.error[2]
    assert_close(scale.least_squares, np.zeros(5), atol=1e-20)
    noise = found["noise"]
    assert noise.error[-1] > noise.error[0]
    assert noise.least_squares[-1] > noise.least_squares[0]
    # Linear in the query: its size changes nothing.
    assert_close(found["query"].error, np.full(5, found["query"].error[0]), rtol=1e-6)
    # One step's filter is ηλ wherever it is measured.
    spectrum = np.linalg.svd(np.asarray(PROMPTS.examples), compute_uv=False) ** 2 / N
    middle = 0.5 * np.median(spectrum)
    assert_close(context.filter[1, 2], middle, rtol=0.15)  # other prompts than these
    assert_close(context.r2, np.ones(3))
