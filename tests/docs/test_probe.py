"""docs/probe.md: its models are run, and the probe says of them what the page says."""

import importlib.util
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from iclab.core import Foreign
from iclab.probes import judge, spectral_filter
from iclab.tasks import LinearRegression
from tests.assertions import assert_close

PAGE = (Path(__file__).parents[2] / "docs" / "probe.md").read_text(encoding="utf-8")
IN_TORCH, RULE, TWIN, FROM_PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def _prompts():
    task = LinearRegression(jnp.eye(5))
    return jax.jit(lambda: task.sample_batch(jax.random.key(0), 512, 20))()


def test_the_model_in_pytorch():
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch")
    names: dict = {}
    exec(IN_TORCH, names)
    prompts = _prompts()
    found = judge(Foreign(names["predict"]), prompts)
    # Its matrix is near a multiple of I, and not it.
    assert found.fit is not None
    assert (found.verdict, found.name) == ("closest", "gradient descent with a matrix")
    assert found.fit.parameters["step 3"] > 0
    assert_close(found.fit.distance.value, 0.006, rtol=0.5)
    assert spectral_filter(Foreign(names["predict"]), prompts).r2.value > 0.98


def test_its_twin():
    names: dict = {}
    exec(TWIN, names)
    found = judge(Foreign(names["predict"]), _prompts())
    assert found.fit is not None
    assert (found.verdict, found.name) == ("is", "gradient descent")
    assert found.fit.parameters["steps"] == 3
    assert_close(found.fit.parameters["step"], names["best"], rtol=1e-6)
    assert f"3 steps, step {names['best']:.3g}" in " ".join(PAGE.split())


def test_a_family_of_your_own():
    names: dict = {}
    exec(RULE, names)
    rule = names["tempered"]
    true = Foreign(lambda X, y, q: rule(X, y, q, penalty=0.5, steps=2))
    found = judge(true, _prompts(), families=[rule])
    assert (found.verdict, found.name) == ("is", "tempered")


def test_what_it_calls_is_there():
    """The last block, without the time that all measurements take."""
    compile(FROM_PYTHON, "docs/probe.md", "exec")
    for line in FROM_PYTHON.splitlines():
        if line.startswith("from iclab"):
            exec(line, {})
    import iclab.probes

    said = PAGE.rpartition("multiple of the identity")[2].partition("##")[0]
    for name in re.findall(r"`(\w+)`", said):
        assert hasattr(iclab.probes, name), name
