"""Figure 2: a layer in a loop against as many layers with weights of their own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from iclab.evidence import Evidence, Sentence, Tables, at_least, at_most, says, setting
from iclab.papers import _drawing as drawing
from iclab.papers._training_runs import blocks
from iclab.papers.gatmiry2024._training import (
    Training,
    population_loss,
    train_looped,
    train_untied,
    training_job,
    words,
)
from iclab.theory import looped_optimum, optimal_steps

# Loops up to which training ends at the same loss whatever the seed.
_STEADY = 5

trains = True


@dataclass(frozen=True)
class Settings(Training):
    """Sizes of Figure 2."""

    draws: int = setting(
        "Sample covariances behind a final loss.", 10_000, smoke=2_000, least=2
    )


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """All looped models together, and all untied ones."""
    common = training_job(settings) | {"draws": settings.draws}
    return {"looped": common | {"shared": True}, "untied": common | {"shared": False}}


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Losses by step, the loss where runs end, and the exact optimum: rows are L."""
    s = settings
    d, n, shared = s["dimension"], s["samples"], s["shared"]
    training_key, draw_key = jax.random.split(key)
    runs = (train_looped if shared else train_untied)(settings, training_key)
    ends = np.zeros((2, len(s["loops"]), s["seeds"]))
    optima = np.zeros(len(s["loops"]))
    for row, L in enumerate(s["loops"]):
        exact = looped_optimum(d, n, L) if shared else optimal_steps(d, n, L)
        optima[row] = exact[1]
        for seed in range(s["seeds"]):
            A, u = np.asarray(runs.A[row, seed]), np.asarray(runs.u[row, seed])
            if shared:
                A, u = np.repeat(A[-1:], L, axis=0), np.repeat(u[-1:], L, axis=0)
            ends[:, row, seed] = population_loss(A[:L], u[:L], n, s["draws"], draw_key)
    return {
        "loops": s["loops"],
        "losses": blocks(runs.losses, s["every"]),
        "every": s["every"],
        "final_losses": ends[0],
        "final_errors": ends[1],
        "optima": optima,
        "dimension": d,
        "samples": n,
        "training": words(settings),
    }


