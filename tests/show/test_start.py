"""Showing loads nothing heavy."""

import subprocess
import sys

PROGRAM = """
import sys
import iclab.show
iclab.show.table(["a"], [[1.5]])
iclab.show.display(quiet=True).begin(3).close()
print([name for name in sys.argv[1:] if name in sys.modules])
"""


def test_nothing_heavy_is_loaded():
    heavy = ["jax", "numpy", "matplotlib", "rich", "IPython", "marimo", "iclab.core"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *heavy], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
