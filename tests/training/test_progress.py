"""A bar on a terminal, a line now and then elsewhere."""

import time

import jax.numpy as jnp
import numpy as np
import optax

from iclab.show import Display
from iclab.training import TrainingRun, descend
from iclab.training._progress import ShowProgress


def _descend(**options):
    descend(
        lambda y: jnp.sum(y**2),
        jnp.ones(1),
        steps=3,
        optimiser=optax.sgd(0.1),
        **options,
    )


def test_short_runs_are_silent_without_a_terminal(capfd):
    _descend()
    _descend(show_progress=False)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_bar_on_standard_error_when_asked_for(capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    _descend(show_progress=True)
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "descend" in captured.err
    assert "3 of 3 steps" in captured.err
    assert "loss 0.4096" in captured.err


def test_terminals_get_a_bar_by_default(capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    _descend()
    assert "descend" in capfd.readouterr().err


class Standing(TrainingRun):
    """A training that stands where it is told, and began at some step."""

    name, steps, rate = "train", 1000, 2.0  # pyright: ignore

    def __init__(self, step, first=0):
        self.step, self.first = step, first

    @property
    def losses(self):
        return np.full(self.step, 0.25)


def test_a_display_of_ones_own_hears_how_far_it_is():
    shown = Display()
    hook = ShowProgress(display=shown)
    hook.begin(Standing(500, 500))
    for step in (500, 600):
        hook(Standing(step, 500))
    (task,) = shown.tasks.values()
    assert (task.name, task.first, task.share) == ("train", 0.5, 0.6)
    assert task.words == "600 of 1,000 steps · loss 0.25 · 2 steps/s"
    hook.close()
    assert shown.over


def test_lines_begin_after_a_minute_or_at_once(monkeypatch, capfd):
    for early, said in ((False, [False, False, True]), (True, [True, True, True])):
        monkeypatch.setattr(time, "monotonic", lambda: 0.0)
        hook, found = ShowProgress(early=early), []
        hook.begin(Standing(0))
        for step, now in enumerate((3.0, 50.0, 61.0), 1):
            monkeypatch.setattr(time, "monotonic", lambda now=now: now)
            hook(Standing(step))
            found.append(capfd.readouterr().err)
        hook.close()
        assert [bool(text) for text in found] == said
    words = "train: 3 of 1,000 steps · loss 0.25 · 2 steps/s · 61 s · ≈5.6 h left\n"
    assert found[-1] == words
