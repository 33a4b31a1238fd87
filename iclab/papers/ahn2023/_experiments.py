"""Training runs behind Figures 1–4: linear transformers, by L-BFGS and AdamW.

Weights are compared in whitened form, Σ^½A_iΣ^½ and Σ^{−½}B_iΣ^½: there the loss is
that of Σ = I, and the stationary points of Theorems 4 and 5 are multiples of I.
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
from jaxtyping import Array, Float

from iclab.core import FEWEST_EFFECTIVE, Estimate, Prompt
from iclab.evidence import MissingTable, Tables, setting
from iclab.models import LinearTransformer
from iclab.papers._training_runs import (
    Steps,
    blocks,
    mean_diagonal,
    quick_key,
    to_multiples,
)
from iclab.tasks import LinearRegression
from iclab.theory import (
    layer_condition_numbers,
    linear_transformer_loss,
    sampled_transformer_loss,
    scalar_transformer_loss,
    transformer_loss_given,
    weighted_covariances,
    wishart_samples,
)
from iclab.training import (
    AbstractProblem,
    Curriculum,
    Optimiser,
    Recorder,
    Trained,
    fit,
    minimise,
)

# D in Σ = UᵀD²U, Sections 5.3 and 6.1, for d = 5; taken again for more dimensions.
_STANDARD_DEVIATIONS = (1.0, 1.0, 0.5, 0.25, 1.0)

# More pairs than L-BFGS has steps here change little; the public code keeps 600.
_MEMORY = 100
# (A, B) with B of one layer less, because that of the last has no effect; or (A,).
Weights = tuple[Any, ...]


@dataclass(frozen=True)
class Plain:
    """Sizes of Figures 1 and 2, B = 0.

    `smoke` has two layers, because the exact loss of three takes longer to compile.
    """

    dimension: int = setting("Dimension d of the inputs.", 5, least=2)
    samples: int = setting("Examples in a prompt, n.", 20)
    layers: int = setting("Layers.", 3, smoke=2)
    runs: int = setting("Runs, each with a covariance of its own.", 5, smoke=2)
    steps: int = setting("Iterations of L-BFGS.", 200, smoke=60)
    draws: int = setting(
        "Prompts or sample covariances in a batch.", 10_000, smoke=2_000, paper=20_000
    )
    initial_std: float = setting("Standard deviation of the first weights.", 1e-4)
    batch: Literal["wishart", "tokens"] = setting(
        "What a batch is: sample covariances, or prompts in token space as in the "
        "paper.",
        "wishart",
        paper="tokens",
    )


# How to train and the examples in a prompt, as one types them.
Beside = Literal["code-10", "code-20", "mixture-10", "mixture-20", "text-10", "text-20"]


@dataclass(frozen=True)
class Free(Steps):
    """Sizes of Figures 3 and 4, B free; the weights are trained as they are.

    The authors' public code has two ways to train, both at n = 20: AdamW on prompts
    that are drawn again and again, which is `code` here, and L-BFGS on one batch. The
    text has L-BFGS at n = 10. Here sample covariances take the place of prompts, with w
    and the query integrated out.
    """

    protocol: Literal["text", "code"] = setting(
        "Whose choices: the text's, or those of the authors' code.",
        "code",
        names={"text": {"samples": 10, "training": "batch"}},
    )
    dimension: int = setting("Dimension d of the inputs.", 5, least=2)
    samples: int = setting("Examples in a prompt, n.", 20)
    layers: int = setting("Layers.", 3, smoke=2, least=2)
    runs: int = setting("Runs, each with a covariance of its own.", 2, paper=5)
    initial_std: float = setting("Standard deviation of the first weights.", 1e-4)
    training: Literal["fresh", "batch"] = setting(
        "Steps on draws that are made again, or L-BFGS on one batch.",
        "fresh",
        smoke="batch",
    )
    steps: int = setting("Steps on fresh draws.", 5_000, smoke=400, paper=100_000)
    draws: int = setting(
        "Sample covariances of a step on fresh draws.", 1_000, smoke=100
    )
    method: Literal["adam", "adamw", "sgd"] = setting("Method of training.", "adamw")
    learning_rate: float = setting("Learning rate after the warm-up.", 0.1)
    schedule: Literal["constant", "linear", "cosine", "halving"] = setting(
        "How the rate falls.", "halving"
    )
    halve_every: int | None = setting(
        "Steps until the rate is half.", 1_000, smoke=60, paper=4_000
    )
    betas: tuple[float, ...] = setting("Betas of Adam.", (0.99, 0.9))
    clip: float | None = setting("Bound on the norm of the gradient.", 0.01)
    clip_by: Literal["whole", "matrix"] = setting(
        "What the bound is for: all of the gradient, or every matrix.", "matrix"
    )
    redraw_every: int = setting("Steps that see the same draws.", 500, paper=100)
    mixture: bool = setting(
        "Fresh draws are of a mixture with rare ones, weighted.", True, paper=False
    )
    batch: int = setting(
        "Sample covariances of the batch.", 4_000, smoke=500, paper=20_000
    )
    iterations: int = setting("Iterations of L-BFGS.", 300, smoke=40, paper=8_000)
    memory: int = setting("Pairs that L-BFGS keeps.", 100, paper=600)
    fresh_draws: int = setting(
        "Sample covariances of the test.", 100_000, smoke=20_000, paper=1_000_000
    )
    beside: tuple[Beside, ...] = setting(
        "Ways to train and n that one run is trained with besides.",
        ("text-10",),
        paper=("text-10", "text-20", "code-10", "mixture-20"),
    )
    lengths: tuple[int, ...] = setting(
        "n of which the best multiples are computed.", (10, 20, 50), smoke=(10, 20)
    )


def plain_jobs(settings: Plain) -> dict[str, dict[str, Any]]:
    """Figures 1 and 2: a job with all exact runs, and one for each on a batch."""
    s = settings
    names = ("dimension", "layers", "samples", "steps", "initial_std")
    common = {name: getattr(s, name) for name in names}
    batch = {"draws": s.draws, "batch": s.batch}
    runs = {f"run {run + 1}": {**common, **batch, "run": run} for run in range(s.runs)}
    return {"exact": {**common, "runs": s.runs}} | runs


def free_jobs(settings: Free) -> dict[str, dict[str, Any]]:
    """Figure 3: the best multiples, runs, and a run with every other protocol."""
    s = settings
    common = dataclasses.asdict(s)
    others = ("protocol", "runs", "beside", "lengths")
    run = {name: one for name, one in common.items() if name not in others}
    kept = ("dimension", "layers", "samples", "initial_std", "runs", "lengths")
    found = {"exact": {name: common[name] for name in kept}}
    found |= {f"run {i + 1}": run | {"run": i} for i in range(s.runs)}
    for one in s.beside:
        way, samples = one.split("-")
        found[f"beside {one}"] = run | {
            "samples": int(samples),
            "training": "batch" if way == "text" else "fresh",
            "mixture": way == "mixture",
            "run": 0,
        }
    return found


def is_run(settings: Mapping[str, Any]) -> bool:
    """Whether a job trains a run of its own."""
    return "run" in settings


def standard_deviations(dimension: int) -> np.ndarray:
    """Roots of the eigenvalues of Σ."""
    return np.resize(_STANDARD_DEVIATIONS, dimension)


class Instance(NamedTuple):
    """What a run draws before it trains: Σ^½, Σ^{−½} and the first weights."""

    root: np.ndarray
    inverse_root: np.ndarray
    A: np.ndarray
    B: np.ndarray


def instance(settings: Mapping[str, Any], run: int) -> Instance:
    """Covariance and start of a run: the same wherever it appears with this seed."""
    d, layers, initial_std = (
        settings[name] for name in ("dimension", "layers", "initial_std")
    )
    seed = settings.get("seed", 0)
    rng = np.random.default_rng([2023, run, seed] if seed else [2023, run])
    D = standard_deviations(d)
    Q, R = np.linalg.qr(rng.normal(size=(d, d)))
    U = Q * np.sign(np.diag(R))  # uniform on the orthogonal group
    root = U.T @ np.diag(D) @ U
    inverse_root = U.T @ np.diag(1 / D) @ U
    start = initial_std * rng.normal(size=(2 * layers - 1, d, d))
    return Instance(root, inverse_root, start[:layers], start[layers:])


def train_exactly(settings: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Several runs on the exact loss with B = 0; starts as in `train_on_batch`."""
    n = settings["samples"]
    runs = [instance(settings, run) for run in range(settings["runs"])]
    roots = np.stack([one.root for one in runs])
    starts = np.stack([one.A for one in runs])
    result = _train_exactly(starts, roots, n, settings["steps"])
    A = np.asarray(result.records)
    whitened = roots[:, None, None] @ A @ roots[:, None, None]
    return {
        "losses": np.asarray(result.losses),
        "distances": to_multiples(A),
        "whitened_distances": to_multiples(whitened),
        "whitened": whitened[:, -1],
        "gradient_norms": np.asarray(result.gradient_norm),
    }


