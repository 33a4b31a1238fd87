"""One layer of linear attention: its exact risk, the parts of it, a simulation."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.evaluation import ErrorCurve, HeavyTails, error_curve
from iclab.explore._settings import Limits, Settings
from iclab.show import STYLES, Axis, Chart, around
from iclab.show.palette import BRIGHT_BLUE as BLUE, GREEN, ORANGE, PURPLE
from iclab.tasks import LinearRegression, NoisyLabels, QueryShift
from iclab.theory import lsa_risk, optimal_preconditioner
from iclab.training import trained_lsa

# Spectra are dragged between these.
LOWEST, HIGHEST = 0.01, 10.0
MOST_DIMENSIONS = 8
Spectrum = Annotated[tuple[float, ...], Limits(LOWEST, HIGHEST, MOST_DIMENSIONS)]
# Test lengths of the exact curve, and of the simulation.
EXAMPLES = (*range(1, 7), 8, 10, 13, 16, 20, 25, 32, 40, 50, 64, 80, 100, 130, 160, 200)
SIMULATED = (5, 10, 20, 50, 100, 200)
_GROUPS, _DRAWS = 16, 200

# Name of a spectrum, its colour and shape on the board.
SPECTRA = (
    ("training inputs", BLUE, "circle"),
    ("test inputs", ORANGE, "square"),
    ("query", GREEN, "triangle"),
    ("task", PURPLE, "diamond"),
)


class Parts(NamedTuple):
    """The exact risk by number of examples, and what it is made of."""

    examples: np.ndarray
    risk: np.ndarray
    limit: float
    inputs: np.ndarray
    noise: np.ndarray


@dataclass(frozen=True)
class OneLayer(Settings):
    """One layer, trained on prompts of one law and tested on another.

    Spectra are the diagonals of covariances. An empty spectrum of test inputs is that
    of training, an empty one of queries that of the test inputs, an empty one of tasks
    is all ones.
    """

    page = "one-layer"

    spectrum: Spectrum = (2.0, 1.0, 0.5, 0.25, 0.12)
    context_length: Annotated[int, Limits(1, 200)] = 20
    noise_std: Annotated[float, Limits(0.0, 2.0)] = 0.3
    test: Spectrum = ()
    query_spectrum: Spectrum = ()
    task: Spectrum = ()

    def spectra(self) -> tuple[tuple[float, ...], ...]:
        """Of training inputs, test inputs, queries and tasks, all of one dimension."""
        train = self.spectrum or (1.0,)
        test = _fitted(self.test, train)
        query, task = _fitted(self.query_spectrum, test), (1.0,) * len(train)
        return train, test, query, _fitted(self.task, task)

    def covariances(self) -> list[Array]:
        """The same as matrices."""
        return [jnp.diag(jnp.array(one)) for one in self.spectra()]

    def resized(self, dimension: int) -> "OneLayer":
        """The same in another dimension; new directions have variance 1."""
        train, test, query, task = (
            _fitted(one[:dimension], (1.0,) * dimension) for one in self.spectra()
        )
        return OneLayer(train, self.context_length, self.noise_std, test, query, task)

    @classmethod
    def from_points(
        cls, points: list[dict[str, Any]], context_length: int, noise_std: float
    ) -> "OneLayer":
        """Settings that points on the board stand for: no points, no shift."""
        train, test, query, task = (
            tuple(float(f"{one['y']:.4g}") for one in points if one["kind"] == kind)
            for kind in range(len(SPECTRA))
        )
        return cls(train, context_length, noise_std, test, query, task)

    def parts(self) -> Parts:
        """The exact risk. It is a constant plus a multiple of 1/M, and so is each part:
        two lengths give all."""
        train, test, query, task = self.covariances()
        P = optimal_preconditioner(train, self.context_length)

        shift = {"query_covariance": query, "weight_covariance": task}

        def at(M: int, noise: float) -> float:
            return float(lsa_risk(P, test, M, **shift, noise_variance=noise))

        M = np.array(EXAMPLES)
        one, two = at(1, 0.0), at(2, 0.0)
        limit, inputs = 2 * two - one, 2 * (one - two) / M
        noise = (at(1, self.noise_std**2) - one) / M
        return Parts(M, limit + inputs + noise, limit, inputs, noise)

    def simulated(self) -> ErrorCurve:
        """The trained model itself on sampled prompts, with intervals."""
        train, test, query, task = self.covariances()
        prompts = QueryShift(LinearRegression(test, weight_covariance=task), query)
        # As an array the noise is data: another value compiles nothing anew.
        noisy = NoisyLabels(prompts, jnp.array(self.noise_std))
        with warnings.catch_warnings():
            # Few examples have heavy tails: there is no band where the mean is unknown.
            warnings.simplefilter("ignore", HeavyTails)
            return error_curve(
                {"attention": trained_lsa(train, self.context_length)},
                noisy,
                list(SIMULATED),
                groups=_GROUPS,
                draws=_DRAWS,
                key=jax.random.key(0),
            )["attention"]

    def code(self) -> str:
        (train, test, query, task), sigma = self.spectra(), self.noise_std
        return f"""\
