"""Figure 4: how many heads one layer needs, and what happens with very many."""

import dataclasses
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import jax
import numpy as np
from matplotlib.figure import Figure as Picture

from iclab.core import require
from iclab.evidence import Evidence, Sentence, Tables, at_least, at_most, says, setting
from iclab.papers import _drawing as drawing
from iclab.papers._training_runs import shared_key
from iclab.papers.yang2024._experiments import (
    EPOCH,
    Layer,
    dictionary_of,
    epochs_above,
    train_on_tasks,
    train_one_layer,
)
from iclab.runs import job_parts
from iclab.training import exact_gap

# Fewer heads than N broken, N or more drawn through.
_COLORS = [color for color, _ in drawing.CURVES]
_COLORS += [drawing.GREY, drawing.ORANGE, drawing.BLACK]

# What is trained on what, in words.
_TRAININGS = {
    "tasks": "raw tokens, sampled tasks (the paper)",
    "raw": "raw tokens, exact loss",
    "unit": "tokens of norm 1, exact loss",
}

seeded = True
trains = True


@dataclass(frozen=True)
class Settings(Layer):
    """Sizes of Figure 4."""

    trainings: tuple[Literal["tasks", "raw", "unit"], ...] = setting(
        "On sampled tasks, on the exact loss with raw tokens, or with those of norm 1.",
        ("tasks", "raw", "unit"),
    )
    heads: tuple[int, ...] = setting(
        "Numbers of heads, H.",
        (1, 10, 20, 30, 100),
        smoke=(1, 4, 8, 16),
        paper=(1, 5, 10, 20, 30, 40, 50, 100),
    )
    most_heads: int = setting("The largest H, with raw tokens.", 400, smoke=200)
    steps: int = setting("Steps of Adam.", 200, smoke=300, paper=600 * EPOCH, least=4)
    rate: float = setting("Rate of Adam.", 1e-2, paper=1e-4)
    every: int = setting("Steps between two points of a curve.", 5, paper=EPOCH)
    samples: int = setting("Tasks to train on.", 10_000, smoke=2_000)
    batch: int = setting("Tasks at every step.", 256, smoke=64)
    # Ten times the desk's rate at every scale: instability is a matter of H times it.
    large_rate: float = setting("The larger rate of panel (d).", 0.1)
    large_steps: int = setting("Steps of panel (d).", 40, paper=10 * EPOCH)
    middle_heads: int = setting("Fewer heads in panel (d).", 30, smoke=16, paper=40)
    start: int = setting("Seed of the starts.", 1, least=0)

    def __post_init__(self):
        super().__post_init__()
        most = max(*self.heads, self.middle_heads)
        rule = f"more than the other numbers of heads, {most}"
        many = self.most_heads
        require(many > most, "most_heads", rule, many)
        rule = f"at least `batch` = {self.batch}"
        require(self.samples >= self.batch, "samples", rule, self.samples)


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """For each training the numbers of heads, the largest by itself; and a large step.

    Starts have a seed of their own in the settings, so that runs with the same number
    of heads begin alike, and all see the same tasks.
    """
    s = settings
    names = [field.name for field in dataclasses.fields(Layer)]
    names += ["start", "rate", "steps", "every", "samples", "batch"]
    common = {name: getattr(s, name) for name in names}
    table = {}
    for training in s.trainings:
        own = common | {
            "unit_norm": training == "unit",
            "on_tasks": training == "tasks",
        }
        if training != "unit":
            table[f"{training}, many"] = own | {"heads": [s.most_heads]}
        table[f"{training}, few"] = own | {"heads": sorted(s.heads)}
    if "raw" in s.trainings:
        table["large step"] = common | {
            "unit_norm": False,
            "on_tasks": False,
            "rate": s.large_rate,
            "steps": s.large_steps,
            "every": 1,
            "heads": [s.middle_heads, s.most_heads],
        }
    return table


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """L − L* along training, a row for every number of heads."""
    s = settings
    task = dictionary_of(s)
    start = shared_key(jax.random.key(s["start"]), s.get("seed", 0))
    gap = exact_gap(task)
    rows, batches, steps = [], [], np.array([])
    for heads in job_parts(s["heads"], weights=s["heads"]):
        own = jax.random.fold_in(start, heads)
        if s["on_tasks"]:
            run = train_on_tasks(s, task, heads, own, gap, tasks=start)
            batches.append(np.asarray(run.losses))
        else:
            run = train_one_layer(s, task, heads, own, gap)
        rows.append(np.asarray(run.records))
        steps = run.recorded_at
    gaps = np.stack(rows)
    largest_batch = {"largest_batch": [b.max() / b[0] for b in batches]}
    return {
        "heads": s["heads"],
        "steps": steps,
        "gaps": gaps,
        "rate": s["rate"],
        "sizes": [s[name] for name in _SIZES],
        "noise_variance": s["noise_variance"],
    } | (largest_batch if batches else {})


