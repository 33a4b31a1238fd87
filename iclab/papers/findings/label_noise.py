"""Exact losses on noisy labels, with any prior: models on prompts against the formulas.

Label noise adds (σ²/n) E tr(SHΣHᵀ), SH = I − G, to a loss that is quadratic in G. Here
Ω and Σ do not commute, A is not symmetric, and u of the looped model is not zero.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.evaluation import sampled_risk
from iclab.evidence import Claim, Measured, averaged
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
_LAYERS = np.stack([-_A, -_A.T, -0.3 * _A @ _A])
# Steps and contractions of a network of multiples of Σ⁻¹ and of I.
_STEPS, _CONTRACTIONS = np.array([-0.35, -0.5]), np.array([-0.25, 0.0])


@dataclass(frozen=True)
class Case:
    """n examples whose labels have noise of variance σ²."""

    samples: int
    noise: float


def cases(scale) -> dict[str, Case]:
    """Short and longer prompts, little noise and much."""
    found = [Case(6, 0.8)]
    if scale != "smoke":
        found += [Case(20, 0.25), Case(6, 5.0)]
    return {f"n={case.samples}, σ²={case.noise:g}": case for case in found}


def predict(case: Case):
    """Losses of the best layer, three layers, two loops, and two layers of GD++."""
    return _losses(case, case.noise)


def decoy(case: Case):
    """Losses of the same models without noise."""
    return _losses(case, 0.0, trained=case.noise)


def measure(case: Case, key, scale) -> Measured:
    """Mean squared errors of the models on common prompts of the task."""
    P = _preconditioner(case.noise, case.samples)
    inverse, identity = np.linalg.inv(SIGMA), np.eye(2)
    scaled = _STEPS[:, None, None] * inverse, _CONTRACTIONS[:, None, None] * identity
    models = {
        "layer": LinearSelfAttention.from_blocks(jnp.asarray(P), 1.0),
        "three": LinearTransformer.sparse(jnp.asarray(_LAYERS), jnp.zeros((3, 2, 2))),
        "looped": LoopedTransformer(jnp.asarray(_A), jnp.asarray(_U), loops=2),
        "GD++": LinearTransformer.sparse(*map(jnp.asarray, scaled)),
    }
    task = LinearRegression(
        jnp.asarray(SIGMA),
        weight_covariance=jnp.asarray(OMEGA),
        noise_std=case.noise**0.5,
    )
    prompts = {"smoke": 1 << 15, "desk": 1 << 18, "paper": 1 << 21}[scale]
    found = sampled_risk(models, task, examples=case.samples, prompts=prompts, key=key)
    means, errors = np.array([found[name] for name in models]).T
    return averaged(means, errors, prompts, "prompts")


def _preconditioner(noise: float, samples: int):
    return optimal_preconditioner(
        jnp.asarray(SIGMA),
        samples,
        weight_covariance=jnp.asarray(OMEGA),
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
        ]
    )


CLAIM = Claim(
    "findings/label-noise",
    cases=cases,
    predict=predict,
    measure=measure,
    decoy=decoy,
)
