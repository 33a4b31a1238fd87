"""`iclab train`, as a user meets it."""

import hashlib
import json
import os
import re
import subprocess
import sys

import pytest

from iclab.cli import main
from iclab.models import GPT2, load
from iclab.runs import Cache
from tests.runs import work

WORDS = [
    "train",
    "zhang2023/gpt2",
    "--size",
    "tiny",
    "--dimension",
    "2",
    "--context",
    "3",
    "--batch",
    "2",
    "--curriculum-every",
    "0",
    "--checkpoint-every",
    "2",
    "--log-every",
    "1",
    "--learning-rate",
    "1e-3",
]


def test_train_stop_resume(tmp_path, capsys):
    out = str(tmp_path / "run")
    assert main([*WORDS, "--steps", "2", "--out", out]) == 0
    said = capsys.readouterr()
    assert said.out == f"trained: {out}/model.safetensors\n"
    assert re.match(r"train: [12] of 2 steps · loss ", said.err)
    # More steps, from where it stood.
    assert main([*WORDS, "--steps", "3", "--out", out, "--resume"]) == 0
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2, 3]
    weights = tmp_path / "run" / "model.safetensors"
    assert GPT2.load(weights).max_examples == 6
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["sha256"] == hashlib.sha256(weights.read_bytes()).hexdigest()
    assert manifest["settings"]["steps"] == 3
    assert "--size tiny --covariance fixed --context 3" in manifest["command"]
    assert manifest["versions"]["jax"]
    # Mistakes are one line.
    capsys.readouterr()
    assert main([*WORDS, "--steps", "3", "--out", out]) == 2
    assert capsys.readouterr().err == (
        f"iclab train: {out} holds checkpoints up to step 3: resume, or use another"
        " folder\n"
    )
    assert main([*WORDS, "--steps", "9", "--out", out, "--resume", "--seed", "1"]) == 2
    assert "`seed` is 0 there and 1 here\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--size", "huge"], "`size` must be one of tiny, small, standard, got 'huge'"),
        (["--covariance", "odd"], "`covariance` must be fixed or random, got 'odd'"),
        (["--context", "0"], "`context` must be an integer ≥ 1, got 0"),
        (["--longest", "2"], "`longest` must be at least `context` = 3, got 2"),
        (["--batch", "0"], "`batch` must be an integer ≥ 1, got 0"),
        (["--coordinator", "x"], "`coordinator` must be host:port, got 'x'"),
        (
            ["--processes", "2"],
            "`processes` must be given together with `coordinator` and `process_id`,"
            " got 2",
        ),
    ],
)
def test_mistakes_are_one_line(tmp_path, capsys, unchecked, words, message):
    assert main([*WORDS, "--out", str(tmp_path), *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("iclab train: ")
    assert error.endswith(f"{message}\n")
    assert error.count("\n") == 1


def test_unknown_models(tmp_path, capsys):
    assert main(["train", "zhang2023/gpt3", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        "iclab train: unknown model 'zhang2023/gpt3': did you mean zhang2023/gpt2?\n"
    )


@pytest.mark.everything
def test_a_run_that_is_killed_at_once_is_not_compiled_again(tmp_path):
    out, cache = tmp_path / "run", tmp_path / "cache"
    words = [*WORDS, "--steps", "1000000", "--checkpoint-every", "1000000"]
    environment = {**os.environ, "ICLAB_CACHE": str(cache)}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)

    def killed_after_a_step() -> set[str]:
        """Programs that are kept then."""
        (out / "metrics.jsonl").unlink(missing_ok=True)
        run = subprocess.Popen(
            [sys.executable, "-m", "iclab", *words, "--out", str(out)],
            env=environment,
            stderr=subprocess.DEVNULL,
        )
        try:
            lines = out / "metrics.jsonl"
            work.until(lambda: lines.exists() and lines.stat().st_size, 120)
        finally:
            run.kill()
            run.wait()
        assert not list(out.glob("checkpoints/*"))
        return set(os.listdir(Cache(cache).threaded_programs))

    first = killed_after_a_step()
    assert first
    assert killed_after_a_step() == first


SMALL = ["--dimension", "2", "--context", "3", "--batch", "2", "--steps", "2"]


@pytest.mark.everything
def test_train_attention(tmp_path, capsys):
    """Every kind of setting; the manifest's command trains the same weights."""
    words = ["--activation", "relu", "--heads", "2", "--loops", "3", "--hidden", "4"]
    words += ["--query", "key", "--divisor", "2.5", "--no-residual", *SMALL]
    out = tmp_path / "run"
    assert main(["train", "attention", *words, "--out", str(out)]) == 0
    model = load(out / "model.safetensors")
    assert (model.activation, model.weights.heads, model.depth) == ("relu", 2, 3)
    assert (model.divisor, model.query, model.residual) == (2.5, "key", False)
    command = json.loads((out / "manifest.json").read_text())["command"].split()
    again = tmp_path / "again"
    assert main([*command[1:-1], str(again)]) == 0
    weights = [(one / "model.safetensors").read_bytes() for one in (out, again)]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["attention", "--size", "tiny"], "attention has no --size"),
        (["zhang2023/gpt2", "--heads", "2"], "zhang2023/gpt2 has no --heads"),
        (
            ["attention", "--layers", "3", "--loops", "2"],
            "Attention: `loops` must be None, as every layer has weights of its own,"
            " got 2",
        ),
        (
            ["attention", "--activation", "sofmax"],
            "Attention: `activation` must be one of softmax, identity, relu, gelu,"
            " tanh, sigmoid, exp, got 'sofmax'",
        ),
        (
            ["attention", "--divisor", "d"],
            "`divisor` must be n, root or a number, got 'd'",
        ),
    ],
)
def test_what_attention_is_not(words, sentence, tmp_path, capsys):
    out = tmp_path / "run"
    assert main(["train", *words, *SMALL, "--out", str(out)]) == 2
    assert capsys.readouterr().err == f"iclab train: {sentence}\n"
    assert not out.exists()
