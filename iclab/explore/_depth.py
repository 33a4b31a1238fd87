"""Depth and loops: the best steps, what they leave of each eigenvalue, and the losses.

Everything is for whitened inputs, whose sample covariance has a known mean spectrum.
"""

import functools
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from iclab.explore._settings import Limits, Settings
from iclab.show import STYLES, Axis, Chart, Style, around
from iclab.show.palette import BRIGHT_GREY as GREY
from iclab.theory import (
    looped_optimum,
    loss_by_test_loops,
    optimal_filter,
    optimal_steps,
)

MOST_LAYERS, MOST_TEST_LOOPS = 8, 30
METHODS = ("free steps", "one step, looped", "best of this degree")
_DRAWS, _BINS, _PLACES = 400, 48, 160


class Steps(NamedTuple):
    """The best methods of some depth, as residuals 1 − λg(λ) in powers of λ."""

    free: np.ndarray
    free_loss: float
    shared: float
    shared_loss: float
    filter: np.ndarray
    filter_loss: float

    @property
    def losses(self) -> tuple[float, float, float]:
        return self.free_loss, self.shared_loss, self.filter_loss

    def residuals(self, eigenvalues: np.ndarray, layers: int) -> dict[str, np.ndarray]:
        """What is left of every eigenvalue, by method."""
        best = np.concatenate([[1.0], -self.filter])
        found = (
            np.prod(1 - self.free * eigenvalues[:, None], axis=1),
            (1 - self.shared * eigenvalues) ** layers,
            np.polynomial.polynomial.polyval(eigenvalues, best),
        )
        return dict(zip(METHODS, found, strict=True))


@dataclass(frozen=True)
class Depth(Settings):
    """k layers on prompts of n examples in d dimensions, labels with noise."""

    page = "depth"

    dimension: Annotated[int, Limits(1, 30)] = 5
    samples: Annotated[int, Limits(1, 200)] = 20
    layers: Annotated[int, Limits(1, MOST_LAYERS)] = 3
    noise_std: Annotated[float, Limits(0.0, 2.0)] = 0.0
    trained_loops: Annotated[int, Limits(1, MOST_LAYERS)] = 2

    @property
    def noise(self) -> float:
        """Variance of the noise on the labels."""
        return self.noise_std**2

    def steps(self, layers: int | None = None) -> Steps:
        """The best steps of `layers` layers: free, shared, and the best polynomial."""
        return _steps(self.dimension, self.samples, layers or self.layers, self.noise)

    def by_depth(self) -> dict[str, np.ndarray]:
        """Losses of the best methods with 1, 2, … layers."""
        found = [self.steps(k).losses for k in range(1, MOST_LAYERS + 1)]
        return dict(zip(METHODS, np.array(found).T, strict=True))

    def by_test_loops(self) -> np.ndarray:
        """Loss after 1, 2, … loops of the step that is best for `trained_loops`."""
        loops = self.trained_loops
        return _by_test_loops(self.dimension, self.samples, loops, self.noise)

    def code(self) -> str:
        d, n, k, L = self.dimension, self.samples, self.layers, self.trained_loops
        noise = f"noise_variance={self.noise_std}**2"
        return f"""\
from iclab.theory import loss_by_test_loops, looped_optimum, optimal_filter
from iclab.theory import optimal_steps, residual_polynomial

d, n = {d}, {n}
steps, loss = optimal_steps(d, n, {k}, {noise})
residual = residual_polynomial(-steps)  # coefficients in powers of the eigenvalue
shared, shared_loss = looped_optimum(d, n, {k}, {noise})
g, filter_loss = optimal_filter(d, n, {k}, {noise})

trained, _ = looped_optimum(d, n, {L}, {noise})
test_loops = loss_by_test_loops(trained, d, n, {MOST_TEST_LOOPS}, {noise})
"""


