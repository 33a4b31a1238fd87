"""Figure 2: a layer in a loop against as many layers with weights of their own."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from iclab.evidence import Evidence, Sentence, Tables, at_least, at_most, says, setting
from iclab.papers import _drawing as drawing
from iclab.papers.gatmiry2024._training import (
    Training,
    batch_losses,
    how,
    manners,
    population_loss,
    train,
    trained_tables,
    training_jobs,
    words,
)
from iclab.theory import looped_optimum, optimal_steps

# Loops up to which rare prompts matter little for training.
_FEW = 3
# Examples for which optima are worked out, as multiples of d.
_LENGTHS = (1, 1.5, 2, 3, 5, 7, 10, 14, 20, 30, 50)


@dataclass(frozen=True)
class Settings(Training):
    """Sizes of Figure 2."""

    prompts: int = setting(
        "Prompts of the batch on which losses are drawn.",
        4_000,
        smoke=500,
        paper=20_000,
    )
    draws: int = setting(
        "Sample covariances behind a final loss.", 10_000, smoke=2_000, least=2
    )


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """Looped models and untied ones for every protocol and n, and exact optima."""
    found = training_jobs(settings)
    kinds = {"looped": True, "untied": False}
    trained = {
        f"{name}, {kind}": job | {"shared": shared}
        for name, job in found.items()
        for kind, shared in kinds.items()
    }
    first = next(iter(found.values()))
    return trained | {"exact": {name: first[name] for name in ("dimension", "loops")}}


def trains(settings: Mapping[str, Any]) -> bool:
    """Whether a job is training."""
    return "protocol" in settings


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Losses by step, the loss where runs end, and the exact optimum: rows are L."""
    if not trains(settings):
        return _exact(settings)
    s = settings
    d, n, shared = s["dimension"], s["samples"], s["shared"]
    keys = jax.random.split(key, 3)
    runs = train(s, keys[0], shared=shared)
    ends = np.zeros((2, len(s["loops"]), s["seeds"]))
    for row, L in enumerate(s["loops"]):
        for seed in range(s["seeds"]):
            A, u = runs.A[row, seed, -1, :L], runs.u[row, seed, -1, :L]
            ends[:, row, seed] = population_loss(A, u, n, s["draws"], keys[1])
    optima = looped_optimum if shared else optimal_steps
    return {
        "loops": s["loops"],
        "steps": s["every"] * np.arange(runs.A.shape[2]),
        "losses": batch_losses(runs, n, s["prompts"], keys[2]),
        "prompts": s["prompts"],
        "final_losses": ends[0],
        "final_errors": ends[1],
        "optima": [optima(d, n, L)[1] for L in s["loops"]],
        "dimension": d,
        "samples": n,
        "shared": shared,
        "judged": s["judged"],
        "protocol": s["protocol"],
        "how": how(s),
        "training": words(s),
    }


def draw(tables: Tables) -> Picture:
    """Losses along training, a panel for every protocol and n, and the optima."""
    looped, exact = trained_tables(tables, shared=True), tables["exact"]
    first, protocols = looped[0], {str(one["protocol"]) for one in looped}
    picture = drawing.sheet(
        3.4 + 3.2 * len(protocols),
        "Loops and layers: with many examples both losses are small, and alike",
        rf"d = {int(first['dimension'])}, $\Sigma^\star=I$; {first['training']}."
        f"\n{manners(looped)}\n"
        f"Losses are means over one batch of {int(first['prompts']):,} prompts, "
        "lines means over runs, bands from the smallest to the largest.\n"
        "Marks at the right: expected losses where training ends, over a mixture that "
        f"has rare prompts often{_unknown(tables)}. Bars there: exact optima, of\n"
        "symmetric A in a loop, and of layers that are multiples of I.",
    )
    page, lower = drawing.parts(picture, 2, 1, height_ratios=(len(protocols), 0.8))
    columns = len({int(one["samples"]) for one in looped})
    axes = page.subplots(len(protocols), columns, squeeze=False)
    for letter, axis, table in zip(drawing.LETTERS, axes.flat, looped, strict=False):
        n, protocol = int(table["samples"]), str(table["protocol"])
        drawing.panel(axis, f"({letter}) n = {n}, {protocol}", "step", "loss")
        (untied,) = trained_tables(tables, shared=False, samples=n, protocol=protocol)
        _curves(axis, table, "one layer, looped", "-", "o")
        _curves(axis, untied, "separate layers", "--", "s")
        drawing.log_scale(axis, (1,))
        axis.set_xticks(np.linspace(0, table["steps"][-1], 4).round())
    drawing.legend_below(page, list(axes.flat), 4)
    letters = drawing.LETTERS[len(looped) :]
    _optima(lower.subplots(1, 2), exact, letters, looped)
    return picture


