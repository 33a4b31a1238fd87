"""Sweeps: the table that they end with, whatever happens on the way."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import iclab
from iclab.runs import Cache, Sweep, _sweep, run_jobs, sweep
from iclab.show import Display
from tests.refusals import refused

_NO_SWEEP = "open_sweep: `folder` must be that of a sweep: {} holds none"
GRID = {"width": [1, 2, 3], "noise": [0.5, 0.25]}

# A script without `if __name__ == "__main__"`: its function is in no module.
SCRIPT = """
import sys, time
import iclab

def area(width, noise, seed):
    time.sleep(0.05)
    return {"area": width * noise + seed, "curve": [width, seed]}

grid = {"width": list(range(1, 16)), "noise": [0.5, 0.25]}
iclab.sweep(area, grid, out=sys.argv[1], jobs=2)
"""


def area(width, noise, seed):
    """A number and an array."""
    return {"area": width * noise + seed, "curve": np.array([width, seed])}


def _run(function=area, grid=GRID, **options) -> Sweep:
    """Here jobs run one after the other in this process, unlike those of the script."""
    usual = {"seeds": 3, "quiet": True, "engine": run_jobs}
    return sweep(function, grid, **usual | options)


def test_every_point_with_every_seed(tmp_path):
    found = _run(out=tmp_path)
    assert len(found.points) == 18
    assert found.arrays()["area"].shape == (3, 2, 3)
    assert found.arrays()["curve"].shape == (3, 2, 3, 2)
    expected = np.array([1, 2, 3])[:, None, None] * np.array([0.5, 0.25])[:, None]
    np.testing.assert_array_equal(found.arrays()["area"], expected + np.arange(3))
    assert not found.failures
    assert not found.missing
    assert repr(found) == f"<Sweep of area: 18 of 18 points, in {tmp_path}>"


def test_the_table_is_wide_and_typed(tmp_path):
    frame = _run(out=tmp_path).frame()
    kinds = {name: str(kind) for name, kind in frame.dtypes.items()}
    assert kinds == {
        "width": "int64",
        "noise": "float64",
        "seed": "int64",
        "area": "float64",
        "curve[0]": "int64",
        "curve[1]": "int64",
    }
    lines = iclab.open_sweep(tmp_path).save_csv().read_text().splitlines()
    assert lines[0] == ",".join(kinds)
    assert lines[1] == "1,0.5,0,0.5,1,0"
    assert len(lines) == 19


def area_of(width, seed):
    """The width."""
    return width


def test_what_is_there_comes_from_the_store_and_a_grid_may_grow(tmp_path):
    seen = []
    for widths in ([1, 2], [1, 2, 3]):
        shown = Display()
        _run(area_of, {"width": widths}, seeds=1, out=tmp_path, display=shown)
        seen += [(task.name, task.cached) for task in shown.tasks.values()]
        assert shown.over
    assert seen == [
        ("width=1, seed=0", False),
        ("width=2, seed=0", False),
        ("width=1, seed=0", True),
        ("width=2, seed=0", True),
        ("width=3, seed=0", False),
    ]


def test_another_function_is_called_again(tmp_path):
    def power(exponent):
        def function(width, seed):
            return width**exponent

        return function

    for exponent in (1, 2):
        found = _run(power(exponent), {"width": [3]}, out=tmp_path)
        assert [one.result for one in found.points] == [{"value": 3**exponent}] * 3


def test_a_point_and_a_key(tmp_path):
    def draw(point, key):
        import jax

        return jax.random.normal(key) + point["shift"]

    found = _run(draw, {"shift": [0.0, 10.0]}, out=tmp_path).arrays()["value"]
    assert found.shape == (2, 3)
    np.testing.assert_allclose(found[1] - found[0], 10.0)  # the same keys everywhere
    assert len(set(found[0])) == 3


def test_failures_are_kept_and_shown_and_the_others_finish(tmp_path, capsys):
    def fragile(width, seed):
        if (width, seed) == (2, 1):
            raise RuntimeError("it <broke>")
        return {"width": width, "n": seed}

    found = _run(fragile, {"width": [1, 2]}, seeds=2, out=tmp_path, quiet=False)
    assert (
        "failed: width=2, seed=1: RuntimeError: it <broke>" in capsys.readouterr().err
    )
    (failure,) = found.failures
    assert (failure.point, failure.seed) == ({"width": 2}, 1)
    assert "in fragile" in (failure.error or "")
    frame = found.frame()
    assert str(frame.dtypes["n"]) == "Int64"
    assert frame["error"].tolist() == [None, None, None, "RuntimeError: it <broke>"]
    assert "result.width" in frame
    assert np.isnan(found.arrays()["n"][1, 1])
    page = found._repr_html_()
    assert "3 of 4 points, 1 failed" in page
    assert "it &lt;broke&gt;" in page
    assert "<broke>" not in page


@pytest.mark.parametrize(
    ("function", "grid", "options", "message"),
    [
        (
            area,
            {"width": [1]},
            {},
            "sweep: `function` must take (width, seed) or (point, key): "
            "area(width, noise, seed) does not (missing a required argument: 'noise')",
        ),
        (
            area,
            {"width": 3},
            {},
            "sweep: `grid` must have a list of values for width, got 3",
        ),
        (
            area,
            {"width": [1, 1.0, 1]},
            {},
            "sweep: `grid` must have different values for width, and at least one, "
            "got [1, 1.0, 1]",
        ),
        (
            area,
            {"width": [{}]},
            {},
            "sweep: `grid` must have numbers, words or lists of them for width, got {}",
        ),
        (area, {"seed": [1]}, {}, "sweep: `grid` must not name an axis 'seed'"),
        (
            area,
            GRID,
            {"seeds": 0},
            "sweep: `seeds` must be different numbers ≥ 0, at least one, got []",
        ),
        (
            area,
            GRID,
            {"seeds": [0.5]},
            "sweep: `seeds` must be an integer from 0 to 2⁶³ − 1, got 0.5",
        ),
        (area, GRID, {"jobs": 0}, "sweep: `jobs` must be an integer ≥ 1, got 0"),
        (
            area,
            GRID,
            {"jobs": 1, "cluster": "tcp://x"},
            "sweep: `jobs` and `cluster` cannot both be given",
        ),
    ],
)
def test_mistakes_are_said_before_anything_runs(
    function, grid, options, message, tmp_path
):
    with refused(message):
        _run(function, grid, out=tmp_path / "none", **options)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("seeds", [(4, 7), range(4, 8, 3), np.array([4, 7])])
def test_seeds_of_ones_own(tmp_path, seeds):
    found = _run(lambda seed: seed, {}, seeds=seeds, out=tmp_path)
    assert found.arrays()["value"].tolist() == [4, 7]


def test_what_is_no_answer_is_a_failure(tmp_path):
    found = _run(lambda seed: {"x": object()}, {}, seeds=1, out=tmp_path)
    (failure,) = found.failures
    last = (failure.error or "").splitlines()[-1]
    assert last == (
        "TypeError: a sweep's function must return a number, an array of numbers or a"
        " dict of these, got `x` of type object"
    )


def test_arrays_of_several_shapes_are_refused(tmp_path):
    found = _run(lambda n, seed: np.zeros(n), {"n": [1, 2]}, seeds=1, out=tmp_path)
    with refused(
        "arrays: `value` must have one shape at all points, got (1,) and (2,): `points`"
        " has them as they are"
    ):
        found.arrays()
    assert found.frame().isna()["value[1]"].tolist() == [True, False]


def test_a_folder_that_names_other_files_is_refused(tmp_path):
    with refused(
        f"open_sweep: `folder` must be that of a sweep: {tmp_path} holds none"
    ):
        iclab.open_sweep(tmp_path)
    _run(area_of, {"width": [1]}, seeds=1, out=tmp_path)
    plan = json.loads((tmp_path / "sweep.json").read_text())
    (tmp_path / "sweep.json").write_text(json.dumps(plan | {"jobs": ["../../x"]}))
    with refused(
        f"open_sweep: `folder` must be that of a sweep: {tmp_path} holds none"
    ):
        iclab.open_sweep(tmp_path)


@pytest.mark.everything
def test_killed_again_and_again_it_ends_with_the_same_table(tmp_path):
    (tmp_path / "area.py").write_text(SCRIPT)
    kept = [0]
    for _ in range(5):
        program = _start(tmp_path)
        _wait(lambda: len(_kept(tmp_path)) > kept[-1], program)
        os.kill(program.pid, signal.SIGKILL)
        program.wait()
        kept.append(len(_kept(tmp_path)))
    assert iclab.open_sweep(tmp_path / "out").missing
    program = _start(tmp_path)
    assert program.wait(300) == 0
    killed = iclab.open_sweep(tmp_path / "out").frame()
    grid = {"width": list(range(1, 16)), "noise": [0.5, 0.25]}
    assert len(killed) == 90
    assert killed.equals(_run(grid=grid, out=tmp_path / "whole").frame())
    assert kept == sorted(set(kept))


def _start(folder: Path) -> "subprocess.Popen[bytes]":
    words = [sys.executable, str(folder / "area.py"), str(folder / "out")]
    path = str(Path(iclab.__file__).parents[1])
    return subprocess.Popen(
        words, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.DEVNULL
    )


def _kept(folder: Path) -> list[Path]:
    return list((folder / "out" / "store").glob("[0-9a-f][0-9a-f]/*/manifest.json"))


def _wait(condition, program) -> None:
    end = time.monotonic() + 120
    while not condition() and program.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("change", ["sha256", "seeds"])
def test_a_plan_that_was_altered_is_not_used(tmp_path, change):
    _run(out=tmp_path)
    plan = json.loads((tmp_path / "sweep.json").read_text())
    if change == "sha256":
        del plan["sha256"]
    else:
        plan["seeds"] = [7, 8, 9]
    (tmp_path / "sweep.json").write_text(json.dumps(plan))
    with pytest.raises(ValueError, match=r"sweep\.json is not used: it has no"):
        iclab.open_sweep(tmp_path)
    assert _run(out=tmp_path).missing == []  # it is planned anew


def test_what_a_sweep_compiles_is_kept_in_the_user_s_cache(
    tmp_path, monkeypatch, capsys
):
    asked = []

    def processes(count, *, cache):
        asked.append(cache)
        return run_jobs

    monkeypatch.setattr(_sweep, "Processes", processes)
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("ICLAB_CACHE", str(tmp_path / "cache"))
    _run(out=tmp_path / "a", engine=None)
    # Whoever has told JAX where is not contradicted.
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    _run(out=tmp_path / "b", engine=None)
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    (tmp_path / "cache").chmod(0o777)
    _run(out=tmp_path / "c", engine=None)
    (tmp_path / "cache").chmod(0o700)
    assert asked == [Cache(tmp_path / "cache").programs, None, None]
    assert "others can write there" in capsys.readouterr().err
