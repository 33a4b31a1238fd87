"""Figure 1: layers with B = 0 learn gradient descent preconditioned by Σ⁻¹."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

from iclab.evidence import Evidence, Sentence, Tables
from iclab.papers._drawing import (
    BLACK,
    BLUE,
    LETTERS,
    SKY,
    VERMILION,
    band,
    legend_below,
    panel,
    parts,
    sheet,
)
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
    picture = sheet(
        7.2,
        "A linear transformer with B = 0 learns gradient descent preconditioned "
        r"by $\Sigma^{-1}$",
        f"{layers} layers, d = {d}, n = {samples}; {runs} runs, each with its "
        r"own $\Sigma$. "
        f"{training_words(first_run(tables))},\nor on the exact loss. "
        "Lines are means over runs, bands reach from the smallest to the largest. "
        r"Dist(M, I) = $\mathrm{min}_\alpha\,\|M-\alpha I\|_F\,/\,\|M\|_F$.",
    )
    upper, lower = parts(picture, 2, 1)
    axes = list(upper.subplots(1, layers, sharey=True, squeeze=False)[0])
    for i, axis in enumerate(axes):
        y = "Dist to multiples of I" if i == 0 else ""
        panel(axis, f"({LETTERS[i]}) layer {i}", "L-BFGS iteration", y)
        axis.set_yscale("log")
        axis.set_ylim(1e-6, 2)
        name = r"$\Sigma^{1/2}A_i\Sigma^{1/2}$"
        for label, color, table, style in (
            ("batch", BLUE, batches, "-"),
            ("exact training", SKY, exact, "--"),
        ):
            rows = table["whitened_distances"][:, :, i]
            band(axis, rows, f"{name}, {label}", color, linestyle=style)
        rows = batches["distances"][:, :, i]
        band(axis, rows, "$A_i$ itself, batch", VERMILION)
    legend_below(upper, axes, 3)
    axis = lower.subplots()
    letter = LETTERS[layers]
    panel(axis, f"({letter}) in-context loss", "L-BFGS iteration", "loss")
    axis.set_yscale("log")
    band(axis, batches["losses"], "batch: loss on the batch", BLUE)
    ends = batches["exact_loss"]
    last = np.full(len(ends), batches["losses"].shape[1] - 1)
    label = "batch: exact loss at the end"
    axis.plot(last, ends, "o", color=BLUE, markerfacecolor="none", label=label)
    band(axis, exact["losses"], "exact training", SKY, linestyle="--")
    optimum = float(exact["optimum"])
    share = f"{100 * optimum / d:.1f} % of E y² = {d}"
    label = f"exact optimum {optimum:.4f}, {share}: not 0"
    axis.axhline(optimum, color=BLACK, linestyle=":", label=label)
    axis.set_yticks(ticks := [0.1, 0.2, 0.5, 1, 2, 5], [f"{t:g}" for t in ticks])
    axis.set_ylim(bottom=optimum / 2)
    axis.minorticks_off()
    legend_below(lower, [axis], 4)
    return picture


def said(tables: Tables) -> list[Sentence]:
    """What Section 5.3 and the caption say that a reader sees."""
    exact, batches = tables["exact"], stacked_runs(tables)
    share = float(np.max(exact["losses"][:, -1])) / exact["whitened"].shape[-1]
    red = batches["distances"]
    layers = exact["whitened"].shape[1]
    depth = "" if layers == 3 else f"{layers} layers for three"
    return [
        Sentence(
            "The training converges to an almost 0 value.",
            "Section 5.3",
            (
                Evidence(
                    "Last loss of training on the exact loss, of predicting 0, largest",
                    share,
                    "<=",
                    0.05,
                    reason="a twentieth is almost 0",
                    in_view=True,
                    name="share",
                ),
            ),
            blame=depth,
        ),
        Sentence(
            "The loss converges to 0.",
            "caption of (d)",
            (
                Evidence(
                    "The same share",
                    share,
                    "<=",
                    1e-3,
                    reason="one in a thousand is 0 to the eye",
                ),
            ),
            main=False,
            blame=depth,
            note="the text says almost 0; the exact optimum is not 0",
        ),
        Sentence(
            "The blue lines, Dist(Σ^½A_iΣ^½, I), fall: weights converge to the "
            "critical point of Theorem 4.",
            "Section 5.3 and caption",
            (
                Evidence(
                    "Final distance in training on the exact loss, largest",
                    float(np.max(exact["whitened_distances"][:, -1])),
                    "<=",
                    0.01,
                    reason="a hundredth",
                ),
                Evidence(
                    "Final distance in training on a batch, largest",
                    float(np.max(batches["whitened_distances"][:, -1])),
                    "<=",
                    0.25,
                    reason="a quarter, for what a batch leaves",
                    in_view=True,
                ),
            ),
        ),
        Sentence(
            "The red lines, Dist(A_i, I), remain constant.",
            "Section 5.3 and caption",
            (
                Evidence(
                    "Largest over smallest distance along a run, largest",
                    float(np.max(red.max(1) / red.min(1))),
                    "<=",
                    1.25,
                    reason="within a quarter is constant to the eye",
                ),
            ),
            blame="the scale of the starts, which the paper does not give",
            note="it begins near 1, dips, and ends at that of Σ⁻¹",
        ),
        Sentence(
            "So the trained transformer does not implement plain gradient descent.",
            "Section 5.3 and caption",
            (
                Evidence(
                    "Final distance of A_i itself, smallest",
                    float(np.min(red[:, -1])),
                    ">=",
                    0.6,
                    reason="three quarters of that of Σ⁻¹",
                ),
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
        Evidence(
            "Training on the exact loss ends at the exact optimum: largest relative "
            "excess of the loss",
            float(np.max(final) / optimum - 1),
            "<=",
            1e-3,
            reason="one in a thousand",
        ),
        Evidence(
            "The loss does not go to 0, it stays above the exact optimum: smallest "
            "exact loss of a run, divided by the optimum",
            float(min(final.min(), batches["exact_loss"].min()) / optimum),
            ">=",
            1 - 1e-9,
            reason="above the exact optimum, up to round-off",
        ),
        Evidence(
            "A_i ends as far from multiples of I as Σ⁻¹ is: largest difference of the "
            "two distances",
            float(np.max(np.abs(ends - inverse))),
            "<=",
            0.1,
            reason="a tenth",
            in_view=True,
        ),
        Evidence(
            "Where batches lead is nearly as good: largest relative excess of the "
            "exact loss over the optimum",
            float(np.max(batches["exact_loss"]) / optimum - 1),
            "<=",
            0.5,
            reason="half as much again",
            in_view=True,
        ),
    ]