def paper_statements(tables: Tables) -> list[Sentence]:
    """What the caption and Section 5.1 say that a reader sees, at the largest n."""
    looped, untied = _pairs(tables)[-1]
    d, n = int(looped["dimension"]), int(looped["samples"])
    ends = looped["final_losses"].mean(1)
    exponents = np.log(ends / d) / np.log(untied["final_losses"].mean(1) / d)
    note = f"at n = {n}; the lower panels show where it holds"
    ours = f"n ({n} here), steps and rate of training, which the paper does not give"
    if unknown := _unknown(tables):
        ours += f"; expected losses{unknown}"
    return [
        *_as_first_read(tables),
        says(
            "Clipped training does not get below the optimum of symmetric A, as we "
            "expected before the run.",
            "Section 5.1",
            at_least(
                "End over the exact optimum of symmetric A, with up to three loops, "
                "every n, smallest",
                [_excess(one, most=_FEW) for one, _ in _pairs(tables)],
                0.95,
                "a twentieth, for the error of the mixture",
            ),
            main=False,
            caveat="our own expectation, not the paper's",
            note="at n = 200 that optimum is a saddle: antisymmetric parts gain some",
        ),
        says(
            "One layer looped L times performs similarly to L layers.",
            "caption and Section 5.1",
            at_most(
                "Logarithms of both losses, as shares of predicting 0: ratio or its "
                "inverse, largest",
                np.maximum(exponents, 1 / exponents),
                4 / 3,
                "a third on the figure's logarithmic axis",
            ),
            caveat=ours,
            note=note,
        ),
        says(
            "More loops lead to lower loss.",
            "caption and Section 5.1",
            at_most(
                "Loss over that of the next fewer loops, every n, largest",
                [_of_fewer(one["final_losses"].mean(1)) for one, _ in _pairs(tables)],
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
                ends[-1] / d,
                1e-4,
                "a ten-thousandth; at n = 20 not even the optimum is a hundredth",
                name="small",
            ),
            caveat=ours,
            note=note,
        ),
    ]


def _as_first_read(tables: Tables) -> list[Sentence]:
    """What was promised of training by the text alone, where that was run."""
    texts = [
        trained_tables(tables, protocol="text", shared=shared)[:1]
        for shared in (True, False)
    ]
    return [
        says(
            f"L loops and L layers end alike by the text's protocol, n = "
            f"{int(looped['samples'])}.",
            "caption and Section 5.1",
            at_most(
                "Looped loss over untied loss where training ends, or its inverse, "
                "largest",
                np.exp(
                    np.abs(
                        np.log(looped["final_losses"].mean(1))
                        - np.log(untied["final_losses"].mean(1))
                    )
                ),
                2.0,
                "a factor of two",
            ),
            main=False,
            caveat="n, steps, rate and clipping, which the paper does not give",
        )
        for looped, untied in zip(*texts, strict=True)
    ]


