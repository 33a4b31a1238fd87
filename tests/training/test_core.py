"""The core: any optimiser, runs side by side, hooks that look on, stop and remember."""

import dataclasses
import json
import os
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from iclab.training import (
    AbstractProblem,
    Checkpoints,
    Curriculum,
    Diverged,
    EarlyStopping,
    Exact,
    Hook,
    OtherConfiguration,
    Plan,
    Recorder,
    Validation,
    fit,
    train,
)
from tests.assertions import assert_close
from tests.refusals import refused


class Point(eqx.Module):
    """Where the model is; `speed` is not trained."""

    y: jax.Array
    speed: jax.Array


class Distance(AbstractProblem):
    """Squared distance to random points, multiplied by the model's `speed`."""

    curriculum: Curriculum = Curriculum.constant(2, 2)

    def sample(self, key, stage):
        return jax.random.uniform(key, (2,))

    def loss(self, model, samples, stage):
        return model.speed * jnp.mean((model.y[None] - samples) ** 2)


PROBLEM, SGD = Distance(), optax.sgd(0.1)
KEY = jax.random.key(3)


def _point(*runs, speeds: Any = 1):
    return Point(jnp.zeros((*runs, 2)), jnp.broadcast_to(jnp.asarray(speeds), runs))


def test_any_optimiser_of_optax_trains(tmp_path):
    # One that wants to know the loss, and one that searches along a line.
    rules = (
        optax.chain(optax.sgd(0.1), optax.contrib.reduce_on_plateau()),
        optax.lbfgs(memory_size=3),
    )
    for rule in rules:
        result = fit(Exact(_bowl), jnp.ones(2), rule, steps=20)
        assert result.losses[-1] < 0.05 * result.losses[0]
    # In a plan too; its learning rate is its own affair.
    plan = Plan(3, 4, optax.sgd(0.1), precision="float64")
    model = _point(speeds=jnp.array(1))
    train(PROBLEM, model, plan, out=tmp_path, show_progress=False)
    (line,) = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert "learning_rate" not in json.loads(line)


def _bowl(y):
    return jnp.sum(y**2)


def test_runs_side_by_side_are_what_each_does_alone():
    speeds = np.array([1, 3])
    model = _point(2, 3, speeds=speeds[:, None])
    options = {"steps": 5, "batch": 4, "key": KEY}
    hooks = [Recorder(lambda model: model.y, every=2)]
    together = fit(PROBLEM, model, SGD, runs=(2, 3), hooks=hooks, **options)
    assert np.shape(together.losses) == (5, 2, 3)
    assert together.records.shape == (4, 2, 3, 2)
    for row, seed in ((0, 0), (1, 2)):
        options["key"] = jax.random.fold_in(KEY, seed)
        alone = fit(PROBLEM, _point(speeds=speeds[row]), SGD, **options)
        assert_close(np.asarray(together.losses)[:, row, seed], alone.losses)
        assert_close(together.model.y[row, seed], alone.model.y)
    assert np.array_equal(together.model.speed, model.speed)


def test_records_in_checkpoints_of_the_version_before_come_back():
    class Keep(Hook):
        def __call__(self, run):
            kept.update(run.state)

    class Resume(Hook):
        def begin(self, run):
            run.restore(2, kept)

    kept: dict[str, Any] = {}
    options = {"batch": 4, "key": KEY}
    record = lambda: Recorder(lambda model: model.y, every=1)  # noqa: E731
    fit(PROBLEM, _point(), SGD, steps=2, hooks=[record(), Keep()], **options)
    kept["hooks"] = {"Record": kept["hooks"]["Recorder"]}
    hooks = [record(), Resume()]
    resumed = fit(PROBLEM, _point(), SGD, steps=4, hooks=hooks, **options)
    whole = fit(PROBLEM, _point(), SGD, steps=4, hooks=[record()], **options)
    assert resumed.recorded_at.tolist() == [0, 1, 2, 3, 4]
    assert np.array_equal(resumed.records, whole.records)


def test_the_history_has_norms_of_gradients_of_any_rank():
    class Norms(Hook):
        def __call__(self, run):
            found[:] = run.history[:, 1]

    found: list[float] = []
    shapes = ((), (3,), (2, 3), (2, 3, 40))
    start = [jnp.arange(1.0, 1 + np.prod(shape)).reshape(shape) for shape in shapes]
    half = lambda some: jnp.stack([jnp.sum(one**2) for one in some]).sum() / 2  # noqa: E731
    fit(Exact(half), start, SGD, steps=2, hooks=[Norms()])
    first = np.sqrt(sum(np.sum(np.asarray(one) ** 2) for one in start))
    assert_close(np.array(found), first * np.array([1.0, 0.9]), rtol=1e-12)


