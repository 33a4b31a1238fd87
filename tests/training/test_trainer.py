"""The trainer: against a plain loop; stopped, damaged, out of disk, exploded."""

import json
import os
import signal
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from iclab.models import LinearSelfAttention
from iclab.tasks import LinearRegression
from iclab.theory import lsa_risk, optimal_preconditioner
from iclab.training import (
    AbstractProblem,
    CannotSave,
    Checkpoints,
    Curriculum,
    Diverged,
    InContext,
    Optimiser,
    OtherConfiguration,
    Plan,
    train,
)
from tests.assertions import assert_close
from tests.refusals import refused

TASK = LinearRegression(jnp.diag(jnp.array([1.0, 0.5])))
PROBLEM = InContext(TASK, 4, positions="final")
START = LinearSelfAttention.from_blocks(0.1 * jnp.eye(2), 0.5)
PLAN = Plan(7, 4, Optimiser(learning_rate=0.05), precision="float64")


def _run(out=None, plan=PLAN, **options):
    options = {"checkpoint_every": 3, "log_every": 2, "show_progress": False} | options
    return train(PROBLEM, START, plan, out=out, **options)


def _last(folder, step=7):
    return Checkpoints(folder / "checkpoints").path(step).read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, _run(folder)


def test_training_is_a_loop(whole):
    optimiser = optax.adam(0.05)
    model: Any = START
    state = optimiser.init(model)
    key = jax.random.key(PLAN.seed)
    losses = []

    def loss(model, step):
        keys = jax.random.split(jax.random.fold_in(key, step), 4)
        stage = PROBLEM.curriculum.stage(step, 4)
        # (3.3) as written, prompt by prompt.
        errors = []
        for one in keys:
            prompt: Any = PROBLEM.sample(one, stage)
            X = jnp.concatenate([prompt.examples, prompt.query[None]])
            E = jnp.column_stack([X, jnp.append(prompt.labels, 0.0)]).T
            attended = model.value_projection @ E @ (E.T @ model.key_query @ E) / 3
            errors.append((attended[-1, -1] - prompt.target) ** 2)
        return sum(errors) / 4

    loss = jax.jit(jax.value_and_grad(loss))

    for step in range(7):
        value, gradient = loss(model, jnp.asarray(step))
        updates, state = optimiser.update(gradient, state)
        model = eqx.apply_updates(model, updates)
        losses.append(value)
    _, result = whole
    assert_close(result.losses, losses)
    assert_close(result.model.key_query, model.key_query)
    assert (result.step, result.stopped_by) == (7, None)


def test_training_approaches_the_optimum():
    covariance, problem = TASK.covariance, InContext(TASK, 9, positions="final")
    plan = Plan(300, 512, Optimiser(learning_rate=0.03), precision="float64")
    result = train(problem, START, plan, show_progress=False)
    best = lsa_risk(optimal_preconditioner(covariance, 8), covariance, 8)
    risk = lsa_risk(result.model.preconditioner, covariance, 8)
    start = lsa_risk(START.preconditioner, covariance, 8)
    assert best <= risk < best + 0.05 * (start - best)


def test_equal_programs_compile_once(whole, monkeypatch):
    def fail(self, model, samples, stage):
        raise AssertionError("traced again")

    # Neither the seed nor the number of steps makes another program.
    monkeypatch.setattr(InContext, "loss", fail)
    plan = Plan(3, 4, PLAN.optimiser, seed=1, precision="float64")
    assert not np.array_equal(_run(plan=plan).losses, whole[1].losses[:3])


def test_records_come_with_the_lines(whole, tmp_path):
    look = lambda model: {"entry": model.key_query[0, 0]}  # noqa: E731
    result = _run(tmp_path, record=look, checkpoint_every=4)
    assert_close(result.recorded_at, [0, 2, 4, 6, 7])
    assert_close(result.records["entry"][0], START.key_query[0, 0])
    assert_close(result.records["entry"][-1], result.model.key_query[0, 0])
    assert whole[1].records is None
    # What was seen before the interruption is not forgotten.
    os.unlink(tmp_path / "checkpoints" / "step-000000007.safetensors")
    again = _run(tmp_path, resume=True, record=look)
    assert_close(again.recorded_at, result.recorded_at)
    assert np.array_equal(again.records["entry"], result.records["entry"])
    # One who looks for the first time begins there.
    os.unlink(tmp_path / "checkpoints" / "step-000000007.safetensors")
    other = _run(tmp_path, resume=True, record=lambda model: (1, model.key_query))
    assert_close(other.recorded_at, [6, 7])


def test_calls_of_any_length_give_the_same_bits(whole, tmp_path, monkeypatch):
    monkeypatch.setattr("iclab.training._core._Pace.steps", lambda self, length: 5)
    result = _run(tmp_path)
    assert np.array_equal(result.losses, whole[1].losses)
    assert _last(tmp_path) == _last(whole[0])


