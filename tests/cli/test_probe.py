"""`iclab probe`, as a user meets it."""

import csv
import json
import re

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from iclab.algorithms import GradientDescent, IterativeNewton, Ridge
from iclab.cli import main
from iclab.cli._probe import _named
from iclab.core import Foreign, write_tensors
from iclab.models import GPT2, Encoder, LinearTransformer, LoopedTransformer

FUNCTIONS = '''
import numpy as np
from beside import HALF

def predict(X, y, q):
    """One step of gradient descent of size ½."""
    return HALF * np.einsum("bnd,bn,bd->b", X, y, q) / X.shape[1]

def two_columns(X, y, q):
    return np.zeros((len(y), 2))

def nan(X, y, q):
    return np.full(len(y), np.nan)

def raises(X, y, q):
    raise RuntimeError("no device\\nat all")

three = 3
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(FUNCTIONS)
    (tmp_path / "beside.py").write_text("HALF = 0.5\n")
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "noise.safetensors").write_bytes(b"no tensors in here at all")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.everything
def test_a_function_in_a_file(folder, capsys):
    words = [
        "mine.py:predict",
        "--dimension",
        "2",
        "--context",
        "4",
        "--prompts",
        "128",
    ]
    words += ["--against", "ridge:0.5", "--out", "page", "--json"]
    assert main(["probe", *words]) == 0
    said = capsys.readouterr()
    steps = ["families with 4 examples", "off the law"]
    steps += ["implied weights", "shifts"]  # and no layers: a function shows none
    lines = [f"{i} of 4: {s}" for i, s in enumerate(steps, 1)]
    lines.insert(1, "with 4 examples: is averaging, step 0.5")
    assert said.err.splitlines() == lines
    found = json.loads(said.out)
    assert found["model"] == "mine.py:predict"
    assert found["dimension"] == 2
    assert found["layers"] is None
    (here,) = found["contexts"]
    assert here["context"] == 4
    assert isinstance(here["error"], float)
    assert set(here["filter"]) >= {"lambda", "value", "lower", "upper", "r2"}
    assert here["filter"]["value"] == pytest.approx(
        [0.5 * one for one in here["filter"]["lambda"]], rel=1e-6
    )
    assert here["family"]["name"] == "averaging"
    assert here["family"]["parameters"]["step"] == pytest.approx(0.5, rel=1e-6)
    assert here["family"]["distance"] < 1e-9
    assert here["against"]["ridge:0.5"]["distance"] > 0.01
    assert here["verdict"] == "is"
    assert set(here["tests"]) >= {"label scale", "order", "rotation"}
    # The page needs nothing but what lies beside it.
    page = (folder / "page" / "index.html").read_text()
    assert "is averaging, step 0.5" in page
    needed = set(re.findall(r'(?:src|href)="([^"#:]+)"', page))
    assert {"filter.svg", "shifts.svg", "probe.json", "figure.pdf"} <= needed
    assert all((folder / "page" / name).is_file() for name in needed)
    assert json.loads((folder / "page" / "probe.json").read_text()) == found
    with (folder / "page" / "probe.csv").open() as file:
        rows = list(csv.DictReader(file))
    values = [r["value"] for r in rows if r["measurement"] == "contexts[0].error"]
    assert [float(one) for one in values] == [here["error"]]


def test_what_a_word_may_mean(folder):
    key = jax.random.key(0)
    model = GPT2.of_size("tiny", dimension=3, max_examples=6, key=key)
    (folder / "run").mkdir()
    model.save(folder / "run" / "model.safetensors")
    settings = {"settings": {"context": 4, "covariance": "random"}}
    (folder / "run" / "manifest.json").write_text(json.dumps(settings))
    found = _named("run")
    assert isinstance(found.predictor, GPT2)
    assert (found.context, found.covariance) == (4, "random")
    assert isinstance(_named("run/model.safetensors").predictor, GPT2)
    model.to_huggingface(folder / "face")
    assert isinstance(_named("face").predictor, GPT2)
    linear = LinearTransformer.sparse(-0.1 * jax.numpy.eye(2)[None])
    linear.save(folder / "linear.safetensors")
    assert isinstance(_named("linear.safetensors").predictor, LinearTransformer)
    shipped = _named("zhang2023/gpt2-fixed-26")
    assert isinstance(shipped.predictor, GPT2)
    assert (shipped.context, shipped.covariance) == (26, "fixed")
    assert isinstance(_named("mine.py:predict").predictor, Foreign)
    ridge, steps, newton = (
        _named(word).predictor for word in ("ridge:0.5", "gd:3", "newton:4")
    )
    assert isinstance(ridge, Ridge)
    assert float(ridge.penalty) == 0.5
    assert isinstance(steps, GradientDescent)
    assert len(steps.step_sizes) == 3
    assert isinstance(newton, IterativeNewton)


FUNCTION = "Foreign.on_batch: `function` must be"
BAD = {
    "mine.py:two_columns --dimension 2": f"{FUNCTION} a function that returns"
    " shape (16,), a number a prompt, got shape (16, 2)",
    "mine.py:nan --dimension 2": f"{FUNCTION} a function that returns"
    " finite numbers, got 16 of 16 that are not",
    "mine.py:raises --dimension 2": "Foreign.on_batch: `function` raised"
    " RuntimeError: no device at all",
    "mine.py:three --dimension 2": "mine.py has no function 'three'",
    "mine.py:predict": "give --dimension: a function does not say it",
    "mine.py:predict --dimension 2 --prompts 3": "`prompts` must be ≥ 64, for intervals"
    " to mean something, got 3",
    "mine.py:predict --dimension 2 --context 1000000000": "`prompts` must be few enough"
    " for 5e+08 numbers in all, prompts × examples × dimension, got 4.1e+12",
    "mine.py:predict --dimension 2 --variances 1": "--variances must be 2 numbers,"
    " got 1",
    "leaves.py:predict --dimension 2": "leaves.py cannot be run: SystemExit: 3",
    "missing.py:predict --dimension 2": "no file missing.py",
    "mine.py": "mine.py is a file of Python: say which function predicts, as in"
    " mine.py:predict",
    "empty": "GPT2.from_huggingface: `path` must be a folder with model.safetensors"
    " (`iclab train` writes it when it is done), got empty",
    "zhang2023/gpt2-fixed-10 --dimension 3": "`dimension` must be 5, the model's own,"
    " got 3",
    "zhang2023/gpt2-fixed-10 --context 100": "`contexts` must be at most 40, the"
    " model's longest context, got 100",
    "gd:2.5": "a number of steps must be a whole number from 1 to 10000, got 2.5",
    "gd:inf": "a number of steps must be a whole number from 1 to 10000, got inf",
    "ridge:-1": "Ridge: `penalty` must be ≥ 0 and finite, got -1.0",
    "ridge:1 --heads 2": "--heads is for the file of a GPT-2, got ridge:1",
}


@pytest.mark.parametrize("words", BAD)
def test_mistakes_are_one_line(folder, words, capsys):
    short = ["--context", "2"] if "--context" not in words else []
    assert main(["probe", *words.split(), *short]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-1] == f"iclab probe: {BAD[words]}"
    assert "Traceback" not in said.err


def test_files_that_hold_no_predictor(folder, capsys):
    assert main(["probe", "noise.safetensors"]) == 2
    assert "noise.safetensors" in capsys.readouterr().err
    encoder = Encoder.random(
        jax.random.key(0), input_dim=2, layers=1, heads=1, width=4, hidden=4
    )
    encoder.save(folder / "encoder.safetensors")
    assert main(["probe", "encoder.safetensors"]) == 2
    assert capsys.readouterr().err == (
        "iclab probe: encoder.safetensors holds a Encoder, which answers no single"
        " prompt: `models.OnPrompts` makes it a predictor\n"
    )
    for name, model, found in (
        ("list", {"list": []}, "a file that describes a model, got a list"),
        ("five", 5, "a file that describes a model, got a int"),
    ):
        write_tensors(folder / f"{name}.safetensors", {}, {"model": model})
        assert main(["probe", f"{name}.safetensors"]) == 2
        assert capsys.readouterr().err == f"iclab probe: load: `path` must be {found}\n"
    looped = LoopedTransformer(jnp.eye(2), loops=2)
    broken = eqx.tree_at(lambda m: m.A, looped, jnp.full((2, 2), jnp.nan))
    broken.save(folder / "nan.safetensors")
    assert main(["probe", "nan.safetensors"]) == 2
    assert capsys.readouterr().err == (
        "iclab probe: load: `path` must be a file whose `A` is finite,"
        " got 4 entries that are not\n"
    )
    assert main(["probe", "nobody"]) == 2
    assert "no model 'nobody': give a folder" in capsys.readouterr().err


def test_help_says_that_files_are_run(capsys):
    with pytest.raises(SystemExit):
        main(["probe", "--help"])
    assert "FILE.py:FUNCTION runs the file" in capsys.readouterr().out
