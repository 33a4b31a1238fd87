"""Many heads in deep transformers: steps and time to a given loss."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

from iclab.core import require
from iclab.evidence import Evidence, Tables, at_least, at_most, setting
from iclab.papers import _drawing as drawing
from iclab.papers._step_costs import operations_a_step, time_of_a_step
from iclab.papers._training_runs import blocks
from iclab.papers.findings._many_heads import BLOCK, interval, losses_of, steps_until

seeded = True
trains = True

_FEW = 4


@dataclass(frozen=True)
class Settings:
    """Sizes of the encoders."""

    heads: tuple[int, ...] = setting(
        "Numbers of heads H, four among them; they share the width.",
        (1, 4, 16),
        paper=(1, 2, 4, 8, 16, 32),
    )
    starts: int = setting("Starts.", 6, paper=16, least=2)
    steps: int = setting("Steps of Adam.", 150, smoke=120, paper=600)
    part: float = setting("Part of the first loss that is to be reached.", 0.2)
    dictionary_size: int = setting("Tokens, K.", 16, paper=48)
    input_dim: int = setting("Dimension d of the tokens.", 6, paper=16)
    feature_dim: int = setting("Dimension m of their features.", 3, paper=4)
    context_length: int = setting("Labelled tokens, N.", 8, paper=12)
    noise_variance: float = setting("Variance τ of the label noise.", 0.01)
    layers: int = setting("Layers.", 4)
    width: int = setting("Width of the layers.", 16, paper=64)
    hidden: int = setting("Width inside their networks.", 32, paper=128)
    batch: int = setting("Tasks at every step.", 32, paper=64)
    rate: float = setting("Rate of Adam.", 3e-3, paper=1e-3)

    def __post_init__(self):
        fit = _FEW in self.heads and len(self.heads) > 1
        require(fit, "heads", "several numbers, 4 among them", self.heads)
        rule = f"divisors of `width` = {self.width}"
        require(all(self.width % H == 0 for H in self.heads), "heads", rule, self.heads)


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """A job for every number of heads; all share dictionary, tasks and starts."""
    common = dataclasses.asdict(settings)
    most_first = sorted(settings.heads, reverse=True)
    return {f"H = {one}": common | {"heads": one} for one in most_first}


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Losses along training, and steps until they are a part of the first ones."""
    s = settings
    losses = losses_of(s, s["heads"], s.get("seed", 0))
    return {
        "heads": s["heads"],
        "losses": blocks(losses.T, BLOCK),
        "steps": steps_until(losses, s["part"]),
        "time_of_a_step": time_of_a_step(s, s["heads"]) / time_of_a_step(s, 1),
        "operations": operations_a_step(s, s["heads"]) / operations_a_step(s, 1),
        "part": s["part"],
        "sizes": [s[name] for name in _SIZES],
    }


_SIZES = ("dictionary_size", "input_dim", "feature_dim", "context_length", "layers",
          "width", "hidden", "batch", "starts")  # fmt: skip


def draw(tables: Tables) -> Picture:
    """Losses by step, and steps and time to a given loss, relative to four heads."""
    ordered = _ordered(tables)
    K, d, m, N, layers, D, F, batch, starts = (int(x) for x in ordered[0]["sizes"])
    part = float(ordered[0]["part"])
    picture = drawing.sheet(
        4.9,
        "Many heads in deep transformers: by step they cost little, by time they do",
        f"{layers} layers, widths {D} and {F}, K = {K}, d = {d}, m = {m}, N = {N}, raw "
        f"Gaussian tokens, Adam on {batch} fresh tasks a step; {starts} starts, the "
        f"same for every H.\nLevel: {part:g} of the first loss, by means over {BLOCK} "
        "steps. Bars: 95 % intervals of the mean of logarithms.\nTime: operations and "
        "numbers moved, weighted as measured at the sizes of yang2024.",
    )
    (page,) = drawing.parts(picture, 1, 1)
    left, right = page.subplots(1, 2)
    drawing.panel(left, "(a) training loss by step", "step", "loss")
    drawing.panel(right, f"(b) to {part:g} of the first loss", "heads H", "of H = 4")
    styles = (*drawing.CURVES, (drawing.GREY, "X"))
    for table, (color, marker) in zip(ordered, styles, strict=False):
        x = BLOCK * (np.arange(table["losses"].shape[1]) + 0.5)
        label = f"H = {int(table['heads'])}"
        drawing.band(left, table["losses"], label, color, x, marker=marker, markevery=4)
    left.axhline(
        part * float(np.mean([t["losses"][:, 0].mean() for t in ordered])),
        color=drawing.GREY,
        linestyle=":",
    )
    drawing.log_scale(left)
    heads = [int(table["heads"]) for table in ordered]
    for name, color, line in (
        ("steps", drawing.BLACK, "o-"),
        ("operations", drawing.BLUE, "s--"),
        ("time_of_a_step", drawing.GREEN, "D:"),
    ):
        found = np.array([_relative(tables, H, name) for H in heads])
        middle, low, high = found.T
        bars = [middle - low, high - middle]
        words = {"time_of_a_step": "time"}.get(name, name)
        right.errorbar(
            heads, middle, bars, fmt=line, color=color, capsize=3, label=words
        )
    right.axhline(1, color=drawing.GREY, linewidth=0.8)
    right.set_xscale("log", base=2)
    right.set_xticks(heads, [str(one) for one in heads])
    drawing.log_scale(right, (1, 1.5, 2, 3, 5, 7))
    drawing.legend_below(page, [left, right], 9)
    return picture


def expect(tables: Tables) -> list[Evidence]:
    """By step little, by time the price of a step."""
    heads = sorted(int(table["heads"]) for table in tables.values())
    most = heads[-1]
    by_step = _relative(tables, most, "steps")
    by_time = [_relative(tables, H, "time_of_a_step") for H in heads]
    cheapest = int(np.argmin([one[0] for one in by_time]))
    against = _relative(tables, most, "time_of_a_step", heads[cheapest])
    return [
        at_most(
            "Every start comes down to the level: share that has not",
            float(np.mean([np.isnan(t["steps"]).mean() for t in tables.values()])),
            0.0,
            "all",
        ),
        at_most(
            "By step the number of heads matters little: steps with the most heads "
            "over those with four",
            by_step[0],
            1.5,
            "half as many again",
            name="steps",
        ),
        at_least(
            "nor are they much faster: the same",
            by_step[0],
            1 / 1.5,
            "a third less",
        ),
        at_least(
            "By time many heads are slower: time with the most heads over that with "
            "the number that is fastest",
            against[0],
            1.2,
            "a fifth",
            name="time",
        ),
        at_least(
            "surely: lower end of its 95 % interval",
            against[1],
            1.0,
            "above 1",
        ),
        at_least(
            "A single head is slower by step than four: steps with one head over "
            "those with four",
            _relative(tables, 1, "steps")[0] if heads[0] == 1 else None,
            1.0,
            "ordering, expected before the run",
            name="single",
        ),
    ]


def _ordered(tables: Tables) -> list[Mapping[str, Any]]:
    return sorted(tables.values(), key=lambda table: int(table["heads"]))


def _relative(
    tables: Tables, heads: int, name: str, to: int = _FEW
) -> tuple[float, float, float]:
    """Steps to the level, or their price, over those of `to`: mean and interval."""
    one, other = tables[f"H = {heads}"], tables[f"H = {to}"]
    if heads == to:
        return 1.0, 1.0, 1.0
    price = 1.0 if name == "steps" else float(one[name] / other[name])
    return interval(price * one["steps"] / other["steps"])
