"""Figure 1: layers with B = 0 learn gradient descent preconditioned by Σ⁻¹."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

from iclab.evidence import Evidence, Sentence, Tables, at_least, at_most, says
from iclab.papers import _drawing as drawing
from iclab.papers._training_runs import to_multiples
from iclab.papers.ahn2023._experiments import (
    Plain,
    exact_loss,
    first_run,
    is_run,
    plain_jobs,
    stacked_runs,
    standard_deviations,
    train_exactly,
    train_on_batch,
    training_words,
)
from iclab.theory import optimal_steps

Settings = Plain
jobs = plain_jobs
seeded = True
trains = is_run


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Losses and distances by iteration, and the exact loss where a run ends."""
    d, layers, samples = (settings[name] for name in ("dimension", "layers", "samples"))
    if "run" in settings:
        table = train_on_batch(settings, key)
        return table | {"exact_loss": exact_loss(table["whitened"], samples)}
    _, optimum = optimal_steps(d, samples, layers)
    inverse = np.diag(standard_deviations(d) ** -2.0)
    return train_exactly(settings) | {
        "optimum": optimum,
        "inverse_distance": to_multiples(inverse),
        "samples": samples,
    }


def draw(tables: Tables) -> Picture:
    """A panel a layer with both distances, and the loss with its exact optimum."""
    exact, batches = tables["exact"], stacked_runs(tables)
    layers, d = exact["whitened"].shape[1:3]
    runs, samples = len(exact["losses"]), int(exact["samples"])
    picture = drawing.sheet(
        7.2,
        "A linear transformer with B = 0 learns gradient descent preconditioned "
        r"by $\Sigma^{-1}$",
        f"{layers} layers, d = {d}, n = {samples}; {runs} runs, each with its "
        r"own $\Sigma$. "
        f"{training_words(first_run(tables))},\nor on the exact loss. "
        "Lines are means over runs, bands reach from the smallest to the largest. "
        r"Dist(M, I) = $\mathrm{min}_\alpha\,\|M-\alpha I\|_F\,/\,\|M\|_F$.",
    )
    upper, lower = drawing.parts(picture, 2, 1)
    axes = list(upper.subplots(1, layers, sharey=True, squeeze=False)[0])
    for i, axis in enumerate(axes):
        y = "Dist to multiples of I" if i == 0 else ""
        drawing.panel(axis, f"({drawing.LETTERS[i]}) layer {i}", "L-BFGS iteration", y)
        axis.set_yscale("log")
        axis.set_ylim(1e-6, 2)
        name = r"$\Sigma^{1/2}A_i\Sigma^{1/2}$"
        for label, color, table, style in (
            ("batch", drawing.BLUE, batches, "-"),
            ("exact training", drawing.SKY, exact, "--"),
        ):
            rows = table["whitened_distances"][:, :, i]
            drawing.band(axis, rows, f"{name}, {label}", color, linestyle=style)
        rows = batches["distances"][:, :, i]
        drawing.band(axis, rows, "$A_i$ itself, batch", drawing.VERMILION)
    drawing.legend_below(upper, axes, 3)
    axis = lower.subplots()
    letter = drawing.LETTERS[layers]
    drawing.panel(axis, f"({letter}) in-context loss", "L-BFGS iteration", "loss")
    axis.set_yscale("log")
    drawing.band(axis, batches["losses"], "batch: loss on the batch", drawing.BLUE)
    ends = batches["exact_loss"]
    last = np.full(len(ends), batches["losses"].shape[1] - 1)
    label = "batch: exact loss at the end"
    axis.plot(last, ends, "o", color=drawing.BLUE, markerfacecolor="none", label=label)
    drawing.band(axis, exact["losses"], "exact training", drawing.SKY, linestyle="--")
    optimum = float(exact["optimum"])
    share = f"{100 * optimum / d:.1f} % of E y² = {d}"
    label = f"exact optimum {optimum:.4f}, {share}: not 0"
    axis.axhline(optimum, color=drawing.BLACK, linestyle=":", label=label)
    axis.set_yticks(ticks := [0.1, 0.2, 0.5, 1, 2, 5], [f"{t:g}" for t in ticks])
    axis.set_ylim(bottom=optimum / 2)
    axis.minorticks_off()
    drawing.legend_below(lower, [axis], 4)
    return picture


