"""Training behind ahn2023's Figures 3 and 4: protocols, and what is measured."""

import dataclasses

import jax
import pytest

from iclab import papers
from iclab.papers.ahn2023._experiments import (
    Free,
    free_jobs,
    train_free,
)


def _settings(**changes):
    (entry,) = papers.select(["ahn2023/figure-3"])
    return papers.load_figure(entry).settings_at("smoke", changes)


def test_protocols_are_named_sets_of_settings():
    code, text = _settings(protocol="code"), _settings(protocol="text")
    assert (code.samples, text.samples) == (20, 10)
    assert text.training == "batch"
    assert _settings(protocol="text", samples=7, clip="none").samples == 7
    jobs = free_jobs(dataclasses.replace(code, beside=("text-10", "code-10")))
    assert list(jobs) == ["exact", "run 1", "run 2", "beside text-10", "beside code-10"]
    found = {name: (job["samples"], job.get("training")) for name, job in jobs.items()}
    assert found["beside text-10"] == (10, "batch")
    assert found["beside code-10"] == (10, "fresh")


@pytest.mark.everything
@pytest.mark.parametrize("mixture", [False, True])
def test_fresh_draws_train(mixture):
    settings = _settings(training="fresh", steps=300, mixture=mixture)
    assert isinstance(settings, Free)
    table = train_free(free_jobs(settings)["run 1"], jax.random.key(0))
    assert table["losses"].shape == (100,)
    assert table["last_loss"] < 0.1 * 2.0 * table["losses"][0]
    assert table["distances"].shape == (101, 2)
    assert table["B_distances"].shape == (101, 1)
