"""A small run in a process of its own, which tests may kill.

Run: python -m tests.training.worker '{"out": …}'
"""

import json
import os
import signal
import sys

import jax
import jax.numpy as jnp

from iclab.models import LinearSelfAttention
from iclab.tasks import LinearRegression
from iclab.training import (
    Curriculum,
    InContext,
    Optimiser,
    Plan,
    Ramp,
    TrainedModel,
    join_processes,
    train,
)

STEPS = 12


def run(out, *, resume=False, steps=STEPS, batch=4, report=None) -> TrainedModel:
    """A run whose prompts grow at step 6."""
    curriculum = Curriculum(Ramp(3, 5, 1, 6), Ramp(1, 2, 1, 6), shapes=2)
    task = LinearRegression(jnp.eye(2))
    # Quick to compile, which is most of the work of a process.
    model = LinearSelfAttention.from_blocks(0.1 * jnp.eye(2), 0.5)
    problem = InContext(task, 5, curriculum=curriculum, positions="final")
    optimiser = Optimiser(learning_rate=0.01, clip=1.0)
    return train(
        problem,
        model,
        Plan(steps, batch, optimiser, seed=3),
        out=out,
        resume=resume,
        checkpoint_every=5,
        log_every=1,
        show_progress=False,
        report=report,
    )


def main(settings) -> None:
    """Run as told; a `kill_at` step is the last."""

    def report(row):
        if row["step"] == settings.get("kill_at"):
            os.kill(os.getpid(), signal.SIGKILL)

    if "kill_in_write" in settings:
        flush, writes = os.fsync, []

        def die(descriptor):
            writes.append(descriptor)
            if len(writes) == settings["kill_in_write"]:
                os.kill(os.getpid(), signal.SIGKILL)
            flush(descriptor)

        os.fsync = die
    if "coordinator" in settings:
        names = ("coordinator", "processes", "process_id")
        join_processes(*(settings[name] for name in names))
    result = run(settings["out"], resume=settings.get("resume", False), report=report)
    found = {"losses": result.losses.tolist(), "devices": jax.device_count()}
    print(json.dumps(found))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