def draw(tables: Tables) -> Picture:
    """Curves by number of heads for each training, and those of a large step."""
    first = next(iter(tables.values()))
    K, d, m, N = (int(size) for size in first["sizes"])
    rate = next(float(t["rate"]) for name, t in tables.items() if name != "large step")
    picture = drawing.sheet(
        8.2,
        "One layer by number of heads: on sampled tasks, and on the exact loss",
        f"K = {K}, d = {d}, m = {m}, N = {N}, "
        f"$\\tau$ = {float(first['noise_variance']):g}. Adam, float32, constant rate "
        f"{rate:g}; {EPOCH} steps count as an epoch (the paper: rate 0.0001, to "
        "iteration 600, read as epochs).\nSampled: a fixed set of tasks in batches "
        "(the paper: 10,000, batches of 256). All panels show the exact gap of the "
        "population.\n"
        "Broken lines: H < N; drawn through: H ≥ N. One run for every curve, one "
        "dictionary for each kind of tokens.",
    )
    (page,) = drawing.parts(picture, 1, 1)
    axes = list(page.subplots(2, 2).flat)
    shown = [one for one in _TRAININGS if f"{one}, few" in tables]
    for axis, letter, training in zip(axes, "abc", shown, strict=False):
        drawing.panel(
            axis, f"({letter}) {_TRAININGS[training]}", "step", "$L-L^\\star$"
        )
        _family(axis, tables, training, N)
        epochs_above(axis, EPOCH)
    rest = axes[len(shown) :]
    if "large step" in tables:
        table, axis = tables["large step"], rest.pop(0)
        words = f"({'abcd'[len(shown)]}) raw tokens, exact loss, rate"
        drawing.panel(axis, f"{words} {float(table['rate']):g}", "step")
        for heads, gaps, line in zip(
            table["heads"], table["gaps"], ("--", "-"), strict=True
        ):
            label = f"H = {int(heads)}, larger step"
            axis.plot(table["steps"], gaps, line, color=drawing.VERMILION, label=label)
        axis.axhline(
            float(table["gaps"][0, 0]), color=drawing.GREY, linestyle=":", linewidth=1.2
        )
        axis.set_yscale("log")
        epochs_above(axis, EPOCH)
    for axis in rest:
        axis.remove()
    drawing.legend_below(page, axes[: 4 - len(rest)], 6)
    return picture


