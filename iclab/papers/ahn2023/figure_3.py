"""Figure 3: with B free, weights go to multiples too, and batches miss the tail."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from iclab.evidence import Evidence, Sentence, Tables, at_least, at_most, says
from iclab.papers import _drawing as drawing
from iclab.papers.ahn2023._experiments import (
    Free,
    first_run,
    free_jobs,
    fresh_losses,
    is_run,
    stacked_runs,
    train_multiples,
    train_on_batch,
    training_words,
)
from iclab.theory import optimal_gd_plus_plus, optimal_steps

Settings = Free
jobs = free_jobs
seeded = True
trains = is_run


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Losses and distances by iteration, and the loss on fresh draws at the end."""
    d, layers, n = (settings[name] for name in ("dimension", "layers", "samples"))
    if "run" not in settings:
        _, _, optimum = optimal_gd_plus_plus(d, n, layers)
        _, plain_optimum = optimal_steps(d, n, layers)
        return train_multiples(settings) | {
            "optimum": optimum,
            "plain_optimum": plain_optimum,
            "dimension": d,
            "samples": n,
        }
    training_key, fresh_key = jax.random.split(key)
    table = train_on_batch(settings, training_key)
    weights = (table["whitened"], table["whitened_B"])
    mean, error, median = fresh_losses(weights, settings, fresh_key)
    return table | {
        "fresh_mean": mean,
        "fresh_error": error,
        "fresh_median": median,
        "fresh_draws": settings["fresh_draws"],
    }


def draw(tables: Tables) -> Picture:
    """Distances of B_i, losses, distances of A_i."""
    exact, batches = tables["exact"], stacked_runs(tables)
    layers = exact["a"].shape[1]
    fresh = int(batches["fresh_draws"][0])
    picture = drawing.sheet(
        8.0,
        "With B free the loss on the batch falls towards 0; the exact loss does not",
        f"{layers} layers, d = {int(exact['dimension'])}, n = {int(exact['samples'])}; "
        f"{len(exact['losses'])} runs, each with its own "
        rf"$\Sigma$. {training_words(first_run(tables))}."
        "\nLines are means over runs, bands reach from the smallest to the largest. "
        "Exact losses are for multiples,\n"
        r"$A_i=a_i\Sigma^{-1}$ and $B_i=b_iI$: those nearest to the trained weights, "
        "or trained on it themselves.\nMeans of the trained weights' own loss are over "
        f"{fresh:,} draws of a mixture that has rare prompts often, weighted"
        f"{_unknown(batches)}.",
    )
    upper, lower = drawing.parts(picture, 2, 1, height_ratios=(1.15, 1))
    widths = [1.0] * (layers - 1) + [1.5]
    *B_axes, loss_axis = upper.subplots(1, layers, squeeze=False, width_ratios=widths)[
        0
    ]
    for i, axis in enumerate(B_axes):
        title = f"({drawing.LETTERS[i]}) $B_{i}$"
        _distance_panel(axis, title, batches["B_distances"][:, :, i], "$B_i$", i == 0)
    _loss_panel(loss_axis, drawing.LETTERS[layers - 1], exact, batches)
    drawing.legend_below(upper, [loss_axis], 3)
    A_axes = lower.subplots(1, layers, sharey=True, squeeze=False)[0]
    for i, axis in enumerate(A_axes):
        title = f"({drawing.LETTERS[layers + i]}) $A_{i}$"
        name = r"$\Sigma^{1/2}A_i\Sigma^{1/2}$"
        rows = batches["whitened_distances"][:, :, i]
        _distance_panel(axis, title, rows, name, i == 0)
        drawing.band(
            axis, batches["distances"][:, :, i], "$A_i$ itself", drawing.VERMILION
        )
    drawing.legend_below(lower, [*B_axes, *A_axes], 3)
    return picture


