"""Figure 4: how many heads one layer needs, and what happens with very many."""

import dataclasses
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from matplotlib.figure import Figure as Picture

from iclab.core import require
from iclab.evidence import Evidence, Sentence, Tables, at_least, at_most, says, setting
from iclab.papers import _drawing as drawing
from iclab.papers._training_runs import shared_key
from iclab.papers.yang2024._experiments import (
    EPOCH,
    KINDS,
    Layer,
    dictionary_of,
    epochs_above,
    train_and_slow_down,
    train_one_layer,
)
from iclab.runs import job_parts

# Fewer heads than N broken, N or more drawn through.
_COLORS = [color for color, _ in drawing.CURVES]
_COLORS += [drawing.GREY, drawing.ORANGE, drawing.BLACK]

seeded = True
trains = True


@dataclass(frozen=True)
class Settings(Layer):
    """Sizes of Figure 4."""

    heads: tuple[int, ...] = setting(
        "Numbers of heads, H.", (1, 5, 10, 20, 30, 40, 50, 100), smoke=(1, 4, 8, 16)
    )
    most_heads: int = setting("The largest H.", 400, smoke=200)
    steps: int = setting("Steps of Adam.", 220, smoke=300, paper=600 * EPOCH, least=4)
    rate: float = setting("Rate of Adam.", 1e-2, paper=1e-4)
    every: int = setting("Steps between two points of a curve.", 5, paper=EPOCH)
    # Ten times the desk's rate at every scale: instability is a matter of H times it.
    large_rate: float = setting("The larger rate of panel (c).", 0.1)
    large_steps: int = setting("Steps of panel (c).", 40, paper=10 * EPOCH)
    middle_heads: int = setting("Fewer heads in panel (c).", 40, smoke=10)
    start: int = setting("Seed of the starts.", 1, least=0)

    def __post_init__(self):
        super().__post_init__()
        most = max(*self.heads, self.middle_heads)
        rule = f"more than the other numbers of heads, {most}"
        many = self.most_heads
        require(many > most, "most_heads", rule, many)


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """For each kind of tokens: most heads; the largest number, with a constant step and
    from late on with a tenth of it; and a large step.

    Starts have a seed of their own in the settings, so that runs with the same number
    of heads begin alike.
    """
    s, many = settings, settings.most_heads
    names = [field.name for field in dataclasses.fields(Layer)]
    common = {name: getattr(s, name) for name in names}
    common |= {"start": s.start, "rate": s.rate, "steps": s.steps, "every": s.every}
    fast = {
        "rate": s.large_rate,
        "steps": s.large_steps,
        "every": 1,
        "heads": [s.middle_heads, many],
    }
    few = sorted(s.heads)
    table = {}
    for kind in KINDS:
        of_kind = common | {"unit_norm": kind == "unit"}
        drop = {"heads": [many], "drop_at": _switch(s.steps)}
        table[f"{kind}, many"] = of_kind | drop
        table[f"{kind}, few"] = of_kind | {"heads": few}
        table[f"{kind}, large step"] = of_kind | fast
    return table


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """L − L* along training, a row for every number of heads."""
    s = settings
    task = dictionary_of(s)
    start = shared_key(jax.random.key(s["start"]), s.get("seed", 0))
    keys = {heads: jax.random.fold_in(start, heads) for heads in s["heads"]}
    slower = {}
    if "drop_at" in s:
        (heads,) = s["heads"]
        same, slow = train_and_slow_down(s, task, heads, keys[heads])
        runs, late = [same], np.asarray(slow.losses)[None]
        slower = {
            "slower": late[:, :: s["every"]],
            "slower_late_rise": _late_rise(late),
        }
    else:
        runs = [
            train_one_layer(s, task, heads, keys[heads])
            for heads in job_parts(s["heads"], weights=s["heads"])
        ]
    gaps = np.stack([np.asarray(run.losses) for run in runs])
    return slower | {
        "heads": s["heads"],
        "steps": np.arange(0, gaps.shape[1], s["every"]),
        "gaps": gaps[:, :: s["every"]],
        "last": gaps[:, -1],
        "largest": gaps.max(1),
        "late_rise": _late_rise(gaps),
        "rate": s["rate"],
        "sizes": [s[name] for name in _SIZES],
        "noise_variance": s["noise_variance"],
    }


