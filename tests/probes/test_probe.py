"""The whole probe, its words, its JSON and its refusals."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from iclab.algorithms import LeastSquares, Ridge
from iclab.core import AbstractPredictor, Foreign
from iclab.models import LinearTransformer
from iclab.probes import Probe, probe
from iclab.probes._asking import prepared
from iclab.probes._predictions import predictions
from iclab.probes._spectra import Sample
from iclab.report import write_probe_page
from iclab.tasks import LinearRegression
from tests.assertions import assert_close
from tests.probes.models import PROMPTS
from tests.refusals import refused


@pytest.fixture(scope="module")
def found() -> Probe:
    A = jnp.broadcast_to(-0.4 * jnp.eye(2), (2, 2, 2))
    model = LinearTransformer.sparse(A)
    against = {"ridge:1": Ridge(1.0)}
    return probe(model, contexts=[3, 6], prompts=256, against=against, name="mine")


def test_probe(found):
    assert [one.context for one in found.contexts] == [3, 6]
    assert found.main == 6
    for one in found.contexts:
        fit = one.verdict.fit
        assert fit is not None
        assert (one.verdict.verdict, fit.name) == ("is", "gradient descent")
        assert_close(fit.parameters["step"], 0.4, rtol=1e-6)
        assert one.other_noise is not None
        assert one.other_noise.name == "gradient descent"
        assert_close(one.filter.value, 1 - (1 - 0.4 * one.filter.eigenvalues) ** 2)
    assert found.layers is not None
    assert len(found.layers.layers) == 3
    last = found.layers.layers[-1].verdict
    # A read-out scales what it reads: no size of a step is left in it.
    assert last is not None
    assert last.name == "gradient descent, free steps"
    assert found.contexts[1].against["ridge:1"].value > 0


def test_summary(found):
    text = found.summary()
    assert text.startswith("mine: d = 2, x ~ N(0, I), y = ⟨w, x⟩\n")
    assert "is gradient descent, 2 steps, step 0.4" in text
    assert "It is gradient descent with 3, 6 examples." in text
    assert all(len(line) <= 180 for line in text.splitlines())


def test_json_and_frame(found):
    record = json.loads(json.dumps(found.json(), allow_nan=False))
    assert record["model"] == "mine"
    assert record["dimension"] == 2
    first = record["contexts"][0]
    assert set(first["filter"]) >= {"lambda", "value", "lower", "upper", "r2"}
    assert first["family"]["name"] == "gradient descent"
    assert first["family"]["parameters"]["steps"] == 2
    assert first["family"]["distance"] < 1e-9
    assert first["verdict"] == "is"
    assert set(first["tests"]) >= {"order", "rotation", "label scale"}
    assert len(record["layers"]["layers"]) == 3
    table = found.frame()
    rows = table[table["measurement"] == "contexts[0].filter.value"]
    assert_close(rows["value"].astype(float), first["filter"]["value"])


@pytest.mark.parametrize("whitened", [None, 0.1])
def test_a_page_with_a_matrix(found, whitened, tmp_path):
    record = found.json()
    own = record["contexts"][1]
    own["preconditioner"] = {
        "earned": True,
        "gain": 0.1,
        "gain_interval": [0.1, 0.1],
        "departure": 0.2,
        "departure_interval": [0.1, 0.3],
        "whitened_departure": whitened,
    }
    page = write_probe_page(record, tmp_path).read_text(encoding="utf-8")
    assert "‖Q − I‖/√d" in page
    assert ("in whitened inputs" in page) is (whitened is not None)


class Forgetful(AbstractPredictor):
    """Of dimension 3, for at most four examples."""

    dimension: int = 3
    max_examples: int = 4

    def __call__(self, prompt):
        return prompt.labels[0]


def test_refusals():
    with refused(
        "probe: give `dimension` or `task`, as the model does not say its dimension"
    ):
        probe(LeastSquares())
    with refused("probe: `dimension` must be 3, the model's own, got 2"):
        probe(Forgetful(), LinearRegression(jnp.eye(2)))
    with refused(
        "probe: `contexts` must be at most 4, the model's longest context, got 5"
    ):
        probe(Forgetful(), contexts=[2, 5])
    with refused("probe: `contexts` must be an integer ≥ 1, got 0"):
        probe(Forgetful(), contexts=[0])
    few = "≥ 64, for intervals to mean something, got 3"
    with refused(f"probe: `prompts` must be {few}"):
        probe(Forgetful(), prompts=3)


def _asked(function, lengths=(2, 4)):
    return prepared(Foreign(function), PROMPTS, lengths)


def _mean(X, y, q):
    return np.einsum("bnd,bn,bd->b", X, y, q) / X.shape[1]


def test_odd_functions_get_a_sentence_and_are_measured():
    """One axis short, places in the batch, chance, changed input, lengths refused."""
    rng = np.random.default_rng(0)

    def scalar(X, y, q):
        return _mean(X, y, q)[0]

    def first(X, y, q):
        return np.full(len(y), _mean(X, y, q)[0])

    def by_place(X, y, q):
        return _mean(X, y, q) + np.arange(len(y))

    def by_chance(X, y, q):
        return _mean(X, y, q) + 0.01 * rng.normal(size=len(y))

    def changing(X, y, q):
        y *= 2
        return _mean(X, y, q)

    def few(X, y, q):
        return _mean(X, y, q) if X.shape[1] <= 3 else np.full(len(y), np.nan)

    def many(X, y, q):
        if X.shape[1] < 4:
            raise IndexError("four are needed")
        return _mean(X, y, q)

    said = {
        scalar: "It ignores its batch axis (16 prompts are answered with shape ());"
        " it was asked one prompt at a time.",
        first: "It ignores its batch axis: one answer for all prompts of a batch; it"
        " was asked one prompt at a time.",
        by_place: "Its answer depends on the place in the batch or on the other"
        " prompts; it was asked one prompt at a time.",
        changing: "It changes the arrays that it is given; it was given copies.",
        few: "It takes at most 3 examples: a function that returns finite numbers,"
        " got 16 of 16 that are not.",
        many: "It needs at least 4 examples: raised IndexError: four are needed.",
    }
    for function, words in said.items():
        found = _asked(function)
        assert found.notes == (words,), function
        plain = predictions(found.predictor, PROMPTS, [found.shortest])
        sample = Sample.of(PROMPTS, found.shortest)
        expected = _mean(sample.examples, sample.labels, sample.query)
        assert_close(plain[:, 0], expected * (2 if function is changing else 1))
    (note,) = _asked(by_chance).notes
    assert note.startswith("It is random from call to call: two calls differ by 0.0")
    assert (_asked(few).longest, _asked(many).shortest) == (3, 4)


@pytest.mark.everything
def test_one_example_in_one_dimension():
    """All that can be measured there is measured, and nothing is NaN."""
    step = Foreign(lambda X, y, q: 0.5 * y[:, 0] * X[:, 0, 0] * q[:, 0])
    found = probe(step, dimension=1, contexts=[1], prompts=128)
    fit = found.contexts[0].verdict.fit
    assert fit is not None
    assert fit.name == "averaging"
    assert_close(fit.parameters["step"], 0.5, rtol=1e-6)
    text = json.dumps(found.json(), allow_nan=False)
    assert np.isfinite(found.contexts[0].error.value)
    assert "averaging" in text
