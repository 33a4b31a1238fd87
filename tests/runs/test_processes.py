"""Jobs in processes of this machine, some of which die."""

import dataclasses
import itertools
import os
import signal
import subprocess
import sys
from multiprocessing import resource_tracker
from pathlib import Path

import numpy as np
import pytest

from iclab.runs import EngineProblem, Job, Outcome, Processes, Started, Store, run_jobs
from tests.runs import program, work
from tests.stranger import Stranger

ROOT = Path(__file__).parents[2]


def _job(name="square", seed=0, **config):
    return Job(f"tests.runs.work:{name}", config, seed)


def _outcomes(jobs, **options):
    return [one for one in run_jobs(jobs, **options) if isinstance(one, Outcome)]


def test_processes_give_the_same_as_one():
    jobs = [_job(n=3, seed=seed) for seed in range(4)]
    alone = {one.job.seed: one.result for one in _outcomes(jobs)}
    together = {o.job.seed: o.result for o in _outcomes(jobs, engine=Processes(2))}
    for seed, result in alone.items():
        other = together[seed]
        assert result is not None
        assert other is not None
        np.testing.assert_array_equal(result["values"], other["values"])


def test_no_more_jobs_have_started_than_processes_work(tmp_path):
    jobs = [_job("hold", seed, folder=str(tmp_path)) for seed in range(3)]
    events = run_jobs(jobs, engine=Processes(2))
    first, second = next(events), next(events)
    assert (first, second) == (Started(jobs[0]), Started(jobs[1]))
    work.until(lambda: len(work.held(tmp_path)) == 2)
    (tmp_path / "go").touch()
    assert isinstance(next(events), Outcome)
    assert Started(jobs[2]) in list(events)


def test_the_next_job_begins_before_a_result_is_looked_at(tmp_path):
    jobs = [_job(n=2), _job("hold", 1, folder=str(tmp_path))]
    events = run_jobs(jobs, engine=Processes(1))
    started, ended = next(events), next(events)
    assert (started, ended.job) == (Started(jobs[0]), jobs[0])
    work.until(lambda: len(work.held(tmp_path)) == 1)
    (tmp_path / "go").touch()
    assert [type(event) for event in events] == [Started, Outcome]


def test_processes_that_die_lose_only_their_jobs(tmp_path):
    jobs = [_job("die"), *(_job(n=2, seed=seed) for seed in range(3)), _job("die", 1)]
    store = Store(tmp_path)
    outcomes = _outcomes(jobs, store=store, engine=Processes(2))
    assert len(outcomes) == 5
    for outcome in outcomes:
        if outcome.job.function.endswith("die"):
            assert outcome.error == "the process of this job died: exit code 3"
            assert store.failure(outcome.job) == outcome.error
        else:
            assert outcome.error is None
            assert store.has(outcome.job)


def test_a_killed_process_is_said_in_words(tmp_path):
    jobs = [_job("hold", seed, folder=str(tmp_path)) for seed in range(3)]
    events = run_jobs(jobs, engine=Processes(2))
    next(events), next(events)
    work.until(lambda: len(work.held(tmp_path)) == 2)
    (victim,) = [int(p.name.split("-")[2]) for p in tmp_path.glob("pid-1-*")]
    os.kill(victim, signal.SIGKILL)
    died = next(events)
    assert isinstance(died, Outcome)
    assert died.job == jobs[1]
    assert died.error == (
        "the process of this job died: killed by SIGKILL (was there enough memory?)"
    )
    (tmp_path / "go").touch()
    rest = [one for one in events if isinstance(one, Outcome)]
    assert {one.job.seed for one in rest if one.error is None} == {0, 2}


def test_processes_that_cannot_start_are_said_once(monkeypatch, capfd):
    resource_tracker.ensure_running()  # not to be disturbed as well
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    jobs = [_job(n=2, seed=seed) for seed in range(3)]
    sentence = r"^a process for the work could not be started \(exit code 1\): it has"
    with pytest.raises(EngineProblem, match=sentence):
        list(run_jobs(jobs, engine=Processes(2)))
    assert "/nowhere" in capfd.readouterr().err


def test_a_script_needs_no_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "print('once')\n"
        "from iclab.runs import Job, Processes, run_jobs\n"
        "jobs = [Job('tests.runs.work:square', {'n': 2}, seed) for seed in (0, 1)]\n"
        "print([e.error for e in run_jobs(jobs, engine=Processes(2))"
        " if hasattr(e, 'error')])\n"
    )
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("once\n[None, None]\n", "")


