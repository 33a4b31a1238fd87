"""Softmax attention over a representation, trained on its exact loss, live."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from iclab.explore._settings import Limits, Settings
from iclab.models import MultiHeadSoftmax
from iclab.show import STYLES, Axis, Chart, Style, around, heat_map
from iclab.show.palette import BRIGHT_GREY as GREY
from iclab.tasks import Representation
from iclab.theory import representation_optimum_closed
from iclab.training import Diverged, Exact, Hook, exact_gap, fit, two_rates

# Steps between two pictures.
EVERY = 50
OPTIMISERS = ("adam", "gradient descent")
# The rates of gradient descent, η_Q and η_w, as multiples of Adam's.
_RATES = (6.0, 60.0)
_SCALE = 3.0  # of the entries of Q at the start


class Frame(NamedTuple):
    """A training after some steps: the matrix Â, and L − L* at every step so far."""

    step: int
    weights: np.ndarray
    gaps: np.ndarray
    diverged: bool = False


@dataclass(frozen=True)
class Attention(Settings):
    """K tokens of which N are shown, m features, H heads, noise τ."""

    page = "representation"

    tokens: Annotated[int, Limits(3, 24)] = 12
    shown: Annotated[int, Limits(1, 16)] = 6
    features: Annotated[int, Limits(1, 12)] = 4
    heads: Annotated[int, Limits(1, 24)] = 8
    tau: Annotated[float, Limits(0.01, 2.0)] = 0.1
    optimiser: Literal["adam", "gradient descent"] = "adam"
    rate: Annotated[float, Limits(0.001, 0.2)] = 0.03
    steps: Annotated[int, Limits(50, 5000)] = 1500
    seed: Annotated[int, Limits(0, 99)] = 0

    @property
    def context_length(self) -> int:
        """Labels that are shown; one token at least is asked for."""
        return min(self.shown, self.tokens - 1)

    def task(self) -> Representation:
        """The dictionary, its features and the noise."""
        return Representation.random(
            jax.random.key(self.seed),
            dictionary_size=self.tokens,
            input_dim=self.features,
            feature_dim=self.features,
            context_length=self.context_length,
            noise_variance=jnp.array(self.tau),
        )

    def start(self) -> MultiHeadSoftmax:
        """The model before training."""
        return MultiHeadSoftmax.random(
            jax.random.key(self.seed + 1),
            heads=self.heads,
            input_dim=self.features,
            dictionary_size=self.tokens,
            scale=_SCALE,
        )

    def ridge(self) -> np.ndarray:
        """The matrix of ridge regression, which training approaches."""
        task, N = self.task(), self.context_length
        found = representation_optimum_closed(task.features, N, task.noise_variance)
        return np.asarray(found)

    def first(self) -> Frame:
        """Before the first step."""
        task, model = self.task(), self.start()
        weights = np.asarray(model.weights(task.tokens, self.context_length))
        return Frame(0, weights, np.array([float(exact_gap(task)(model))]))

    def train(self, show: Callable[[Frame], None] = lambda frame: None) -> Frame:
        """Train from the start, and show a picture now and then."""
        task, model = self.task(), self.start()
        rule = _rule(self.optimiser, self.rate)
        problem, live = Exact(exact_gap(task)), _Live(task, show)
        try:
            fit(problem, model, rule, steps=self.steps, hooks=[live])
        except Diverged:
            last = live.last or self.first()
            return last._replace(diverged=True)
        assert live.last is not None
        return live.last

    def code(self) -> str:
        rule = f"optax.adam({self.rate})"
        if self.optimiser != "adam":
            rule = "training.two_rates({}, {})".format(*_rates(self.rate))
        K, m, N = self.tokens, self.features, self.context_length
        keys = f"jax.random.key({self.seed})", f"jax.random.key({self.seed + 1})"
        return f"""\
import jax, jax.numpy as jnp, optax
from iclab import models, tasks, theory, training

sizes = dict(dictionary_size={K}, input_dim={m})
task = tasks.Representation.random({keys[0]}, **sizes, feature_dim={m},
    context_length={N}, noise_variance=jnp.array({self.tau}))
model = models.MultiHeadSoftmax.random({keys[1]}, **sizes,
    heads={self.heads}, scale={_SCALE})
problem = training.Exact(training.exact_gap(task))
trained = training.fit(problem, model, {rule}, steps={self.steps})
gaps, weights = trained.losses, trained.model.weights(task.tokens, {N})
ridge = theory.representation_optimum_closed(task.features, {N}, task.noise_variance)
"""


def matrix_pictures(frame: Frame, ridge: np.ndarray) -> tuple[str, str]:
    """The matrix of the model and that of ridge regression, on one scale."""
    limit = max(1.0, float(np.abs(ridge).max()))
    names: dict[str, Any] = {"rows": "shown label", "columns": "token", "width": 520}
    title = f"Attention Â after {frame.step} steps"
    own = heat_map(frame.weights, limit, title, **names)
    return own, heat_map(ridge, limit, "Ridge regression A", **names)


def gap_chart(settings: Attention, frame: Frame, ridge: np.ndarray) -> Chart:
    """The exact gap L − L* along the training."""
    gaps = np.asarray(frame.gaps)
    distance = float(np.linalg.norm(frame.weights - ridge))
    apart = distance / max(float(np.linalg.norm(ridge)), 1e-300)
    title = f"Gap to ridge; ‖Â − A‖ is {apart:.2g} of ‖A‖"
    if frame.diverged:
        title = f"Diverged after {frame.step} steps: take a smaller rate"
    good = np.where(np.isfinite(gaps) & (gaps > 0), gaps, np.nan)
    y = around([good, [1e-4]], "L − L*, exact", log=True)
    y = Axis(y.label, max(y.low, 1e-14), max(y.high, 1e-3), log=True)
    x = Axis("step", 0, settings.steps)
    chart = Chart(x, y, title=title, width=620, height=330)
    every = max(1, len(good) // 400)
    at = np.arange(len(good))[::every]
    chart.line(at, good[::every], settings.optimiser, STYLES[0])
    here, ends = [frame.step, frame.step], [y.low, y.high]
    chart.line(here, ends, f"step {frame.step}", Style(GREY, "2 3"), 1.4)
    return chart


class _Live(Hook):
    """Shows a training on its way."""

    every = EVERY

    def __init__(self, task: Representation, show: Callable[[Frame], None]):
        self._task, self._show = task, show
        self.last: Frame | None = None

    def __call__(self, run: Any) -> None:
        if run.due(self.every) or run.step == run.steps:
            task = self._task
            weights = run.model.weights(task.tokens, task.context_length)
            gaps = np.asarray(run.losses, float)
            self.last = Frame(run.step, np.asarray(weights), gaps)
            self._show(self.last)


@functools.lru_cache(maxsize=64)
def _rule(name: str, rate: float) -> optax.GradientTransformation:
    """One object a rule, so that it compiles once."""
    if name == "adam":
        return optax.adam(rate)
    return two_rates(*_rates(rate))


def _rates(rate: float) -> list[float]:
    """Those of gradient descent."""
    return [float(f"{one * rate:.6g}") for one in _RATES]
