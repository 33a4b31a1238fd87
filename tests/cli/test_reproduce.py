"""`iclab reproduce` as a program: stopped, killed, twice at once, with bad items."""

import json
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli import cheap

pytestmark = pytest.mark.everything

KILLS = int(os.environ.get("ICLAB_KILLS", "5"))
# Checksums of records cover their times.
TIMES = ("started", "finished", "seconds", "sha256")


def _results(out: Path) -> dict[str, Any]:
    return json.loads((out / "results.json").read_text(encoding="utf-8"))


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_times(v) for k, v in value.items() if k not in TIMES}
    return [_without_times(one) for one in value] if isinstance(value, list) else value


def _finished_jobs(out: Path) -> dict[str, tuple[int, bytes]]:
    """Manifests of finished jobs: a second run of one would leave another file."""
    return {
        path.parent.name: (path.stat().st_ino, path.read_bytes())
        for path in (out / "store").glob("??/*/manifest.json")
    }


def _pictures(out: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in (out / "figures").rglob("*") if p.is_file()}


def _start(folder: Path, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        cheap.command(folder, *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=cheap.environment(),
        start_new_session=True,
    )


def test_a_second_run_computes_draws_and_loads_nothing(tmp_path):
    cheap.write_items(tmp_path, 2, figure=True)
    words = ("reproduce", "--out", "out", "--jobs", "2")
    first = cheap.run(tmp_path, *words, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "cached: 0 of 3\n" in first.stdout
    before = {p: p.stat().st_ino for p in (tmp_path / "out" / "figures").rglob("*.*")}
    assert {path.suffix for path in before} == {".svg", ".pdf", ".png", ".csv", ".json"}
    profiled = cheap.environment(PYTHONPROFILEIMPORTTIME="1")
    again = cheap.run(tmp_path, *words, cwd=tmp_path, env=profiled)
    assert again.returncode == 0, again.stderr
    assert "cached: 3 of 3\n" in again.stdout
    assert "slowest" not in again.stdout
    assert {path: path.stat().st_ino for path in before} == before
    loaded = {line.rpartition("|")[2].strip() for line in again.stderr.splitlines()}
    assert "iclab.report._build" in loaded
    assert not loaded & {"jax", "matplotlib", "items.figure_quick", "distributed"}
    # A picture that was changed, or is gone, is drawn again as it was.
    folder = tmp_path / "out" / "figures" / "ahn2023"
    drawn = (folder / "figure-quick.csv").read_bytes()
    (folder / "figure-quick.csv").write_text("something else")
    (folder / "figure-quick.svg").unlink()
    assert cheap.run(tmp_path, *words, cwd=tmp_path).returncode == 0
    assert (folder / "figure-quick.csv").read_bytes() == drawn
    assert (folder / "figure-quick.svg").is_file()


def test_a_folder_cannot_name_a_program(tmp_path):
    cheap.write_items(tmp_path, figure=True)
    out, trace = tmp_path / "out", tmp_path / "trace"
    words = ("reproduce", "--out", str(out), "--jobs", "1")
    assert cheap.run(tmp_path, *words).returncode == 0
    path = out / "figures" / f"{cheap.FIGURE}.json"
    manifest = json.loads(path.read_text())
    command = ["touch", str(trace)]
    attack = {"function": "subprocess:call", "config": command, "seed": 1}
    jobs = {name: {**attack, "code": [], "label": ""} for name in "abc"}
    plan = {"scale": "desk", "seed": 0, "retrain": False, **manifest.get("plan", {})}
    # Whatever the manifest may say: of this format, and of the one that named jobs.
    for format in (1, manifest["format"]):
        altered = {**manifest, "format": format, "jobs": jobs}
        path.write_text(json.dumps({**altered, "plan": {**plan, "jobs": jobs}}))
        shutil.rmtree(out / "store")
        done = cheap.run(tmp_path, *words)
        assert not trace.exists()
        assert done.returncode == 0
        # At most it is said that the manifest is none, and the figure is drawn again.
        said = rf"(iclab reproduce: {re.escape(str(path))}: .*; drawn again\n)?"
        assert re.fullmatch(said, done.stderr)


def test_records_of_all_runs_are_kept(tmp_path):
    cheap.write_items(tmp_path, 2, odd={"yang2024/bad": "raise ValueError('no')"})
    out = tmp_path / "out"

    def reproduce(*words: str) -> "subprocess.CompletedProcess[str]":
        return cheap.run(tmp_path, "reproduce", *words, "--out", str(out))

    done = reproduce("zhang2023/quick-0", "--scale", "smoke", "--seed", "1")
    assert "1 item: 1 holds, 0 corrected, 0 fails, 0 undecided, 2 miss" in done.stdout
    assert reproduce("yang2024").returncode == 1
    # Exit code and summary are about what was asked for.
    done = reproduce("zhang2023/quick-1", "--scale", "smoke")
    assert done.returncode == 0
    assert "1 item: 1 holds, 0 corrected, 0 fails, 0 undecided, 0 miss" in done.stdout
    made = {r["id"]: (r["scale"], r["seed"]) for r in _results(out)["results"]}
    assert made == {
        "zhang2023/quick-0": ("smoke", 1),
        "zhang2023/quick-1": ("smoke", 0),
        "yang2024/bad": ("desk", 0),
    }
    # A later result takes the place of an earlier one, whatever its scale or seed.
    assert reproduce("zhang2023/quick-0").returncode == 0
    made = {r["id"]: (r["scale"], r["seed"]) for r in _results(out)["results"]}
    assert made["zhang2023/quick-0"] == ("desk", 0)
    page = (out / "report" / "index.html").read_text()
    assert "Of another scale or seed: 1 result." in page


def test_what_goes_wrong_stops_nothing_else(tmp_path):
    odd = {
        "yang2024/computes": "raise RuntimeError('the sky fell')",
        "yang2024/dies": "os._exit(3)",
        "yang2024/figure-computes": "raise RuntimeError('no table')",
        "yang2024/figure-judge": "raise LookupError('no evidence')",
    }
    cheap.write_items(tmp_path, 2, odd={**odd, "yang2024/gone": "pass"})
    (tmp_path / "items" / "figure_computes.py").write_text("import nothing_at_all")
    out = tmp_path / "out"
    words = ("reproduce", "--out", str(out), "--jobs", "2")
    done = cheap.run(tmp_path, *words)
    assert done.returncode == 1
    assert done.stderr == ""
    bad = re.findall(r"^undecided  (\S+)  [0-9.]+ s  (.*)$", done.stdout, re.MULTILINE)
    assert dict(bad) == {
        "yang2024/computes": (
            "RuntimeError: the sky fell (computes.py, line 14, in work)"
        ),
        "yang2024/dies": "the process of this job died: exit code 3",
        "yang2024/figure-computes": (
            "ModuleNotFoundError: No module named 'nothing_at_all'"
            " (figure_computes.py, line 1, in <module>)"
        ),
        "yang2024/figure-judge": (
            "LookupError: no evidence (figure_judge.py, line 50, in expect)"
        ),
    }
    assert "7 items: 3 holds, 0 corrected, 0 fails, 4 undecided" in done.stdout
    records = {record["id"]: record for record in _results(out)["results"]}
    assert "Traceback" in records["yang2024/figure-judge"]["error"]
    page = (out / "report" / "yang2024.html").read_text()
    assert page.count("The program stopped with an error.") == 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_what_is_done(tmp_path, number):
    slow = "open(os.environ['PIDS'], 'a').write(f'{os.getpid()} '); time.sleep(600)"
    cheap.write_items(tmp_path, 2, odd={"yang2024/a": slow, "yang2024/b": slow})
    out, pids = tmp_path / "out", tmp_path / "pids"
    words = ("reproduce", "--out", str(out), "--jobs", "2")
    run = subprocess.Popen(
        cheap.command(tmp_path, *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=cheap.environment(PIDS=str(pids)),
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 240
        while not pids.exists() or len(pids.read_text().split()) < 2:
            assert time.monotonic() < deadline, "the slow items did not begin"
            time.sleep(0.05)
        # They may begin before the others' results are looked at.
        assert run.stdout is not None
        done = [run.stdout.readline() for _ in range(2)]
        # A terminal tells the whole group, `kill` only the process.
        (os.killpg if number == signal.SIGINT else os.kill)(run.pid, number)
        text, error = run.communicate(timeout=120)
    finally:
        os.killpg(run.pid, signal.SIGKILL) if run.poll() is None else None
    assert run.returncode == 128 + number
    word = "interrupted" if number == signal.SIGINT else "terminated"
    assert cheap.complaints(error) == (
        f"iclab reproduce: {word}, 2 of 4 items done and kept in {out}: the same"
        f" command continues; report: {out / 'report' / 'index.html'}\n"
    )
    assert all(line.startswith("holds") for line in done)
    assert text == ""
    for pid in map(int, pids.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert [r["id"] for r in _results(out)["results"]] == [
        "zhang2023/quick-0",
        "zhang2023/quick-1",
    ]
    assert "stopped before its end" in (out / "report" / "index.html").read_text()
    # The same command continues.
    cheap.write_items(tmp_path, 2, odd={"yang2024/a": "pass", "yang2024/b": "pass"})
    done = cheap.run(tmp_path, *words)
    assert "cached: 2 of 4\n" in done.stdout
    assert done.returncode == 0


def test_killed_at_any_moment(tmp_path):
    cheap.write_items(tmp_path, 4 + KILLS, figure=True, seconds=0.2)
    words = ("reproduce", "--scale", "smoke", "--jobs", "2", "--out")
    undisturbed, out = tmp_path / "undisturbed", tmp_path / "out"
    begin = time.monotonic()
    assert cheap.run(tmp_path, *words, str(undisturbed)).returncode == 0
    whole = time.monotonic() - begin
    seed = random.randrange(2**31)
    print(f"moments from seed {seed}")
    moments = random.Random(seed)
    finished: dict[str, tuple[int, bytes]] = {}
    for _ in range(KILLS):
        run = _start(tmp_path, *words, str(out))
        time.sleep(moments.uniform(0, whole / 2))
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        now = _finished_jobs(out)
        assert {name: now.get(name) for name in finished} == finished
        finished = now
        if (out / "results.json").exists():
            _results(out)
    done = cheap.run(tmp_path, *words, str(out))
    assert done.returncode == 0, done.stderr
    now = _finished_jobs(out)
    assert {name: now[name] for name in finished} == finished
    assert _without_times(_results(out)) == _without_times(_results(undisturbed))
    assert _pictures(out) == _pictures(undisturbed)


def test_two_at_once_in_one_folder(tmp_path):
    ids = cheap.write_items(tmp_path, 6, figure=True, seconds=0.05)
    out = tmp_path / "out"
    same = ("reproduce", "--out", str(out), "--jobs", "1")
    # Both have the figure, at scales that draw different pictures.
    mine = (*same, *ids[:4], cheap.FIGURE, "--scale", "smoke")
    yours = (*same, *ids[2:6], cheap.FIGURE)
    runs = [_start(tmp_path, *mine), _start(tmp_path, *yours)]
    for run in runs:
        _, error = run.communicate(timeout=240)
        assert (run.returncode, cheap.complaints(error)) == (0, "")
    results = _results(out)
    assert [record["id"] for record in results["results"]] == ids
    # The record and the pictures of the figure are of the same run.
    last = next(r["scale"] for r in results["results"] if r["id"] == cheap.FIGURE)
    manifest = json.loads((out / "figures" / f"{cheap.FIGURE}.json").read_text())
    assert manifest["scale"] == last
    assert (out / "report" / "results.json").read_text() == (
        out / "results.json"
    ).read_text()
    assert not list(out.glob("**/.*.draft"))


def test_a_file_in_the_place_of_the_figures(tmp_path):
    cheap.write_items(tmp_path, figure=True)
    out = tmp_path / "out"
    out.mkdir()
    (out / "figures").write_text("in the way")
    done = cheap.run(tmp_path, "reproduce", "--out", str(out), "--jobs", "2")
    assert done.returncode == 2
    assert re.fullmatch(r"iclab reproduce: cannot write .*\n", done.stderr)


def test_a_terminal_sees_a_table(tmp_path):
    cheap.write_items(tmp_path, 3, odd={"yang2024/bad": "raise ValueError('no')"})
    ours, theirs = pty.openpty()
    try:
        os.set_blocking(ours, False)
        run = subprocess.Popen(
            cheap.command(tmp_path, "reproduce", "--out", str(tmp_path / "out")),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=cheap.environment(TERM="xterm", COLUMNS="80", LINES="24"),
        )
        os.close(theirs)
        seen = b""
        while run.poll() is None or seen == b"":
            time.sleep(0.05)
            try:
                seen += os.read(ours, 1 << 20)
            except OSError:
                continue
    finally:
        os.close(ours)
    assert run.returncode == 1
    text = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", seen).decode()
    assert re.search(r"item +state +time", text)
    assert re.search(r"zhang2023/quick-0 +holds +[0-9.]+ s", text)
    assert re.search(r"undecided  yang2024/bad  [0-9.]+ s  ValueError: no", text)
    assert "4 items: 3 holds, 0 corrected, 0 fails, 1 undecided, 0 missing (" in text