def test_an_explosion_names_its_run():
    speeds = jnp.array([1, 10**9])
    with pytest.raises(Diverged) as error:
        fit(PROBLEM, _point(2, speeds=speeds), SGD, steps=99, batch=4, runs=(2,))
    assert " of run (1,)" in str(error.value)
    assert np.all(np.isfinite(error.value.result.model.y))


def test_refusals():
    with refused(
        "fit: `model` must be of arrays with the axes (3,) in front, got shape (2, 2)"
    ):
        fit(PROBLEM, _point(2), SGD, steps=1, runs=(3,))
    with refused("fit: `key` must be one key or (3,) of them, got shape (2,)"):
        fit(PROBLEM, _point(3), SGD, steps=1, runs=(3,), key=jax.random.split(KEY))
    with refused("fit: `steps` must be an integer ≥ 1, got 0"):
        fit(PROBLEM, _point(), SGD, steps=0)
    validation = Validation(PROBLEM, 2, key=KEY)
    with refused(
        "EarlyStopping.begin: `validation` must be among the hooks too, got another"
    ):
        fit(PROBLEM, _point(), SGD, steps=1, hooks=[EarlyStopping(validation)])
    with refused("Validation.begin: `run` must be of one model, got runs (2,)"):
        fit(PROBLEM, _point(2), SGD, steps=1, runs=(2,), hooks=[validation])


class Diary(Hook):
    """Writes down when it was called, and stops at a step."""

    every = 3

    def __init__(self, stop):
        self.stop, self.steps, self.words = stop, [], []

    def begin(self, run):
        self.words.append("begin")

    def __call__(self, run):
        if run.due(self.every):
            self.steps.append(run.step)
        return "enough" if run.step >= self.stop else None

    def stopped(self, run):
        self.words.append(run.stopped_by)

    def close(self):
        self.words.append("close")


def test_hooks_are_called_and_may_stop():
    diary = Diary(stop=6)
    result = fit(PROBLEM, _point(), SGD, steps=20, batch=4, hooks=[diary])
    assert diary.steps == [0, 3, 6]
    assert diary.words == ["begin", "enough", "close"]
    assert (result.step, result.stopped_by, len(result.losses)) == (6, "enough", 6)
    # To the end there is nothing to stop, and the end is always due.
    diary = Diary(stop=99)
    result = fit(PROBLEM, _point(), SGD, steps=7, batch=4, hooks=[diary])
    assert diary.steps == [0, 3, 6, 7]
    assert (result.step, result.stopped_by) == (7, None)
    assert diary.words == ["begin", "close"]


def _validated(out=None, steps=60, resume=False, hooks=()):
    validation = Validation(PROBLEM, 64, key=KEY, every=5)
    stop = EarlyStopping(validation, patience=2, margin=1e-3)
    plan = Plan(steps, 4, SGD, precision="float64")
    options = {"log_every": 10, "checkpoint_every": 10, "show_progress": False}
    start = Point(jnp.full(2, 3.0), jnp.array(1))
    hooks = [validation, stop, *hooks]
    return validation, train(
        PROBLEM, start, plan, out=out, resume=resume, hooks=hooks, **options
    )


def test_validation_stops_early_and_keeps_the_best(tmp_path):
    validation, result = _validated(tmp_path)
    stage = PROBLEM.curriculum.last()
    keys = jax.random.split(KEY, 64)
    prompts = jax.vmap(lambda key: PROBLEM.sample(key, stage))(keys)
    assert_close(validation.losses[-1], PROBLEM.loss(result.model, prompts, stage))
    assert result.stopped_by == "early stopping"
    assert validation.steps.tolist() == list(range(0, result.step + 1, 5))
    # Twice in a row without a step down of the margin, and not before.
    bounds = np.minimum.accumulate(validation.losses)[:-1] - 1e-3
    fell = validation.losses[1:] < bounds
    assert not np.any(fell[-2:])
    assert not np.any(~fell[:-2][1:] & ~fell[:-2][:-1])
    best = PROBLEM.loss(validation.best, prompts, stage)
    assert_close(best, np.min(validation.losses))
    rows = [
        json.loads(x) for x in (tmp_path / "metrics.jsonl").read_text().split("\n")[:-1]
    ]
    assert_close(rows[0]["validation"], validation.losses[2])


