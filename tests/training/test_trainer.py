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
from jax.experimental.compilation_cache import compilation_cache

from iclab.models import LinearSelfAttention
from iclab.tasks import LinearRegression
from iclab.training import (
    CannotSave,
    Checkpoints,
    InContext,
    NotFinite,
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


@pytest.fixture(scope="module", autouse=True)
def _compiled_once(tmp_path_factory):
    """Runs of one configuration share a compiled program."""
    settings = {
        "jax_compilation_cache_dir": str(tmp_path_factory.mktemp("programs")),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in settings}
    for name, value in settings.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


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
        stage = PROBLEM.curriculum.stage(jnp.asarray(step), 4)
        X, y = jax.vmap(lambda one: PROBLEM.sample(one, stage))(keys)
        # The query is the last point; (3.3) as written, prompt by prompt.
        errors = []
        for x, label in zip(X, y, strict=True):
            E = jnp.column_stack([x, label.at[-1].set(0.0)]).T
            attended = model.value_projection @ E @ (E.T @ model.key_query @ E) / 3
            errors.append((attended[-1, -1] - label[-1]) ** 2)
        return sum(errors) / 4

    for step in range(7):
        value, gradient = jax.value_and_grad(loss)(model, step)
        updates, state = optimiser.update(gradient, state)
        model = eqx.apply_updates(model, updates)
        losses.append(value)
    _, result = whole
    assert_close(result.losses, losses)
    assert_close(result.model.key_query, model.key_query)
    assert (result.step, result.stopped_by) == (7, None)


def test_calls_of_any_length_give_the_same_bits(whole, tmp_path, monkeypatch):
    monkeypatch.setattr("iclab.training._trainer._Pace.steps", lambda self, room: 5)
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
    assert sorted(os.listdir(whole[0])) == ["checkpoints", "metrics.jsonl"]


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
    assert np.array_equal(result.losses, whole[1].losses[4:])
    assert _last(tmp_path) == _last(whole[0])
    # Lines of the first part, then of the second; none twice.
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2, 3, 4, 6, 7]


def test_a_mean_survives_the_interruption(whole, tmp_path):
    # Step 3 is in the middle of a line's interval.
    with pytest.raises(RuntimeError):
        _run(tmp_path, report=_fail_at(4))
    assert Checkpoints(tmp_path / "checkpoints").steps() == [3]
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
    assert len(result.losses) == 1
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
    assert Checkpoints(tmp_path / "again" / "checkpoints").steps() == [3]


def test_explosions_name_their_step_and_keep_the_checkpoint(tmp_path):
    plan = Plan(50, 4, Optimiser("sgd", 1e3), precision="float64")
    with pytest.raises(NotFinite) as error:
        _run(tmp_path, plan)
    words = str(error.value)
    assert "must be finite (try a smaller learning rate), got " in words
    last = Checkpoints(tmp_path / "checkpoints").steps()[0]
    assert words.endswith(f"the last checkpoint is of step {last}")
    step = int(words.split("at step ")[1].split(";")[0])
    assert last <= step < 50
    assert step - last < 3
    result = _run(
        tmp_path, Plan(last, 4, plan.optimiser, precision="float64"), resume=True
    )
    assert np.all(np.isfinite(result.model.key_query))


def test_precisions():
    single = _run(plan=Plan(3, 4, PLAN.optimiser, precision="float32"))
    assert single.model.key_query.dtype == jnp.float32
    double = _run(plan=Plan(3, 4, PLAN.optimiser, precision="float64"))
    assert_close(single.losses, double.losses, rtol=1e-4)  # float32
    half = _run(plan=Plan(3, 4, PLAN.optimiser, precision="bfloat16"))
    assert half.model.key_query.dtype == jnp.float32
    assert_close(half.losses, double.losses, rtol=0.1)  # eight bits


def test_batches_must_divide_among_devices(monkeypatch):
    monkeypatch.setattr(jax, "device_count", lambda: 3)
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
    assert rows[0] == 0
    assert ("loss", 7) in rows
    assert rows[-1] == "closed"
