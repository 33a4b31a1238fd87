"""A bar on a terminal, silence elsewhere."""

import jax.numpy as jnp
import optax

from iclab.training import descend
from iclab.training._progress import progress


def _descend(**options):
    descend(
        lambda y: jnp.sum(y**2),
        jnp.ones(1),
        steps=3,
        optimiser=optax.sgd(0.1),
        **options,
    )


def test_silence_without_a_terminal(capfd):
    _descend()
    _descend(show_progress=False)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_bar_on_standard_error_when_asked_for(capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with progress("fit", 5, True) as advance:
        advance(2, "loss 0.5")
        advance(3, "loss 0.25")
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "fit" in captured.err
    assert "5/5" in captured.err
    assert "loss 0.25" in captured.err


def test_terminals_get_a_bar_by_default(capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    _descend()
    assert "descend" in capfd.readouterr().err
