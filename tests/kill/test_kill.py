"""A few kills of what starts quickly; `python -m tests.kill` makes many, of all.

What a campaign calls lost is tested without them: on finished folders of which one
thing is changed, and on a program that loses what it is told to.
"""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kill import record
from tests.kill.campaign import campaign, differences
from tests.kill.targets import TARGETS, TIMES, Sweep, Target

# Stops in the middle when it is started the first time: nothing but a kill ends that.
_LOSES = """
import json, os, sys, time
from pathlib import Path

out, loses = Path(sys.argv[1]), sys.argv[2]


def save(name, value):
    path = out / "store" / "aa" / name / "manifest.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".draft").write_text(json.dumps({"value": value, "seconds": 1}))
    path.with_suffix(".draft").rename(path)


again = out.exists()
if not again or loses == "a file":
    save("one", 1)
with open(os.environ["BEGUN"], "a") as file:
    file.write("+")
if not again and out.name != "undisturbed":
    time.sleep(600)
save("two", 3 if again and loses == "a number" else 2)
if again and loses == "its way":
    sys.exit("lost")
"""


@pytest.mark.everything
def test_a_sweep_loses_nothing(tmp_path):
    target = Sweep("sweep", tmp_path, jobs=6, seconds=0.1)
    tallies = list(campaign(target, 3, random.Random))
    assert sum(tally.kills for tally in tallies) == 3
    assert [tally.lost for tally in tallies] == [[]] * len(tallies)
    # A manifest and an array of every point, the plan, and the mark of the store.
    assert {tally.compared for tally in tallies} == {2 * target.jobs + 2}


class _Loses(Target):
    def command(self, out: Path) -> list[str]:
        return [sys.executable, "-c", _LOSES, str(out), self.name]


@pytest.mark.parametrize(
    ("loses", "lost"),
    [
        ("nothing", []),
        ("a file", ["one was finished, and is gone or another"]),
        ("a number", ["store/aa/two/manifest.json is another"]),
        ("its way", ["exit code 1: lost\n"]),
    ],
)
def test_what_is_lost_is_said(tmp_path, loses, lost):
    (tally,) = campaign(_Loses(loses, tmp_path), 1, random.Random)
    assert (tally.kills, tally.hit_work, tally.lost) == (1, 1, lost)


@pytest.mark.everything
@pytest.mark.parametrize("name", TARGETS)
def test_whatever_a_finished_folder_lacks_is_noticed(name, tmp_path):
    target = TARGETS[name](name, tmp_path, jobs=4 if name != "train" else 1, seconds=0)
    out = tmp_path / "out"
    command = target.command(out)
    subprocess.run(command, check=True, env=target.environment, capture_output=True)
    whole = target.result(out)
    files = [name for name in whole if (out / name).is_file()]
    assert files == list(whole)
    assert len(files) >= 4
    for file in files:
        path = out / file
        data = path.read_bytes()
        path.unlink()
        assert differences(whole, target.result(out)) == [f"{file} is not there"]
        for altered in _altered(path, data):
            path.write_bytes(altered)
            assert differences(whole, target.result(out)) == [f"{file} is another"]
        path.write_bytes(data)
    (out / "more").write_text("")
    assert differences(whole, target.result(out)) == ["more should not be there"]


def _altered(path: Path, data: bytes) -> Iterator[bytes]:
    """A file with one number or word of it changed; of other files, one byte."""
    yield data[: len(data) // 2]
    if path.suffix == ".json":
        value = json.loads(data)
        for holder, key in list(_places(value)):
            before = holder[key]
            holder[key] = f"{before}x" if isinstance(before, str) else [before]
            yield json.dumps(value).encode()
            holder[key] = before
    elif path.suffix == ".jsonl":
        yield data.replace(b'"loss": ', b'"loss": 1', 1)
        yield b"".join(data.splitlines(keepends=True)[1:])
    else:
        middle = len(data) // 2
        yield data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Where there is a number, a word or nothing at all, but for times."""
    pairs = enumerate(value) if isinstance(value, list) else value.items()
    for key, one in pairs:
        if isinstance(one, (dict, list)):
            yield from _places(one)
        elif key not in TIMES:
            yield value, key


def test_a_record_is_continued_and_summed(tmp_path):
    (tally,) = campaign(_Loses("a number", tmp_path), 1, random.Random)
    tally.name = "sweep"
    for _ in range(2):
        record.keep(tmp_path / "records", tally, 0)
    rows = record.read(tmp_path / "records")
    assert [row["kills"] for row in rows] == ["1", "1"]
    page = (tmp_path / "records" / "kills.md").read_text()
    assert "| sweep | 2 | 2 | 0 | 4 | 2 | 4 | 2 |" in page
    assert "- sweep: store/aa/two/manifest.json is another" in page
