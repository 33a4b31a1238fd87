"""Points that one drags, and what trained transformers and the classics make of them.

The shipped models know five dimensions: points on a line or a plane have zeros in the
others.
"""

import dataclasses
import functools
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from iclab.algorithms import LeastSquares, Ridge
from iclab.core import AbstractPredictor, Prompt, Rule
from iclab.evaluation import common_prompts
from iclab.explore._settings import Limits, Settings
from iclab.models import shipped, shipped_manifests
from iclab.probes import Filter, spectral_filter
from iclab.show import STYLES, Axis, Chart, Style, around
from iclab.show.palette import BRIGHT_BLUE as BLUE, ORANGE, VERMILION
from iclab.tasks import LinearRegression

DIMENSION = 5
MODELS = tuple(shipped_manifests())
# Points on a board at most: prompts are filled up to it, so that none compiles anew.
MOST_POINTS = 16
LINE, PLANE = 3.0, 2.5  # how far the axes reach
QUERIES, CELLS = 61, 15
_FILTER_GROUPS = 16

# A point that the user adds.
FRESH = {"colour": BLUE, "shape": "circle", "flip": False}
_MODEL, _RIDGE = Style(VERMILION), Style(ORANGE, "7 4")

_SHIPPED = Rule(f"one of {', '.join(MODELS)}", MODELS.__contains__)
_ON_LINE = (-1.6, -1.1, -0.7, -0.6, 0.4, 0.2, 1.1, 0.9, 1.9, 1.4)
_ON_PLANE = (-1.5, -0.5, 0, -0.4, 1.3, 0, 0.8, 0.9, 0, 1.4, -0.8, 0, -0.9, -1.4, 0)


class Answers(NamedTuple):
    """Predictions for every query: GPT-2's, and those of least squares and ridge."""

    model: np.ndarray
    least_squares: np.ndarray
    ridge: np.ndarray