def test_metrics_are_means(whole):
    folder, result = whole
    rows = [json.loads(x) for x in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [2, 4, 6, 7]
    assert_close(rows[1]["loss"], np.mean(result.losses[2:4]))
    assert_close(rows[3]["loss"], result.losses[6])
    assert rows[0]["learning_rate"] == 0.05
    assert (rows[0]["points"], rows[0]["dimensions"]) == (4, 2)
    assert rows[0]["steps_per_second"] > 0


def test_the_last_two_checkpoints_stay(whole):
    assert Checkpoints(whole[0] / "checkpoints").steps() == [7, 6]
    there = ["checkpoints", "iclab-files.json", "metrics.jsonl"]
    assert sorted(os.listdir(whole[0])) == there


@pytest.mark.parametrize("kind", ["SIGTERM", "SIGINT"])
def test_signals_leave_a_checkpoint(whole, tmp_path, kind):
    before = signal.getsignal(signal.SIGTERM)
    number = getattr(signal, kind)
    seen = lambda row: row["step"] == 4 and os.kill(os.getpid(), number)  # noqa: E731
    result = _run(tmp_path, report=seen, log_every=1)
    assert (result.step, result.stopped_by) == (4, kind)
    assert Checkpoints(tmp_path / "checkpoints").steps() == [4, 3]
    assert signal.getsignal(signal.SIGTERM) == before
    result = _run(tmp_path, resume=True)
    # Losses are those of the whole run.
    assert np.array_equal(result.losses, whole[1].losses)
    assert _last(tmp_path) == _last(whole[0])
    # Lines of the first part, then of the second; none twice.
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2, 3, 4, 6, 7]


def test_without_a_folder_signals_just_end_it():
    with pytest.raises(KeyboardInterrupt):
        _run(report=lambda row: os.kill(os.getpid(), signal.SIGINT))


def test_a_mean_survives_the_interruption(whole, tmp_path):
    # Step 3 is in the middle of a line's interval.
    with pytest.raises(RuntimeError):
        _run(tmp_path, report=_fail_at(4))
    assert Checkpoints(tmp_path / "checkpoints").steps() == [3, 1]
    _run(tmp_path, resume=True)
    rows = [
        [json.loads(x)["loss"] for x in (f / "metrics.jsonl").read_text().splitlines()]
        for f in (tmp_path, whole[0])
    ]
    assert rows[0] == rows[1]


def _fail_at(step):
    def report(row):
        if row["step"] == step:
            raise RuntimeError("stop")

    return report


@pytest.mark.parametrize("damage", ["cut", "altered", "emptied"])
def test_damage_falls_back_on_the_one_before(whole, tmp_path, capsys, damage):
    _run(tmp_path)
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    path = checkpoints.path(7)
    content = bytearray(path.read_bytes())
    if damage == "altered":
        content[-3] ^= 4
    path.write_bytes({"cut": content[:-9], "altered": content, "emptied": b""}[damage])
    result = _run(tmp_path, resume=True)
    assert np.array_equal(result.losses, whole[1].losses)
    assert "trying the one before" in capsys.readouterr().err
    assert _last(tmp_path) == _last(whole[0])


def test_all_damaged_is_an_error(tmp_path):
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    checkpoints.folder.mkdir()
    checkpoints.path(3).write_bytes(b"no")
    with refused(f"every checkpoint in {checkpoints.folder} is damaged"):
        _run(tmp_path, resume=True)


def test_nothing_to_resume_is_a_beginning(tmp_path, capsys, whole):
    result = _run(tmp_path, resume=True)
    assert np.array_equal(result.losses, whole[1].losses)
    assert "starting from the beginning" in capsys.readouterr().err


def test_another_configuration_is_refused(whole):
    plan = Plan(7, 8, Optimiser(learning_rate=0.1, clip=1.0), precision="float64")
    path = Checkpoints(whole[0] / "checkpoints").path(7)
    with pytest.raises(OtherConfiguration) as error:
        _run(whole[0], plan, resume=True)
    assert str(error.value) == (
        f"{path} is of another run: `batch` is 4 there and 8 here;"
        " `optimiser.clip` is None there and 1.0 here;"
        " `optimiser.learning_rate` is 0.05 there and 0.1 here"
    )
    other = LinearRegression(jnp.eye(3))
    with pytest.raises(OtherConfiguration) as error:
        train(
            InContext(other, 4),
            LinearSelfAttention.from_blocks(jnp.eye(3), 1.0),
            PLAN,
            out=whole[0],
            resume=True,
        )
    for words in (
        "`model.key_query` is float64[3, 3] there and float64[4, 4] here",
        "`problem.positions` is final there and all here",
        "`problem.task.covariance` is float64[2, 2] with checksum",
        "`problem.curriculum.dimensions.end` is 2 there and 3 here",
    ):
        assert words in str(error.value)


def test_more_steps_may_be_added(whole, tmp_path):
    _run(tmp_path, Plan(4, 4, PLAN.optimiser, precision="float64"))
    _run(tmp_path, resume=True)
    assert _last(tmp_path) == _last(whole[0])
    shorter = Plan(4, 4, PLAN.optimiser, precision="float64")
    with refused("train: `steps` must be at least 7, where the checkpoint is, got 4"):
        _run(tmp_path, shorter, resume=True)


