"""Lemma 6, (39)–(41): two learning rates are one, for weights measured in γ."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.yang2024._instances import GENERAL
from iclab.papers.yang2024._single import error_scale, formulas_at
from iclab.papers.yang2024._two_rates import EVERY, FAST, descent

shares = {
    "representation_optimum": (
        "training derives the exact loss; the prediction has it written out"
    ),
    "representation_gap": ("likewise"),
    "representation_infimum": ("a constant of the loss that has no derivative"),
}


@dataclass(frozen=True)
class Case:
    """Learning rates η_Q and η_w of a descent from w = 0."""

    rates: tuple[float, float]


def cases(scale) -> dict[str, Case]:
    """η_w much larger than η_Q, and smaller."""
    rates = [FAST] if scale == "smoke" else [FAST, (0.2, 0.05)]
    return {
        f"{GENERAL}, η_Q={by_Q:g}, η_w={by_w:g}, {EVERY} steps": Case((by_Q, by_w))
        for by_Q, by_w in rates
    }


def predict(case: Case):
    """ξ ← ξ − η_Q∇ℓ(ξ) with γ = √(η_w/η_Q): Q and w = γα of the first head."""
    by_Q, by_w = case.rates
    gamma = (by_w / by_Q) ** 0.5
    return _descend(case, gamma, gamma)


def decoy(case: Case):
    """∂ℓ/∂α = ∂L/∂w, without the factor γ."""
    by_Q, by_w = case.rates
    return _descend(case, (by_w / by_Q) ** 0.5, 1.0)


def measure(case: Case) -> Measured:
    """Training with the two rates, the model's loss differentiated automatically."""
    path = descent(case.rates)
    found = _first_head(path.key_query[1], path.value[1])
    return rounded(found, EVERY * error_scale(path), 1 + np.max(np.abs(found)))


def _descend(case: Case, gamma: float, factor: float) -> np.ndarray:
    """With the gradient of `theory`, written out; ∂ℓ/∂α = `factor` ∂L/∂w."""
    path, rate = descent(case.rates), case.rates[0]
    Q, alpha = path.key_query[0], path.value[0] / gamma
    for _ in range(EVERY):
        found = formulas_at(path, Q, gamma * alpha)
        Q = Q - rate * found.key_query_gradient
        alpha = alpha - rate * factor * found.value_gradient
    return _first_head(Q, gamma * alpha)


def _first_head(Q: np.ndarray, w: np.ndarray) -> np.ndarray:
    return np.concatenate([Q[0].ravel(), w[0]])
