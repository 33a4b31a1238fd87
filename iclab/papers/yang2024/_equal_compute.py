"""Encoders with several numbers of heads, trained with equal compute (Figure 5)."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from iclab.core import require
from iclab.evidence import setting
from iclab.models import Encoder
from iclab.papers._step_costs import operations_a_step, time_of_a_step
from iclab.papers._training_runs import blocks, shared_key
from iclab.papers.yang2024._experiments import (
    EPOCH,
    FourLayers,
    dictionary_of,
    distances,
    fixed_tasks,
    four_layer_job,
    start_encoder,
)
from iclab.runs import job_parts
from iclab.tasks import Representation
from iclab.theory import representation_infimum
from iclab.training import Optimiser, Plan, train


@dataclass(frozen=True)
class EqualCompute(FourLayers):
    """Sizes of Figure 5.

    The budget is that of `steps` steps with one head: in operations, and, for what
    attention maps cost, in the time that a step takes by `time_of_a_step`, which pays
    the fewer steps the more heads there are. With the clock "seconds" it is wall clock,
    as in the paper, and the tables depend on the machine.
    """

    heads: tuple[int, ...] = setting(
        "Numbers of heads, H; they share the width.",
        (32, 8, 4, 1),
        smoke=(4, 1),
        paper=(64, 32, 16, 8, 4, 2, 1),
    )
    steps: int = setting(
        "Steps that the budget pays with one head.", 160, smoke=120, paper=35 * EPOCH
    )
    runs: int = setting("Runs for every H.", 2, smoke=1, paper=3)
    clock: Literal["operations", "seconds"] = setting(
        "What is equal for every H: operations, or seconds of this machine.",
        "operations",
    )
    seconds: float = setting("Wall clock for every H, with that clock.", 100.0)
    block: int = setting("Steps in a mean of losses.", 10)

    def __post_init__(self):
        super().__post_init__()
        rule = f"divisors of `width` = {self.width}"
        fit = all(self.width % heads == 0 for heads in self.heads)
        require(fit, "heads", rule, self.heads)
        rule = f"at least `block` = {self.block}"
        enough = self.steps >= self.block
        require(enough, "steps", rule, self.steps)


def equal_compute_jobs(settings: EqualCompute) -> dict[str, dict[str, Any]]:
    """A job for every number of heads, the dearest first.

    Runs have seeds of their own, so that all numbers of heads share data and starts.
    """
    s = settings
    sizes = four_layer_job(s)
    budget = {
        "clock": s.clock,
        "operations": s.steps * operations_a_step(sizes, 1),
        "time": s.steps * time_of_a_step(sizes, 1),
        "seconds": s.seconds,
    }
    runs = list(range(1, s.runs + 1))
    common = sizes | budget | {"runs": runs, "block": s.block}
    return {
        f"H = {one}": common | {"heads": one} for one in sorted(s.heads, reverse=True)
    }


def equal_compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Steps paid by the budget, losses along them, inference losses at the end.

    A row for every run; losses are means over blocks of steps.
    """
    s = settings
    task, seed = dictionary_of(s), settings.get("seed", 0)
    # Tests come from the dictionary's seed: the same for all numbers of heads.
    measure = eqx.filter_jit(
        distances(task, s["tests"], shared_key(jax.random.key(s["dictionary"]), seed))
    )
    keys = [shared_key(jax.random.key(run), seed) for run in s["runs"]]
    steps = steps_affordable(s, s["heads"], keys[0])
    curves, ends = [], []
    for run_key in job_parts(keys):
        model, losses = train_encoder(s, task, s["heads"], steps, run_key)
        curves.append(np.asarray(losses))
        ends.append([float(one) for one in measure(model)])
    losses, (inside, outside) = np.stack(curves), np.array(ends).T
    in_time = min(steps, int(s["time"] // time_of_a_step(s, s["heads"])))
    in_time = steps if s["clock"] == "seconds" else in_time
    return {
        "heads": s["heads"],
        "steps": steps,
        "steps_in_time": in_time,
        "operations_a_step": operations_a_step(s, s["heads"]),
        "time_of_a_step": time_of_a_step(s, s["heads"]) / time_of_a_step(s, 1),
        "losses": blocks(losses, s["block"]),
        # Single batches are noisy.
        "final": losses[:, -30:].mean(1),
        "final_in_time": losses[:, max(0, in_time - 30) : in_time].mean(1),
        "in_domain": inside,
        "out_of_domain": outside,
        "block": s["block"],
        "tests": s["tests"],
        "an_epoch": s["samples"] // s["batch"],
        "infimum": representation_infimum(
            task.features, task.context_length, task.noise_variance
        ),
        "caption": caption(s),
        "reduced": s["width"] != 256,
    }


def by_heads(tables: Mapping[str, Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The tables in the order of their numbers of heads."""
    return sorted(tables.values(), key=lambda table: int(table["heads"]))


def caption(settings: Mapping[str, Any]) -> str:
    """Sizes in words, beside those of the paper where they differ."""
    s = settings
    budget = (
        f"{s['operations']:.3g} operations"
        if s["clock"] == "operations"
        else f"{s['seconds']:g} s"
    )
    reduced = s["width"] != 256
    paper = (
        " The paper: K = 200, d = 100, m = 20, N = 30,\nwidths 256 and 512, H up to "
        "64, batches of 256, rate 0.0001, 100 s of wall clock."
    )
    return (
        ("Reduced sizes: " if reduced else "")
        + f"four layers, K = {s['dictionary_size']}, d = {s['input_dim']}, "
        f"m = {s['feature_dim']}, N = {s['context_length']}, raw Gaussian tokens, "
        f"widths {s['width']} and {s['hidden']}, batches of {s['batch']},\nAdam at "
        f"{s['rate']:g}, {budget} for every H."
        + (paper if reduced else "")
        + (
            "\nTime: operations and numbers moved, weighted so that 64 heads to 8 at "
            "the paper's sizes are as measured, 33 s to 18 s a step."
        )
    )


def steps_affordable(settings: Mapping[str, Any], heads: int, key: Any) -> int:
    """How many steps the budget pays: in operations, or in seconds of this machine."""
    if settings["clock"] == "operations":
        return int(settings["operations"] // operations_a_step(settings, heads))
    task, count = dictionary_of(settings), 10
    # The first call compiles, the second is timed.
    train_encoder(settings, task, heads, count, key)
    before = time.perf_counter()
    train_encoder(settings, task, heads, count, key)
    a_step = (time.perf_counter() - before) / count
    return max(1, int(settings["seconds"] / a_step))


def train_encoder(
    settings: Mapping[str, Any], task: Representation, heads: int, steps: int, key: Any
) -> tuple[Encoder, Float[np.ndarray, " steps"]]:
    """Adam on a fixed set of sampled tasks.

    Data and order depend on the key alone: all numbers of heads see the same.
    """
    result = train(
        fixed_tasks(settings, task, key, steps),
        start_encoder(settings, heads, key),
        Plan(steps, settings["batch"], Optimiser("adam", settings["rate"])),
    )
    return result.model, np.asarray(result.losses)