def draw(tables: Tables) -> Picture:
    """A panel for every number of loops, and where the runs end against the optima."""
    looped, untied = tables["looped"], tables["untied"]
    loops, every = looped["loops"], int(looped["every"])
    picture = drawing.sheet(
        7.2,
        "Loops and layers: losses along training, and at their optima",
        f"d = {int(looped['dimension'])}, n = {int(looped['samples'])}, "
        rf"$\Sigma^\star=I$; {looped['training']}. "
        f"Every loss is a mean over {every} steps;\n"
        "lines are means over runs, bands reach from the smallest to the largest. "
        "Optima are exact: of symmetric A in a loop,\nand of layers that are "
        "multiples of I. With many loops a batch holds few of the prompts that carry "
        "the loss; the ends in the\nlast panel are expected losses, over a mixture "
        f"that has them often{_unknown(tables)}.",
    )
    (page,) = drawing.parts(picture, 1, 1)
    axes = list(page.subplots(2, (len(loops) + 2) // 2).flat)
    x = every * (np.arange(looped["losses"].shape[-1]) + 0.5)
    for row, (L, axis) in enumerate(zip(loops, axes, strict=False)):
        title = f"({drawing.LETTERS[row]}) L = {L}"
        drawing.panel(
            axis, title, "step", "loss" if row in (0, (len(loops) + 2) // 2) else ""
        )
        for table, name, color, marker in (
            (looped, "one layer, L loops", drawing.BLUE, "o"),
            (untied, "L layers", drawing.VERMILION, "s"),
        ):
            style = {"marker": marker, "markevery": 8, "markersize": 4}
            drawing.band(axis, table["losses"][row], name, color, x, **style)
            label = f"exact optimum of {name}"
            line = "--" if table is looped else ":"
            value = float(table["optima"][row])
            axis.axhline(value, color=color, linestyle=line, linewidth=1.3, label=label)
        drawing.log_scale(axis)
        low, high = float(untied["optima"][row]), int(looped["dimension"])
        axis.set_ylim(low / 1.3, 1.3 * high)
    last = len(loops)
    _summary(axes[last], f"({drawing.LETTERS[last]}) where training ends", tables)
    for axis in axes[last + 1 :]:
        axis.set_visible(False)
    drawing.legend_below(page, axes[:last], 4)
    return picture


def paper_statements(tables: Tables) -> list[Sentence]:
    """What the caption and Section 5.1 say that a reader sees."""
    looped, untied = tables["looped"], tables["untied"]
    ends = looped["final_losses"].mean(1)
    ours = f"n ({int(looped['samples'])} here), steps and rate of training"
    ours += ", which the paper does not give"
    if unknown := _unknown(tables):
        ours += f"; expected losses{unknown}"
    return [
        says(
            "One layer looped L times performs similarly to L layers.",
            "caption and Section 5.1",
            at_most(
                "Looped loss over untied loss where training ends, largest",
                ends / untied["final_losses"].mean(1),
                2.0,
                "a factor of two is small on the figure's logarithmic axis",
                post_hoc=True,
            ),
            caveat=ours,
        ),
        says(
            "More loops lead to lower loss.",
            "caption and Section 5.1",
            at_most(
                "Loss over that of the next fewer loops, largest",
                ends[1:] / ends[:-1],
                1.0,
                "lower",
            ),
            caveat=ours,
        ),
        says(
            "Looped models converge to very small loss very quickly.",
            "Section 5.1",
            at_most(
                "Loss at the most loops, of that of predicting 0",
                ends[-1] / int(looped["dimension"]),
                0.01,
                "a hundredth is very small",
            ),
            main=False,
            caveat=ours,
        ),
    ]


def expect(tables: Tables) -> list[Evidence]:
    """What Section 5.1 says that a reader sees, and the exact optima."""
    looped, untied = tables["looped"], tables["untied"]
    ends, optima = looped["final_losses"], looped["optima"]
    untied_ends = untied["final_losses"] / untied["optima"][:, None]
    loops, away = looped["loops"], np.abs(ends / optima[:, None] - 1)
    return [
        at_most(
            "Looped training ends at its exact optimum, with up to five loops: largest "
            "relative difference",
            away[loops <= _STEADY],
            0.2,
            "a fifth: batches of this size leave some",
            post_hoc=True,
        ),
        *_many_loops(away[loops > _STEADY]),
        at_least(
            "At the optimum they are not alike: exact ratio at the most loops",
            optima[-1] / untied["optima"][-1],
            1.4,
            "two fifths more is not alike; exact",
            post_hoc=True,
            name="price",
        ),
        at_most(
            "Layers end no worse than loops can: largest ratio to the looped optimum",
            untied["final_losses"] / optima[:, None],
            1.1,
            "a tenth for what training leaves",
            post_hoc=True,
        ),
        at_least(
            "Many layers do not in so many steps: smallest ratio to their optimum at "
            "the most layers",
            untied_ends[-1],
            1.2,
            "a fifth above what they could reach",
            post_hoc=True,
        ),
    ]


def _unknown(tables: Tables) -> str:
    """Words about ends whose loss too few draws carry, if there are any."""
    ends = np.stack([tables[name]["final_losses"] for name in ("looped", "untied")])
    count = int(np.isnan(ends).sum())
    return f" ({count} of {ends.size} unknown)" if count else ""


def _many_loops(away: np.ndarray) -> list[Evidence]:
    """About more loops than steady ones, where some were trained."""
    if not away.size:
        return []
    return [
        at_most(
            "With more loops it does not end far from it: largest relative difference",
            away,
            1.0,
            "twice the optimum: few prompts carry the gradient of ten loops, so "
            "the end depends on the seed (of ten at desk scale eight end within a "
            "fifth, two up to two fifths away), and longer training leaves it",
            post_hoc=True,
        )
    ]


def _summary(axis: Axes, title: str, tables: Tables) -> None:
    drawing.panel(axis, title, "L")
    loops = tables["looped"]["loops"]
    for name, color, marker, line in (
        ("looped", drawing.BLUE, "o", "--"),
        ("untied", drawing.VERMILION, "s", ":"),
    ):
        table = tables[name]
        axis.plot(loops, table["optima"], line, color=color, linewidth=1.3)
        ends = table["final_losses"].mean(1)
        axis.plot(loops, ends, marker, color=color, markersize=5)
    drawing.log_scale(axis)
    axis.set_xticks(loops)
