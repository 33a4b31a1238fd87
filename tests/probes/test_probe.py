"""The whole probe, its words, its JSON and its refusals."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from iclab.algorithms import LeastSquares, Ridge
from iclab.core import AbstractPredictor, Foreign
from iclab.models import LinearTransformer
from iclab.probes import Probe, probe
from iclab.report import write_probe_page
from iclab.tasks import LinearRegression
from tests.assertions import assert_close
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
        assert one.family.name == "gradient descent"
        assert_close(one.family.fit.parameters["step"], 0.4, rtol=1e-6)
        assert_close(one.filter.value, 1 - (1 - 0.4 * one.filter.eigenvalues) ** 2)
    assert found.layers is not None
    assert len(found.layers.layers) == 3
    assert found.contexts[1].against["ridge:1"].value > 0


def test_summary(found):
    text = found.summary()
    assert text.startswith("mine: d = 2, x ~ N(0, I), y = ⟨w, x⟩\n")
    assert "gradient descent, 2 steps of 0.4, exactly" in text
    assert all(len(line) <= 150 for line in text.splitlines())


def test_json_and_frame(found):
    record = json.loads(json.dumps(found.json(), allow_nan=False))
    assert record["model"] == "mine"
    assert record["dimension"] == 2
    first = record["contexts"][0]
    assert set(first["filter"]) >= {"lambda", "value", "lower", "upper", "r2"}
    assert first["family"]["name"] == "gradient descent"
    assert first["family"]["parameters"]["steps"] == 2
    assert first["family"]["distance"] < 1e-9
    assert set(record["symmetries"]) >= {"order", "rotation", "label scale"}
    assert len(record["layers"]["layers"]) == 3
    table = found.frame()
    rows = table[table["measurement"] == "contexts[0].filter.value"]
    assert_close(rows["value"].astype(float), first["filter"]["value"])


@pytest.mark.parametrize("whitened", [None, 0.1])
def test_a_page_with_a_matrix(found, whitened, tmp_path):
    record = found.json()
    own = record["contexts"][1]["preconditioner"]
    assert own["whitened_departure"] is None
    own |= {"earned": True, "gain": 0.1, "whitened_departure": whitened}
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


def test_a_function_that_changes_its_mind():
    calls = []

    def moody(X, y, q):
        calls.append(1)
        return y[:, 0] * 0 + len(calls)

    rule = "deterministic, got two calls on the same prompts that differ by 1"
    with refused(f"probe: `predictor` must be {rule}"):
        probe(Foreign(moody), dimension=1, contexts=[1], prompts=64)


def test_one_example_in_one_dimension():
    """All that can be measured there is measured, and nothing is NaN."""
    step = Foreign(lambda X, y, q: 0.5 * y[:, 0] * X[:, 0, 0] * q[:, 0])
    found = probe(step, dimension=1, contexts=[1], prompts=128)
    assert found.contexts[0].family.name == "averaging"
    assert_close(found.contexts[0].family.fit.parameters["step"], 0.5, rtol=1e-6)
    text = json.dumps(found.json(), allow_nan=False)
    assert np.isfinite(found.contexts[0].error.value)
    assert "averaging" in text
