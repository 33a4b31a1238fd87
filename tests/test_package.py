"""What importing iclab does to the process."""

import subprocess
import sys

PROGRAM = """
import os
{before}
import iclab
import jax, jax.numpy as jnp
assert jnp.ones(1).dtype == "float64"
print(os.environ["XLA_FLAGS"])
"""


def _flags(before: str) -> str:
    program = PROGRAM.format(before=before)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_double_precision_whichever_comes_first():
    flag = "--xla_cpu_enable_concurrency_optimized_scheduler=false"
    assert flag in _flags("")
    assert flag in _flags("import jax")


def test_double_precision_against_the_environment():
    assert _flags("os.environ['JAX_ENABLE_X64'] = 'false'")


def test_flags_of_the_user_stay():
    mine = "--xla_cpu_enable_concurrency_optimized_scheduler=true"
    assert _flags(f"os.environ['XLA_FLAGS'] = '{mine}'") == mine
    other = "--xla_cpu_multi_thread_eigen=false"
    assert _flags(f"os.environ['XLA_FLAGS'] = '{other}'").endswith(f" {other}")
