"""A bar on a terminal, a line now and then elsewhere."""

import time

import jax.numpy as jnp
import numpy as np
import optax

from iclab.training import descend
from iclab.training._progress import Progress


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
    assert "3/3" in captured.err
    assert "loss 0.4096" in captured.err


def test_terminals_get_a_bar_by_default(capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    _descend()
    assert "descend" in capfd.readouterr().err


class Standing:
    """A training that stands where it is told."""

    owner, steps, first, rate = "train", 1000, 0, 2.0

    def __init__(self, step):
        self.step, self.losses = step, np.full(step, 0.25)


def _said(monkeypatch, capfd, times, *, early):
    """What is written at each of some seconds, a step later every time."""
    monkeypatch.setattr(time, "monotonic", lambda: times[0])
    hook, found = Progress(early=early), []
    hook.begin(Standing(0))
    for step, now in enumerate(times):
        monkeypatch.setattr(time, "monotonic", lambda now=now: now)
        hook(Standing(step))
        found.append(capfd.readouterr().err)
    return found


def test_lines_come_now_and_then(monkeypatch, capfd):
    times = [0.0, 3.0, 50.0, 61.0, 65.0, 72.0]
    said = _said(monkeypatch, capfd, times, early=False)
    assert said[3] == ("train: step 3 of 1,000  loss 0.25  2 steps/s  8.3 min left\n")
    assert [bool(text) for text in said] == [False] * 3 + [True, False, True]
    # A run that leaves a folder says at once that it moves.
    said = _said(monkeypatch, capfd, times, early=True)
    assert [bool(text) for text in said] == [False, True, True, True, False, True]
    # After hours there is still a line a minute.
    said = _said(monkeypatch, capfd, [0.0, 9e3, 9e3 + 59, 9e3 + 61], early=False)
    assert [bool(text) for text in said] == [False, True, False, True]
