"""Section 4.2: queries that the examples say nothing about get zero."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.zhang2023._quadratic_form import Batch, token_space_predictions
from iclab.papers.zhang2023._simulation import (
    distribution,
    preconditioner_error,
    trained_model,
)
from iclab.tasks import LinearRegression, OrthogonalQuery
from iclab.theory import gamma_matrix, optimal_preconditioner

# Examples in a prompt, M < d = 3, and prompts in a case.
_EXAMPLES, _PROMPTS = 2, 256


@dataclass(frozen=True)
class Orthogonal:
    """Queries z orthogonal to all examples, or Γz in their place."""

    spectrum: str
    moved_by_gamma: bool


def cases(scale):
    """Plain orthogonality where Λ ∝ I, orthogonality through Γ⁻¹ elsewhere."""
    return {
        "Λ = I, query orthogonal to the examples": Orthogonal("equal", False),
        "geometric spectrum, Γ⁻¹ query orthogonal": Orthogonal("geometric", True),
        "one tiny eigenvalue, Γ⁻¹ query orthogonal": Orthogonal("one tiny", True),
    }


def printed_cases(scale):
    """Plain orthogonality, whatever Λ is."""
    return {
        "Λ = I, query orthogonal to the examples": Orthogonal("equal", False),
        "geometric spectrum, query orthogonal": Orthogonal("geometric", False),
        "one tiny eigenvalue, query orthogonal": Orthogonal("one tiny", False),
    }


def predict(case: Orthogonal):
    """Zero."""
    return 0.0


printed = Printed(predict=predict, cases=printed_cases)


def measure(case: Orthogonal, key) -> Measured:
    """Largest |ŷ| of the model after its flow, over the root mean square label."""
    setting, batch = distribution(case.spectrum, 10), _prompts(case, key)
    answer = np.asarray(token_space_predictions(trained_model(setting), batch))
    unit = np.sqrt(np.mean(batch.labels**2))
    correlation = np.einsum("nm,nmi->ni", batch.labels, batch.examples) / _EXAMPLES
    sizes = np.linalg.norm(batch.query, axis=1) * np.linalg.norm(correlation, axis=1)
    error = preconditioner_error(setting) * np.max(sizes) / unit
    reason = "the weights stopped this close to the limit of the flow"
    return Measured(np.max(np.abs(answer)) / unit, error, reason)


def decoy(case: Orthogonal):
    """The share tr(Γ⁻¹Λ²)/tr(Λ) of the truth that an ordinary query gets."""
    setting = distribution(case.spectrum, 10)
    Lambda = setting.covariance
    inverse = optimal_preconditioner(Lambda, setting.context_length)
    return jnp.trace(inverse @ Lambda @ Lambda) / jnp.trace(Lambda)


def numbers(results, printed):
    """The largest predictions for orthogonal queries, as shares of a label."""
    name = "{}, query orthogonal"
    return {
        "prompts": _PROMPTS,
        "geometric": printed[name.format("geometric spectrum")].measured,
        "tiny": printed[name.format("one tiny eigenvalue")].measured,
    }


def _prompts(case: Orthogonal, key) -> Batch:
    """Prompts with linear labels whose queries are orthogonal, perhaps before Γ."""
    setting = distribution(case.spectrum, 10)
    Lambda, random = np.asarray(setting.covariance), np.random.default_rng(_EXAMPLES)
    X = random.standard_normal((_PROMPTS, _EXAMPLES, 3)) @ np.linalg.cholesky(Lambda).T
    w = random.standard_normal((_PROMPTS, 3))
    task = OrthogonalQuery(LinearRegression(setting.covariance))
    query = np.asarray(_queries(task, w, X, jax.random.split(key, _PROMPTS)))
    if case.moved_by_gamma:
        query = query @ gamma_matrix(setting.covariance, setting.context_length)
    return Batch(X, np.einsum("nmi,ni->nm", X, w), np.asarray(query))


@eqx.filter_jit
def _queries(task: OrthogonalQuery, weights, examples, keys):
    return jax.vmap(task.query)(weights, examples, keys)
