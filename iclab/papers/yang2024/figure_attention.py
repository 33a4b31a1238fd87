"""Beyond the paper: what trained attention computes, and what it should."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from iclab.core import require
from iclab.evidence import Evidence, Tables, at_least, at_most, setting
from iclab.papers import _drawing as drawing
from iclab.papers.yang2024._experiments import (
    EPOCH,
    KINDS,
    ONE_LAYER_SIZES,
    TrainedLayer,
    dictionary_of,
    one_layer_jobs,
    train_one_layer,
)
from iclab.theory import representation_optimum, representation_optimum_closed
from iclab.training import exact_gap

jobs = one_layer_jobs
seeded = True
trains = True


@dataclass(frozen=True)
class Settings(TrainedLayer):
    """Sizes: those of Figure 2 (a), recorded less often at `paper` scale."""

    every: int = setting(
        "Steps between two looks at the model.", 10, smoke=20, paper=5 * EPOCH
    )

    def __post_init__(self):
        super().__post_init__()
        rule = f"at least `every` = {self.every}, twice"
        enough = self.steps >= 2 * self.every
        require(enough, "steps", rule, self.steps)


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Â early, in the middle and at the end; A; how heads see the examples at first."""
    s = settings
    task = dictionary_of(s)
    N, tau = task.context_length, task.noise_variance
    gap = exact_gap(task)

    def record(model):
        return gap(model), model.weights(task.tokens, N)

    result = train_one_layer(s, task, s["heads"], key, record)
    gaps, weights = (np.asarray(x) for x in result.records)
    attention = np.asarray(result.model.attention(task.tokens, N))
    A = np.asarray(representation_optimum(task.features, N, tau))
    # Pairs (example, token) that some head gives a hundredth of its attention.
    seen = np.any(attention > 0.01, axis=0)
    kept = [1, len(gaps) // 8, len(gaps) - 1]
    difference = weights - A
    return {
        "steps": np.asarray(result.recorded_at),
        "gaps": gaps,
        "shown_steps": np.asarray(result.recorded_at)[kept],
        "weights": weights[kept],
        "optimum": A,
        "closed": representation_optimum_closed(task.features, N, tau),
        "distances": np.sqrt(gaps / gaps[0]),
        "plain": np.sqrt(np.sum(difference**2, axis=(1, 2)) / np.sum(A**2)),
        "seen": seen,
        "forced": _forced_gap(A, seen, np.asarray(task.features[:N]), float(tau)),
        "sizes": [s[name] for name in ONE_LAYER_SIZES],
        "rate": s["rate"],
        "noise_variance": s["noise_variance"],
    }


def draw(tables: Tables) -> Picture:
    """A strip for every stage, then A, then what is missing; a column for each kind."""
    first = next(iter(tables.values()))
    K, d, m, N, H = (int(size) for size in first["sizes"])
    limit = float(
        max(np.abs(table["optimum"][:, N:]).max() for table in tables.values())
    )
    picture = drawing.sheet(
        7.6,
        "What trained attention computes: the matrix of ridge regression",
        f"K = {K}, d = {d}, m = {m}, N = {N}, H = {H}, "
        f"$\\tau$ = {float(first['noise_variance']):g}; Adam on the "
        f"exact loss, float32, constant rate {float(first['rate']):g}; {EPOCH} steps "
        "count as an epoch. $\\hat y=\\hat A^\\top y$: column k\nholds the weights of "
        "the N shown labels in the prediction for token k. Left of the line: tokens "
        "whose own label is shown\n(copying, A = I there); right: ridge regression. "
        r"Off by: $\|\bar Z(\hat A-A)\|\,/\,\|\bar ZA\|$, the root of $L-L^\star$ "
        "over its first value.\nOne colour "
        f"scale, cut at ±{limit:.2f}, the largest entry right of the line in A.",
    )
    (page,) = drawing.parts(picture, 1, 1)
    axes = page.subplots(5, len(tables), sharex=True, sharey=True, squeeze=False)
    for column, (kind, table) in enumerate(tables.items()):
        words = KINDS[kind]
        error = dict(zip(table["steps"].tolist(), table["distances"], strict=True))
        strips = [
            (
                f"$\\hat A$ after {int(step)} steps ({step / EPOCH:.1f} epochs), "
                f"off by {error[int(step)]:.1%}",
                weights,
            )
            for step, weights in zip(
                table["shown_steps"], table["weights"], strict=True
            )
        ]
        strips.append(("$A$, the optimum", table["optimum"]))
        strips.append(
            ("$\\hat A-A$ at the end", table["weights"][-1] - table["optimum"])
        )
        strips[0] = (f"{words}\n{strips[0][0]}", strips[0][1])
        for axis, (title, matrix) in zip(axes[:, column], strips, strict=True):
            _strip(axis, matrix, limit, title, N)
        axes[-1, column].set_xlabel("token k", fontsize=9.5)
    for axis in axes[:, 0]:
        axis.set_ylabel("example i", fontsize=9)
    bar = page.colorbar(axes[0, 0].images[0], ax=axes, shrink=0.6, aspect=40, pad=0.01)
    bar.ax.tick_params(labelsize=8.5)
    return picture


def expect(tables: Tables) -> list[Evidence]:
    """Attention becomes A; where it does not, no head looks."""
    unit, raw = tables["unit"], tables["raw"]
    N = int(unit["sizes"][3])
    tables_of = (unit, raw)
    seen = raw["seen"].astype(bool)
    heads = int(raw["sizes"][4])
    return [
        at_most(
            "With tokens of norm 1 attention computes A, as far as labels tell: last "
            "‖Z̄(Â − A)‖/‖Z̄A‖",
            unit["distances"][-1],
            0.05,
            "one in twenty",
            post_hoc=True,
        ),
        at_least(
            "The plain distance is larger, because labels hardly leave the span of the "
            "features: ‖Â − A‖/‖A‖ over the former",
            unit["plain"][-1] / unit["distances"][-1],
            2.0,
            "a factor of two",
            post_hoc=True,
        ),
        at_most(
            "A is the closed form (66), copying and ridge regression: largest "
            "difference",
            max(np.abs(t["optimum"] - t["closed"]).max() for t in tables_of),
            1e-8,
            "round-off of a nearly singular system",
        ),
        at_most(
            "and copies exactly: distance of its first N columns to I",
            max(_off_copy(t["optimum"][:, :N]) for t in tables_of),
            1e-8,
            "round-off of a nearly singular system",
        ),
        at_least(
            "With raw tokens it comes less close: ratio of the last distances",
            raw["distances"][-1] / unit["distances"][-1],
            1.0,
            "no closer",
        ),
        at_least(
            "There one-hot heads leave pairs (example, token) unseen: their share over "
            "(1 − 1/N)^H, that of heads that look at random",
            (1 - seen.mean()) / (1 - 1 / N) ** heads,
            0.5,
            "half",
            post_hoc=True,
            name="unseen",
        ),
        at_least(
            "and these explain what is missing: the smallest L − L* of matrices that "
            "are zero on unseen pairs, over the last one",
            raw["forced"] / raw["gaps"][-1],
            0.5,
            "half",
            post_hoc=True,
            name="explained",
        ),
    ]


def _forced_gap(
    A: np.ndarray, seen: np.ndarray, shown: np.ndarray, tau: float
) -> float:
    """min ‖Z̄(B − A)‖²/2K over matrices B that are zero where nothing is seen."""
    N, K = A.shape
    power = shown @ shown.T + shown.shape[1] * tau * np.eye(N)
    root = np.linalg.cholesky(power).T
    missing = 0.0
    for k in range(K):
        columns, target = root[:, seen[:, k]], root @ A[:, k]
        fitted = columns @ np.linalg.lstsq(columns, target, rcond=None)[0]
        missing += float(np.sum((target - fitted) ** 2))
    return missing / (2 * K)


def _off_copy(columns: np.ndarray) -> float:
    """Relative distance of a square block to I."""
    size = len(columns)
    return float(np.linalg.norm(columns - np.eye(size)) / np.sqrt(size))


def _strip(axis: Axes, matrix: np.ndarray, limit: float, title: str, N: int) -> None:
    style: dict[str, Any] = {
        "cmap": "PuOr",
        "vmin": -limit,
        "vmax": limit,
        "aspect": "auto",
    }
    edges = (0.5, matrix.shape[1] + 0.5, matrix.shape[0] + 0.5, 0.5)
    axis.imshow(matrix, interpolation="nearest", extent=edges, **style)
    axis.axvline(N + 0.5, color="black", linewidth=0.8)
    axis.set_title(title, fontsize=9.5, loc="left")
    axis.tick_params(labelsize=8)
