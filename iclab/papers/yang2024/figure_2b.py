"""Figure 2 (b): a four-layer transformer comes to the same ridge regression."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from matplotlib.figure import Figure as Picture

from iclab.core import require
from iclab.evidence import Evidence, Sentence, Tables, at_least, at_most, says, setting
from iclab.papers import _drawing as drawing
from iclab.papers._training_runs import blocks, quick_key
from iclab.papers.yang2024._experiments import (
    ONE_LAYER_SIZES,
    FourLayers,
    dictionary_of,
    distances,
    four_layer_job,
    inference_curves,
    setting_columns,
    start_encoder,
)
from iclab.training import FixedSet, Optimiser, OverRepresentation, Plan, train

seeded = True
trains = True

_SIZES = (*ONE_LAYER_SIZES[:-1], "width", "hidden", "heads", "samples", "batch")


@dataclass(frozen=True)
class Settings(FourLayers):
    """Sizes of Figure 2 (b)."""

    heads: int = setting("Heads H of every layer; they share its width.", 4, paper=8)
    epochs: int = setting("Passes over the tasks.", 10, smoke=15, paper=200)
    runs: int = setting("Runs, with starts and tasks of their own.", 2, smoke=1)

    def __post_init__(self):
        super().__post_init__()
        rule = f"a divisor of `width` = {self.width}"
        fits = self.width % self.heads == 0
        require(fits, "heads", rule, self.heads)


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """Runs of their own starts and samples, on one dictionary."""
    own = {"heads": settings.heads, "epochs": settings.epochs}
    common = four_layer_job(settings) | own
    return {f"run {index}": common for index in range(1, settings.runs + 1)}


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Training loss by epoch, and inference losses after every epoch."""
    s = settings
    task = dictionary_of(s)
    an_epoch = s["samples"] // s["batch"]
    data_key = jax.random.fold_in(quick_key(key), s["heads"])
    result = train(
        FixedSet(OverRepresentation(task), s["samples"], key=data_key),
        start_encoder(s, s["heads"], key),
        Plan(s["epochs"] * an_epoch, s["batch"], Optimiser("adam", s["rate"])),
        log_every=an_epoch,
        record=distances(task, s["tests"], key),
    )
    inside, outside = result.records
    return {
        "steps": result.recorded_at,
        "losses": blocks(np.asarray(result.losses), an_epoch),
        "in_domain": inside,
        "out_of_domain": outside,
        "an_epoch": an_epoch,
    } | setting_columns(s, task, _SIZES)


def draw(tables: Tables) -> Picture:
    """Three curves that fall together, for every run."""
    first = next(iter(tables.values()))
    K, d, m, N, D, F, H, samples, batch = (int(size) for size in first["sizes"])
    reduced = D != 256
    words = " (the paper: K = 200, d = 100, m = 20, N = 30, widths 256 and 512, "
    words += "H = 8, 10,000 tasks in batches\nof 256, rate 0.0001)"
    picture = drawing.sheet(
        5.0,
        "Four layers come to ridge regression in domain, and much less out of it",
        f"{'Reduced sizes: ' * reduced}K = {K}, d = {d}, m = {m}, N = {N}, raw "
        f"Gaussian tokens, widths {D} and {F}, H = {H}, {samples:,} tasks in batches "
        f"of {batch},\nAdam at {float(first['rate']):g}, $\\tau$ = "
        f"{float(first['noise_variance']):g}{words * reduced}.\nInference loss: mean "
        f"of $\\|\\hat y-\\hat y^\\star\\|^2/K$ over {int(first['tests'])} unseen "
        r"tasks of each kind, $\lambda\sim N(0,I)$ and $\lambda\sim N(1,4I)$. "
        "Training loss: mean over an epoch.",
    )
    (page,) = drawing.parts(picture, 1, 1)
    axes = page.subplots(1, len(tables), sharey=True, squeeze=False)[0]
    for axis, letter, (name, table) in zip(
        axes, drawing.LETTERS, tables.items(), strict=False
    ):
        drawing.panel(
            axis, f"({letter}) {name}", "step", "" if letter > "a" else "loss"
        )
        an_epoch, infimum = int(table["an_epoch"]), float(table["infimum"])
        x = table["steps"]
        label, middles = "training loss", (x[1:] + x[:-1]) / 2
        axis.plot(middles, table["losses"], "-", color=drawing.BLACK, label=label)
        label = r"infimum $L^\star$ over linear predictors"
        axis.axhline(infimum, color=drawing.GREY, linestyle=":", label=label)
        inference_curves(axis, table, an_epoch)
    drawing.legend_below(page, list(axes), 4)
    return picture


def paper_statements(tables: Tables) -> list[Sentence]:
    """What Section 4 says that a reader sees."""
    runs = list(tables.values())
    ratios = [t["out_of_domain"] / t["in_domain"] for t in runs]
    K, d, m, N, D, *_ = (int(size) for size in runs[0]["sizes"])
    size = f"the size, K = {K}, d = {d}, m = {m}, N = {N} and width {D} for 200, 100, "
    size += "20, 30 and 256"
    return [
        says(
            "The three curves have the same descending trend.",
            "Section 4, text on Figure 2",
            at_most(
                "Ratio of the out-of-domain to the in-domain loss at the end over "
                "that at the start, largest",
                max(ratio[-1] / ratio[0] for ratio in ratios),
                2.0,
                "within a factor of two they fall alike",
            ),
            caveat="" if D == 256 else size,
            note="all three fall",
        ),
        says(
            "Out of domain the inference loss is higher than in domain.",
            "Section 4, text on Figure 2",
            at_least(
                "Ratio of the inference losses, smallest",
                min(ratio.min() for ratio in ratios),
                1.0,
                "higher",
            ),
        ),
    ]


def expect(tables: Tables) -> list[Evidence]:
    """All three fall."""
    runs = list(tables.values())
    return [
        at_most(
            "The training loss falls: largest ratio of the last epoch to the first",
            max(t["losses"][-1] / t["losses"][0] for t in runs),
            0.2,
            "a fifth",
            post_hoc=True,
        ),
        at_most(
            "The in-domain inference loss falls: largest ratio of last to first",
            max(t["in_domain"][-1] / t["in_domain"][0] for t in runs),
            0.2,
            "a fifth",
            post_hoc=True,
            name="inside",
        ),
        at_most(
            "The out-of-domain inference loss falls: largest ratio of last to first",
            max(t["out_of_domain"][-1] / t["out_of_domain"][0] for t in runs),
            0.2,
            "a fifth",
            post_hoc=True,
            name="outside",
        ),
    ]
