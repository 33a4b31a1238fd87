"""Figure 2: weights learned with B = 0 are multiples of Σ⁻¹."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

from iclab.evidence import Evidence, Sentence, Tables, at_most, says
from iclab.papers import _drawing as drawing
from iclab.papers._training_runs import mean_diagonal, to_multiples
from iclab.papers.ahn2023._experiments import (
    Plain,
    is_run,
    plain_jobs,
    train_on_batch,
    training_words,
)
from iclab.theory import optimal_steps

_RUN = "run 1"

Settings = Plain
seeded = True
trains = is_run


def jobs(settings: Plain) -> dict[str, dict[str, Any]]:
    """The first run of Figure 1."""
    return {_RUN: plain_jobs(settings)[_RUN]}


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Learned whitened weights, and the exact optimum in the same order of layers."""
    d, n, layers = (settings[name] for name in ("dimension", "samples", "layers"))
    steps, _ = optimal_steps(d, n, layers)
    table = train_on_batch(settings, key)
    # The loss of multiples of Σ⁻¹ does not depend on their order: take the learned one.
    order = np.argsort(np.argsort(-mean_diagonal(table["whitened"])))
    return {
        "whitened": table["whitened"],
        "optimum": -np.asarray(steps)[order],
        "samples": n,
        "draws": table["draws"],
        "tokens": table["tokens"],
    }


def draw(tables: Tables) -> Picture:
    """Two rows of heat maps: learned, and exact."""
    table = tables[_RUN]
    learned, optimum = table["whitened"], table["optimum"]
    layers, d, _ = learned.shape
    picture = drawing.sheet(
        6.9,
        r"Learned weights $\Sigma^{1/2}A_i\Sigma^{1/2}$ are close to multiples of I",
        f"{layers} layers, B = 0, d = {d}, n = {int(table['samples'])}; first "
        f"run of Figure 1. {training_words(table)}.\n"
        "Below: the exact optimum among multiples of "
        r"$\Sigma^{-1}$, layers in the learned order, which does not change its loss.",
    )
    limit = 1.05 * float(np.abs(learned).max())
    axes = picture.subplots(2, layers, squeeze=False)
    for i in range(layers):
        title = f"layer {i}: learned, Dist to I = {float(to_multiples(learned[i])):.3f}"
        drawing.heat_map(axes[0, i], learned[i], limit, title)
        number = f"{float(optimum[i]):.4f}".replace("-", "−")
        exact = float(optimum[i]) * np.eye(d)
        drawing.heat_map(axes[1, i], exact, limit, f"layer {i}: exact, {number} · I")
    image = axes[0, 0].get_images()[0]
    bar = picture.colorbar(image, ax=axes, shrink=0.7, label="entry")
    bar.outline.set_visible(False)
    return picture


def paper_statements(tables: Tables) -> list[Sentence]:
    """What the caption and Section 6.1 say that a reader sees."""
    learned, optimum = tables[_RUN]["whitened"], tables[_RUN]["optimum"]
    multiples = mean_diagonal(learned)
    return [
        says(
            "The learned weights match the stationary point of Theorem 4.",
            "caption and Section 5.3",
            at_most(
                "Distance of Σ^½A_iΣ^½ to multiples of I, largest",
                to_multiples(learned),
                0.25,
                "a quarter, for what a batch leaves",
                post_hoc=True,
            ),
            at_most(
                "Difference of the multiples from the exact steps, largest",
                np.abs(multiples / optimum - 1),
                0.1,
                "a tenth, for what a batch leaves",
                post_hoc=True,
            ),
        ),
        says(
            "Sizes of the A_i differ less than in Figure 4.",
            "Section 6.1, second observation",
            at_most(
                "Largest over smallest multiple",
                np.max(np.abs(multiples)) / np.min(np.abs(multiples)),
                10.0,
                "half of what the best point with B free has",
                post_hoc=True,
            ),
            main=False,
        ),
    ]


def expect(tables: Tables) -> list[Evidence]:
    """How close the learned weights are to multiples."""
    learned = tables[_RUN]["whitened"]
    multiples = mean_diagonal(learned)
    off = learned - multiples[:, None, None] * np.eye(learned.shape[-1])
    return [
        at_most(
            "Every Σ^½A_iΣ^½ is close to a multiple of I: largest distance",
            to_multiples(learned),
            0.25,
            "a quarter, for what a batch leaves",
            post_hoc=True,
        ),
        at_most(
            "No entry leaves that multiple by much: largest deviation, in units of the "
            "multiple",
            np.abs(off) / np.abs(multiples)[:, None, None],
            0.25,
            "a quarter of the multiple",
            post_hoc=True,
        ),
    ]