def expect(tables: Tables) -> list[Evidence]:
    """The exact optima, and how far from them clipped training ends."""
    pairs = _pairs(tables)
    looped, untied = pairs[0]
    return [
        at_most(
            "Clipping moves few loops little: end over the exact optimum of symmetric "
            "A, with up to three loops, every n, largest",
            [_excess(one, most=_FEW) for one, _ in pairs],
            1.1,
            "a tenth, for what a falling rate leaves",
        ),
        at_most(
            "No number of loops is thrown off: end over the exact optimum of symmetric "
            "A, smallest n, largest",
            _excess(looped),
            1.25,
            "a quarter: few prompts carry the gradient of ten loops",
        ),
        at_most(
            "Layers end no worse than loops can: largest ratio to the looped optimum, "
            "up to three layers",
            [
                (other["final_losses"] / one["optima"][:, None])[one["loops"] <= _FEW]
                for one, other in pairs
            ],
            1.2,
            "a fifth for what training leaves",
            post_hoc=True,
        ),
        at_least(
            "At the optimum they are not alike: exact ratio at the most loops, "
            "smallest n",
            looped["optima"][-1] / untied["optima"][-1],
            1.4,
            "two fifths more is not alike; exact",
            post_hoc=True,
            name="price",
        ),
    ]


def _exact(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Optima by n (columns) and L (rows)."""
    d, loops = settings["dimension"], settings["loops"]
    samples = [round(times * d) for times in _LENGTHS]
    return {
        "samples": samples,
        "loops": loops,
        "dimension": d,
        "looped": [[looped_optimum(d, n, L)[1] for n in samples] for L in loops],
        "untied": [[optimal_steps(d, n, L)[1] for n in samples] for L in loops],
    }


def _pairs(tables: Tables) -> list[tuple[Any, Any]]:
    """Looped and untied tables of the judged protocol, by n."""
    looped, untied = (
        trained_tables(tables, judged=True, shared=shared) for shared in (True, False)
    )
    return list(zip(looped, untied, strict=True))


def _excess(table: Mapping[str, Any], most: float = np.inf) -> np.ndarray:
    few = table["loops"] <= most
    return (table["final_losses"] / table["optima"][:, None])[few]


def _of_fewer(ends: np.ndarray) -> np.ndarray:
    return ends[1:] / ends[:-1]


def _unknown(tables: Tables) -> str:
    """Words about ends whose loss too few draws carry, if there are any."""
    ends = np.stack([one["final_losses"] for one in trained_tables(tables)])
    count = int(np.isnan(ends).sum())
    return f" ({count} of {ends.size} unknown)" if count else ""


def _curves(
    axis: Axes, table: Mapping[str, Any], name: str, line: str, marker: str
) -> None:
    x, loops = table["steps"], table["loops"]
    width = 0.03 * x[-1]
    place = x[-1] + (1.5 if line == "-" else 3.5) * width
    colors = itertools.cycle(drawing.CURVES)
    for row, (L, (color, _)) in enumerate(zip(loops, colors, strict=False)):
        label = f"{name}, L = {int(L)}"
        drawing.band(axis, table["losses"][row], label, color, x, linestyle=line)
        end = table["final_losses"][row].mean()
        axis.plot(place, end, marker, color=color, markersize=5)
        ends = place - width, place + width
        axis.plot(ends, [table["optima"][row]] * 2, line, color=color, linewidth=1.3)


def _optima(
    axes: Any, exact: Mapping[str, Any], letters: str, looped: list[Any]
) -> None:
    x, d = exact["samples"], int(exact["dimension"])
    titles = "exact optima by n, of predicting 0", "log of looped over log of layers"
    for axis, letter, title in zip(axes, letters, titles, strict=False):
        drawing.panel(axis, f"({letter}) {title}", "n", "")
        axis.set_xscale("log")
        for n in {int(one["samples"]) for one in looped}:
            axis.axvline(n, color=drawing.GREY, linestyle=":", linewidth=1)
    colors = itertools.cycle(drawing.CURVES)
    for row, (color, _) in zip(range(len(exact["loops"])), colors, strict=False):
        both = exact["looped"][row] / d, exact["untied"][row] / d
        for losses, line in zip(both, ("-", "--"), strict=True):
            axes[0].plot(x, losses, line, color=color, linewidth=1.3)
        axes[1].plot(x, np.log(both[0]) / np.log(both[1]), color=color)
    drawing.log_scale(axes[0], (1,))
    axes[0].set_ylim(min(map(np.min, exact["untied"])) / d, 2)
