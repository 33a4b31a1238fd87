"""Figure 1: layers with B = 0 learn gradient descent preconditioned by Σ⁻¹."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

from iclab.evidence import Evidence, Figure, Tables
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
from iclab.papers.ahn2023._experiments import (
    Plain,
    distance,
    exact_loss,
    first_run,
    plain_jobs,
    stacked_runs,
    standard_deviations,
    train_exactly,
    train_on_batch,
    training_words,
)
from iclab.theory import optimal_steps


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
        "inverse_distance": distance(inverse),
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


def expect(tables: Tables) -> list[Evidence]:
    """What Section 5.3 says that a reader sees; the loss, though, does not go to 0."""
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
        ),
        Evidence(
            "The loss does not go to 0, it stays above the exact optimum: smallest "
            "exact loss of a run, divided by the optimum",
            float(min(final.min(), batches["exact_loss"].min()) / optimum),
            ">=",
            1 - 1e-9,
        ),
        Evidence(
            "The exact optimum is not 0: its share of the zero predictor's loss",
            optimum / exact["whitened"].shape[-1],
            ">=",
            0.02,
        ),
        Evidence(
            "Trained on the exact loss, Σ^½A_iΣ^½ becomes a multiple of I: largest "
            "final distance",
            float(np.max(exact["whitened_distances"][:, -1])),
            "<=",
            0.01,
        ),
        Evidence(
            "Trained on a batch, Σ^½A_iΣ^½ comes close to a multiple of I: largest "
            "final distance",
            float(np.max(batches["whitened_distances"][:, -1])),
            "<=",
            0.25,
        ),
        Evidence(
            "A_i itself stays far from multiples of I: smallest final distance",
            float(np.min(ends)),
            ">=",
            0.6,
        ),
        Evidence(
            "A_i ends as far from multiples of I as Σ⁻¹ is: largest difference of the "
            "two distances",
            float(np.max(np.abs(ends - inverse))),
            "<=",
            0.1,
        ),
        Evidence(
            "Where batches lead is nearly as good: largest relative excess of the "
            "exact loss over the optimum",
            float(np.max(batches["exact_loss"]) / optimum - 1),
            "<=",
            0.5,
        ),
    ]


FIGURE = Figure(
    "ahn2023/figure-1",
    "Training with B = 0: distances to the stationary point, and loss",
    plain_jobs,
    compute,
    draw,
    expect,
    settings=Plain,
)
