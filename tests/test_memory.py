"""Pages that a process has once had are not asked for again."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from iclab.runs import Job, Outcome, Processes, run_jobs

GLIBC = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="other C libraries are left alone"
)
ROOT = Path(__file__).parents[1]

IMPORTED = """
import iclab
iclab.theory.optimal_preconditioner([[1.0, 0.0], [0.0, 2.0]], 10)
"""
COMMAND = """
from iclab.cli import main
main([])
"""
MAPPED = """
from tests.runs.work import mapped
print(mapped({}, 0)["mapped"])
"""

# How many pages were faulted in by ten calls that each need 32 MB, that is 8,000 pages
# of 4 KB, after the first twenty, in a process of its own.
PROGRAM = """
import resource
from iclab.cli import main
main([])
import jax, jax.numpy as jnp

@jax.jit
def third(x):
    return jnp.outer(x, x) @ x

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

x = jnp.arange(2_000.0)
for _ in range(20):
    third(x).block_until_ready()
before = faults()
for _ in range(10):
    third(x).block_until_ready()
print(faults() - before)
"""


FORGETTING = """
import jax
from iclab._memory import give_back
program = jax.jit(lambda x: x + 1)
program(1.0)
for beyond in (2**60, 0):
    print(give_back(beyond=beyond), program._cache_size())
"""


def _printed(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout


def _faults(monkeypatch: pytest.MonkeyPatch, **variables: str) -> int:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return int(_printed(PROGRAM).split()[-1])


@GLIBC
@pytest.mark.parametrize(("program", "found"), [(IMPORTED, "True"), (COMMAND, "False")])
def test_only_commands_change_the_allocator(program, found):
    assert _printed(program + MAPPED).split()[-1] == found


@GLIBC
def test_workers_change_their_own_allocator():
    job = Job("tests.runs.work:mapped", {})
    *_, outcome = run_jobs([job], engine=Processes(1))
    assert isinstance(outcome, Outcome)
    assert outcome.result == {"mapped": False}


@GLIBC
def test_freed_memory_is_kept_unless_the_user_says_how(monkeypatch):
    # Blocks that are given back late may ask for two more.
    assert _faults(monkeypatch) < 20_000
    assert _faults(monkeypatch, MALLOC_TRIM_THRESHOLD_="131072") > 70_000


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the system does not say"
)
def test_what_was_compiled_is_forgotten_where_it_is_much():
    # In a process of its own: this one has compiled much, and needs it again.
    lines = _printed(FORGETTING).splitlines()
    assert lines == ["False 1", "True 0"]
