"""Exact losses on noisy labels, with any prior: models on prompts against the formulas.

Label noise adds (σ²/n) E tr(SHΣHᵀ), SH = I − G, to a loss that is quadratic in G. Here
Ω and Σ do not commute, A is not symmetric, and u of the looped model is not zero. With
two examples a rule integrates over all prompts, and there the best layer is found once
more, as the regression of w on c = (1/n)Σyx.
"""

import itertools
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from iclab.core import AbstractPredictor, Prompt
from iclab.evaluation import sampled_risk
from iclab.evidence import Measured, averaged, rounded
from iclab.models import LinearSelfAttention, LinearTransformer, LoopedTransformer
from iclab.tasks import LinearRegression
from iclab.theory import (
    linear_transformer_loss,
    looped_loss,
    lsa_risk,
    optimal_preconditioner,
    scalar_transformer_loss,
)

SIGMA = np.array([[1.0, 0.3], [0.3, 0.5]])
OMEGA = np.array([[0.7, -0.2], [-0.2, 1.1]])
_A = np.array([[0.5, 0.2], [-0.1, 0.9]])
_U = np.array([0.3, -0.4])
# A multiple of Σ⁻¹, for which quadrature takes the place of words.
_MULTIPLE = jnp.asarray(0.6 * np.linalg.inv(SIGMA))
_LAYERS = np.stack([-_A, -_A.T, -0.3 * _A @ _A])
# Steps and contractions of a network of multiples of Σ⁻¹ and of I.
_STEPS, _CONTRACTIONS = np.array([-0.35, -0.5]), np.array([-0.25, 0.0])

shares = {
    "optimal_preconditioner": "makes the weights; models on prompts are measured",
}


@dataclass(frozen=True)
class Case:
    """n examples whose labels have noise of variance σ².

    `every`: over all prompts in place of drawn ones, and with the best layer's weights.
    """

    samples: int
    noise: float
    every: bool = False


def cases(scale) -> dict[str, Case]:
    """Short and longer prompts, little noise and much."""
    found = [Case(6, 0.8), Case(2, 0.3, True)]
    if scale != "smoke":
        found += [Case(20, 0.25), Case(6, 5.0), Case(2, 5.0, True)]
    return {
        f"n={case.samples}, σ²={case.noise:g}{', all prompts' * case.every}": case
        for case in found
    }


def predict(case: Case):
    """Losses of the best layer, three layers, two loops, two layers of GD++.

    And of two loops of a multiple of Σ⁻¹.
    """
    losses = _losses(case, case.noise)
    if not case.every:
        return losses
    P = [_preconditioner(case.noise, case.samples, prior) for prior in (OMEGA, None)]
    return np.concatenate([losses, *map(np.ravel, P)])


def decoy(case: Case):
    """Losses of the same models without noise; Ω and Σ in the other order."""
    losses = _losses(case, 0.0, trained=case.noise)
    if not case.every:
        return losses
    n, k = case.samples, np.trace(OMEGA @ SIGMA) + case.noise
    square = (1 + 1 / n) * OMEGA @ SIGMA + k / n * np.eye(2)
    wrong = np.linalg.solve(square.T, OMEGA.T).T
    alone = _preconditioner(0.0, n, None)
    return np.concatenate([losses, wrong.ravel(), np.ravel(alone)])


def measure(case: Case, key, scale) -> Measured:
    """Mean squared errors of the models on common prompts of the task."""
    models = _models(case)
    if case.every:
        losses = [_mean_loss(model, case) for model in models.values()]
        P = [_regression(case, prior).ravel() for prior in (OMEGA, np.eye(2))]
        found = np.concatenate([losses, *P])
        return rounded(found, 10_000, 1 + np.abs(found).max())
    task = LinearRegression(
        jnp.asarray(SIGMA),
        weight_covariance=jnp.asarray(OMEGA),
        noise_std=case.noise**0.5,
    )
    prompts = {"smoke": 1 << 15, "desk": 1 << 18, "paper": 1 << 21}[scale]
    found = sampled_risk(models, task, examples=case.samples, prompts=prompts, key=key)
    means, errors = np.array([[*found[name]] for name in models]).T
    return averaged(means, errors, prompts, "prompts")