def paper_statements(tables: Tables) -> list[Sentence]:
    """What Section 4 and the caption say that a reader sees, of sampled tasks."""
    few, many = tables["tasks, few"], tables["tasks, many"]
    N, heads, gaps = int(few["sizes"][3]), np.asarray(few["heads"]), few["gaps"]
    rate, steps = float(few["rate"]), int(few["steps"][-1])
    short = f"training, {steps} steps at {rate:g} for {600 * EPOCH} at 1e-4"
    short = "" if rate == 1e-4 else short
    left_open = "τ, the dictionary and what the axis counts, which are not given"
    last, start = gaps[:, -1], gaps[0, 0]
    tail = last / gaps[:, 3 * gaps.shape[1] // 4]
    half = last / gaps[:, gaps.shape[1] // 2]
    largest = many["gaps"][0]
    text = "Section 4, text on Figure 4"
    return [
        says(
            "With H < N the loss stops descending, far from its minimum.",
            text,
            at_least(
                "Last gap over that at three quarters of the run, smallest",
                tail[heads < N],
                0.9,
                "hardly moved",
                moved=0.85,
            ),
            at_least(
                "Last gap over the first, smallest",
                last[heads < N] / start,
                0.01,
                "a hundredth of the way is left",
                moved=0.02,
            ),
            caveat=short,
            note="the text adds that H ≥ N may not be necessary: not with norm 1",
        ),
        says(
            "With H = N it keeps descending, though slowly.",
            text,
            at_most(
                "Last gap over that at half of the run",
                half[heads == N],
                0.95,
                "a twentieth and more in the second half",
            ),
            caveat=short,
        ),
        says(
            "H has to be large enough for the loss to converge.",
            "caption and Section 4",
            at_most(
                "Last gap with a hundred heads, or the most below 400, over that with "
                "the most below N",
                last[-1] / last[heads < N][-1:],
                0.1,
                "a tenth",
            ),
            caveat=short,
        ),
        says(
            "H = 400 is unstable.",
            "caption and Section 4",
            at_least(
                "Largest gap over the smallest before it",
                np.max(largest / np.minimum.accumulate(largest)),
                2.0,
                "twice as high",
            ),
            caveat=short or left_open,
            note="at the rate 0.01 it turns round and rises",
        ),
        says(
            "Its loss diverges.",
            "Section 4",
            at_least(
                "Largest gap over the first",
                np.max(largest[1:]) / largest[0],
                1.0,
                "above where it began",
            ),
            main=False,
            caveat=short or left_open,
            note="at ten times desk's rate it overshoots at once",
        ),
        says(
            "With H = 400 it converges more slowly.",
            "caption",
            at_least(
                "Last gap with the most heads over that with the next fewer",
                largest[-1] / last[-1],
                1.0,
                "not as low",
            ),
            caveat=short or left_open,
            note="seen at the rate 0.01",
        ),
    ]


def expect(tables: Tables) -> list[Evidence]:
    """What tokens of norm 1 do, and what a large H does on the exact loss."""
    N = int(tables["unit, few"]["sizes"][3])
    last = {kind: _last(tables, kind) for kind in ("raw", "unit")}
    start = float(tables["unit, few"]["gaps"][0, 0])
    many = max(last["raw"])
    by_heads = [last["raw"][heads] for heads in sorted(last["raw"])]
    few = [H for H in last["unit"] if N > H]
    fast = tables["large step"]["gaps"]
    overshoot = fast.max(1) / fast[:, 0]
    return [
        at_most(
            "Raw tokens, exact loss: the largest H converges; last gap relative to the "
            "first",
            last["raw"][many] / start,
            1e-3,
            "one in a thousand",
            post_hoc=True,
        ),
        at_most(
            "Tokens of norm 1, H ≥ N: the loss converges; largest last gap, relative "
            "to the first",
            [v / start for H, v in last["unit"].items() if N <= H],
            0.01,
            "one in a hundred",
            post_hoc=True,
        ),
        at_most(
            "Tokens of norm 1: H < N is no stall; last gap with the most heads below "
            "N, relative to the first",
            [last["unit"][max(few)] / start] if few else [],
            0.05,
            "one in twenty",
            post_hoc=True,
        ),
        at_least(
            "but one head is not enough: its last gap relative to the first",
            [v / start for H, v in last["unit"].items() if H == 1],
            0.1,
            "a tenth",
            post_hoc=True,
        ),
        at_most(
            "More heads are no worse with raw tokens on the exact loss: largest ratio "
            "of the last gap to that of the next smaller H",
            max(b / a for a, b in itertools.pairwise(by_heads)),
            1.0,
            "no higher",
        ),
        at_least(
            "At a larger step the most heads overshoot at once, so that the step is "
            "the cause: largest gap over the first",
            overshoot[1],
            2.0,
            "twice the first",
            post_hoc=True,
        ),
        at_most(
            "where fewer heads hardly do: largest gap over the first",
            overshoot[0],
            1.5,
            "half as much again",
            post_hoc=True,
        ),
    ]


_SIZES = ("dictionary_size", "input_dim", "feature_dim", "context_length")


def _of(tables: Tables, training: str) -> list[Mapping[str, Any]]:
    """Tables of one training; with norm 1 the largest H is not run."""
    names = [f"{training}, few", f"{training}, many"]
    return [tables[name] for name in (names[:1] if training == "unit" else names)]


def _family(axis: Any, tables: Tables, training: str, N: int) -> None:
    curves = [
        (int(heads), table["steps"], gaps)
        for table in _of(tables, training)
        for heads, gaps in zip(table["heads"], table["gaps"], strict=True)
    ]
    for (heads, steps, gaps), color in zip(
        curves, itertools.cycle(_COLORS), strict=False
    ):
        line = "--" if heads < N else "-"
        axis.plot(steps, gaps, line, color=color, linewidth=1.4, label=f"H = {heads}")
    axis.set_yscale("log")


def _last(tables: Tables, training: str) -> dict[int, float]:
    """Last gap by number of heads."""
    return {
        int(heads): float(gaps[-1])
        for table in _of(tables, training)
        for heads, gaps in zip(table["heads"], table["gaps"], strict=True)
    }