def draw(tables: Tables) -> Picture:
    """Curves by number of heads for each kind of tokens, and those of a large step."""
    first = tables["unit, few"]
    K, d, m, N = (int(size) for size in first["sizes"])
    fast = float(tables["unit, large step"]["rate"])
    picture = drawing.sheet(
        5.6,
        "How many heads are enough depends on the tokens: of norm 1, or raw",
        f"K = {K}, d = {d}, m = {m}, N = {N}, "
        f"$\\tau$ = {float(first['noise_variance']):g}. Adam on the exact "
        f"population loss, float32, constant rate {float(first['rate']):g} in (a) and "
        f"(b), {EPOCH} steps count as an epoch\n(the paper: rate 0.0001, to iteration "
        "600, read as epochs). "
        "Broken lines: H < N; drawn through: H ≥ N. One run for every curve, one "
        "dictionary for each kind of tokens.\nIn (c) the step is larger, "
        f"{fast:g}: blue, tokens of norm 1; red, raw tokens. Dotted line in (c): the "
        "loss before training.",
    )
    (page,) = drawing.parts(picture, 1, 1)
    axes = page.subplots(1, 3, gridspec_kw={"width_ratios": [1, 1, 0.8]})
    axes[1].sharey(axes[0])
    for axis, letter, (kind, words) in zip(axes, "ab", KINDS.items(), strict=False):
        drawing.panel(
            axis, f"({letter}) {words}", "step", "" if kind == "raw" else "$L-L^\\star$"
        )
        _family(axis, tables, kind, N)
        epochs_above(axis, EPOCH)
    drawing.panel(axes[2], f"(c) rate {fast:g}", "step", "$L-L^\\star$")
    for kind, color in (("unit", drawing.BLUE), ("raw", drawing.VERMILION)):
        table = tables[f"{kind}, large step"]
        for heads, gaps, line in zip(
            table["heads"], table["gaps"], ("--", "-"), strict=True
        ):
            word = "norm 1" if kind == "unit" else "raw"
            label = f"(c) {word}, H = {int(heads)}"
            axes[2].plot(table["steps"], gaps, line, color=color, label=label)
    axes[2].axhline(
        float(first["gaps"][0, 0]), color=drawing.GREY, linestyle=":", linewidth=1.2
    )
    axes[2].set_yscale("log")
    epochs_above(axes[2], EPOCH)
    drawing.legend_below(page, list(axes), 7)
    return picture


