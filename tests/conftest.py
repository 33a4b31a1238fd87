"""Fixtures for the whole suite."""

# isort: off
from tests.checked import sitecustomize  # noqa: F401  before iclab is imported

# isort: on
import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator

import jax
import jaxtyping
import pytest
from jaxtyping import PRNGKeyArray

import iclab  # noqa: F401  turns 64-bit mode on before any array is made
from iclab._memory import give_back
from iclab.runs import Cache
from tests.compilation import QUICK_COMPILATION, ROOM
from tests.smoke import SmokeRun, smoke_run

# Read when JAX first computes, here and in programs that the tests start.
os.environ["XLA_FLAGS"] = f"{os.environ['XLA_FLAGS']} {QUICK_COMPILATION}"

jax.config.update("jax_numpy_rank_promotion", "raise")

# Many tests start programs, each of which would compile the same sources.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell starts what it puts in the background with Ctrl-C ignored, and programs that
# the tests start would inherit that.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Give the session a cache of its own, for all its processes.

    What one of them has compiled, the others read.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        cache = tempfile.mkdtemp(prefix="iclab-cache-")
        os.environ["ICLAB_CACHE"] = cache
        config.add_cleanup(lambda: shutil.rmtree(cache, ignore_errors=True))
    jax.config.update("jax_compilation_cache_dir", str(Cache().programs))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


@pytest.fixture
def getkey(request: pytest.FixtureRequest) -> Callable[[], PRNGKeyArray]:
    """A source of fresh random keys; the seed is printed when a test fails."""
    seed = random.Random(request.node.nodeid).randrange(2**31)
    print(f"getkey seed: {seed}")
    state = {"count": 0}

    def fresh() -> PRNGKeyArray:
        state["count"] += 1
        return jax.random.fold_in(jax.random.key(seed), state["count"])

    return fresh


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Switch run-time type checks off, to see the messages that users see."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def registry(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """The papers as a new process finds them; what is opened is forgotten after."""
    from iclab.papers import _opening

    path, root = list(sys.path), str(tmp_path_factory.getbasetemp())
    monkeypatch.setattr(_opening, "_named", [])
    monkeypatch.setattr(_opening, "_here_folders", [])
    _opening._opened.cache_clear()
    yield
    _opening._opened.cache_clear()
    sys.path[:] = path
    for name, module in list(sys.modules.items()):
        own = getattr(module, "__dict__", {})
        places = [own.get("__file__"), *(own.get("__path__") or ())]
        if any(str(place).startswith(root) for place in places):
            del sys.modules[name]
    importlib.invalidate_caches()


@pytest.fixture(autouse=True, scope="module")
def programs_are_forgotten() -> Iterator[None]:
    """A worker that compiles for all modules holds gigabytes of programs.

    What it forgets it has to read again, so it holds what there is paper for.
    """
    yield
    give_back(beyond=ROOM)


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> SmokeRun:
    """Everything at smoke scale, run once by the command line for the whole session."""
    root = tmp_path_factory.getbasetemp()
    # With several workers each has a folder of its own inside that of the session.
    shared = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    return smoke_run(shared)
