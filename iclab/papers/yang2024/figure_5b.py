"""Figure 5 (b): training curves of four layers by number of heads, at equal compute."""

import numpy as np
from matplotlib.figure import Figure as Picture

from iclab.evidence import Evidence, Sentence, Tables, at_least, at_most, says
from iclab.papers import _drawing as drawing
from iclab.papers.yang2024._equal_compute import (
    EqualCompute,
    by_heads,
    equal_compute,
    equal_compute_jobs,
)
from iclab.papers.yang2024._experiments import epochs_above

_STYLES = (*drawing.CURVES, (drawing.GREY, "X"))

Settings = EqualCompute
jobs = equal_compute_jobs
compute = equal_compute
seeded = True
trains = True


def draw(tables: Tables) -> Picture:
    """The same losses by step and by operations spent."""
    sorted_tables = by_heads(tables)
    first = sorted_tables[0]
    picture = drawing.sheet(
        5.2,
        "Four layers: by step curves of all H lie close together, by time they part",
        f"{first['caption']}\nLosses are means over {int(first['block'])} steps; "
        f"lines are means of {len(first['final'])} runs, bands reach from "
        "the smallest to the largest.",
    )
    (page,) = drawing.parts(picture, 1, 1)
    left, right = page.subplots(1, 2, sharey=True)
    drawing.panel(left, "(a) by step", "step", "training loss")
    drawing.panel(right, "(b) by time", "time, in steps with one head")
    block = int(first["block"])
    for table, (color, marker) in zip(sorted_tables, _STYLES, strict=False):
        runs = table["losses"]
        x = block * (np.arange(runs.shape[1]) + 0.5)
        style = {"marker": marker, "markevery": 3, "markersize": 4, "linewidth": 1.2}
        label = f"H = {int(table['heads'])}"
        drawing.band(left, runs, label, color, x, **style)
        price = float(table["time_of_a_step"])
        drawing.band(right, runs, label, color, price * x, **style)
    infimum = float(first["infimum"])
    for axis in (left, right):
        axis.axhline(
            infimum, color=drawing.GREY, linestyle=":", label=r"infimum $L^\star$"
        )
        drawing.log_scale(axis)
    epochs_above(left, int(first["an_epoch"]))
    drawing.legend_below(page, [left, right], 8)
    return picture


def paper_statements(tables: Tables) -> list[Sentence]:
    """What Section 4 says that a reader sees."""
    sorted_tables = by_heads(tables)
    heads = np.array([int(table["heads"]) for table in sorted_tables])
    curves = [table["losses"].mean(0) for table in sorted_tables]
    length = min(len(curve) for curve in curves)
    shared = np.log(np.stack([curve[:length] for curve in curves]))
    prices = np.array([float(table["time_of_a_step"]) for table in sorted_tables])
    many, few = shared[heads >= 32], shared[(heads == 4) | (heads == 8)]
    both = len(many) and len(few)
    text = "Section 4, text on Figure 5 (b)"
    return [
        says(
            "Larger H completes fewer iterations: its curve is shorter.",
            text,
            at_least(
                "Price of a step over that with the next fewer heads, smallest",
                prices[1:] / prices[:-1],
                1.0,
                "dearer; in operations and moved numbers, which stand for seconds",
            ),
        ),
        says(
            "With H = 32 and 64 the loss descends more slowly by iteration.",
            text,
            at_least(
                "Mean logarithm of the ratio of losses to those with 4 and 8 heads",
                float(many.mean() - few.mean()) if both else None,
                0.0,
                "slower",
            ),
            caveat="the sizes" if sorted_tables[0]["reduced"] else "",
            note="" if both else "so many heads are not run at these sizes",
        ),
        says(
            "All H converge: no large one is needed.",
            "Section 4, text on Figure 5",
            at_most(
                "Last loss over the first, largest",
                np.exp(np.max(shared[:, -1] - shared[:, 0])),
                0.25,
                "a quarter",
                post_hoc=True,
            ),
        ),
    ]


def expect(tables: Tables) -> list[Evidence]:
    """Larger H ends earlier; its curve by step is not slower."""
    sorted_tables = by_heads(tables)
    curves = [table["losses"].mean(0) for table in sorted_tables]
    length = min(len(curve) for curve in curves)
    shared = np.stack([curve[:length] for curve in curves])
    prices = np.array([float(table["operations_a_step"]) for table in sorted_tables])
    return [
        at_most(
            "In operations a step with the most heads is a little dearer only: its "
            "price over that of one head",
            prices[-1] / prices[0],
            1.5,
            "half as much again",
            post_hoc=True,
            name="price",
        ),
        at_most(
            "By step, many heads are not slower than one: mean of the logarithm of the "
            "ratio of losses along training",
            np.mean(np.log(shared[-1] / shared[0])),
            0.2,
            "not slower by more than runs differ: ten seeds at desk scale have "
            "a mean of -0.11 and a standard deviation of 0.10, and one is above 0",
            post_hoc=True,
        ),
    ]
