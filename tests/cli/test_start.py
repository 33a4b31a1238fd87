"""What a command loads: little before it answers, and nothing of a stranger's."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import iclab
from tests.stranger import Stranger

QUICK = "zhang2023/section-5.1-determinant"
# Nothing that only reads words needs one of these.
HEAVY = (
    "asyncio", "diffrax", "distributed", "email", "equinox", "importlib.metadata",
    "jax", "matplotlib", "multiprocessing", "numpy", "optax", "rich", "scipy",
)  # fmt: skip


def _loaded(*words: str) -> set[str]:
    """Modules that a command leaves loaded."""
    code = (
        "import sys\n"
        "from iclab.cli import main\n"
        "try:\n"
        f"    main({list(words)!r})\n"
        "finally:\n"
        "    print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["list"],
        ["list", "zhang2023", "--json"],
        ["cite", QUICK],
        ["train", "--help"],
        ["reproduce", "--scale", "grand"],
    ],
    ids=" ".join,
)
def test_words_need_no_libraries(words):
    loaded = _loaded(*words)
    assert "iclab.cli._main" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_help_opens_no_room():
    assert "iclab.papers.zhang2023.contents" not in _loaded("--help")
    assert "iclab.papers.zhang2023.contents" in _loaded("list")


def test_training_and_theory_load_no_solver_that_few_need():
    code = "import sys, iclab.training, iclab.theory, iclab.probes; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "iclab.training._gradient_flow" in loaded
    assert loaded.isdisjoint({"diffrax", "optimistix", "scipy.optimize", "matplotlib"})


def test_showing_a_claim_does_not_load_jax():
    assert "jax" not in _loaded("show", QUICK)


@pytest.mark.parametrize("folder", ["evidence", "papers", "runs"])
def test_folders_that_load_on_use_have_every_name_they_list(folder):
    module = getattr(iclab, folder)
    names = [name for name in dir(module) if not name.startswith("_")]
    assert len(names) > 10
    for name in names:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match=f"iclab.{folder}.*has no .*nonsense"):
        _ = module.nonsense


# What the program `iclab` is, a script in a folder of its own.
PROGRAM = "from iclab.cli import main; raise SystemExit(main())"
CHECK = "check zhang2023/lemma-a.1 --scale smoke --jobs 1"
PREDICT = """
import numpy as np
from beside import HALF

def predict(X, y, q):
    return HALF * np.einsum("bnd,bn,bd->b", X, y, q) / X.shape[1]
"""


def _said_in(stranger: Stranger, command: str, *start: str) -> str:
    done = subprocess.run(
        [sys.executable, *(start or ("-m", "iclab")), *command.split()],
        cwd=stranger.folder,
        capture_output=True,
        text=True,
    )
    assert stranger.ran == []
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.everything
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("list zhang2023", "zhang2023/lemma-a.1"),
        (CHECK, "1 item: 1 holds"),
        (f"{CHECK.replace('check', 'reproduce')} --out .", "1 item: 1 holds"),
        ("train zhang2023/gpt2 --size tiny --context 4 --steps 1 --out run", ""),
    ],
    ids=["list", "check", "reproduce", "train"],
)
def test_nothing_that_lies_in_the_current_folder_runs(tmp_path, command, said):
    assert said in _said_in(Stranger(tmp_path), command)


def test_nothing_that_lies_there_runs_in_the_processes_of_the_program(tmp_path):
    program = tmp_path / "bin" / "iclab"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    assert "1 item: 1 holds" in _said_in(Stranger(tmp_path), CHECK, str(program))


@pytest.mark.everything
def test_a_function_that_is_named_runs_and_nothing_else_does(tmp_path):
    stranger = Stranger(tmp_path)
    (stranger.folder / "mine.py").write_text(PREDICT)
    (stranger.folder / "beside.py").write_text("HALF = 0.5\n")
    words = "probe mine.py:predict --dimension 2 --context 4 --prompts 64"
    assert "averaging" in _said_in(stranger, words)


def test_a_folder_of_sources_runs_itself(tmp_path):
    # Also where another iclab is installed, and in its processes.
    source = Path(iclab.__file__).parent
    shutil.copytree(source, tmp_path / "iclab", ignore=lambda *_: ["weights"])
    with open(tmp_path / "iclab" / "runs" / "_processes.py", "a") as file:
        file.write("print('copied', file=sys.stderr)\n")
    done = subprocess.run(
        [sys.executable, "-m", "iclab", *CHECK.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.count("copied") == 2