def train_on_batch(settings: Mapping[str, Any], key: Any) -> dict[str, np.ndarray]:
    """One run with B = 0 on a fixed batch: of prompts, or of sample covariances.

    `batch` "tokens" is a batch of `draws` prompts in token space, as in the paper.
    "wishart" draws `draws` sample covariances and integrates w and the query out.
    """
    run, draws = instance(settings, settings["run"]), settings["draws"]
    root, inverse_root = jnp.asarray(run.root), jnp.asarray(run.inverse_root)
    n, d = settings["samples"], settings["dimension"]
    if settings["batch"] == "tokens":
        task = LinearRegression(
            root @ root, weight_covariance=inverse_root @ inverse_root
        )
        loss = _OnPrompts(task.sample_batch(key, draws, n))
    else:
        loss = _OnDraws(root, inverse_root, whitened_draws(key, d, n, draws))
    start = (jnp.asarray(run.A),)
    result = minimise(loss, start, max_steps=settings["steps"], memory=_MEMORY)
    (A,) = map(np.asarray, result.records)
    (whitened,) = _whitened((A,), run.root, run.inverse_root)
    return {
        "losses": np.asarray(result.losses),
        "distances": to_multiples(A),
        "whitened_distances": to_multiples(whitened),
        "whitened": whitened[-1],
        "gradient_norm": np.asarray(result.gradient_norm),
        "draws": np.asarray(draws),
        "tokens": np.asarray(settings["batch"] == "tokens"),
    }


