"""Gradient descent with the rates of Theorem 1 from small random starts.

Six tokens on the sphere of R³, three of them labelled, two features, four heads. The
guarantee is slow for most starts (half of them would need 10⁵ steps and more), so these
are among the quick ones of thirty.
"""

import functools
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.evidence import Scale
from iclab.models import MultiHeadSoftmax
from iclab.tasks import Representation
from iclab.theory import (
    LearningRates,
    RepresentationConstants,
    learning_rates,
    representation_constants,
)
from iclab.training import descent_path, exact_gap, two_rates

K, N, m, d, H = 6, 3, 2, 3, 4

# (17), its correction, or rates beyond the theorem with which Q learns as well.
Rates = Literal["simple", "corrected", "plain"]
PLAIN = (3.0, 1.0)

STEPS: dict[Scale, int] = {"smoke": 2_500, "desk": 15_000, "paper": 36_000}


@dataclass(frozen=True)
class Start:
    """A dictionary and Q⁽⁰⁾ with entries N(0, β²); w⁽⁰⁾ = 0.

    β = `spread`; features are standard Gaussian times `size`.
    """

    seed: int
    tau: float = 0.5
    spread: float = 3.0
    size: float = 1.0

    @functools.cached_property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tokens, features and Q."""
        random = np.random.default_rng(self.seed)
        tokens = random.standard_normal((K, d))
        tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
        features = self.size * random.standard_normal((K, m))
        return tokens, features, self.spread * random.standard_normal((H, d, d))

    def __str__(self) -> str:
        small = "" if self.size == 1 else f", features × {self.size:g}"
        return f"start {self.seed}, τ={self.tau:g}, β={self.spread:g}{small}"


QUICK, SECOND = Start(24), Start(4)
SMALL = Start(4, tau=0.005, size=0.1)
SLOW = (Start(4, tau=0.1, spread=1.0), Start(12, tau=0.1, spread=1.0))
SLOWEST = Start(23, tau=0.1, spread=1.0)
STARTS = (QUICK, SECOND, SMALL, *SLOW, SLOWEST)


@dataclass(frozen=True)
class Descent:
    """Descent from a start with one choice of rates."""

    start: Start
    rates: Rates = "simple"

    def __str__(self) -> str:
        names = {"simple": "L of (17)", "corrected": "L corrected", "plain": "plain"}
        return f"{self.start}, {names[self.rates]}"

    @property
    def steps_of(self) -> tuple[float, float]:
        """η_Q and η_w."""
        if self.rates == "plain":
            return PLAIN
        rates = rates_of(self.start, self.rates)
        return float(rates.key_query), float(rates.value)


def theorem_runs(scale: Scale) -> tuple[Descent, ...]:
    """Runs with the rates that Theorem 1 is about."""
    found = (Descent(QUICK), Descent(SECOND), Descent(QUICK, "corrected"))
    if scale != "smoke":
        found += tuple(map(Descent, SLOW))
    return (*found, Descent(SLOWEST)) if scale == "paper" else found


def plain_runs(scale: Scale) -> tuple[Descent, ...]:
    """Runs with large steps, which end at round-off."""
    found = (Descent(QUICK, "plain"), Descent(SECOND, "plain"))
    return found if scale == "smoke" else (*found, Descent(SLOW[0], "plain"))


class Path(NamedTuple):
    """Gap L − L*, Q and w at the start and after every step."""

    gaps: np.ndarray
    key_query: np.ndarray
    value: np.ndarray


def path_of(run: Descent, scale: Scale) -> Path:
    """The path of one run; all runs of a scale are made together."""
    return _paths(scale)[run]


def rates_of(start: Start, rates: Rates) -> LearningRates:
    """η_Q, η_w, γ, L, ζ₀, α and the factor of (18), as the theorem has them."""
    simple, corrected, _ = _theory()
    return _entry(corrected if rates == "corrected" else simple, start)


def constants_of(start: Start) -> RepresentationConstants:
    """Norms that the constants are made of."""
    sizes = {"feature_dim": m, "context_length": N, "dictionary_size": K}
    constants = _entry(_theory()[2], start)
    return constants._replace(noise_variance=start.tau, **sizes)


def attention_of(start: Start, key_query: np.ndarray) -> np.ndarray:
    """softmax(VᵀQ_hv_k) for a stack of Q along a path, (…, H, N, K), by NumPy."""
    tokens, _, _ = start.arrays
    scores = tokens[:N] @ key_query @ tokens.T
    positive = np.exp(scores - scores.max(axis=-2, keepdims=True))
    return positive / positive.sum(axis=-2, keepdims=True)


def label_root_of(start: Start) -> np.ndarray:
    """Z̄ through the singular values of Z."""
    _, features, _ = start.arrays
    left, s, _ = np.linalg.svd(features[:N])
    squares = np.pad(s**2, (0, N - m)) + m * start.tau
    return (left * np.sqrt(squares)) @ left.T


def _entry(stacked, start: Start):
    index = STARTS.index(start)
    return jax.tree.map(lambda leaf: leaf[index], stacked)


@functools.cache
def _theory() -> tuple[LearningRates, LearningRates, RepresentationConstants]:
    @jax.jit
    @jax.vmap
    def constants(tokens: Array, features: Array, Q: Array, tau: Array):
        problem = (Q, tokens, features, N, tau)
        return (
            learning_rates(*problem, smoothness="simple"),
            learning_rates(*problem),
            representation_constants(features, N, tau),
        )

    return constants(*_stacked(STARTS))


@functools.cache
def _paths(scale: Scale) -> dict[Descent, Path]:
    runs = (*theorem_runs(scale), *plain_runs(scale))

    @jax.jit
    @jax.vmap
    def descend(tokens, features, Q, tau, key_query_rate, value_rate):
        task = Representation(tokens, features, context_length=N, noise_variance=tau)
        path = descent_path(
            exact_gap(task),
            MultiHeadSoftmax(Q, jnp.zeros((H, K))),
            steps=STEPS[scale],
            optimiser=two_rates(key_query_rate, value_rate),
            record=lambda model: (model.key_query, model.value),
        )
        return path.losses, *path.records

    rates = jnp.array([run.steps_of for run in runs])
    found = descend(*_stacked(tuple(run.start for run in runs)), *rates.T)
    columns = zip(*map(np.asarray, found), strict=True)
    return {run: Path(*one) for run, one in zip(runs, columns, strict=True)}


def _stacked(starts: tuple[Start, ...]) -> list[Array]:
    columns = zip(*(start.arrays for start in starts), strict=True)
    taus = jnp.array([start.tau for start in starts])
    return [*(jnp.asarray(np.stack(column)) for column in columns), taus]
