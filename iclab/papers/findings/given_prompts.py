"""Losses given the sample covariance: formulas before the mean, on single prompts.

For any examples the mean over tasks, queries and noise is a sum over a few of each,
since errors are linear in the query and affine in task and noise. So the formulas given
S can be compared with the models on one prompt at a time, to round-off: with matrices
that do not commute, that are not symmetric, with B and with u. A mean over drawn S, and
its standard error, are compared with draws of inputs.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.core import Prompt
from iclab.evidence import STANDARD_ERRORS, Measured, rounded
from iclab.models import LinearTransformer, LoopedTransformer
from iclab.theory import looped_loss_given, sampled_looped_loss, transformer_loss_given

_SIGMA = np.array([[1.0, 0.3], [0.3, 0.5]])
_OMEGA = np.array([[0.7, -0.2], [-0.2, 1.1]])
_A = np.array([[0.5, 0.2], [-0.1, 0.9]])
_B = np.array([[0.3, -0.2], [0.4, 0.1]])
_U = np.array([0.3, -0.4])
# Layers of a network with B, and the loops of one with u.
_LAYERS = np.stack([-_A, -_A.T, -0.3 * _A @ _A]), np.stack([_B, _B.T, 0 * _B])
_LOOPS = 3
_EXAMPLES = 4
# Draws of S, and of inputs.
_DRAWS = 40_000


@dataclass(frozen=True)
class Case:
    """A looped model or layers of their own, and the noise of the labels."""

    looped: bool
    noise: float
    given_prior: bool = True
    drawn: bool = False


def cases(scale) -> dict[str, Case]:
    """Both models with noise and without, loops with the prior Σ⋆⁻¹ too."""
    return {
        "three layers with B": Case(False, 0.0),
        "three layers with B, σ²=0.6": Case(False, 0.6),
        "three loops with u": Case(True, 0.0),
        "three loops with u, σ²=0.6": Case(True, 0.6),
        "three loops, Ω = Σ⋆⁻¹": Case(True, 0.0, given_prior=False),
        "one loop, drawn S": Case(True, 0.0, drawn=True),
    }


def predict(case: Case):
    """The formula, at the sample covariance of four examples.

    Of drawn S the mean and the standard deviation, by the standard error of the mean;
    and the mean once more, from a mixture of laws of S.
    """
    if case.drawn:
        return _drawn(_A)
    return _formula(case, _A if case.looped else _LAYERS[0])


def decoy(case: Case):
    """Every A transposed, as if they were symmetric; half of A on drawn S."""
    if case.drawn:
        return _drawn(_A / 2)
    return _formula(case, _A.T if case.looped else _LAYERS[0].swapaxes(1, 2))


def _drawn(A: np.ndarray) -> np.ndarray:
    plain, mixed = (
        sampled_looped_loss(
            jnp.asarray(A),
            covariance=jnp.asarray(_SIGMA),
            weight_covariance=jnp.asarray(_OMEGA),
            samples=_EXAMPLES,
            loops=1,
            key=jax.random.key(5),
            draws=_DRAWS,
            mixture=mixture,
        )
        for mixture in (False, True)
    )
    deviation = plain.standard_error * _DRAWS**0.5
    return np.array([plain.mean, deviation, mixed.mean], float)


def _formula(case: Case, A: np.ndarray) -> float:
    X = _inputs()
    S = jnp.asarray(X.T @ X / _EXAMPLES)
    share = case.noise / _EXAMPLES
    Sigma, prior = jnp.asarray(_SIGMA), jnp.asarray(_OMEGA)
    if not case.looped:
        B = jnp.asarray(_LAYERS[1])
        loss = transformer_loss_given(
            S,
            jnp.asarray(A),
            B,
            covariance=Sigma,
            weight_covariance=prior,
            noise_over_samples=share,
        )
        return float(loss)
    return float(
        looped_loss_given(
            S,
            jnp.asarray(A),
            jnp.asarray(_U),
            Sigma,
            _LOOPS,
            weight_covariance=prior if case.given_prior else None,
            noise_over_samples=share,
        )
    )


def measure(case: Case) -> Measured:
    """Squared errors of the model, summed over roots of Ω, of Σ and of the noise."""
    if case.drawn:
        return _on_drawn_inputs()
    if case.looped:
        model = LoopedTransformer(jnp.asarray(_A), jnp.asarray(_U), loops=_LOOPS)
    else:
        model = LinearTransformer.sparse(*map(jnp.asarray, _LAYERS))
    X = _inputs()
    prior = _OMEGA if case.given_prior else np.linalg.inv(_SIGMA)
    tasks = np.concatenate([np.zeros((1, 2)), np.linalg.cholesky(prior).T])
    queries = np.linalg.cholesky(_SIGMA).T
    noise = np.concatenate([np.zeros((3, 4)), case.noise**0.5 * np.eye(_EXAMPLES)])
    tasks = np.concatenate([tasks, np.zeros((_EXAMPLES, 2))])

    def error(w, epsilon, query):
        return w @ query - model(Prompt(jnp.asarray(X), X @ w + epsilon, query))

    by_query = jax.vmap(error, (None, None, 0))
    run = jax.jit(jax.vmap(by_query, (0, 0, None)))
    errors = np.asarray(run(tasks, noise, queries))
    # The first row is what u adds on its own, the others are linear beside it.
    loss = np.sum(errors[0] ** 2) + np.sum((errors[1:] - errors[0]) ** 2)
    return rounded(loss, 1000, 1 + loss)


def _on_drawn_inputs() -> Measured:
    """Mean and deviation of the loss of one loop, an error wᵀ(x_q − SAx_q)."""
    random = np.random.default_rng(6)
    X = random.standard_normal((_DRAWS, _EXAMPLES, 2)) @ np.linalg.cholesky(_SIGMA).T
    queries, tasks = (np.linalg.cholesky(one) for one in (_SIGMA, _OMEGA))
    answers = X.swapaxes(1, 2) @ (X @ (_A @ queries)) / _EXAMPLES
    losses = np.sum((tasks.T @ (queries - answers)) ** 2, axis=(1, 2))
    mean, deviation = losses.mean(), losses.std()
    # Both sides are drawn; the fourth moment says how well the deviation is known.
    fourth = np.mean((losses - mean) ** 4) / deviation**4
    of_deviation = deviation * np.sqrt((fourth - 1) / 4)
    spread = np.array([deviation, of_deviation, deviation])
    errors = STANDARD_ERRORS * np.sqrt(2 / _DRAWS) * spread
    reason = f"{STANDARD_ERRORS:g} standard errors over {_DRAWS:,} draws on each side"
    return Measured(np.array([mean, deviation, mean]), errors, reason)


def _inputs() -> np.ndarray:
    return np.random.default_rng(4).standard_normal((_EXAMPLES, 2))
