"""The README's Python is run, in one program from top to bottom, as a reader would."""

import contextlib
import io
import re
import shutil
import warnings
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

import iclab

README = Path(__file__).parents[2] / "README.md"
# A fenced block of Python, and what stands in the block behind it if nothing but space
# is between them: its output.
_BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```\n(.*?)^```\n)?", re.M | re.S)
_NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")


@pytest.fixture
def with_a_trained_model(tmp_path, monkeypatch):
    """The folder that the README's training would have left: those weights ship."""
    monkeypatch.chdir(tmp_path)
    weights = resources.files("iclab.models") / "weights" / "gpt2-fixed-10.safetensors"
    (tmp_path / "run").mkdir()
    with resources.as_file(weights) as path:
        shutil.copy(path, tmp_path / "run" / "model.safetensors")


@pytest.mark.everything
def test_python_of_the_readme_prints_what_it_says(with_a_trained_model, monkeypatch):
    text = README.read_text(encoding="utf-8")
    blocks = _BLOCK.findall(text)
    assert len(blocks) >= 5
    # In one process, so that the test needs no others.
    whole = iclab.sweep

    def sweep(function, grid, seeds):
        small = {name: values[:1] for name, values in grid.items()}
        return whole(function, small, seeds=1, jobs=1, quiet=True)

    monkeypatch.setattr(iclab, "sweep", sweep)
    names: dict[str, object] = {}
    for code, said in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore", iclab.evaluation.HeavyTails)
            exec(compile(code, str(README), "exec"), names)
        if said:
            shown, found = (_numbers(one) for one in (said, printed.getvalue()))
            # Last digits differ between machines; a changed formula does not hide.
            np.testing.assert_allclose(found, shown, rtol=0.02, atol=2e-3)


def _numbers(text: str) -> list[float]:
    return [float(word) for word in _NUMBER.findall(text)]
