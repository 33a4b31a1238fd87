"""A small run in a process of its own, which tests may kill.

Run: python -m tests.training.worker '{"out": …}'
"""

import json
import os
import signal
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from iclab.models import GPT2
from iclab.tasks import LinearRegression
from iclab.training import (
    AbstractProblem,
    Curriculum,
    InContext,
    Optimiser,
    Plan,
    Ramp,
    Trained,
    join_processes,
    train,
)

STEPS = 12

# Prompts grow at step 6.
CURRICULUM = Curriculum(Ramp(3, 5, 1, 6), Ramp(1, 2, 1, 6), shapes=2)

# GPT-2 in the place of what is quick to compile, which is most of the work of a
# process: ICLAB_KILLED_MODEL=gpt2 pytest …
GPT = os.environ.get("ICLAB_KILLED_MODEL") == "gpt2"


class Plane(eqx.Module):
    """The predictor ⟨w, x⟩."""

    w: Array


class Heights(AbstractProblem):
    """Squared error of a plane that should be 1 everywhere."""

    curriculum: Curriculum = CURRICULUM

    def sample(self, key, stage):
        x = jax.random.uniform(key, (stage.points, 2))
        return jnp.where(jnp.arange(2)[None] < stage.active_dimensions, x, 0)

    def loss(self, model, samples, stage):
        counts = jnp.arange(stage.points) < stage.active_points
        errors = jnp.where(counts[None], (samples @ model.w - 1) ** 2, 0)
        return jnp.sum(errors) / (len(samples) * stage.active_points)


def run(out, *, resume=False, report=None) -> Trained:
    """Train, with a checkpoint every five steps and a line of metrics for each."""
    problem, model = Heights(), Plane(jnp.zeros(2))
    if GPT:
        problem = InContext(LinearRegression(jnp.eye(2)), 5, curriculum=CURRICULUM)
        model = GPT2.of_size("tiny", 2, 4, key=jax.random.key(5))
    return train(
        problem,
        model,
        Plan(STEPS, 4, Optimiser(learning_rate=0.01, clip=1.0), seed=3),
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