@dataclass(frozen=True)
class Gpt2(Settings):
    """A prompt of points on a line (x, label) or on a plane (x₁, x₂, mislabelled).

    On the line a point's height is its label. On the plane the label is
    ⟨(w₁, w₂), x⟩, with its sign turned where the point is mislabelled.
    """

    page = "gpt2"

    model: Annotated[str, _SHIPPED] = "gpt2-fixed-18"
    space: Literal["line", "plane"] = "line"
    penalty: Annotated[float, Limits(0.0, 10.0)] = 0.5
    line: Annotated[tuple[float, ...], Limits(-LINE, LINE, 2 * MOST_POINTS)] = _ON_LINE
    plane: Annotated[tuple[float, ...], Limits(-PLANE, PLANE, 3 * MOST_POINTS)] = (
        _ON_PLANE
    )
    w1: Annotated[float, Limits(-2.0, 2.0)] = 0.8
    w2: Annotated[float, Limits(-2.0, 2.0)] = -0.5

    def rows(self) -> np.ndarray:
        """The points, one a row; an incomplete one at the end is left out."""
        flat, size = (self.line, 2) if self.space == "line" else (self.plane, 3)
        return np.array(flat[: len(flat) // size * size]).reshape(-1, size)

    def prompt(self) -> tuple[np.ndarray, np.ndarray]:
        """Examples in five dimensions and their labels."""
        rows = self.rows()
        inputs, labels = rows[:, :-1], rows[:, -1]
        if self.space == "plane":
            labels = inputs @ [self.w1, self.w2] * np.where(labels > 0.5, -1, 1)
        if not len(rows):
            inputs, labels = np.ones((1, inputs.shape[1])), np.ones(1)
        return _padded(inputs), labels

    def queries(self) -> np.ndarray:
        """Where predictions are asked for: along the line, or all over the plane."""
        if self.space == "line":
            return _padded(np.linspace(-LINE, LINE, QUERIES)[:, None])
        edge = PLANE * (1 - 1 / CELLS)  # the middle of the last cell
        side = np.linspace(-edge, edge, CELLS)
        return _padded(np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2))

    def answers(self) -> Answers:
        """What the three predict for every query."""
        examples, labels = self.prompt()
        empty = MOST_POINTS - len(labels)
        prompt = (
            jnp.asarray(np.pad(examples, ((0, empty), (0, 0)))),
            jnp.asarray(np.pad(labels, (0, empty))),
            jnp.array(len(labels)),
            jnp.asarray(self.queries()),
        )
        rivals = (_model(self.model), LeastSquares(), Ridge(self.penalty))
        return Answers(*(np.asarray(_answers(one, *prompt)) for one in rivals))

    @property
    def ridge(self) -> str:
        """Ridge regression in words."""
        return f"ridge, penalty {self.penalty:g}"

    def filter(self) -> Filter:
        """The spectral filter of the model, on random prompts of as many examples."""
        return _filter(self.model, len(self.prompt()[1]))

    def moved(self, points: list[dict[str, Any]]) -> "Gpt2":
        """The settings with the points of a board."""
        short = lambda value: float(f"{value:.3g}")  # noqa: E731
        places = [(short(one["x"]), short(one["y"])) for one in points]
        if self.space == "line":
            return dataclasses.replace(self, line=sum(places, ()))
        flips = [float(bool(one.get("flip"))) for one in points]
        flat = [(*place, flip) for place, flip in zip(places, flips, strict=True)]
        return dataclasses.replace(self, plane=sum(flat, ()))

    def points(self) -> list[dict[str, Any]]:
        """The points of a board."""
        return [
            {**FRESH, "x": x, "y": y, "flip": any(one > 0.5 for one in flip)}
            for x, y, *flip in self.rows().tolist()
        ]

    def code(self) -> str:
        examples, labels = self.prompt()
        k = 1 if self.space == "line" else 2
        shown = np.round(examples[:, :k], 4).tolist()
        if self.space == "line":
            places = f"jnp.linspace({-LINE}, {LINE}, {QUERIES})[:, None]"
        else:
            edge = PLANE * (1 - 1 / CELLS)
            side = f"2 * [jnp.linspace({-edge}, {edge}, {CELLS})]"
            places = f"jnp.stack(jnp.meshgrid(*{side}), axis=-1).reshape(-1, 2)"
        return f"""\
import jax, jax.numpy as jnp
from iclab import algorithms, core, evaluation, models, probes, tasks

shown, labels = jnp.array({shown}), jnp.array({np.round(labels, 6).tolist()})
places = {places}
X, queries = (jnp.pad(one, ((0, 0), (0, {DIMENSION - k}))) for one in (shown, places))
model = models.shipped("{self.model}")
rivals = model, algorithms.LeastSquares(), algorithms.Ridge({self.penalty})
ask = lambda one: jax.vmap(lambda x: one(core.Prompt(X, labels, x)))(queries)
answers = [ask(one) for one in rivals]

task, key = tasks.LinearRegression(jnp.eye({DIMENSION})), jax.random.key(0)
count = dict(groups={_FILTER_GROUPS}, key=key)
prompts = evaluation.common_prompts(task, len(labels), **count)
curve = probes.spectral_filter(model, prompts)
"""


def charts(settings: Gpt2) -> list[Chart]:
    """All pictures of predictions; the first is that of the prompt."""
    answers = settings.answers()
    if settings.space == "line":
        return [line_chart(settings, answers)]
    return plane_charts(settings, answers)


def line_chart(settings: Gpt2, answers: Answers) -> Chart:
    """Predictions along the line."""
    x, y = Axis("x", -LINE, LINE), Axis("label y", -LINE, LINE)
    title = "Points on a line: drag, add, mislabel"
    chart = Chart(x, y, title=title, width=720, height=520)
    places = settings.queries()[:, 0]
    chart.line(places, answers.least_squares, "least squares", STYLES[2])
    chart.line(places, answers.ridge, settings.ridge, _RIDGE)
    chart.line(places, answers.model, settings.model, _MODEL, 3.0)
    return chart


def plane_charts(settings: Gpt2, answers: Answers) -> list[Chart]:
    """Predictions over the plane: GPT-2's, and how those of the classics differ."""
    limit = 1.5 * PLANE * max(abs(settings.w1), abs(settings.w2), 0.2)
    apart = answers.model - answers.least_squares
    fields = (
        (settings.model, answers.model, 480),
        ("least squares", answers.least_squares, 300),
        (settings.ridge, answers.ridge, 300),
        (f"GPT-2 − least squares, ≤ {np.abs(apart).max():.2g}", apart, 300),
    )
    charts = []
    for title, values, width in fields:
        x, y = Axis("x₁", -PLANE, PLANE), Axis("x₂", -PLANE, PLANE)
        chart = Chart(x, y, title=title, width=width, height=width + 2)
        chart.field(values.reshape(CELLS, CELLS), limit)
        charts.append(chart)
    return charts


def filter_chart(settings: Gpt2, found: Filter | None) -> Chart:
    """The filter λg(λ) of the model beside those of least squares and ridge."""
    n = len(settings.prompt()[1])
    if found is None:
        places, high = np.geomspace(0.02, 5, 80), 1.3
    else:
        ends = float(found.eigenvalues[0]), float(found.eigenvalues[-1])
        places = np.geomspace(*ends, 80)
        high = max(1.3, float(np.quantile(found.upper, 0.9)) * 1.1)
    x = around([places], "eigenvalue λ of S", log=True)
    title = "Which algorithm? The filter λg(λ)"
    if found is not None:
        title += f" at M = {n}: R² = {found.r2.value:.3f}"
    chart = Chart(x, Axis("λg(λ)", -0.1, high), title=title, width=640)
    chart.level(1.0, "least squares", STYLES[2])
    tau = settings.penalty / n
    chart.line(places, places / (places + tau), settings.ridge, _RIDGE)
    if found is not None:
        lam = found.eigenvalues
        chart.band(lam, found.lower, found.upper, "90 % of draws", _MODEL)
        chart.line(lam, found.value, settings.model, _MODEL, 3.0)
    return chart


@functools.lru_cache(maxsize=len(MODELS))
def _model(name: str) -> AbstractPredictor:
    return shipped(name)


@functools.lru_cache(maxsize=64)
def _filter(name: str, context: int) -> Filter:
    task, key = LinearRegression(jnp.eye(DIMENSION)), jax.random.key(0)
    prompts = common_prompts(task, context, groups=_FILTER_GROUPS, key=key)
    return spectral_filter(_model(name), prompts)


@eqx.filter_jit
def _answers(
    predictor: AbstractPredictor,
    examples: Float[Array, "n d"],
    labels: Float[Array, " n"],
    count: Int[Array, ""],
    queries: Float[Array, "q d"],
) -> Float[Array, " q"]:
    return jax.vmap(
        lambda query: predictor(Prompt(examples, labels, query, count=count))
    )(queries)


def _padded(places: np.ndarray) -> np.ndarray:
    return np.pad(places, ((0, 0), (0, DIMENSION - places.shape[1])))
