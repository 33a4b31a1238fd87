"""A paper that is a package of its own: installed by its path, found, and tested."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import iclab

ROOT = Path(iclab.__file__).parents[1]
EXAMPLE = ROOT / "examples" / "mahankali2023"


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Environment of a program that finds iclab, and the paper as pip installs it."""
    target = tmp_path_factory.mktemp("installed")
    words = ["install", "--quiet", "--no-deps", "--target", target, EXAMPLE]
    if importlib.util.find_spec("hatchling"):
        words += ["--no-build-isolation", "--no-index"]
    subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *words], check=True
    )
    paths = (target, ROOT, os.environ.get("PYTHONPATH", ""))
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(path) for path in paths if str(path)),
    }


def _run(environment, folder, *words):
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_is_a_room_like_the_others(environment, tmp_path):
    listed = _run(environment, tmp_path, "iclab", "list")
    assert "mahankali2023/preconditioned-step" in listed
    assert "zhang2023/theorem-4.1" in listed
    cited = _run(environment, tmp_path, "iclab", "cite", "mahankali2023/one-step")
    assert "2307.03576" in cited


@pytest.mark.everything
def test_its_own_tests_pass(environment, tmp_path):
    """Among them: every claim and the figure at the smallest scale."""
    words = ("pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    assert " passed" in _run(environment, tmp_path, *words, str(EXAMPLE))