def residual_chart(settings: Depth) -> Chart:
    """Residuals over the spectrum: what a method leaves of each eigenvalue."""
    edges, heights = _spectrum(settings.dimension, settings.samples)
    places = np.linspace(0.0, edges[-1], _PLACES)
    residuals = settings.steps().residuals(places, settings.layers)
    if settings.noise == 0:
        del residuals["best of this degree"]  # the free steps are it
    x = Axis("eigenvalue λ of S", 0.0, float(edges[-1]))
    y = Axis("residual 1 − λg(λ)", -1.1, 1.1)
    chart = Chart(x, y, title="What is left of each eigenvalue", width=560)
    scaled = -1.1 + 1.0 * heights / heights.max()
    chart.bars(edges[:-1], edges[1:], scaled, "spectrum of S", Style(GREY))
    if settings.noise > 0:
        tau = settings.noise / settings.samples
        chart.line(places, tau / (places + tau), "ridge (Bayes)", STYLES[3], 1.6)
    for (name, values), style in zip(residuals.items(), STYLES, strict=False):
        chart.line(places, values, name, style)
    chart.level(0.0, "", Style("currentColor"))
    return chart


def depth_chart(settings: Depth) -> Chart:
    """Losses by depth, shared against free."""
    losses = settings.by_depth()
    if settings.noise == 0:
        del losses["best of this degree"]
    k = np.arange(1, MOST_LAYERS + 1)
    y = around(losses.values(), "loss", log=True)
    x = Axis("layers k", 0.6, MOST_LAYERS + 0.4, whole=True)
    chart = Chart(x, y, title="Loss by depth", width=460)
    for (name, values), style in zip(losses.items(), STYLES, strict=False):
        chart.line(k, values, "", style)
        chart.points(k, values, name, style)
    here = settings.layers
    chart.line([here, here], [y.low, y.high], f"k = {here}", Style(GREY, "2 3"), 1.4)
    return chart


def loops_chart(settings: Depth) -> Chart:
    """The loss when a loop runs longer than it was trained for."""
    losses = settings.by_test_loops()
    loops = np.arange(1, len(losses) + 1)
    zero = float(settings.dimension)  # of predicting nothing: tr(ΩΣ) = d
    shown = losses[losses <= 1e3 * zero]
    y = around([shown, [zero]], "loss", log=True)
    x = Axis("loops at test time", 0, MOST_TEST_LOOPS + 1, whole=True)
    chart = Chart(x, y, title=_verdict(losses, settings), width=560)
    chart.level(zero, "predicting nothing", Style(GREY, "2 3"))
    chart.line(loops, losses, "", STYLES[1])
    name = f"step of {settings.trained_loops} loops"
    chart.points(loops, losses, name, STYLES[1])
    best = int(np.argmin(losses))
    star = STYLES[0]._replace(marker="diamond")
    chart.points([best + 1], [losses[best]], f"best: {best + 1} loops", star)
    return chart


def _verdict(losses: np.ndarray, settings: Depth) -> str:
    above = np.nonzero(losses > settings.dimension)[0]
    best = int(np.argmin(losses)) + 1
    later = above[above >= best]
    if later.size:
        return f"More loops: worse than nothing from {int(later[0]) + 1} on"
    return "More loops: better or level so far"


@functools.lru_cache(maxsize=512)
def _steps(d: int, n: int, k: int, noise: float) -> Steps:
    free, free_loss = optimal_steps(d, n, k, noise_variance=noise)
    shared, shared_loss = looped_optimum(d, n, k, noise_variance=noise)
    g, filter_loss = optimal_filter(d, n, k, noise_variance=noise)
    return Steps(
        np.asarray(free), free_loss, shared, shared_loss, np.asarray(g), filter_loss
    )


@functools.lru_cache(maxsize=512)
def _by_test_loops(d: int, n: int, trained: int, noise: float) -> np.ndarray:
    step, _ = looped_optimum(d, n, trained, noise_variance=noise)
    found = loss_by_test_loops(step, d, n, MOST_TEST_LOOPS, noise_variance=noise)
    return np.asarray(found)


@functools.lru_cache(maxsize=64)
def _spectrum(d: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges and heights of a histogram of eigenvalues of S."""
    X = np.random.default_rng([d, n]).standard_normal((_DRAWS, n, d))
    found = np.linalg.eigvalsh(np.swapaxes(X, 1, 2) @ X / n).ravel()
    top = float(np.quantile(found, 0.9995))
    heights, edges = np.histogram(found, _BINS, (0.0, max(top, 1.0)))
    return edges, heights.astype(float)
