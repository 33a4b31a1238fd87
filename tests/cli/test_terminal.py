"""Whatever the streams are connected to, and whenever Ctrl-C comes: no traceback."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from iclab.cli import main
from iclab.show import in_ascii

ROOT = Path(__file__).parents[2]
QUICK = "zhang2023/section-5.1-determinant"
COMMANDS = [["--help"], ["list"], ["show", "zhang2023/corollary-4.3"], ["cite", QUICK]]


def _environment(**variables: str) -> dict[str, str]:
    known = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    return {**known, "PYTHONPATH": str(ROOT), **variables}


def _shell(words: list[str], redirection: str, **variables: str):
    command = shlex.join([sys.executable, "-m", "iclab", *words])
    return subprocess.run(
        f"{command} {redirection}",
        shell=True,
        capture_output=True,
        env=_environment(**variables),
        timeout=120,
    )


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_terminal_without_unicode(words):
    done = _shell(words, "", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
    assert b"\\u" not in done.stdout


def test_json_without_unicode_is_the_same_json():
    plain = _shell(["list", "--json"], "", PYTHONIOENCODING="ascii")
    usual = _shell(["list", "--json"], "", PYTHONIOENCODING="utf-8")
    assert plain.stdout.isascii()
    assert not usual.stdout.isascii()
    assert json.loads(plain.stdout) == json.loads(usual.stdout)


@pytest.mark.parametrize(
    ("character", "shown"),
    [("≥", ">="), ("λ", "lambda"), ("Λ", "lambda"), ("²", "^2"), ("é", "e"), ("∎", "?"),
     ("…", "..."), ("₁", "1"), ("\udcff", "\\xff"), ("ε", "epsilon"), ("½", "12"),
     ("1.9×10⁻¹¹", "1.9x10^-11")],
)  # fmt: skip
def test_plain_words_for_characters(character, shown):
    assert in_ascii(character) == shown


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_streams(closed):
    done = _shell(["list", "zhang2023"], closed)
    assert (done.returncode, done.stderr) == (0, b"")
    done = _shell(["list", "nonsense"], closed)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "words", [["--version"], ["--help"], ["check", "-h"], ["list"], ["list", "--json"]]
)
def test_a_full_disk_for_output(words, unbuffered):
    done = _shell(words, ">/dev/full", PYTHONUNBUFFERED=unbuffered)
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 2
    assert len(lines) == 1
    assert lines[0].startswith("iclab")
    assert lines[0].endswith(": No space left on device")


def test_a_full_disk_for_mistakes():
    done = _shell(["list", "nonsense"], "2>/dev/full")
    assert (done.returncode, done.stdout) == (2, b"")
    done = _shell(["nonsense"], "2>/dev/full")
    assert done.returncode == 2


def test_names_of_files_that_are_no_text():
    done = subprocess.run(
        [sys.executable, "-m", "iclab", "report", b"\xff"],
        capture_output=True,
        env=_environment(PYTHONIOENCODING="utf-8"),
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


# Loads the command as its script does; Ctrl-C comes when one module is first asked for.
_INTERRUPTED_AT = """
import sys
class Interrupts:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupts())
from iclab.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("argparse", ["list"]),
        ("iclab.cli._main", ["list"]),
        ("iclab.cli._train", ["list"]),
        ("iclab.papers._opening", ["list"]),
        ("iclab.papers.yang2024.contents", ["list"]),
        ("iclab.lab._run", ["check", QUICK]),
        ("numpy", ["check", QUICK]),
        ("jax", ["probe", "least-squares"]),
        ("iclab.training", ["train", "zhang2023/gpt2", "--out", "unused"]),
    ],
)
def test_interrupted_while_it_loads(module, words, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_AT, module, *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=_environment(),
    )
    assert done.returncode == 130
    assert done.stderr in ("iclab: interrupted\n", f"iclab {words[0]}: interrupted\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seconds", [0.15, 0.5])
def test_interrupted_early(seconds, tmp_path):
    """Ctrl-C reaches all processes of a terminal, those that are just starting too."""
    before = time.perf_counter()
    subprocess.run([sys.executable, "-c", ""], check=True)
    bare = time.perf_counter() - before
    running = subprocess.Popen(
        [sys.executable, "-m", "iclab", "check", QUICK, "--out", "out"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=_environment(),
        start_new_session=True,
    )
    # From when Python itself has started, which answers in its own way until then.
    while b"iclab" not in Path(f"/proc/{running.pid}/cmdline").read_bytes():
        time.sleep(0.01)
    time.sleep(seconds + 2 * bare)
    os.killpg(running.pid, signal.SIGINT)
    _, errors = running.communicate(timeout=120)
    assert running.returncode == 130
    assert "Traceback" not in errors
    assert "interrupted" in errors.splitlines()[-1]


def _mistake(capsys, *words: str) -> str:
    try:
        code = main(list(words))
    except SystemExit as left:
        code = left.code
    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    (line,) = captured.err.splitlines()
    return line


def test_a_result_that_is_not_there_is_not_cited(capsys):
    line = _mistake(capsys, "cite", "zhang2023/theorem-4.11")
    assert line == (
        "iclab cite: unknown id 'zhang2023/theorem-4.11': did you mean"
        " zhang2023/theorem-4.1?"
    )
    assert _mistake(capsys, "cite", "zhang2023/").startswith("iclab cite: unknown id")
    assert main(["cite", "zhang2023/gpt2", "zhang2023/theorem-4.1", "zhang2023"]) == 0
    assert capsys.readouterr().out.count("@") == 1


def test_a_folder_that_is_named_must_hold_results(capsys, tmp_path, monkeypatch):
    wrong = tmp_path / "wrong"
    line = _mistake(capsys, "show", QUICK, "--out", str(wrong))
    assert line.startswith("iclab show: ")
    assert str(wrong) in line
    monkeypatch.chdir(tmp_path)  # no usual folder here, and none was asked for
    assert main(["show", QUICK]) == 0


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("train zhang2023/gpt2 --out x --size tiny --checkpoint-every 0",
         "iclab train: `checkpoint_every` must be an integer ≥ 1, got 0"),
        ("probe least-squares --context 0",
         "iclab probe: `contexts` must be an integer ≥ 1, got 0"),
        ("probe gd:1e30",
         "iclab probe: a number of steps must be a whole number from 1 to 10000,"
         " got 1e+30"),
        ("probe gd:inf",
         "iclab probe: a number of steps must be a whole number from 1 to 10000,"
         " got inf"),
    ],
)  # fmt: skip
def test_commands_name_themselves_once(capsys, tmp_path, monkeypatch, words, line):
    monkeypatch.chdir(tmp_path)
    assert _mistake(capsys, *words.split()) == line


@pytest.mark.parametrize(
    "words",
    ["check --seed", "reproduce --seed", "probe zero --seed",
     "train zhang2023/gpt2 --out x --seed"],
)  # fmt: skip
@pytest.mark.parametrize("seed", [2**63, 10**400, "-1", "1.5", "nan", ""])
def test_seeds_are_what_keys_can_tell_apart(capsys, words, seed):
    command, *_ = words.split()
    line = _mistake(capsys, *words.split(), str(seed))
    assert line.startswith(f"iclab {command}: argument --seed: must be a whole number")
    assert len(line) < 200


@pytest.mark.parametrize(
    "words",
    [f"probe least-squares --dimension {2**63 - 1}", "probe zero --dimension 0",
     f"check --jobs {2**63}", "reproduce --jobs 0"],
)  # fmt: skip
def test_absurd_sizes_on_the_command_line(capsys, words):
    assert "must be a whole number" in _mistake(capsys, *words.split())