def test_a_used_folder_is_not_overwritten(whole):
    message = (
        f"{whole[0]} holds checkpoints up to step 7: resume, or use another folder"
    )
    with refused(message):
        _run(whole[0])


def test_an_unwritable_folder_is_refused_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotSave, match=r"cannot write to .*: Not a directory"):
        _run(tmp_path / "file" / "run")


def test_a_full_disk_is_said_and_survived(whole, tmp_path, monkeypatch, capsys):
    from iclab.training import _checkpoint

    write, full = _checkpoint.write_tensors, [6]

    def fail(path, tensors, description):
        if description["step"] in full:
            raise OSError(28, "No space left on device")
        write(path, tensors, description)

    monkeypatch.setattr(_checkpoint, "write_tensors", fail)
    _run(tmp_path)
    assert (
        "cannot write the checkpoint of step 6 to"
        f" {tmp_path / 'checkpoints'}: No space left on device; the last good one is"
        " that of step 3; training goes on"
    ) in capsys.readouterr().err
    assert _last(tmp_path) == _last(whole[0])
    full += [7]
    with pytest.raises(
        CannotSave, match=r"of step 7 .* last good one is that of step 3"
    ):
        _run(tmp_path / "again")
    assert Checkpoints(tmp_path / "again" / "checkpoints").steps() == [3, 1]


class Target(eqx.Module):
    """Where the model is."""

    y: jax.Array


class Distance(AbstractProblem):
    """Squared distance to random points: quick to compile."""

    curriculum: Curriculum = Curriculum.constant(2, 2)

    def sample(self, key, stage):
        return jax.random.uniform(key, (2,))

    def loss(self, model, samples, stage):
        return jnp.mean((model.y[None] - samples) ** 2)


def _quick(precision, steps=3, out=None, optimiser=PLAN.optimiser, **options):
    plan = Plan(steps, 4, optimiser, precision=precision)
    options = {"checkpoint_every": 3, "show_progress": False} | options
    return train(Distance(), Target(jnp.zeros(2)), plan, out=out, **options)


def test_explosions_name_their_step_and_keep_the_checkpoint(tmp_path):
    options: Any = {"out": tmp_path, "optimiser": Optimiser("sgd", 1e9)}
    with pytest.raises(Diverged) as error:
        _quick("float32", 50, **options)
    words = str(error.value)
    assert "must be finite (try a smaller learning rate), got " in words
    last = Checkpoints(tmp_path / "checkpoints").steps()[0]
    assert words.endswith(f"the last checkpoint is of step {last}")
    step = int(words.split("at step ")[1].split(";")[0])
    assert last <= step < 50
    assert step - last < 3
    # The last weights with a good loss, and the losses with the bad one.
    kept = error.value.result
    assert kept.step == step - 1
    assert len(kept.losses) == step + 1
    assert np.all(np.isfinite(kept.model.y))
    result = _quick("float32", last, resume=True, **options)
    assert np.all(np.isfinite(result.model.y))


def test_precisions():
    single, double, half = map(_quick, ("float32", "float64", "bfloat16"))
    assert single.model.y.dtype == half.model.y.dtype == jnp.float32
    assert double.model.y.dtype == jnp.float64
    assert_close(single.losses, double.losses, rtol=1e-5)  # float32
    assert_close(half.losses, double.losses, rtol=0.05)  # eight bits
    assert not np.array_equal(half.losses, single.losses)


def test_batches_must_divide_among_devices(monkeypatch):
    devices = "iclab.training._trainer.assigned_devices"
    monkeypatch.setattr(devices, lambda: [None] * 3)
    with refused(
        "train: `batch` must be a multiple of the number of devices, 3, got 4"
    ):
        _run()


def test_tensorboard_needs_its_package(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with refused(
        "train: `tensorboard` needs the package tensorboardX: pip install tensorboardX"
    ):
        _run(tmp_path, tensorboard=True)


def test_tensorboard_gets_every_number(tmp_path, monkeypatch):
    rows = []

    class Writer:
        def __init__(self, folder, purge_step):
            rows.append(purge_step)

        def add_scalar(self, name, value, step):
            rows.append((name, step))

        def close(self):
            rows.append("closed")

    class Module:
        SummaryWriter = Writer

    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setattr("importlib.import_module", lambda name: Module)
    _run(tmp_path, tensorboard=True)
    assert rows[0] == 1
    assert ("loss", 7) in rows
    assert rows[-1] == "closed"
    # What was written at the step of the checkpoint stays, and the end is an end.
    rows.clear()
    longer = Plan(9, 4, PLAN.optimiser, precision="float64")
    with pytest.raises(RuntimeError):
        _run(tmp_path, longer, resume=True, tensorboard=True, report=_fail_at(8))
    assert rows[0] == 8
    assert rows[-1] == "closed"