def _models(case: Case) -> dict[str, AbstractPredictor]:
    P = _preconditioner(case.noise, case.samples)
    inverse, identity = np.linalg.inv(SIGMA), np.eye(2)
    scaled = _STEPS[:, None, None] * inverse, _CONTRACTIONS[:, None, None] * identity
    return {
        "layer": LinearSelfAttention.from_blocks(jnp.asarray(P), 1.0),
        "three": LinearTransformer.sparse(jnp.asarray(_LAYERS), jnp.zeros((3, 2, 2))),
        "looped": LoopedTransformer(jnp.asarray(_A), jnp.asarray(_U), loops=2),
        "GD++": LinearTransformer.sparse(*map(jnp.asarray, scaled)),
        "multiple": LoopedTransformer(_MULTIPLE, jnp.asarray(_U), loops=2),
    }


def _mean_loss(model: AbstractPredictor, case: Case) -> float:
    """Over every prompt of two examples.

    Errors are linear in the query and affine in w and in the noise, so that roots of
    their covariances stand for them; nine nodes in each input make the rest exact.
    """
    nodes, masses = np.polynomial.hermite_e.hermegauss(9)
    points = np.array(list(itertools.product(nodes, repeat=4)))
    chances = np.prod(list(itertools.product(masses / masses.sum(), repeat=4)), axis=1)
    inputs = points.reshape(-1, 2, 2) @ np.linalg.cholesky(SIGMA).T
    tasks, noise = np.zeros((5, 2)), np.zeros((5, 2))
    tasks[1:3] = np.linalg.cholesky(OMEGA).T
    noise[3:] = case.noise**0.5 * np.eye(2)

    queries = np.linalg.cholesky(SIGMA).T
    errors = np.asarray(_errors(model, inputs, tasks, noise, queries))
    apart = np.concatenate([errors[:, :1], errors[:, 1:] - errors[:, :1]], axis=1)
    return float(chances @ np.sum(apart**2, axis=(1, 2)))


@eqx.filter_jit
def _errors(model: AbstractPredictor, inputs, tasks, noise, queries):
    """By prompt, by task with its noise, and by query."""

    def error(X, w, epsilon, query):
        return w @ query - model(Prompt(X, X @ w + epsilon, query))

    by_query = jax.vmap(error, (None, None, None, 0))
    by_task = jax.vmap(by_query, (None, 0, 0, None))
    return jax.vmap(by_task, (0, None, None, None))(inputs, tasks, noise, queries)


def _regression(case: Case, prior: np.ndarray) -> np.ndarray:
    """E[wcᵀ] E[ccᵀ]⁻¹ over Gauss–Hermite nodes of examples, tasks and noise."""
    three, two = (np.polynomial.hermite_e.hermegauss(count) for count in (3, 2))
    lines = [three] * 4 + [two] * 4
    points = np.array(list(itertools.product(*(line for line, _ in lines))))
    masses = np.prod(list(itertools.product(*(mass for _, mass in lines))), axis=1)
    X = points[:, :4].reshape(-1, 2, 2) @ np.linalg.cholesky(SIGMA).T
    w = points[:, 4:6] @ np.linalg.cholesky(prior).T
    y = np.einsum("pnd,pd->pn", X, w) + case.noise**0.5 * points[:, 6:]
    c = np.einsum("pnd,pn->pd", X, y) / case.samples
    cross, square = ((masses * one.T) @ c for one in (w, c))
    return np.linalg.solve(square, cross.T).T


def _preconditioner(noise: float, samples: int, prior: np.ndarray | None = OMEGA):
    return optimal_preconditioner(
        jnp.asarray(SIGMA),
        samples,
        weight_covariance=None if prior is None else jnp.asarray(prior),
        noise_variance=noise,
    )


def _losses(case: Case, noise: float, trained: float | None = None) -> np.ndarray:
    setting = {
        "covariance": jnp.asarray(SIGMA),
        "weight_covariance": jnp.asarray(OMEGA),
        "noise_variance": noise,
    }
    n = case.samples
    P = _preconditioner(noise if trained is None else trained, n)
    risk = {name: setting[name] for name in ("weight_covariance", "noise_variance")}
    prompts = {"samples": n, **setting}
    return np.array(
        [
            lsa_risk(P, setting["covariance"], n, **risk),
            linear_transformer_loss(jnp.asarray(_LAYERS), **prompts),
            looped_loss(jnp.asarray(_A), jnp.asarray(_U), **prompts, loops=2),
            scalar_transformer_loss(
                jnp.asarray(_STEPS),
                jnp.asarray(_CONTRACTIONS),
                2,
                n,
                noise_variance=noise,
                signal_variance=float(np.trace(OMEGA @ SIGMA)) / 2,
            ),
            looped_loss(_MULTIPLE, jnp.asarray(_U), **prompts, loops=2),
        ]
    )
