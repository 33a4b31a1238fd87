"""(4.2)–(4.3): the trained model takes one preconditioned gradient step from zero."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured
from iclab.papers.zhang2023._fixed_covariance import Setting, settings
from iclab.papers.zhang2023._quadratic_form import Batch, token_space_predictions
from iclab.papers.zhang2023._simulation import preconditioner_error, trained_model
from iclab.theory import optimal_preconditioner

# Examples in a prompt, M: not one of the lengths that the models were trained on.
_EXAMPLES = 7


@dataclass(frozen=True, eq=False)
class Prompts:
    """A training distribution, and prompts with any labels at all."""

    setting: Setting
    batch: Batch


def cases(scale):
    """Every training distribution, with linear labels and with labels of no rule."""
    dimensions = {"smoke": (3,), "desk": (3,), "paper": (3, 20)}[scale]
    found = {}
    for name, setting in settings(scale).items():
        d = len(setting.covariance)
        if d in dimensions:
            found[name] = Prompts(setting, _prompts(d, setting.context_length))
    return found


def predict(case: Prompts):
    """x_qᵀ Γ⁻¹ (1/M) Σ yᵢxᵢ."""
    N = case.setting.context_length
    return _step(case, np.asarray(optimal_preconditioner(case.setting.covariance, N)))


def measure(case: Prompts) -> Measured:
    """Forward pass on tokens of the model at the end of its gradient flow."""
    model = trained_model(case.setting)
    value = np.asarray(token_space_predictions(model, case.batch))
    queries = np.linalg.norm(case.batch.query, axis=1)
    error = preconditioner_error(case.setting) * queries
    error = error * np.linalg.norm(_correlation(case), axis=1)
    return Measured(
        value, error, "the weights stopped this close to the limit of the flow"
    )


def decoy(case: Prompts):
    """The step of infinitely long training prompts: Λ⁻¹ in place of Γ⁻¹."""
    return _step(case, np.linalg.inv(case.setting.covariance))


def labels(case: Prompts):
    """Prompts by number."""
    return [f"prompt {i + 1}" for i in range(len(case.batch.query))]


def _step(case: Prompts, preconditioner: np.ndarray) -> np.ndarray:
    return np.einsum(
        "ni,ij,nj->n", case.batch.query, preconditioner, _correlation(case)
    )


def _correlation(case: Prompts) -> np.ndarray:
    X, y, _ = case.batch
    return np.einsum("nm,nmi->ni", y, X) / _EXAMPLES


def _prompts(d: int, seed: int) -> Batch:
    """Three prompts with linear labels, three with labels drawn like dice."""
    random = np.random.default_rng([d, seed])
    X = random.standard_normal((6, _EXAMPLES, d))
    y = np.einsum("nmi,ni->nm", X, random.standard_normal((6, d)))
    y[3:] = random.integers(1, 7, (3, _EXAMPLES))
    return Batch(X, y, random.standard_normal((6, d)))
