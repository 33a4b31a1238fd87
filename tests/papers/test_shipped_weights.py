"""Weights that come with the package are those that their manifests describe."""

import dataclasses
import hashlib
import shlex

import jax
import pytest

from iclab import models
from iclab.cli import parser
from iclab.evidence import figure_of
from iclab.models import _files
from iclab.papers.zhang2023 import figure_1
from iclab.papers.zhang2023._gpt2_training import Settings, build


def _jobs(scale):
    figure = figure_of(figure_1, "zhang2023/figure-1")
    return figure_1.jobs(figure.settings_at(scale))


RUNS = {
    name: Settings(**job["training"])
    for name, job in _jobs("desk").items()
    if "shipped" in job
}
MANIFESTS = models.shipped_manifests()


def test_there_are_six_models_and_two_without_positions():
    assert len(RUNS) == len(MANIFESTS) == 8
    assert sum(not run.positional for run in RUNS.values()) == 2


@pytest.mark.parametrize("name", RUNS)
def test_manifest(name):
    run = RUNS[name]
    manifest = MANIFESTS[figure_1.weights_name(run)]
    file = _files._WEIGHTS / f"{figure_1.weights_name(run)}.safetensors"
    assert hashlib.sha256(file.read_bytes()).hexdigest() == manifest["sha256"]
    assert Settings(**manifest["settings"]) == run
    assert manifest["versions"]["jax"]


@pytest.mark.parametrize("name", RUNS)
def test_weights_fit_what_the_settings_build(name):
    model = models.shipped(figure_1.weights_name(RUNS[name]))
    _, like, _ = build(RUNS[name])
    assert model.max_examples == like.max_examples
    assert len(model.blocks) == len(like.blocks)
    assert model.read_in.weight.shape == like.read_in.weight.shape
    # Training has moved them.
    assert abs(model.read_in.weight - like.read_in.weight).max() > 0.01


@pytest.mark.parametrize("name", RUNS)
def test_the_command_trains_with_these_settings(name):
    run = RUNS[name]
    program, *words = shlex.split(MANIFESTS[figure_1.weights_name(run)]["command"])
    assert program == "iclab"
    options = parser().parse_args(words)
    given = {
        field.name: getattr(options, field.name) for field in dataclasses.fields(run)
    }
    assert Settings(**{k: v for k, v in given.items() if v is not None}) == run


@pytest.mark.everything
def test_retraining_trains():
    settings = _jobs("smoke")["fixed 10"]
    settings |= {"groups": 2, "prompts": 2, "lengths": [1, 10]}
    settings["training"] |= {"steps": 2, "warmup": 1}
    tables = [
        figure_1.compute({**settings, "shipped": shipped}, jax.random.key(0))
        for shipped in (True, False)
    ]
    trained, short = (table["fixed: mean"] for table in tables)
    assert trained[1] < 0.1 < short[1]
