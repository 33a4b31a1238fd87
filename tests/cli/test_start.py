"""What a command loads before it answers: time that is felt at every call."""

import subprocess
import sys

import pytest

import iclab

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