def paper_statements(tables: Tables) -> list[Sentence]:
    """What Section 5.3 and the caption say that a reader sees."""
    exact, batches = tables["exact"], stacked_runs(tables)
    share = float(np.max(exact["losses"][:, -1])) / exact["whitened"].shape[-1]
    red = batches["distances"]
    tail = red.mean(0)[red.shape[1] // 4 :]
    layers = exact["whitened"].shape[1]
    depth = "" if layers == 3 else f"{layers} layers for three"
    return [
        says(
            "The training converges to an almost 0 value.",
            "Section 5.3",
            at_most(
                "Last loss of training on the exact loss, of predicting 0, largest",
                share,
                0.05,
                "a twentieth is almost 0",
                post_hoc=True,
                name="share",
            ),
            caveat=depth,
        ),
        says(
            "The loss converges to 0.",
            "caption of (d)",
            at_most("The same share", share, 1e-3, "one in a thousand is 0 to the eye"),
            main=False,
            caveat="a reading: the text says almost 0, and so does this figure's curve",
            note=depth or "the exact optimum is not 0",
        ),
        says(
            "The blue lines, Dist(Σ^½A_iΣ^½, I), fall: weights converge to the "
            "critical point of Theorem 4.",
            "Section 5.3 and caption",
            at_most(
                "Final distance in training on the exact loss, largest",
                exact["whitened_distances"][:, -1],
                0.01,
                "a hundredth",
            ),
            at_most(
                "Final distance in training on a batch, largest",
                batches["whitened_distances"][:, -1],
                0.25,
                "a quarter, for what a batch leaves",
                post_hoc=True,
            ),
        ),
        says(
            "The red lines, Dist(A_i, I), remain constant.",
            "Section 5.3 and caption",
            at_most(
                "Largest over smallest distance of the mean of runs in the last three "
                "quarters, largest layer",
                tail.max(0) / tail.min(0),
                1.25,
                "within a quarter is constant to the eye",
                name="tail",
            ),
            caveat="the scale of the starts and how long the run is, which the paper "
            "does not give",
            note="from small starts it begins near 1, dips, and ends at that of Σ⁻¹: "
            f"over the whole run the ratio is {np.max(red.max(1) / red.min(1)):.1f}",
        ),
        says(
            "So the trained transformer does not implement plain gradient descent.",
            "Section 5.3 and caption",
            at_least(
                "Final distance of A_i itself, smallest",
                red[:, -1],
                0.6,
                "three quarters of that of Σ⁻¹",
            ),
        ),
    ]


def expect(tables: Tables) -> list[Evidence]:
    """Where exact training and batches end."""
    exact, batches = tables["exact"], stacked_runs(tables)
    optimum = float(exact["optimum"])
    final = exact["losses"][:, -1]
    inverse = float(exact["inverse_distance"])
    ends = batches["distances"][:, -1]
    return [
        at_most(
            "Training on the exact loss ends at the exact optimum: largest relative "
            "excess of the loss",
            np.max(final) / optimum - 1,
            1e-3,
            "one in a thousand",
        ),
        at_least(
            "The loss does not go to 0, it stays above the exact optimum: smallest "
            "exact loss of a run, divided by the optimum",
            min(final.min(), batches["exact_loss"].min()) / optimum,
            1 - 1e-9,
            "above the exact optimum, up to round-off",
        ),
        at_most(
            "A_i ends as far from multiples of I as Σ⁻¹ is: largest difference of the "
            "two distances",
            np.abs(ends - inverse),
            0.1,
            "a tenth",
            post_hoc=True,
        ),
        at_most(
            "Where batches lead is nearly as good: largest relative excess of the "
            "exact loss over the optimum",
            np.max(batches["exact_loss"]) / optimum - 1,
            0.5,
            "half as much again",
            post_hoc=True,
        ),
    ]
