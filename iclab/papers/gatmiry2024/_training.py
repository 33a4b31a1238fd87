"""Training runs behind Figures 1–4: a layer in a loop, and layers of their own.

Inputs have covariance I and w ~ N(0, I). Adam sees fresh prompts at every step, with a
rate that falls to 0 along a half cosine.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from iclab.core import FEWEST_EFFECTIVE, Estimate
from iclab.evidence import setting
from iclab.papers._training_runs import mean_diagonal, quick_key
from iclab.tasks import LinearRegression
from iclab.theory import (
    WeightedCovariances,
    weighted_covariances,
    wishart_quadrature,
)
from iclab.training import Loops, Trained, fit_loops

# Standard deviation of A's entries before training.
_START = 0.01


@dataclass(frozen=True)
class Training:
    """Sizes of Figures 2–4; the paper names d = 10 and no others."""

    dimension: int = setting("Dimension d of the inputs.", 10, smoke=4)
    samples: int = setting("Examples in a prompt, n.", 20, smoke=8)
    loops: tuple[int, ...] = setting(
        "Numbers of loops, L.", (1, 2, 3, 5, 10), smoke=(1, 2, 3)
    )
    seeds: int = setting("Runs for every curve.", 2, paper=5)
    batch: int = setting("Fresh prompts at every step.", 256, paper=2_000)
    steps: int = setting("Steps of Adam.", 400, smoke=200, paper=4_000)
    rate: float = setting("Rate of Adam at the first step.", 0.02)


def training_job(settings: Any, **own: Any) -> dict[str, Any]:
    """What a job needs to train: fields of its figure's settings, and its own."""
    found = dataclasses.asdict(settings) | own
    job = {field.name: found[field.name] for field in dataclasses.fields(Training)}
    # Forty points a curve.
    every = max(1, found["steps"] // 40)
    return job | {"loops": sorted(found["loops"]), "every": every}


class Runs(NamedTuple):
    """Weights, and the loss on each step's own prompts; axes are loop counts, seeds.

    Of layers in a loop there are records, before training and on its way. Of layers of
    their own there is the end; those beyond a model's number are not trained and count
    as zero.
    """

    A: Float[np.ndarray, "counts seeds records_or_layers d d"]
    u: Float[np.ndarray, "counts seeds records_or_layers d"]
    losses: Float[np.ndarray, "counts seeds steps"]


def train_looped(settings: Mapping[str, Any], key: Any) -> Runs:
    """Every number of loops in `settings` and every seed, side by side."""
    found = _trained(settings, key, every=settings["every"])
    A, u = (np.moveaxis(one, 0, 2) for one in (found.records.A, found.records.u))
    return Runs(A, u, np.moveaxis(np.asarray(found.losses), 0, 2))


def train_untied(settings: Mapping[str, Any], key: Any) -> Runs:
    """As many separate layers as loops; on the same prompts, if the key is the same."""
    found = _trained(settings, key, tied=False)
    A, u = np.asarray(found.model.A), np.asarray(found.model.u)
    return Runs(A, u, np.moveaxis(np.asarray(found.losses), 0, 2))


def _trained(settings: Mapping[str, Any], key: Any, **options: Any) -> Trained[Loops]:
    s = settings
    return fit_loops(
        LinearRegression(jnp.eye(s["dimension"])),
        loops=s["loops"],
        seeds=s["seeds"],
        examples=s["samples"],
        batch=s["batch"],
        steps=s["steps"],
        optimiser=_optimiser(s["rate"], s["steps"]),
        key=quick_key(key),
        start_scale=_START,
        **options,
    )


def to_identity(A: np.ndarray) -> np.ndarray:
    """‖A − I‖_F/‖I‖_F, over the last two axes."""
    rest = A - np.eye(A.shape[-1])
    return np.asarray(np.linalg.norm(rest, axis=(-2, -1)) / np.sqrt(A.shape[-1]))


def population_loss(
    A: np.ndarray, u: np.ndarray, samples: int, draws: int, key: Any
) -> tuple[float, float]:
    """Loss of layers A_t, u_t and its standard error; NaN where it is not known.

    A mean over `draws` sample covariances of a mixture in which the rare ones that
    carry the loss are frequent. Layers α_tI with α_t = tr A_t/d have an exact loss:
    where the difference from it varies half as much as the loss or less, its mean is
    added to that. So the loss of multiples of I is exact.
    """
    d = A.shape[-1]
    alpha = mean_diagonal(A)
    h, weight = map(np.asarray, wishart_quadrature(d, samples, 2 * len(A)))
    left, constant = np.ones_like(h), np.zeros((len(h), d))
    for a, u_t in zip(alpha, u, strict=True):
        left = left - a * h * left
        constant = constant - a * h[:, None] * (constant + u_t)
    exact = weight @ (d * left**2 + np.sum(constant**2, axis=1))
    drawn = _drawn(np.eye(d), len(A), samples, draws, key)
    losses, others = (
        np.asarray(_by_layer(one, u, np.eye(d), drawn))[:, -1]
        for one in (A, alpha[:, None, None] * np.eye(d))
    )
    found = _estimated(np.stack([losses, losses - others], axis=1), drawn)
    if found.effective[0] < FEWEST_EFFECTIVE:
        return math.nan, math.nan
    (loss, change), (error, less) = (np.asarray(one).tolist() for one in found)
    return (float(exact) + change, less) if less < error / 2 else (loss, error)


def losses_by_depth(
    A: np.ndarray,
    u: np.ndarray,
    covariance: np.ndarray,
    samples: int,
    draws: int,
    key: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Losses after each layer A_t, u_t and their errors, by draws of the mixture alone.

    Inputs have this covariance, and w ~ N(0, I).
    """
    drawn = _drawn(covariance, len(A), samples, draws, key)
    found = _estimated(_by_layer(A, u, covariance, drawn), drawn)
    known = np.asarray(found.effective) >= FEWEST_EFFECTIVE
    mean, error = (np.where(known, np.asarray(one), np.nan) for one in found)
    return mean, error


def words(settings: Mapping[str, Any]) -> str:
    """How the runs were trained, for captions."""
    runs = "one run" if settings["seeds"] == 1 else f"{settings['seeds']} runs"
    return (
        f"{runs} for every curve, {settings['steps']:,} steps of Adam on "
        f"{settings['batch']:,} fresh prompts each"
    )


def _drawn(
    covariance: np.ndarray, layers: int, samples: int, draws: int, key: Any
) -> WeightedCovariances:
    Sigma = jnp.asarray(covariance)
    return weighted_covariances(
        quick_key(key), Sigma, samples, draws, degree=2 * layers
    )


@jax.jit
def _by_layer(
    A: Array, u: Array, Sigma: Array, drawn: WeightedCovariances
) -> Float[Array, "draws layers"]:
    """Losses after each layer, with w and the query integrated out.

    The error is ⟨r_L, x_q⟩ with r_0 = w and r_{t+1} = r_t − A_tᵀS(r_t + u_t): affine in
    w.
    """

    def losses(S):
        def layer(left, weights):
            rate, constant = left
            A_t, u_t = weights
            rate = rate - A_t.T @ S @ rate
            constant = constant - A_t.T @ S @ (constant + u_t)
            loss = jnp.sum(rate * (Sigma @ rate)) + constant @ Sigma @ constant
            return (rate, constant), loss

        start = jnp.eye(len(Sigma)), jnp.zeros(len(Sigma))
        return jax.lax.scan(layer, start, (A, u))[1]

    return jax.vmap(losses)(drawn.covariances)


@jax.jit
def _estimated(columns: Array, drawn: WeightedCovariances) -> Estimate:
    """The mean of each column; how many draws carry it is for the caller to judge."""
    return jax.vmap(drawn.estimate, 1)(columns)


@functools.cache  # one object for one rate, so that equal programs compile once
def _optimiser(rate: float, steps: int) -> optax.GradientTransformation:
    return optax.adam(optax.cosine_decay_schedule(rate, steps))
