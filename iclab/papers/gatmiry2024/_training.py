"""Training runs behind Figures 1–4: a layer in a loop, and layers of their own.

Inputs have covariance I and w ~ N(0, I). Adam sees fresh prompts at every step, by one
of two protocols: what the text says, with the rest as it was here first, or that of the
code base which the text names.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.core import FEWEST_EFFECTIVE, Estimate, Prompt
from iclab.evidence import Tables, setting
from iclab.models import UntiedTransformer
from iclab.papers._training_runs import mean_diagonal, quick_key
from iclab.tasks import AbstractTask
from iclab.theory import (
    WeightedCovariances,
    weighted_covariances,
    wishart_quadrature,
)
from iclab.training import Loops, Optimiser, Trained, fit_loops

Protocol = Literal["code", "text"]

# Of the text's protocol, ours: standard deviation of A's entries before training, and
# the rate of Adam at the first step.
_START, _RATE = 0.01, 0.02


@dataclass(frozen=True)
class Recipe:
    """How every figure trains; the paper gives none of it but the code base."""

    protocol: tuple[Protocol, ...] = setting(
        "Protocols of training; the first is judged. code: that of the code base which "
        "the paper names. text: Adam along a half cosine, no clipping.",
        ("code",),
        paper=("code", "text"),
    )
    seeds: int = setting("Runs for every curve.", 1, paper=3)
    batch: int = setting("Prompts at a step.", 256, paper=512)
    redraw_every: int = setting("Steps after which prompts are drawn again.", 1)
    steps: int = setting("Steps of Adam.", 600, smoke=400, paper=3_000)
    rate: float = setting("Rate of Adam at the first step (code).", 0.02)
    halvings: int = setting(
        "How often the rate is halved (code).", 8, smoke=6, paper=15
    )
    clip: float = setting("Bound on the gradient of every matrix (code).", 0.01)
    start: float = setting(
        "Standard deviation of A's entries at the start (code).", 1e-4
    )


@dataclass(frozen=True)
class Training(Recipe):
    """Sizes of Figures 2–4; the paper names d = 10 and no others."""

    dimension: int = setting("Dimension d of the inputs.", 10, smoke=4)
    samples: tuple[int, ...] = setting(
        "Examples in a prompt, n.", (20, 200), smoke=(8, 40)
    )
    loops: tuple[int, ...] = setting(
        "Numbers of loops, L.", (1, 2, 3, 5), smoke=(1, 2, 3), paper=(1, 2, 3, 5, 10)
    )


def training_jobs(settings: Any, **own: Any) -> dict[str, dict[str, Any]]:
    """A job to train for every protocol and n, with `own` settings besides."""
    found: dict[str, Any] = dataclasses.asdict(settings)
    found |= {"betas": (0.99, 0.9)} | own
    # Forty points a curve.
    every = max(1, found["steps"] // 40)
    found |= {"loops": sorted(found["loops"]), "every": every}
    return {
        f"{protocol}, n = {n}": found
        | {"protocol": protocol, "samples": n, "judged": protocol == first}
        for first in found["protocol"][:1]
        for protocol in found["protocol"]
        for n in sorted(found["samples"])
    }


def trained_tables(tables: Tables, **columns: Any) -> list[Any]:
    """Tables of trainings, in their order, whose columns have these values."""
    return [
        table
        for table in tables.values()
        if "training" in table and all(table[k] == v for k, v in columns.items())
    ]


class Runs(NamedTuple):
    """Weights before training and on its way, and the loss on each step's prompts.

    Axes are loop counts, seeds, records. Layers in a loop are all there, one by one.
    Those beyond a model's number are zero, so that they do nothing.
    """

    A: Float[np.ndarray, "counts seeds records layers d d"]
    u: Float[np.ndarray, "counts seeds records layers d"]
    losses: Float[np.ndarray, "counts seeds steps"]


def train(settings: Mapping[str, Any], key: Any, *, shared: bool) -> Runs:
    """Every number of loops or layers and every seed, side by side.

    With the same key both see the same prompts.
    """
    found = _trained(settings, key, tied=shared, every=settings["every"])
    A, u = (np.moveaxis(one, 0, 2) for one in (found.records.A, found.records.u))
    loops = np.array(settings["loops"])
    if shared:
        A, u = (np.stack([one] * loops.max(), axis=3) for one in (A, u))
    active = (np.arange(loops.max()) < loops[:, None]).astype(float)
    active = active[:, None, None, :, None]
    losses = np.moveaxis(np.asarray(found.losses), 0, 2)
    return Runs(active[..., None] * A, active * u, losses)


def batch_losses(
    runs: Runs, samples: int, prompts: int, key: Any
) -> Float[np.ndarray, "counts seeds records"]:
    """Mean squared errors of all records on one batch of prompts, drawn once."""
    *axes, layers, d, _ = runs.A.shape
    task = Short(samples, jnp.eye(d))
    batch = task.sample_batch(quick_key(key), prompts, min(samples, d))
    A, u = runs.A.reshape(-1, layers, d, d), runs.u.reshape(-1, layers, d)
    return np.asarray(_batch_losses(A, u, batch)).reshape(axes)


@jax.jit
def _batch_losses(A: Array, u: Array, batch: Prompt) -> Array:
    def loss(weights):
        predictions = jax.vmap(UntiedTransformer(*weights))(batch)
        return jnp.mean((predictions - batch.target) ** 2)

    return jax.lax.map(loss, (A, u))


def _trained(settings: Mapping[str, Any], key: Any, **options: Any) -> Trained[Loops]:
    s = settings
    d, n = s["dimension"], s["samples"]
    return fit_loops(
        Short(n, jnp.eye(d)),
        loops=s["loops"],
        seeds=s["seeds"],
        examples=min(n, d),
        batch=s["batch"],
        steps=s["steps"],
        optimiser=_optimiser(s),
        redraw_every=s["redraw_every"],
        key=quick_key(key),
        start_scale=s["start"] if s["protocol"] == "code" else _START,
        **options,
    )


class Short(AbstractTask):
    """Prompts of n examples in min(n, d) that have their second moment S.

    Besides w and the query a model sees no more of a prompt than S, so that nothing
    changes but the cost. With n ≥ d they are the columns of √(d/n) RT, T lower
    triangular with T_ii² ~ χ²_{n−i+1} (Bartlett's decomposition). Inputs have the
    covariance RRᵀ, w ~ N(0, I), and there is no noise.
    """

    samples: Float[Array, ""]
    root: Float[Array, "d d"]
    dimension: int

    def __init__(self, samples: int, root: Float[Array, "d d"]):
        # An array, so that equal programs serve all n.
        self.samples, self.root = jnp.asarray(float(samples)), root
        self.dimension = len(root)

    def latent(self, key: PRNGKeyArray) -> Float[Array, " d"]:
        return jax.random.normal(key, (self.dimension,))

    def inputs(self, latent: Any, count: int, key: PRNGKeyArray) -> Any:
        d, (below_key, chi_key) = self.dimension, jax.random.split(key)
        white = jax.random.normal(below_key, (count, d))
        if count == d:
            shapes = (self.samples - jnp.arange(d)) / 2
            roots = jnp.sqrt(2 * jax.random.gamma(chi_key, shapes))
            triangle = jnp.triu(white, 1) + jnp.diag(roots)
            white = jnp.sqrt(d / self.samples) * triangle
        return white @ self.root.T

    def labels(self, latent: Any, inputs: Any) -> Any:
        return inputs @ latent

    def noise(self, latent: Any, count: int, key: PRNGKeyArray) -> Any:
        return jnp.zeros(count)

    def query(self, latent: Any, examples: Any, key: PRNGKeyArray) -> Any:
        return self.root @ jax.random.normal(key, (self.dimension,))


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
        f"{settings['batch']:,} prompts each"
    )


def manners(trained: list[Any]) -> str:
    """What every protocol does, a line for each, for captions."""
    last = {str(one["protocol"]): str(one["how"]) for one in trained}
    return "\n".join(f"Protocol {name}: {manner}." for name, manner in last.items())


def how(settings: Mapping[str, Any]) -> str:
    """What a protocol does."""
    if settings["protocol"] == "text":
        return f"Adam at {_RATE:g} along a half cosine, no clipping"
    return (
        f"Adam {tuple(settings['betas'])} at {settings['rate']:g}, halved "
        f"{settings['halvings']} times, gradients of matrices clipped at "
        f"{settings['clip']:g}, start {settings['start']:g}"
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


def _optimiser(settings: Mapping[str, Any]) -> Optimiser | optax.GradientTransformation:
    """The optimiser of a protocol; the code base has no u, which stays at 0."""
    s = settings
    if s["protocol"] == "text":
        return Optimiser("adam", _RATE, "cosine")
    clipped = Optimiser(
        "adam",
        s["rate"],
        "halving",
        halve_every=max(1, s["steps"] // s["halvings"]),
        clip=s["clip"],
        clip_by="matrix",
        betas=tuple(s["betas"]),
    )
    return _of_A_alone(clipped, s["steps"])


@functools.cache  # one object for one optimiser, so that equal programs compile once
def _of_A_alone(one: Optimiser, steps: int) -> optax.GradientTransformation:
    def without_u(updates, _):
        return eqx.tree_at(lambda one: one.u, updates, jnp.zeros_like(updates.u))

    return optax.chain(one.transformation(steps), optax.stateless(without_u))