import jax, jax.numpy as jnp
from iclab import evaluation, tasks, theory, training

train, test = jnp.diag(jnp.array({train})), jnp.diag(jnp.array({test}))
query, task = jnp.diag(jnp.array({query})), jnp.diag(jnp.array({task}))
P = theory.optimal_preconditioner(train, {self.context_length})
shift = dict(query_covariance=query, weight_covariance=task, noise_variance={sigma}**2)
risk = [theory.lsa_risk(P, test, M, **shift) for M in {EXAMPLES}]

model = {{"attention": training.trained_lsa(train, {self.context_length})}}
prompts = tasks.LinearRegression(test, weight_covariance=task)
prompts = tasks.NoisyLabels(tasks.QueryShift(prompts, query), jnp.array({sigma}))
options = dict(groups={_GROUPS}, draws={_DRAWS}, key=jax.random.key(0))
lengths = {list(SIMULATED)}
curve = evaluation.error_curve(model, prompts, lengths, **options)["attention"]
"""


def risk_chart(parts: Parts, curve: ErrorCurve | None) -> Chart:
    """Exact risk and its parts by the number of examples, the simulation beside."""
    M = lower = upper = np.zeros(0)
    if curve is not None:
        known = np.isfinite(np.asarray(curve.mean))
        sides = (curve.lengths, curve.lower, curve.upper)
        M, lower, upper = (np.asarray(one)[known] for one in sides)
    top = around([parts.risk, [parts.limit / 2], lower, upper], "risk", log=True)
    y = Axis("risk E(ŷ − ⟨w, x⟩)²", max(top.low, top.high / 1e6), top.high, log=True)
    x = Axis("examples M in the test prompt", 1, EXAMPLES[-1], log=True)
    chart = Chart(x, y, title="Exact risk, and where it comes from", width=640)
    if M.size:
        chart.band(M, lower, upper, "simulated, 90 %", STYLES[0])
    M = parts.examples
    flat = np.full(len(M), parts.limit)
    chart.line(M, flat, "left with endless examples", STYLES[3], 1.8)
    chart.line(M, parts.inputs, "finite prompt", STYLES[2], 1.8)
    if parts.noise[0] > 0:
        chart.line(M, parts.noise, "label noise", STYLES[4], 1.8)
    chart.line(M, parts.risk, "exact risk", STYLES[0], 2.8)
    return chart


def spectrum_chart(dimension: int, shown: Sequence[bool]) -> Chart:
    """Where the spectra are dragged: that of training, and those shown beside it."""
    x = Axis("direction", 0.5, dimension + 0.5, whole=True)
    y = Axis("variance", LOWEST, HIGHEST, log=True)
    chart = Chart(x, y, title="Spectra: drag the points", width=460, height=400)
    for (name, colour, shape), seen in zip(SPECTRA, (True, *shown), strict=True):
        if seen:
            style = STYLES[0]._replace(colour=colour, marker=shape)
            chart.points([], [], name, style)
    return chart


def spectrum_points(settings: OneLayer, shown: Sequence[bool]) -> list[dict[str, Any]]:
    """A point for every direction of every spectrum that is shown."""
    kinds = [kind for kind, seen in enumerate((True, *shown)) if seen]
    spectra, points = settings.spectra(), []
    for i, kind in enumerate(kinds):
        name, colour, shape = SPECTRA[kind]
        for j, value in enumerate(spectra[kind]):
            points.append(
                {
                    "x": j + 1 + 0.22 * (i - (len(kinds) - 1) / 2),
                    "y": value,
                    "kind": kind,
                    "colour": colour,
                    "shape": shape,
                    "fixed": True,
                    "label": f"{name}, direction {j + 1}",
                }
            )
    return points


def _fitted(values: tuple[float, ...], like: tuple[float, ...]) -> tuple[float, ...]:
    """`values`, made as long as `like` by taking its entries."""
    return (*values[: len(like)], *like[len(values) :])