def paper_statements(tables: Tables) -> list[Sentence]:
    """What Section 4 and the caption say that a reader sees; its tokens are raw."""
    raw, many = tables["raw, few"], tables["raw, many"]
    N, start = int(raw["sizes"][3]), float(raw["gaps"][0, 0])
    heads, gaps = np.asarray(raw["heads"]), raw["gaps"]
    rate = float(raw["rate"])
    short = f"training, {int(raw['steps'][-1])} steps at {rate:g} for 600 at 1e-4"
    short = "" if rate == 1e-4 else short
    tail = raw["last"] / gaps[:, 3 * gaps.shape[1] // 4]
    half = raw["last"] / gaps[:, gaps.shape[1] // 2]
    text = "Section 4, text on Figure 4"
    return [
        says(
            "With H < N the loss stops descending, far from its minimum.",
            text,
            at_least(
                "Last loss over that at three quarters of the run, smallest",
                tail[heads < N],
                0.85,
                "hardly moved",
                post_hoc=True,
            ),
            at_least(
                "Last loss over the first, smallest",
                raw["last"][heads < N] / start,
                0.02,
                "a fiftieth of the way is left",
                post_hoc=True,
            ),
            caveat=short,
            note="the text adds that H ≥ N may not be necessary: not with norm 1",
        ),
        says(
            "With H = N it keeps descending, though slowly.",
            text,
            at_most(
                "Last loss over that at half of the run",
                half[heads == N],
                0.95,
                "a twentieth and more in the second half",
            ),
        ),
        says(
            "H has to be large enough for the loss to converge.",
            "caption and Section 4",
            at_most(
                "Last loss with the most heads over that with the most below N",
                many["last"] / raw["last"][heads < N][-1:],
                0.1,
                "a tenth",
                post_hoc=True,
            ),
        ),
        says(
            "H = 400 leads to instability and divergence.",
            "caption and Section 4",
            at_least(
                "Largest loss over the first",
                _overshoot(many)[-1],
                1.01,
                "above where it began",
            ),
            caveat=short,
            note="it spikes; at ten times the step it overshoots at once",
        ),
    ]


def expect(tables: Tables) -> list[Evidence]:
    """What tokens of norm 1 do, and what a large H does."""
    N = int(tables["unit, few"]["sizes"][3])
    last = {kind: _last(tables, kind) for kind in KINDS}
    start = float(tables["unit, few"]["gaps"][0, 0])
    many = max(last["raw"])
    by_heads = [last["raw"][heads] for heads in sorted(last["raw"])]
    few = [H for H in last["unit"] if N > H]
    fast = {kind: tables[f"{kind}, large step"] for kind in KINDS}
    return [
        at_most(
            "Raw tokens, the largest H converges: last loss relative to the first",
            last["raw"][many] / start,
            1e-3,
            "one in a thousand",
            post_hoc=True,
        ),
        at_most(
            "Tokens of norm 1, H ≥ N: the loss converges; largest last loss, relative "
            "to the first",
            [v / start for H, v in last["unit"].items() if N <= H],
            0.01,
            "one in a hundred",
            post_hoc=True,
        ),
        at_most(
            "Tokens of norm 1: H < N is no stall; last loss with the most heads below "
            "N, relative to the first",
            [last["unit"][max(few)] / start] if few else [],
            0.05,
            "one in twenty",
            post_hoc=True,
        ),
        at_least(
            "but one head is not enough: its last loss relative to the first",
            [v / start for H, v in last["unit"].items() if H == 1],
            0.1,
            "a tenth",
            post_hoc=True,
        ),
        at_most(
            "More heads are no worse with raw tokens: largest ratio of the last loss "
            "to that of the next smaller H",
            max(b / a for a, b in itertools.pairwise(by_heads)),
            1.0,
            "no higher",
        ),
        at_least(
            "It spikes late in training, and a tenth of the step from the same state "
            "makes that smaller: ratio of the largest rises above the smallest loss "
            "before",
            _rise(tables, "late_rise") / _rise(tables, "slower_late_rise"),
            1.0,
            "no smaller",
        ),
        at_least(
            "At a larger step it overshoots at once, so that the step is the cause: "
            "its largest loss over its first, smaller of both kinds",
            min(_overshoot(fast[kind])[-1] for kind in KINDS),
            2.0,
            "twice the first",
            post_hoc=True,
        ),
        at_most(
            "where fewer heads hardly do: largest loss over the first, larger of both",
            max(_overshoot(fast[kind])[0] for kind in KINDS),
            1.5,
            "half as much again",
            post_hoc=True,
        ),
    ]


_SIZES = ("dictionary_size", "input_dim", "feature_dim", "context_length")


def _family(axis: Any, tables: Tables, kind: str, N: int) -> None:
    curves = [
        (int(heads), table["steps"], gaps)
        for table in (tables[f"{kind}, few"], tables[f"{kind}, many"])
        for heads, gaps in zip(table["heads"], table["gaps"], strict=True)
    ]
    for (heads, steps, gaps), color in zip(
        curves, itertools.cycle(_COLORS), strict=False
    ):
        line = "--" if heads < N else "-"
        axis.plot(steps, gaps, line, color=color, linewidth=1.4, label=f"H = {heads}")
    axis.set_yscale("log")
    table = tables[f"{kind}, many"]
    late = _switch(len(table["steps"]))
    label = f"H = {int(table['heads'][0])}, smaller step at the end"
    style = {"color": drawing.BLACK, "linewidth": 1.6, "label": label}
    axis.plot(table["steps"][late:], table["slower"][0, late:], ":", **style)


def _last(tables: Tables, kind: str) -> dict[int, float]:
    """Last loss by number of heads."""
    return {
        int(heads): float(gap)
        for table in (tables[f"{kind}, few"], tables[f"{kind}, many"])
        for heads, gap in zip(table["heads"], table["last"], strict=True)
    }


def _switch(steps: int) -> int:
    """Step at which the smaller step begins."""
    return 3 * steps // 4


def _late_rise(gaps: np.ndarray) -> np.ndarray:
    """The largest late rise of every curve above its smallest late value until then."""
    late = gaps[:, _switch(gaps.shape[1]) :]
    return np.max(late / np.minimum.accumulate(late, axis=1), axis=1)


def _rise(tables: Tables, name: str) -> float:
    return float(max(tables[f"{kind}, many"][name][0] for kind in KINDS))


def _overshoot(table: Mapping[str, Any]) -> np.ndarray:
    return np.asarray(table["largest"] / table["gaps"][:, 0])