def train_free(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """One run with B free; a hundred points of a curve, and the end."""
    s = settings
    d, n, run = s["dimension"], s["samples"], instance(s, s["run"])
    root, inverse_root = jnp.asarray(run.root), jnp.asarray(run.inverse_root)
    start = (jnp.asarray(run.A), jnp.asarray(run.B))
    fresh = s["training"] == "fresh"
    every = max(1, s["steps" if fresh else "iterations"] // 100)
    if fresh:
        record = Recorder(lambda model: model, every)
        result = fit(
            _FreshDraws(
                root=root,
                inverse_root=inverse_root,
                samples=n,
                layers=s["layers"],
                mixture=s["mixture"],
            ),
            start,
            Optimiser.of(s),
            steps=s["steps"],
            batch=s["draws"],
            redraw_every=s["redraw_every"],
            key=quick_key(key),
            hooks=[record],
        )
        losses = blocks(result.losses, every)
        loss_at = every * (np.arange(len(losses)) + 0.5)
        A, B = map(np.asarray, result.records)
        steps = np.asarray(result.recorded_at)
        last = float(np.mean(result.losses[-every:]))
    else:
        loss = _OnDraws(root, inverse_root, whitened_draws(key, d, n, s["batch"]))
        found = minimise(loss, start, max_steps=s["iterations"], memory=s["memory"])
        steps = loss_at = np.arange(0, s["iterations"] + 1, every)
        losses = np.asarray(found.losses)[steps]
        A, B = (np.asarray(one)[steps] for one in found.records)
        last = float(found.losses[-1])
    whitened = _whitened((A, B), run.root, run.inverse_root)
    multiples = mean_diagonal(whitened[0]), mean_diagonal(B)
    conditions = condition_numbers((whitened[0][-1], whitened[1][-1]), n, key)
    return {
        "losses": losses,
        "loss_at": loss_at,
        "last_loss": last,
        "steps": steps,
        "distances": to_multiples(A),
        "whitened_distances": to_multiples(whitened[0]),
        "B_distances": to_multiples(B),
        "whitened": whitened[0][-1],
        "whitened_B": whitened[1][-1],
        "B": B[-1],
        "a": multiples[0][-1],
        "b": multiples[1][-1],
        # Exact, of the nearest multiples of Σ⁻¹ and I.
        "nearest_losses": np.asarray(_scalar_losses(multiples, d, n)),
        "conditions": conditions,
        "draws": s["draws"] if fresh else s["batch"],
        "redraw_every": s["redraw_every"] if fresh else 0,
        "way": ("mixture" if s["mixture"] else "code") if fresh else "text",
        "samples": n,
    }


def condition_numbers(weights: Weights, samples: int, key: Any) -> np.ndarray:
    """Medians over prompts of the condition numbers of X_iX_iᵀ, whitened, by layer."""
    A, B = map(jnp.asarray, weights)
    last = jnp.zeros_like(A[:1])
    shape = (20_000, samples, A.shape[-1])
    X = jax.random.normal(jax.random.fold_in(key, 2), shape)
    return np.median(np.asarray(_conditions(X, A, jnp.append(B, last, 0))), axis=0)


@jax.jit
def _conditions(X: Array, A: Array, B: Array) -> Float[Array, "prompts layers"]:
    return jax.vmap(lambda one: layer_condition_numbers(one, A, B))(X)


class _FreshDraws(AbstractProblem):
    """Sample covariances, whitened, and the loss of raw weights on them."""

    root: Array
    inverse_root: Array
    samples: int
    layers: int
    mixture: bool
    curriculum: Curriculum = Curriculum.constant(1, 1)

    def sample(self, key: Any, stage: Any) -> Any:
        """A draw and its weight."""
        drawn = self.batch(key, jnp.int32(0), 1, stage)
        return jax.tree.map(lambda leaf: leaf[0], drawn)

    def batch(self, key: Any, step: Any, size: int, stage: Any) -> Any:
        drawn = weighted_covariances(
            jax.random.fold_in(key, step),
            jnp.eye(len(self.root)),
            self.samples,
            size,
            degree=3**self.layers - 1,
            mixture=self.mixture,
        )
        return drawn.covariances, drawn.weights

    def loss(self, model: Weights, samples: Any, stage: Any) -> Float[Array, ""]:
        S, weights = samples
        whitened = _whitened(model, self.root, self.inverse_root)
        return jnp.mean(weights * losses_given(whitened, S))


def stacked_runs(tables: Tables) -> dict[str, np.ndarray]:
    """The tables of the runs on batches, stacked column by column."""
    runs = [table for name, table in tables.items() if name.startswith("run ")]
    columns = first_run(tables)
    return {name: np.stack([run[name] for run in runs]) for name in columns}


def first_run(tables: Tables) -> Mapping[str, Any]:
    """The first table of a run on a batch."""
    for name, table in tables.items():
        if name.startswith("run "):
            return table
    raise MissingTable("a table of a run on a batch, `run 1`")


def training_words(table: Any) -> str:
    """How a run was trained, for captions."""
    draws, every = int(table["draws"]), int(table.get("redraw_every", 0))
    kind = "prompts" if table.get("tokens", False) else "sample covariances"
    if every:
        kind += " of a mixture" if str(table["way"]) == "mixture" else ""
        return f"AdamW clipped by matrix, {draws:,} new {kind} every {every} steps"
    return f"L-BFGS on a fixed batch of {draws:,} {kind}"


@functools.partial(jax.jit, static_argnames=("d", "n", "count"))
def whitened_draws(key: Any, d: int, n: int, count: int) -> Float[Array, "count d d"]:
    """Sample covariances of `n` inputs with Σ = I."""
    return wishart_samples(key, jnp.eye(d), n, (count,))


def exact_loss(whitened: np.ndarray, samples: int) -> np.ndarray:
    """Exact loss of trained weights with B = 0."""
    return np.asarray(_exact_loss(jnp.asarray(whitened), samples))


def fresh_losses(
    whitened: Weights, settings: Mapping[str, Any], key: Any
) -> tuple[float, float, float]:
    """Mean, its standard error and median of the loss of new sample covariances.

    The median is over their plain law, a batch of them at a time, the mean over a
    mixture that has the rare ones that carry it; NaN where too few do in the mixture.
    """
    d, n, count = settings["dimension"], settings["samples"], 20_000
    parts = max(1, settings["fresh_draws"] // count)
    losses = [
        np.asarray(_losses_given(whitened, whitened_draws(one, d, n, count)))
        for one in jax.random.split(key, parts)
    ]
    A, B = map(jnp.asarray, whitened)
    found = _estimated(
        A,
        jnp.concatenate([B, jnp.zeros_like(A[:1])])[: len(A)],
        quick_key(jax.random.fold_in(key, 1)),
        n=n,
        draws=settings["fresh_draws"],
    )
    known = found.effective >= FEWEST_EFFECTIVE
    mean, error = (float(one) if known else math.nan for one in found)
    return mean, error, float(np.median(losses))


@functools.partial(jax.jit, static_argnames=("n", "draws"))
def _estimated(A: Array, B: Array, key: Any, *, n: int, draws: int) -> Estimate:
    identity = jnp.eye(A.shape[-1])
    return sampled_transformer_loss(
        A, B, covariance=identity, samples=n, key=key, draws=draws
    )


def train_multiples(settings: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Runs on the exact loss with A_i = a_i Σ⁻¹, B_i = b_i I; as near as can be."""
    d, n = settings["dimension"], settings["samples"]
    starts = []
    for run in range(settings["runs"]):
        one = instance(settings, run)
        A, B = _whitened((one.A, one.B), one.root, one.inverse_root)
        starts.append((mean_diagonal(A), mean_diagonal(B)))
    start = tuple(jnp.asarray(np.stack(leaves)) for leaves in zip(*starts, strict=True))
    result = _train_multiples(start, d, n)
    a, b = result.model
    return {
        "losses": np.asarray(result.losses),
        "a": np.asarray(a),
        "b": np.asarray(b),
        "gradient_norms": np.asarray(result.gradient_norm),
    }


def _whitened(weights: Weights, root: Any, inverse_root: Any) -> Weights:
    """Σ^½AΣ^½ and, if it is there, Σ^{−½}BΣ^½."""
    A, *B = weights
    return (root @ A @ root, *(inverse_root @ one @ root for one in B))


def losses_given(weights: Weights, S: Float[Array, "b d d"]) -> Float[Array, " b"]:
    """Losses of whitened weights on prompts with these whitened sample covariances."""
    A, *B = weights
    # The last B changes nothing; where it is not trained it is zero.
    padded = jnp.concatenate([B[0], jnp.zeros_like(A[:1])])[: len(A)] if B else None
    identity = jnp.eye(A.shape[-1])
    return jax.vmap(
        lambda one: transformer_loss_given(
            one, A, padded, covariance=identity, weight_covariance=identity
        )
    )(S)


_losses_given = jax.jit(losses_given)


class _OnDraws(eqx.Module):
    """Mean loss over sample covariances: a Module, so that all runs share a program."""

    root: Array
    inverse_root: Array
    S: Array

    def __call__(self, weights: Weights) -> Float[Array, ""]:
        whitened = _whitened(weights, self.root, self.inverse_root)
        return jnp.mean(losses_given(whitened, self.S))


class _OnPrompts(eqx.Module):
    """Mean squared error on prompts in token space."""

    prompts: Prompt

    def __call__(self, weights: Weights) -> Float[Array, ""]:
        A, *B = weights
        last = jnp.zeros_like(A[:1])
        model = LinearTransformer.sparse(A, *(jnp.append(b, last, 0) for b in B))
        errors = jax.vmap(model.in_token_space)(self.prompts) - self.prompts.target
        return jnp.mean(errors**2)


# One run after the other: a `vmap` would compute all of them until the last one ends.
@functools.partial(jax.jit, static_argnames=("n", "steps"))
def _train_exactly(starts: Array, roots: Array, n: int, steps: int) -> Trained:
    def train(one):
        start, root = one

        def loss(A):
            return _exact_loss(root @ A @ root, n)

        return minimise(loss, start, max_steps=steps, memory=_MEMORY)

    return jax.lax.map(train, (starts, roots))


@functools.partial(jax.jit, static_argnames=("d", "n"))
def _train_multiples(start: Weights, d: int, n: int) -> Trained:
    def train(one):
        def loss(weights):
            return _scalar_loss(weights, d, n)

        return minimise(loss, one, max_steps=100)

    return jax.vmap(train)(start)


@functools.partial(jax.jit, static_argnames="n")
def _exact_loss(whitened: Array, n: int) -> Array:
    I = jnp.eye(whitened.shape[-1])
    return linear_transformer_loss(
        whitened, covariance=I, weight_covariance=I, samples=n
    )


def _scalar_loss(multiples: Weights, d: int, n: int) -> Array:
    a, b = multiples
    return scalar_transformer_loss(a, jnp.append(b, 0.0), d, n)


@functools.partial(jax.jit, static_argnames=("d", "n"))
def _scalar_losses(multiples: Weights, d: int, n: int) -> Array:
    return jax.vmap(lambda one: _scalar_loss(one, d, n))(multiples)
