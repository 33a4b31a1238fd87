"""Beyond the paper: what it costs to use one layer again instead of new ones."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from iclab.evidence import Evidence, Tables, at_least, at_most, setting
from iclab.papers import _drawing as drawing
from iclab.theory import (
    looped_optimum,
    marchenko_pastur_looped_optimum,
    marchenko_pastur_optimal_steps,
    optimal_steps,
)

# Depth at which the approach to the limit is drawn.
_DEPTH = 5


@dataclass(frozen=True)
class Settings:
    """Sizes: d/n from 1/10 to 2, so that one n is below d."""

    dimension: int = setting("Dimension d of the inputs.", 10)
    samples: tuple[int, ...] = setting(
        "Examples in a prompt, n: a curve for each.",
        (100, 40, 20, 10, 5),
        smoke=(40, 20, 5),
    )
    depth: int = setting("Layers or loops, up to.", 12, smoke=6, paper=16, least=_DEPTH)
    powers: int = setting(
        "The limit is approached with d = 2, 4, 8, …, two to this power.",
        8,
        smoke=6,
        paper=9,
    )


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """A job for every n."""
    common = {
        "dimension": settings.dimension,
        "depth": settings.depth,
        "dimensions": [2**power for power in range(1, settings.powers + 1)],
    }
    return {f"n = {n}": common | {"samples": n} for n in settings.samples}


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Exact optima by depth, at d and in the limit; the price by dimension."""
    D, n = settings["dimension"], settings["samples"]
    depths = range(1, settings["depth"] + 1)
    c = D / n
    looped = [looped_optimum(D, n, k) for k in depths]
    # Dimensions at which n = d/c is a whole number.
    dimensions = [d for d in settings["dimensions"] if (d * n) % D == 0]
    return {
        "looped": [loss for _, loss in looped],
        "looped_steps": [step for step, _ in looped],
        "free": [optimal_steps(D, n, k)[1] for k in depths],
        "looped_limit": [marchenko_pastur_looped_optimum(c, k)[1] for k in depths],
        "free_limit": [marchenko_pastur_optimal_steps(c, k)[1] for k in depths],
        "dimensions": dimensions,
        "prices": [_price(d, d * n // D) for d in dimensions],
        "dimension": D,
        "samples": n,
    }


def draw(tables: Tables) -> Picture:
    """Losses, their ratio, loops that do the work of layers, and the limit."""
    d = int(next(iter(tables.values()))["dimension"])
    picture = drawing.sheet(
        8.6,
        "The exact price of weight sharing",
        f"d = {d}, no noise. Free: every layer has a step of its own, the "
        "best ones. Shared: the same step in every layer, the best one,\nwhich is the "
        "optimum of a looped layer among symmetric A. Lines with markers: exact at "
        f"d = {d}. Thin lines without markers:\nthe Marchenko–Pastur limit "
        "d, n → ∞ at the same d/n. With n < d (d/n > 1) both losses end at what lies "
        "outside the span of the inputs.",
    )
    (page,) = drawing.parts(picture, 1, 1)
    axes = page.subplots(2, 2)
    drawing.panel(axes[0, 0], "(a) loss per dimension", "layers or loops", "loss / d")
    drawing.panel(
        axes[0, 1], "(b) price: shared over free", "layers or loops", "ratio of losses"
    )
    drawing.panel(
        axes[1, 0], "(c) loops that match free layers", "free layers", "loops"
    )
    drawing.panel(
        axes[1, 1],
        f"(d) price at depth {_DEPTH} by dimension",
        "dimension d",
        "price over its limit",
    )
    for table, (color, marker) in zip(
        tables.values(), itertools.cycle(drawing.CURVES), strict=False
    ):
        style = {"color": color, "marker": marker, "markersize": 5}
        label = f"d/n = {_ratio(table):.3g}"
        _depth_panels(axes, table, label, style)
        if len(table["dimensions"]) > 1:
            limit = _limit_price(_ratio(table))
            axes[1, 1].plot(table["dimensions"], table["prices"] / limit, **style)
    axes[0, 0].plot([], [], "-", color=drawing.BLACK, label="free steps")
    axes[0, 0].plot([], [], "--", color=drawing.BLACK, label="shared step")
    axes[0, 0].set_yscale("log")
    axes[0, 0].set_ylim(bottom=1e-8)
    drawing.log_scale(axes[0, 1], (1,))
    axes[0, 1].set_ylim(top=2e3)
    depth = len(next(iter(tables.values()))["free"])
    axes[1, 0].plot([1, depth], [1, depth], color=drawing.GREY, linewidth=0.8)
    axes[1, 0].set_ylim(0, depth + 0.5)
    axes[1, 0].set_xlim(0.7, 0.7 * depth)
    axes[1, 0].text(0.6 * depth, 0.6 * depth, "as many", color=drawing.GREY, va="top")
    axes[1, 1].axhline(1, color=drawing.BLACK, linewidth=0.8)
    axes[1, 1].set_xscale("log", base=2)
    axes[1, 1].set_ylim(0, 1.1)
    drawing.legend_below(page, list(axes.flat), 7)
    return picture


def expect(tables: Tables) -> list[Evidence]:
    """What sharing costs, as numbers."""
    d = int(next(iter(tables.values()))["dimension"])
    prices = {int(t["samples"]): t["looped"] / t["free"] for t in tables.values()}
    shared = [t for t in tables.values() if _ratio(t) <= 1]
    long = [prices[int(t["samples"])] for t in shared]
    fewer = [float(prices[n][-1]) for n in sorted(prices)[:-1]]
    last = [
        np.abs(t["prices"][-2:] / _limit_price(_ratio(t)) - 1)
        for t in tables.values()
        if len(t["dimensions"]) > 1
    ]
    return [
        at_most(
            "One layer is one loop: largest relative difference at depth 1",
            max(abs(price[0] - 1) for price in prices.values()),
            1e-12,
            "float64 round-off of a quadrature",
        ),
        at_least(
            "Sharing never gains: smallest price",
            min(price.min() for price in prices.values()),
            1 - 1e-12,
            "float64 round-off of a quadrature",
        ),
        at_least(
            "With n ≥ d the price rises with depth: smallest ratio of neighbours",
            [price[1:] / price[:-1] for price in long],
            1.0,
            "no lower",
        ),
        at_least(
            "and with n: price at the most layers and examples, against fewer examples",
            prices[max(prices)][-1] if fewer else None,
            max(fewer, default=0.0),
            "no lower",
            name="long",
        ),
        at_least(
            f"Looped and untied are not alike at d = {d}, n = 20: price at five loops",
            [price[_DEPTH - 1] for n, price in prices.items() if n == 20],
            2.6,
            "the ratio of the exact losses 0.866 and 0.327, rounded down",
        ),
        at_most(
            "With n < d there is little to lose: largest price at n = 5",
            [price for n, price in prices.items() if n == 5 < d],
            1.1,
            "a tenth",
            post_hoc=True,
            name="short",
        ),
        at_most(
            "The price tends to its Marchenko–Pastur limit like 1/d: distance at the "
            "largest dimension over that at half of it, largest",
            [distance[1] / distance[0] for distance in last],
            0.7,
            "halved for 1/d, with a margin for the next order",
        ),
    ]


def _ratio(table: Mapping[str, Any]) -> float:
    """d/n."""
    return int(table["dimension"]) / int(table["samples"])


def _price(d: int, n: int) -> float:
    return looped_optimum(d, n, _DEPTH)[1] / optimal_steps(d, n, _DEPTH)[1]


def _limit_price(c: float) -> float:
    shared = marchenko_pastur_looped_optimum(c, _DEPTH)[1]
    return shared / marchenko_pastur_optimal_steps(c, _DEPTH)[1]


def _depth_panels(
    axes: Any, table: Mapping[str, Any], label: str, style: Mapping[str, Any]
) -> None:
    losses, price, matching = axes[0, 0], axes[0, 1], axes[1, 0]
    depths = np.arange(1, len(table["free"]) + 1)
    thin = {"color": style["color"], "linewidth": 0.8}
    d = int(table["dimension"])
    losses.plot(depths, table["free"] / d, "-", label=label, **style)
    losses.plot(depths, table["looped"] / d, "--", **style)
    losses.plot(depths, table["free_limit"], "-", **thin)
    losses.plot(depths, table["looped_limit"], "--", **thin)
    price.plot(depths, table["looped"] / table["free"], "-", **style)
    price.plot(depths, table["looped_limit"] / table["free_limit"], "-", **thin)
    _matching(matching, table, style)


def _matching(axis: Axes, table: Mapping[str, Any], style: Mapping[str, Any]) -> None:
    """How many loops reach the loss of k free layers, between whole numbers as well."""
    depths = np.arange(1, len(table["free"]) + 1)
    # Losses fall, and nearly like a geometric series: interpolate their logarithms.
    falling = -np.log(table["looped"])
    loops = np.interp(-np.log(table["free"]), falling, depths, right=np.nan)
    axis.plot(depths, loops, "-", **style)