def paper_statements(tables: Tables) -> list[Sentence]:
    """What Section 6.1 and the caption say that a reader sees."""
    exact, batches = tables["exact"], stacked_runs(tables)
    losses, B = batches["losses"], batches["B_distances"]
    layers = exact["a"].shape[1]
    return [
        says(
            "The loss appears to be converging to 0.",
            "Section 6.1",
            at_most(
                "Last loss on the batch over the first, largest",
                losses[:, -1] / losses[:, 0],
                0.1,
                "a tenth",
                post_hoc=True,
            ),
        ),
        says(
            "The loss converges to 0.",
            "caption of (c)",
            at_most(
                "Least exact loss, of predicting 0",
                float(exact["optimum"]) / int(exact["dimension"]),
                1e-3,
                "one in a thousand is 0 to the eye; exact",
                name="least",
            ),
            main=False,
            caveat="" if layers == 3 else f"{layers} layers for three",
            note="the text says that it appears to",
        ),
        says(
            "Dist(B_i, I) appears to be decreasing to 0.",
            "Section 6.1",
            at_most(
                "Last distance over the first, largest",
                B[:, -1] / B[:, 0],
                0.75,
                "a quarter less",
                post_hoc=True,
            ),
        ),
        says(
            "A_i converges to Σ⁻¹, up to scaling.",
            "Section 6.1 and caption",
            at_most(
                "Final distance of Σ^½A_iΣ^½ to multiples of I, largest",
                batches["whitened_distances"][:, -1],
                0.35,
                "about a third, for what a batch leaves",
                post_hoc=True,
            ),
        ),
    ]


def expect(tables: Tables) -> list[Evidence]:
    """What a batch does not show."""
    exact, batches = tables["exact"], stacked_runs(tables)
    optimum = float(exact["optimum"])
    final, nearest = batches["losses"][:, -1], batches["nearest_losses"][:, -1]
    return [
        at_least(
            "Exact training stays above that optimum: smallest final loss, divided by "
            "it",
            np.min(exact["losses"][:, -1]) / optimum,
            1 - 1e-9,
            "above the exact optimum, up to round-off",
        ),
        at_least(
            "The batch hides rare prompts that carry the loss: exact loss of the "
            "nearest multiples, divided by the loss on the batch, smallest run",
            nearest / final,
            1.0,
            "no less than on the batch",
            name="hidden",
        ),
        at_least(
            "So does the loss of the trained weights themselves: mean of fresh draws, "
            "divided by the loss on the batch, smallest run",
            batches["fresh_mean"] / final,
            1.0,
            "no less than on the batch",
            post_hoc=True,
        ),
        at_most(
            "A typical prompt does not show it: largest median loss of fresh draws, "
            "divided by their mean",
            batches["fresh_median"] / batches["fresh_mean"],
            0.75,
            "three quarters",
            post_hoc=True,
        ),
        at_least(
            "A_i itself stays far from multiples of I: smallest final distance",
            batches["distances"][:, -1],
            0.6,
            "three quarters of that of Σ⁻¹",
        ),
    ]


def _distance_panel(
    axis: Axes, title: str, rows: np.ndarray, name: str, first: bool
) -> None:
    y = "Dist to multiples of I" if first else ""
    drawing.panel(axis, title, "L-BFGS iteration", y)
    axis.set_ylim(0, 1.05)
    color = drawing.GREEN if name == "$B_i$" else drawing.BLUE
    drawing.band(axis, rows, name, color)


def _unknown(batches: Mapping[str, Any]) -> str:
    """Words about runs whose mean too few draws carry, if there are any."""
    count = int(np.isnan(batches["fresh_mean"]).sum())
    return f" (unknown in {count} of the runs)" if count else ""


def _loss_panel(axis: Axes, letter: str, exact: Mapping, batches: Mapping) -> None:
    drawing.panel(axis, f"({letter}) in-context loss", "L-BFGS iteration", "loss")
    axis.set_yscale("log")
    drawing.band(
        axis, batches["losses"], "batch training: loss on its batch", drawing.BLUE
    )
    label = "batch training: exact loss, nearest multiples"
    drawing.band(axis, batches["nearest_losses"], label, drawing.PURPLE)
    last = np.full(len(batches["losses"]), batches["losses"].shape[1] - 1)
    for name, marker in (("mean", "x"), ("median", "v")):
        label = f"batch training: {name} of fresh draws"
        values = batches[f"fresh_{name}"]
        axis.plot(
            last, values, marker, color=drawing.PURPLE, label=label, clip_on=False
        )
    drawing.band(
        axis,
        exact["losses"],
        "exact training of multiples",
        drawing.BLACK,
        linestyle="--",
    )
    optimum, plain = float(exact["optimum"]), float(exact["plain_optimum"])
    label = f"exact optimum {optimum:.4f} ({plain:.4f} if B = 0)"
    axis.axhline(optimum, color=drawing.GREY, linestyle=":", label=label)
