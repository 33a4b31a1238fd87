"""Corollary 4.3: prompt lengths that bring the risk down to ε."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.zhang2023._simulation import (
    distribution,
    risk_on_moments,
    trained_model,
)
from iclab.theory import lsa_risk, optimal_preconditioner, sample_complexity

# A test prompt that is as good as infinite.
_LONG = 10**12

relation = "<="


shares = {"largest_initial_scale": "the start's scale; the flow's end has none of it"}


@dataclass(frozen=True)
class Accuracy:
    """A training distribution in three dimensions, and ε."""

    spectrum: str
    epsilon: float


@dataclass(frozen=True)
class Floor:
    """Λ = I, training prompts of this length, test prompts of any: what is left."""

    context_length: int


def cases(scale):
    """Λ ∝ I and small ε, where the lengths are nearly tight; others; floors."""
    found: dict[str, Accuracy | Floor] = {
        f"{spectrum} spectrum, ε = {epsilon:g}": Accuracy(spectrum, epsilon)
        for spectrum in ("equal", "geometric", "one tiny")
        for epsilon in (0.1, 1e-4)
    }
    return found | {f"Λ = I, N = {N}, M → ∞": Floor(N) for N in (10, 100, 1000)}


def predict(case: Accuracy | Floor):
    """ε, with M ≥ 2(d+1)trΛ/ε and N ≥ [2(1+2d+d²κ)trΛ]^{1/2}ε^{-1/2}; the floor.

    The floor as two inequalities.
    """
    if isinstance(case, Accuracy):
        return case.epsilon
    Lambda = distribution("equal", case.context_length).covariance
    P = optimal_preconditioner(Lambda, case.context_length)
    return float(lsa_risk(P, Lambda, _LONG)) * np.array([1, -1])


def measure(case: Accuracy | Floor, key) -> Measured:
    """Models after their flow on the moments of sampled prompts of these lengths."""
    if isinstance(case, Accuracy):
        return _risk(case, case.epsilon, key)
    setting = distribution("equal", case.context_length)
    risk = risk_on_moments(trained_model(setting), setting.covariance, _LONG, key=key)
    return risk._replace(value=risk.value * np.array([1, -1]))


def decoy(case: Accuracy | Floor):
    """Nine tenths of ε, where the lengths are nearly tight; the floor with Λ for Γ."""
    if isinstance(case, Accuracy):
        tight = case.spectrum == "equal" and case.epsilon < 1e-3
        return 0.9 * case.epsilon if tight else None
    # (1 + d)² d / N², which forgets that Γ is larger than Λ.
    left = 48 / case.context_length**2
    return left * np.array([1, -1]) if case.context_length < 1000 else None


def measure_printed(case: Accuracy, key) -> Measured:
    """The same with ε^{-1/2} inside the root of N: what the accuracy √ε asks for."""
    return _risk(case, np.sqrt(case.epsilon), key)


def printed_cases(scale):
    """Those with small ε."""
    every = cases(scale).items()
    return {name: one for name, one in every if getattr(one, "epsilon", 1) < 1e-3}


printed = Printed(
    predict=predict, measure=measure_printed, cases=printed_cases, nearby=True
)


def numbers(results, printed):
    """The largest risk over ε with our copy's lengths, and the floors, exactly."""
    worst = max(one.measured / one.predicted for one in printed.values())
    floors = {
        f"floor_{N}": results[f"Λ = I, N = {N}, M → ∞"].predicted[0]
        for N in (10, 100, 1000)
    }
    return {"worst": worst, **floors}


def _risk(case: Accuracy, for_training: float, key) -> Measured:
    """Risk with M for ε, and N for `for_training`."""
    Lambda = distribution(case.spectrum, 2).covariance
    M, _ = sample_complexity(Lambda, case.epsilon)
    _, N = sample_complexity(Lambda, for_training)
    model = trained_model(distribution(case.spectrum, N))
    draws = 1 << 18 if decoy(case) is not None else 1 << 15
    return risk_on_moments(model, Lambda, M, key=key, draws=draws)
