"""Training inside of jobs: stopped anywhere, it goes on to the same bits."""

import os
import signal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from iclab.runs import Bench, Job, Outcome, Processes, Store, at_bench, run_jobs
from iclab.training import (
    Hook,
    Optimiser,
    Plan,
    Trained,
    descend,
    fit,
    minimise,
)
from iclab.training._problem import Exact
from tests.refusals import refused
from tests.runs import work


class _Stop(Exception):
    pass


class _StopAt(Hook):
    """Ends a training as a kill would, at its first look after a step."""

    def __init__(self, step):
        self.every, self.step = step, step
        self.seen: list[int] = []

    def __call__(self, run):
        self.seen.append(run.step)
        if run.step == self.step:
            raise _Stop


@pytest.fixture
def often(monkeypatch):
    """A checkpoint whenever there is an occasion."""
    for name in ("_SHORTEST", "_SHARE", "_COST", "_WORTH"):
        monkeypatch.setattr(f"iclab.training._at_work.{name}", 0.0)


def _same(one: Trained, other: Trained):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


_ADAM = optax.adam(0.02)


def test_searches_go_on_to_the_same_bits(tmp_path, often, monkeypatch):
    class Loss(eqx.Module):
        scale: jax.Array

        def __call__(self, x):
            return jnp.sum(self.scale * (1 - x) ** 4) + jnp.sum(x[1:] * x[:-1]) ** 2

    loss, start = Loss(jnp.arange(1.0, 7.0)), jnp.zeros(6)
    whole = minimise(loss, start, max_steps=30, tolerance=0.0)
    monkeypatch.setattr("iclab.training._minimise._CALL_SECONDS", 0.0)
    told = []

    def tell(fraction, words):
        told.append(fraction)
        if fraction > 0.5:
            raise _Stop

    monkeypatch.setattr("iclab.runs._bench._BETWEEN", 0.0)
    with pytest.raises(_Stop), at_bench(Bench(tmp_path, tell)):
        minimise(loss, start, max_steps=30, tolerance=0.0)
    assert told[0] == pytest.approx(1 / 30)
    again = []
    with at_bench(Bench(tmp_path, lambda fraction, words: again.append(fraction))):
        found = minimise(loss, start, max_steps=30, tolerance=0.0)
    assert again[0] == pytest.approx(told[-1])
    _same(whole, found)


def test_a_second_piece_of_work_does_not_repeat_the_first(tmp_path, often):
    def loss(x):
        return jnp.sum((x - 3) ** 2)

    def both(hook):
        first = descend(loss, jnp.zeros(2), steps=30, optimiser=_ADAM)
        second = fit(Exact(loss), jnp.ones(2), _ADAM, steps=30, hooks=[hook])
        return first, second

    whole = both(_StopAt(99))
    with pytest.raises(_Stop), at_bench(Bench(tmp_path)):
        both(_StopAt(20))
    told = []
    last = _StopAt(99)
    with at_bench(Bench(tmp_path, lambda fraction, words: told.append(fraction))):
        found = both(last)
    _same(whole[0], found[0])
    _same(whole[1], found[1])
    # The first was whole; the second has the state before the look that stopped it.
    assert told[0] == 1.0
    assert last.seen[0] > 0


def test_checkpoints_of_other_versions_are_not_taken(tmp_path, often, monkeypatch):
    def run():
        one = _StopAt(99)
        fit(Exact(lambda x: jnp.sum(x**2)), jnp.ones(2), _ADAM, steps=20, hooks=[one])
        return one.seen

    with at_bench(Bench(tmp_path)):
        run()
    with at_bench(Bench(tmp_path)):
        assert run() == [20]
    monkeypatch.setattr("iclab.training._at_work._configuration", lambda: {"jax": "9"})
    with at_bench(Bench(tmp_path)):
        assert run()[0] == 0


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path, often):
    (tmp_path / "training-0").write_text("in the way")
    with at_bench(Bench(tmp_path)):
        found = descend(lambda x: jnp.sum(x**2), jnp.ones(2), steps=5, optimiser=_ADAM)
    assert found.step == 5


@pytest.mark.everything
def test_a_killed_job_repeats_little_and_ends_with_the_same_bits(tmp_path):
    folder = tmp_path / "watch"
    folder.mkdir()
    store = Store(tmp_path / "store")
    steps, config = 600, {"folder": str(folder), "steps": 600, "pause": 0.12}
    job = Job("tests.runs.work:search", config, 2)
    engine = Processes(1)
    events = run_jobs([job], store=store, engine=engine)
    next(events)
    place = store.work_folder(job) / "training-0"
    work.until(lambda: place.is_dir() and any(place.glob("step-*")), 120)
    (victim,) = [int(path.name[4:]) for path in folder.glob("pid-*")]
    before = [int(one) for one in (folder / "steps.txt").read_text().split()]
    os.kill(victim, signal.SIGKILL)
    died = [event for event in events if isinstance(event, Outcome)][-1]
    assert "killed by SIGKILL" in str(died.error)
    (folder / "steps.txt").unlink()
    (again,) = [
        event
        for event in run_jobs([job], store=store, engine=engine)
        if isinstance(event, Outcome)
    ]
    after = [int(one) for one in (folder / "steps.txt").read_text().split()]
    assert 0 < after[0] <= before[-1]
    assert before[-1] - after[0] < steps / 10
    quick = Job("tests.runs.work:search", {**config, "pause": 0.0}, 2)
    (whole,) = [event for event in run_jobs([quick]) if isinstance(event, Outcome)]
    assert again.result is not None
    assert whole.result is not None
    for name in ("model", "losses"):
        np.testing.assert_array_equal(again.result[name], whole.result[name])
    assert not place.exists()


def test_whoever_runs_a_job_chooses_the_precision():
    def trained():
        one = Plan(3, 1, Optimiser("sgd", 0.1), precision="float32")
        return fit(
            Exact(lambda x: jnp.sum(x**2)),
            jnp.ones(2),
            one.optimiser,
            steps=one.steps,
            precision=one.precision,
        ).model.dtype

    assert trained() == jnp.float32
    with at_bench(Bench(precision="float64")):
        assert trained() == jnp.float64
    rule = "fit: `precision` must be 'float32' or 'float64' or 'bfloat16', got 'half'"
    with refused(rule), at_bench(Bench(precision="half")):
        trained()