def test_a_resumed_validation_goes_on_as_if_nothing_had_happened(tmp_path):
    validation, result = _validated(tmp_path / "whole")
    _validated(tmp_path / "parts", hooks=[Diary(stop=10)])
    again, resumed = _validated(tmp_path / "parts", resume=True)
    assert resumed.step == result.step
    assert np.array_equal(again.losses, validation.losses)
    assert np.array_equal(again.best.y, validation.best.y)
    last = [
        Checkpoints(tmp_path / name / "checkpoints").path(int(result.step)).read_bytes()
        for name in ("whole", "parts")
    ]
    assert last[0] == last[1]


def test_the_first_checkpoint_comes_early(tmp_path):
    seen = []

    class Look(Hook):
        """What is in the folder."""

        def __call__(self, run):
            seen.append(Checkpoints(tmp_path / "checkpoints").steps())

    plan = Plan(9, 4, SGD, precision="float64")
    options = {"checkpoint_every": 100, "show_progress": False}
    model = _point(speeds=jnp.array(1))
    train(PROBLEM, model, plan, out=tmp_path, hooks=[Look()], **options)
    assert seen[:3] == [[], [], [1]]
    there = ["checkpoints", "iclab-files.json", "metrics.jsonl"]
    assert sorted(os.listdir(tmp_path)) == there


def test_batches_serve_for_several_steps():
    # Steps 3 … 5 see one batch, however calls divide them: gradient descent by hand.
    options: Any = {"key": KEY, "batch": 4, "redraw_every": 3}
    result = fit(PROBLEM, _point(), SGD, steps=7, hooks=[Every(2)], **options)
    y, losses, stage = np.zeros(2), [], PROBLEM.curriculum.last()
    for step in range(7):
        points = np.asarray(PROBLEM.batch(KEY, jnp.array(step // 3), 4, stage))
        losses.append(np.mean((y - points) ** 2))
        y = y - 0.1 * (y - points.mean(0))
    assert_close(result.losses, losses)
    assert_close(result.model.y, y)
    runs = fit(PROBLEM, _point(2), SGD, steps=7, runs=(2,), **options)
    options["key"] = jax.random.fold_in(KEY, 1)
    alone = fit(PROBLEM, _point(), SGD, steps=7, **options)
    assert_close(runs.losses[:, 1], alone.losses)


class Every(Hook):
    """Ends every call after so many steps."""

    def __init__(self, every):
        self.every = every

    def __call__(self, run):
        """Nothing."""


def test_fit_keeps_checkpoints_and_resumes(tmp_path):
    options: Any = {"key": KEY, "runs": (2,), "redraw_every": 4, "checkpoint_every": 5}
    whole = fit(PROBLEM, _point(2), SGD, steps=12, out=tmp_path / "whole", **options)
    fit(PROBLEM, _point(2), SGD, steps=7, out=tmp_path / "parts", **options)
    folder = {"out": tmp_path / "parts", "resume": True}
    resumed = fit(PROBLEM, _point(2), SGD, steps=12, **folder, **options)
    assert np.array_equal(resumed.losses, whole.losses)
    last = [
        Checkpoints(tmp_path / name / "checkpoints").path(12).read_bytes()
        for name in ("whole", "parts")
    ]
    assert last[0] == last[1]
    lines = (tmp_path / "parts" / "metrics.jsonl").read_text().splitlines()
    assert_close(json.loads(lines[0])["loss"], whole.losses[:5].mean(0))
    with pytest.raises(OtherConfiguration, match="`optimiser` is another one"):
        fit(PROBLEM, _point(2), optax.sgd(0.2), steps=12, **folder, **options)
    options["key"] = jax.random.key(4)
    with pytest.raises(OtherConfiguration, match="`key` is "):
        fit(PROBLEM, _point(2), SGD, steps=12, **folder, **options)


def test_fit_says_what_it_draws_from(capsys):
    result = fit(PROBLEM, _point(), SGD, steps=2)
    said = "iclab: fit: without a `key` samples are those of jax.random.key(0)\n"
    assert capsys.readouterr().err == said
    given = fit(PROBLEM, _point(), SGD, steps=2, key=jax.random.key(0))
    assert np.array_equal(result.losses, given.losses)
    fit(Exact(_bowl), jnp.ones(2), SGD, steps=2)
    assert capsys.readouterr().err == ""


def test_training_begins_at_a_scale():
    plan = Plan(1, 4, SGD, precision="float64", start_scale=0.5)
    start = Point(jnp.full(2, 3.0), jnp.array(1))
    half = Point(jnp.full(2, 1.5), jnp.array(1))
    found = [
        train(PROBLEM, one, plan, show_progress=False)
        for one, plan in (
            (start, plan),
            (half, dataclasses.replace(plan, start_scale=1)),
        )
    ]
    assert np.array_equal(found[0].losses, found[1].losses)
