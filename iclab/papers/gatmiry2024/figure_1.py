"""Figure 1: prompts of any length train a looped layer to a multiple of I."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from matplotlib.figure import Figure as Picture

from iclab.evidence import Evidence, Sentence, Tables, at_least, at_most, says, setting
from iclab.papers import _drawing as drawing
from iclab.papers._training_runs import blocks, mean_diagonal, to_multiples
from iclab.papers.gatmiry2024._training import (
    Recipe,
    how,
    manners,
    population_loss,
    to_identity,
    train,
    trained_tables,
    training_jobs,
    words,
)
from iclab.theory import looped_optimum

trains = True

# Fewer examples than these have a rate of their own in the code base.
_SHORT = 5


@dataclass(frozen=True)
class Settings(Recipe):
    """Sizes of Figure 1; the paper does not say its number of loops."""

    dimension: int = setting("Dimension d of the inputs.", 5)
    samples: tuple[int, ...] = setting(
        "Examples in a prompt, n: a curve for each.",
        (2, 3, 5, 10, 20, 50),
        smoke=(3, 20),
    )
    loops: int = setting("Loops of the layer.", 2)
    rate: float = setting("Rate of Adam at the first step (code).", 0.02, paper=0.01)
    short_rate: float = setting("The same for n < 5 (code).", 0.01, paper=0.001)
    halvings: int = setting("How often the rate is halved (code).", 10, smoke=6)
    clip: float = setting("Bound on the gradient of every matrix (code).", 0.001)
    draws: int = setting("Sample covariances behind a final loss.", 10_000, least=2)


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """A job for every protocol and prompt length."""
    found = training_jobs(settings, loops=[settings.loops], betas=(0.99, 0.99))
    for job in found.values():
        if job["protocol"] == "code" and job["samples"] < _SHORT:
            job["rate"] = settings.short_rate
    return found


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Losses and distances by step, the loss where runs end, and the exact optimum."""
    d, n, (loops,) = settings["dimension"], settings["samples"], settings["loops"]
    training_key, draw_key = jax.random.split(key)
    runs = train(settings, training_key, shared=True)
    ends = [
        population_loss(A[-1], u[-1], n, settings["draws"], draw_key)
        for A, u in zip(runs.A[0], runs.u[0], strict=True)
    ]
    # Both layers of a loop are the first one.
    A, (step, optimum) = runs.A[0, :, :, 0], looped_optimum(d, n, loops)
    return {
        "steps": settings["every"] * np.arange(A.shape[1]),
        "losses": blocks(runs.losses[0], settings["every"]),
        "to_identity": to_identity(A),
        "to_multiples": to_multiples(A),
        "multiples": mean_diagonal(A[:, -1]),
        "final_losses": [loss for loss, _ in ends],
        "final_errors": [error for _, error in ends],
        "optimal_step": step,
        "optimum": optimum,
        "dimension": d,
        "samples": n,
        "loops": loops,
        "every": settings["every"],
        "judged": settings["judged"],
        "protocol": settings["protocol"],
        "how": how(settings),
        "training": words(settings),
    }


def draw(tables: Tables) -> Picture:
    """Loss, distance up to scale, distance to I: a curve for every length."""
    first = next(iter(tables.values()))
    d = int(first["dimension"])
    protocols = list(dict.fromkeys(str(one["protocol"]) for one in tables.values()))
    picture = drawing.sheet(
        1.6 + 3.6 * len(protocols),
        "A looped layer learns a multiple of I, however short its prompts",
        f"d = {d}, {int(first['loops'])} loops, $\\Sigma^\\star=I$; "
        f"{first['training']}. Lines are means over runs, bands from the smallest\nto "
        f"the largest; every loss is a mean over {int(first['every'])} steps. "
        f"\n{manners(list(tables.values()))}\n"
        "Dotted: the exact optimum, $A=a^\\star I$. Distances are "
        r"$\|A-(\mathrm{tr}A/d)I\|_F\,/\,\|A\|_F$, free of scale, and "
        r"$\|A-I\|_F\,/\,\|I\|_F$.",
    )
    (page,) = drawing.parts(picture, 1, 1)
    axes = page.subplots(len(protocols), 3, squeeze=False)
    for i, protocol in enumerate(protocols):
        letters = drawing.LETTERS[3 * i :]
        _panels(axes[i], trained_tables(tables, protocol=protocol), protocol, letters)
    axes[0, 0].plot(
        [], [], ":", color=drawing.BLACK, label="exact optimum (up to scale: 0)"
    )
    drawing.legend_below(page, list(axes.flat), 4)
    return picture


