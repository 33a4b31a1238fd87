"""Figure 5 (a): last losses of four layers by number of heads, at equal compute."""

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

# How firm it is that some H between is best.
_SCATTER = "by how much depends on the seed: 2 to 85 % among ten at desk scale"

Settings = EqualCompute
jobs = equal_compute_jobs
compute = equal_compute
seeded = True
trains = True


def draw(tables: Tables) -> Picture:
    """Losses at the end of the budget, and the steps that it paid."""
    sorted_tables = by_heads(tables)
    first = sorted_tables[0]
    heads = np.array([int(table["heads"]) for table in sorted_tables])
    picture = drawing.sheet(
        5.2,
        "Four layers on equal budgets: by time few heads win, by operations H decides "
        "little",
        f"{first['caption']}\nTraining loss: mean over the last 30 steps. Inference "
        r"loss: mean of $\|\hat y-\hat y^\star\|^2/K$ "
        f"over {int(first['tests'])} unseen tasks. "
        f"Lines: means of {len(first['final'])} runs, bands: smallest to largest.",
    )
    (page,) = drawing.parts(picture, 1, 1)
    left, right = page.subplots(1, 2, gridspec_kw={"width_ratios": [1.6, 1]})
    drawing.panel(left, "(a) losses when the budget is spent", "heads H", "loss")
    drawing.panel(right, "(b) steps that the budget pays", "heads H", "steps")
    for name, label, color, marker, line in (
        (
            "out_of_domain",
            "inference loss, out of domain",
            drawing.VERMILION,
            "s",
            "--",
        ),
        ("in_domain", "inference loss, in domain", drawing.BLUE, "o", "-"),
        ("final", "training loss, equal operations", drawing.BLACK, "^", "-."),
        ("final_in_time", "training loss, equal time", drawing.GREEN, "D", ":"),
    ):
        runs = np.stack([table[name] for table in sorted_tables], axis=1)
        drawing.band(left, runs, label, color, heads, linestyle=line, marker=marker)
    infimum = float(first["infimum"])
    left.axhline(infimum, color=drawing.GREY, linestyle=":", label=r"infimum $L^\star$")
    drawing.log_scale(left)
    for name, color, line in (
        ("steps", drawing.BLACK, "^-."),
        ("steps_in_time", drawing.GREEN, "D:"),
    ):
        steps = [int(table[name]) for table in sorted_tables]
        right.plot(heads, steps, line, color=color)
    right.set_ylim(bottom=0)
    for axis in (left, right):
        axis.set_xscale("log", base=2)
        axis.set_xticks(heads, [str(int(one)) for one in heads])
    drawing.legend_below(page, [left, right], 3)
    return picture


def paper_statements(tables: Tables) -> list[Sentence]:
    """What Section 4 says that a reader sees."""
    sorted_tables = by_heads(tables)
    heads = np.array([int(table["heads"]) for table in sorted_tables])
    final, in_time = (
        np.stack([table[name] for table in sorted_tables], axis=1)
        for name in ("final", "final_in_time")
    )
    mean, first = in_time.mean(0), sorted_tables[0]
    caveat = "the budget, a count of operations and moved numbers for 100 seconds, "
    caveat += "and the sizes"
    return [
        says(
            "Deeper transformers need no large H to converge.",
            "Section 4, text on Figure 5",
            at_most(
                "Last loss over the first with the fewest heads, largest run",
                final[:, 0] / first["losses"][:, 0],
                0.25,
                "a quarter",
                post_hoc=True,
            ),
        ),
        says(
            "Losses converge faster with smaller H.",
            "Section 4, text on Figure 5 (a)",
            at_least(
                "Equal time: mean last loss with the most heads over the lowest with "
                "fewer",
                float(mean[-1] / mean[:-1].min()) if len(heads) > 2 else None,
                1.0,
                "worse than the best with fewer",
            ),
            at_least(
                "Equal time: mean last loss over that with the next fewer heads, from "
                "H = 4 on, smallest",
                mean[heads >= 4][1:] / mean[heads >= 4][:-1],
                1.0,
                "ordering",
            ),
            caveat=caveat,
        ),
        says(
            "The last training loss is smallest with H = 4.",
            "Section 4, text on Figure 5 (a)",
            at_most(
                "Equal time: mean last loss with H = 4 over the lowest",
                mean[heads == 4] / mean.min(),
                1.0,
                "the lowest; the spread of runs is as large as such differences",
            ),
            main=False,
            caveat=caveat,
        ),
    ]


def expect(tables: Tables) -> list[Evidence]:
    """No large H is needed; whether small H is best is measured, not supposed."""
    sorted_tables = by_heads(tables)
    heads = [int(table["heads"]) for table in sorted_tables]
    steps = [int(table["steps"]) for table in sorted_tables]
    final, inside, outside = (
        np.stack([table[name] for table in sorted_tables], axis=1)
        for name in ("final", "in_domain", "out_of_domain")
    )
    mean = final.mean(0)
    start = np.stack([table["losses"][:, 0] for table in sorted_tables], axis=1)
    return [
        at_most(
            "Every H falls: largest ratio of last to first loss",
            final / start,
            0.25,
            "a quarter",
            post_hoc=True,
        ),
        at_least(
            "Out of domain the inference loss is higher: smallest ratio",
            outside / inside,
            1.0,
            "higher",
        ),
        at_least(
            "By operations larger H pays for fewer steps, but not many: steps with the "
            "most heads over those with one",
            steps[-1] / steps[0],
            0.7,
            "seven tenths",
            post_hoc=True,
        ),
        at_most(
            "H decides little at equal operations: largest mean last loss over the "
            "smallest",
            mean.max() / mean.min(),
            2.0,
            "a factor of two",
            post_hoc=True,
            name="spread",
        ),
        at_least(
            "The smallest H is not best: mean last loss with one head over the lowest "
            "with more",
            float(mean[0] / mean[1:].min()) if len(heads) > 1 else None,
            1.0,
            f"worse; {_SCATTER}",
            post_hoc=True,
        ),
        *_many_heads(heads, mean),
    ]


def _many_heads(heads: list[int], mean: np.ndarray) -> list[Evidence]:
    """About the largest H, where more than two numbers of heads were trained."""
    if len(heads) <= 2:
        return []
    return [
        at_least(
            "The largest H is not best either: mean last loss over the lowest with "
            "fewer heads",
            mean[-1] / mean[:-1].min(),
            1.0,
            f"worse; {_SCATTER}",
            post_hoc=True,
        )
    ]
