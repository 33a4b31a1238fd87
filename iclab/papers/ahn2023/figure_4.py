"""Figure 4: weights learned with B free, of increasing size."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from matplotlib.figure import Figure as Picture, SubFigure

from iclab.evidence import Evidence, Sentence, Tables, at_least, at_most, says
from iclab.papers import _drawing as drawing
from iclab.papers._training_runs import mean_diagonal, to_multiples
from iclab.papers.ahn2023._experiments import (
    Free,
    free_jobs,
    is_run,
    train_on_batch,
    training_words,
)
from iclab.theory import optimal_gd_plus_plus

_RUN = "run 1"

Settings = Free
seeded = True
trains = is_run


def jobs(settings: Free) -> dict[str, dict[str, Any]]:
    """One run with the settings of Figure 3."""
    return {_RUN: free_jobs(settings)[_RUN]}


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Learned B_i and whitened A_i, and the best multiples."""
    d, n, layers = (settings[name] for name in ("dimension", "samples", "layers"))
    a, b, _ = optimal_gd_plus_plus(d, n, layers)
    training_key, _ = jax.random.split(key)
    table = train_on_batch(settings, training_key)
    columns = ("B", "whitened", "draws", "tokens", "whitened_training")
    return {name: table[name] for name in columns} | {
        "optimal_a": np.asarray(a),
        "optimal_b": np.asarray(b)[:-1],  # the last B has no effect
        "samples": n,
    }


def draw(tables: Tables) -> Picture:
    """Two rows of heat maps, learned and exact: B_i, then whitened A_i."""
    table = tables[_RUN]
    layers, d, _ = table["whitened"].shape
    picture = drawing.sheet(
        5.6,
        r"With B free, $A_i$ grows from layer to layer, and $B_i$ contracts the inputs",
        f"{layers} layers, d = {d}, n = {int(table['samples'])}; first run of "
        f"Figure 3. {training_words(table)}.\n"
        "Below: the multiples of least exact loss, found by a global search; training "
        "need not end there.",
    )
    left, right = drawing.parts(picture, 1, 2, width_ratios=(layers - 1, layers))
    _rows(left, table["B"], table["optimal_b"], "B")
    _rows(right, table["whitened"], table["optimal_a"], "A")
    return picture


def paper_statements(tables: Tables) -> list[Sentence]:
    """What Section 6.1 and the caption say that a reader sees."""
    table = tables[_RUN]
    sizes = np.abs(mean_diagonal(table["whitened"]))
    signs = mean_diagonal(table["whitened"])[:-1] * mean_diagonal(table["B"])
    return [
        says(
            "The pattern of the weights matches the stationary point of Theorem 5.",
            "caption",
            at_most(
                "Distance of B_i to multiples of I, largest",
                to_multiples(table["B"]),
                0.5,
                "half of that of a random matrix",
                post_hoc=True,
            ),
            at_most(
                "Distance of Σ^½A_iΣ^½ to multiples of I, largest",
                to_multiples(table["whitened"]),
                0.3,
                "about a third, for what a batch leaves",
                post_hoc=True,
            ),
        ),
        says(
            "A_0, A_1, A_2 have increasing magnitude, in that order.",
            "Section 6.1, second observation",
            at_least(
                "Size over that of the layer before, smallest",
                sizes[1:] / sizes[:-1],
                1.0,
                "increasing",
            ),
        ),
        says(
            "The first gradient step is tiny, the last one large.",
            "caption and Section 6.1",
            at_least(
                "Size of the last A over that of the first",
                sizes[-1] / sizes[0],
                5.0,
                "a factor of five",
                post_hoc=True,
            ),
        ),
        says(
            "B_0 and B_1 make the inputs of later layers better conditioned.",
            "caption and Section 6.1",
            at_most(
                "Product of the multiples of A_i and B_i, largest",
                signs,
                0.0,
                "opposite signs contract the inputs where they vary most",
            ),
            main=False,
            note="only the sign is tested",
        ),
    ]


def expect(tables: Tables) -> list[Evidence]:
    """Magnitudes grow with the layer at the exact optimum too."""
    optimal = np.abs(tables[_RUN]["optimal_a"])
    return [
        at_least(
            "The best multiples of Σ⁻¹ grow from layer to layer: smallest ratio",
            optimal[1:] / optimal[:-1],
            1.0,
            "no smaller; exact",
        ),
    ]


def _rows(
    page: SubFigure, learned: np.ndarray, optimal: np.ndarray, letter: str
) -> None:
    """Learned matrices above the exact multiples of I, on one colour scale."""
    limit = 1.05 * max(float(np.abs(learned).max()), float(np.abs(optimal).max()))
    axes = page.subplots(2, len(learned), squeeze=False)
    for i, matrix in enumerate(learned):
        name = f"$B_{i}$"
        if letter == "A":
            name = rf"$\Sigma^{{1/2}}A_{i}\Sigma^{{1/2}}$"
        drawing.heat_map(axes[0, i], matrix, limit, f"{name} learned")
        number = f"{float(optimal[i]):.3f}".replace("-", "−")
        exact = float(optimal[i]) * np.eye(len(matrix))
        drawing.heat_map(axes[1, i], exact, limit, f"best: {number} · I")
    image = axes[0, 0].get_images()[0]
    bar = page.colorbar(image, ax=axes, location="bottom", shrink=0.6, aspect=30)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8)