def _panels(axes: Any, tables: list[Any], protocol: str, letters: str) -> None:
    titles = "loss", "distance to multiples of I", "distance to I itself"
    for axis, letter, title in zip(axes, letters, titles, strict=False):
        drawing.panel(axis, f"({letter}) {title}, {protocol}", "step", "")
    for table, (color, marker) in zip(
        tables, itertools.cycle(drawing.CURVES), strict=False
    ):
        step, x = float(table["optimal_step"]), table["steps"]
        label = f"n = {int(table['samples'])}, $a^\\star$ = {step:.3f}"
        style = {"marker": marker, "markevery": 8, "markersize": 5}
        middles = (x[1:] + x[:-1]) / 2
        drawing.band(axes[0], table["losses"], label, color, middles, **style)
        drawing.band(axes[1], table["to_multiples"], label, color, x, **style)
        drawing.band(axes[2], table["to_identity"], label, color, x, **style)
        for axis, value in ((axes[0], float(table["optimum"])), (axes[2], 1 - step)):
            axis.axhline(value, color=color, linestyle=":", linewidth=1.2)
    drawing.log_scale(axes[0])
    drawing.log_scale(axes[1])
    axes[1].set_ylim(0.005, 1.2)
    axes[2].set_ylim(0, 1.05)


def paper_statements(tables: Tables) -> list[Sentence]:
    """What the caption and Section 5.2 say that a reader sees."""
    runs = trained_tables(tables, judged=True)
    d = int(runs[0]["dimension"])
    short = [one for one in runs if int(one["samples"]) < d]
    ours = "steps, rate and number of loops, which the text does not give"
    return [
        says(
            "The loss converges for every n > 1.",
            "Section 5.2",
            at_most(
                "What the last quarter of the run moves the mean loss by, as a share, "
                "largest",
                [_moved(one["losses"].mean(0)) for one in runs],
                0.1,
                "less than a tenth",
            ),
            caveat=ours,
        ),
        says(
            "A converges to something very close to I, for few examples too, and even "
            "for n < d.",
            "caption and Section 5.2",
            at_most(
                "Final distance of A to I with n < d, free of scale, largest",
                [one["to_multiples"][:, -1].mean() for one in short],
                0.1,
                "a tenth is close to",
                name="close",
            ),
            at_most(
                "The same for every n, largest",
                [one["to_multiples"][:, -1].mean() for one in runs],
                0.1,
                "a tenth is close to",
            ),
            caveat=ours,
            note="up to scale, as the distance of the code base that the paper names",
        ),
        says(
            "So it does if the distance is the one to I itself.",
            "caption and Section 5.2",
            at_most(
                "Final distance of A to I with n < d, largest",
                [one["to_identity"][:, -1].mean() for one in short],
                0.1,
                "a tenth of I is a generous reading of very close",
            ),
            main=False,
            caveat="the distance, which the text does not define",
            note="the optimum is a*I, which no training passes",
        ),
    ]


def _moved(losses: np.ndarray) -> float:
    """Mean of the last eighth over the mean of the one before, off from 1."""
    part = max(1, len(losses) // 8)
    return float(abs(losses[-part:].mean() / losses[-2 * part : -part].mean() - 1))


def expect(tables: Tables) -> list[Evidence]:
    """Where training ends: at the exact optimum, which is not I."""
    runs = trained_tables(tables, judged=True)
    excess = [np.abs(t["final_losses"] / t["optimum"] - 1) for t in runs]
    short = [t for t in runs if int(t["samples"]) < int(t["dimension"])]
    return [
        at_most(
            "The loss converges for every n, to the exact optimum of multiples of I: "
            "largest relative difference",
            excess,
            0.05,
            "a twentieth: Adam's last steps still move it",
            post_hoc=True,
        ),
        at_most(
            "That multiple is the exact a*: largest relative difference",
            [np.abs(t["multiples"] / t["optimal_step"] - 1) for t in runs],
            0.1,
            "a tenth: with two examples that costs 0.5 % of the loss",
            post_hoc=True,
        ),
        at_least(
            "With n < d, A is not close to I itself: smallest final distance",
            [t["to_identity"][:, -1] for t in short],
            0.5,
            "half of I is not close",
            name="far",
        ),
    ]
