"""Jobs for the tests to run."""

import os
from pathlib import Path

import numpy as np


def square(config, seed):
    """Arrays and plain values."""
    return {"values": np.arange(config["n"]) ** 2 + seed, "note": "done"}


def count(config, seed):
    """Leaves a mark each time it runs."""
    with open(Path(config["folder"]) / "runs.txt", "a", encoding="utf-8") as file:
        file.write(f"{seed}\n")
    return {"seed": seed}


def fail(config, seed):
    """Always raises."""
    raise RuntimeError("no such luck")


def die(config, seed):
    """Takes its process along."""
    os._exit(3)


def environment(config, seed):
    """What a worker finds."""
    flags = os.environ.get("XLA_FLAGS", "")
    return {"threads": os.environ.get("OMP_NUM_THREADS", ""), "flags": flags}