def test_who_stops_listening_ends_the_processes(tmp_path):
    jobs = [_job("hold", seed, folder=str(tmp_path)) for seed in range(2)]
    for event in run_jobs(jobs, engine=Processes(2)):
        if event == Started(jobs[1]):
            work.until(lambda: len(work.held(tmp_path)) == 2)
            break
    work.until(lambda: all(map(work.gone, work.held(tmp_path))))


@pytest.mark.parametrize("count", [1, 2])
def test_processes_have_one_thread_and_the_parent_its_own(count, monkeypatch, tmp_path):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("XLA_FLAGS", "--mine")
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    jobs = [_job("environment", seed=seed) for seed in range(2)]
    outcomes = _outcomes(jobs, engine=Processes(count, cache=tmp_path))
    assert len(outcomes) == 2
    for outcome in outcomes:
        assert outcome.result is not None
        assert outcome.result["OMP_NUM_THREADS"] == "1"
        flags = outcome.result["XLA_FLAGS"]
        assert "--xla_cpu_multi_thread_eigen=false" in flags
        assert flags.endswith(" --mine")
        assert outcome.result["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path)
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert os.environ["XLA_FLAGS"] == "--mine"
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ


def test_quick_jobs_have_a_process_that_compiles_quickly(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_backend_optimization_level=3")
    jobs = [
        dataclasses.replace(_job("environment", seed=seed), quick=seed > 0)
        for seed in range(3)
    ]
    plain, *quick = (one.result or {} for one in _outcomes(jobs, engine=Processes(1)))
    assert "fusion_emitters" not in plain["XLA_FLAGS"]
    for one in quick:
        assert "fusion_emitters=false" in one["XLA_FLAGS"]
        assert one["XLA_FLAGS"].count("optimization_level") == 1
    assert len({one["pid"] for one in quick}) == 1
    assert plain["pid"] != quick[0]["pid"]


@pytest.mark.parametrize("mine", ["", "threads=1"])
def test_every_flag_is_read(mine, monkeypatch):
    # XLA dies of a flag that it does not know, unless a word before it is no flag.
    monkeypatch.setenv("XLA_FLAGS", mine)
    job = dataclasses.replace(_job("environment"), quick=True)
    (outcome,) = _outcomes([job], engine=Processes(1))
    flags = (outcome.result or {})["XLA_FLAGS"].removesuffix(mine)
    computes = "import iclab, jax.numpy as jnp; jnp.ones(1)"
    done = subprocess.run(
        [sys.executable, "-c", computes],
        env={**os.environ, "XLA_FLAGS": f"{flags} --xla_unheard_of=1 {mine}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "--xla_unheard_of=1" in done.stderr


def test_a_damaged_cache_of_programs_does_no_harm(tmp_path, capfd):
    def run():
        (outcome,) = _outcomes([_job("compiled")], engine=Processes(1, cache=tmp_path))
        assert outcome.result is not None, outcome.error
        return outcome.result["values"]

    fresh = run()
    entries = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(entries) > 1
    for number, path in enumerate(entries):
        content = path.read_bytes()
        path.write_bytes([content[: len(content) // 2], b"", b"?"][number % 3])
    damaged = [path.read_bytes() for path in entries]
    assert run() == fresh
    assert capfd.readouterr() == ("", "")
    # They are written again: the next run need not compile them.
    assert all(a.read_bytes() != b for a, b in zip(entries, damaged, strict=True))


@pytest.fixture
def running(tmp_path):
    """A program in a session of its own, with one job done and two processes at work.

    What it starts ends with it, whatever happens.
    """
    command = [sys.executable, "-m", "tests.runs.program", str(tmp_path)]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    store, (first, *_) = Store(tmp_path / "store"), program.jobs(tmp_path)

    def at_work() -> bool:
        return store.has(first) and len(work.held(tmp_path)) == 2

    work.until(lambda: at_work() or process.poll() is not None)
    yield process
    (tmp_path / "go").touch()
    process.kill()
    process.communicate()


def test_ctrl_c_ends_all_processes_and_keeps_what_is_done(running, tmp_path):
    # As a terminal does: to the whole group, children included.
    os.killpg(running.pid, signal.SIGINT)
    output, errors = running.communicate(timeout=60)
    assert (running.returncode, output, errors) == (130, "", "")
    assert all(map(work.gone, work.held(tmp_path)))
    store = Store(tmp_path / "store")
    first, *others = program.jobs(tmp_path)
    assert store.has(first)
    assert not any(map(store.has, others))


def test_processes_end_with_a_killed_parent(running, tmp_path):
    running.kill()
    running.wait()
    work.until(lambda: all(map(work.gone, work.held(tmp_path))))
    store = Store(tmp_path / "store")
    assert store.has(program.jobs(tmp_path)[0])


def test_one_of_a_kind_goes_ahead_and_the_others_read_what_it_compiled():
    squares, other = [_job(n=n) for n in (1, 2, 3)], _job("environment")
    # While the first square runs there is other work, and then nothing else.
    assert _begun(3, [*squares, other], 3) == [squares[0], other, squares[1]]
    assert _begun(1, [*squares, other], 4) == [*squares, other]
    # Other names in the configuration, another kind; not other numbers.
    more = _job(n=1, m=2)
    assert _begun(2, [squares[0], squares[1], more], 2) == [squares[0], more]


def test_no_process_begins_anew_for_the_sake_of_what_is_compiled():
    first, second = _job(n=1), _job(n=2)
    quick = dataclasses.replace(_job("environment"), quick=True)
    assert _begun(3, [first, second, quick], 3) == [first, second, quick]


def _begun(processes, jobs, count):
    """The jobs that are begun first, in their order."""
    events = run_jobs(jobs, engine=Processes(processes))
    begun = (event.job for event in events if isinstance(event, Started))
    return list(itertools.islice(begun, count))


# As a notebook does: libraries are loaded, and then the current folder comes first.
NOTEBOOK = """
import sys
import iclab
from iclab.runs import Job, Processes, run_jobs
sys.path.insert(0, "")
import beside
print(iclab.sweep(beside.double, {"x": [3]}, 1, out=sys.argv[1], jobs=1, quiet=True)
      .points[0].result)
jobs = [Job("beside:job", {}), Job("tests.runs.work:compiled", {})]
print([e.error for e in run_jobs(jobs, engine=Processes(1)) if hasattr(e, "error")])
"""
BESIDE = """
def double(x, seed):
    return 2 * x

def job(config, seed):
    return {"done": True}
"""


def _program(words, folder):
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_lies_in_the_current_folder_hides_no_library(tmp_path):
    stranger = Stranger(tmp_path)
    (stranger.folder / "beside.py").write_text(BESIDE)
    done = _program(["-P", "-c", NOTEBOOK, str(tmp_path / "sweep")], stranger.folder)
    assert stranger.ran == []
    # And what the notebook names is found there, in its processes too.
    assert (done.stdout, done.stderr) == ("{'value': 6}\n[None, None]\n", "")


def test_a_script_elsewhere_has_nothing_of_the_current_folder(tmp_path):
    stranger, own = Stranger(tmp_path), tmp_path / "own"
    own.mkdir()
    (own / "beside.py").write_text(BESIDE)
    (own / "script.py").write_text(
        "import iclab, sys\n"
        "from beside import double\n"
        "def twice(x, seed):\n"
        "    return double(double(x, seed), seed)\n"
        "for one in (double, twice):\n"
        "    swept = iclab.sweep(one, {'x': [3]}, 1, sys.argv[1], jobs=1, quiet=True)\n"
        "    print(swept.points[0].result)\n"
    )
    done = _program([own / "script.py", tmp_path / "sweep"], stranger.folder)
    assert stranger.ran == []
    assert (done.stdout, done.stderr) == ("{'value': 6}\n{'value': 12}\n", "")


def test_only_the_folder_of_a_script_keeps_its_place(tmp_path):
    program = (
        "import sys\n"
        "from iclab.runs import Job, Processes\n"
        "*_, end = Processes(1)([Job('tests.runs.work:path', {})])\n"
        "print(*[[*map(str, end.result['path'])].index(sys.argv[1]) == place"
        " for place in (0, len(sys.path) - 1)])\n"
    )
    (tmp_path / "script.py").write_text(program)
    done = _program(["script.py", str(tmp_path)], tmp_path)
    assert (done.stdout, done.stderr) == ("True False\n", "")
    done = _program(["-c", program, str(tmp_path)], tmp_path)
    assert (done.stdout, done.stderr) == ("False True\n", "")


@pytest.mark.parametrize("mine", ["", "1"])
def test_what_a_job_starts_looks_for_modules_as_its_user_wants(mine, monkeypatch):
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    if mine:
        monkeypatch.setenv("PYTHONSAFEPATH", mine)
    (outcome,) = _outcomes([_job("environment")], engine=Processes(1))
    assert (outcome.result or {})["PYTHONSAFEPATH"] == mine
    assert os.environ.get("PYTHONSAFEPATH", "") == mine
