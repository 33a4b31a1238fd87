"""The networks of examples/pytorch: what the how-to says of them, trained anew."""

import importlib.util
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from iclab.core import Foreign
from iclab.probes import judge
from iclab.probes._asking import prepared
from iclab.tasks import LinearRegression

FILE = Path(__file__).parents[2] / "examples" / "pytorch" / "networks.py"


@pytest.fixture(scope="module")
def networks():
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch")
    spec = importlib.util.spec_from_file_location("networks", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["networks"] = module
    spec.loader.exec_module(module)
    return module


def _prompts(n: int):
    task = LinearRegression(jnp.eye(5))
    return task, task.sample_batch(jax.random.key(0), 1024, n)


@pytest.mark.everything
def test_delta(networks):
    """The layer of the delta rule is told from every method that is blind to order."""
    task, prompts = _prompts(10)
    found = judge(Foreign(networks.delta), prompts, task=task)
    assert "order" in found.broken
    assert "label sums" not in found.broken
    assert found.name == "normalised LMS"


@pytest.mark.everything
@pytest.mark.parametrize("name", ["softmax", "softmax_noisy", "lstm"])
def test_networks_are_no_family(networks, name):
    """No trained network *is* a method, and none is silently called one."""
    task, prompts = _prompts(10)
    model = prepared(Foreign(getattr(networks, name)), prompts, [10]).predictor
    found = judge(model, prompts, task=task)
    assert found.verdict != "is"
    assert {"label sums", "rotation"} <= set(found.broken)


@pytest.mark.everything
def test_the_longest_prompt_is_found(networks):
    _, prompts = _prompts(40)
    found = prepared(Foreign(networks.softmax), prompts, [10, 40])
    assert found.longest == networks.LONGEST
    assert "It takes at most 20 examples" in found.notes[0]
