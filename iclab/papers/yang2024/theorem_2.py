"""Theorem 2: after T steps of (21), predictions are ε-close to ridge regression.

(21) solves for T what (18), (69) and (70) say of the error after t steps; the claim
also asks those three step by step when they reach ε.
"""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import STANDARD_ERRORS, Measured
from iclab.papers.yang2024._descents import (
    QUICK,
    SLOW,
    SLOWEST,
    Descent,
    K,
    N,
    Start,
    attention_of,
    constants_of,
    label_root_of,
    m,
    path_of,
    rates_of,
)
from iclab.papers.yang2024._tables import ridge_by_rows
from iclab.theory import iterations_needed

# Directions of λ, and states of the path that are looked at.
_DIRECTIONS, _STATES = 8, 200

relation = "<="


@dataclass(frozen=True)
class Case:
    """Accuracy ε, failure probability δ and ‖λ‖ = B, after descent from a start."""

    start: Start
    accuracy: float
    failure: float = 0.1
    norm: float = 2.0

    @property
    def steps(self) -> int:
        """T of (21)."""
        return self.steps_at(rates_of(self.start, "simple").factor)

    def steps_at(self, factor) -> int:
        """T if every step multiplied the gap by `factor`."""
        _, features, _ = self.start.arrays
        steps = iterations_needed(
            constants_of(self.start),
            float(np.linalg.norm(features[:N], 2)),
            factor,
            accuracy=self.accuracy,
            failure=self.failure,
            coefficient_norm=self.norm,
        )
        return int(np.ceil(float(steps)))


def cases(scale) -> dict[str, Case]:
    """Accuracies whose T is within the runs of the scale."""
    found = [Case(QUICK, 1e-2)]
    if scale != "smoke":
        found += [Case(QUICK, 1e-3, 0.5), *(Case(start, 1e-3) for start in SLOW)]
    if scale == "paper":
        found += [Case(SLOWEST, 1e-3)]
    return {
        f"{case.start}, ε={case.accuracy:g}, δ={case.failure:g}, B=2": case
        for case in found
    }


def predict(case: Case):
    """T steps are enough, and after them the error is at most ε.

    And T is where the guarantee reaches ε, up to a step.
    """
    return np.array([case.steps, case.accuracy, case.steps + 1, 1 - case.steps])


def decoy(case: Case):
    """(21) as if all directions shrank alike, ζ₀ = ‖Z̄‖²."""
    rates = rates_of(case.start, "simple")
    zeta = constants_of(case.start).root_norm ** 2
    steps = case.steps_at(1 - rates.value * zeta / (2 * K))
    return np.array([steps, *predict(case)[1:]])


def measure(case: Case, scale) -> Measured:
    """When the error of all but δ of the prompts stays below ε; the error after T."""
    run, T = Descent(case.start), case.steps
    path = path_of(run, scale)
    states = np.unique(np.linspace(0, T, _STATES).astype(int))
    attention = attention_of(case.start, path.key_query[states])
    weights = np.sum(path.value[states][:, :, None] * attention, axis=1)
    prompts = {"smoke": 2_000, "desk": 20_000, "paper": 50_000}[scale]
    # An upper bound of the quantile: so many prompts more would have to be worse.
    spread = np.sqrt(case.failure * (1 - case.failure) / prompts)
    level = 1 - case.failure + STANDARD_ERRORS * spread
    worst = np.zeros(len(states))
    for labels, targets in _prompts(case, prompts):
        # ‖Âᵀy − ŷ*‖² for all states and prompts of one λ.
        errors = np.stack([np.sum((labels @ A - targets) ** 2, 1) for A in weights])
        worst = np.maximum(worst, np.quantile(errors / (2 * K), level, axis=1))
    # The first state from which on no state is worse than ε.
    first = int(np.argmax(np.maximum.accumulate(worst[::-1])[::-1] <= case.accuracy))
    reason = (
        f"a quantile {STANDARD_ERRORS:g} standard errors above 1 − δ over {prompts:,}"
        f" prompts, the worst of {_DIRECTIONS} directions of λ; reached after"
        f" {states[first] / T:.0%} of T, in states {T // _STATES} steps apart"
    )
    due = _guaranteed(case, float(path.gaps[0]))
    return Measured(np.array([states[first], worst[-1], due, -due]), 0.0, reason)


def _guaranteed(case: Case, gap: float) -> int:
    """The first t with Δ⁽⁰⁾(1 − η_wζ₀/2K)ᵗ‖y‖²/(mτ) ≤ ε, ‖y‖ as large as in (69)."""
    start, log = case.start, np.log(1 / case.failure)
    root = label_root_of(start)
    B = root @ np.transpose(attention_of(start, start.arrays[2]), (2, 1, 0))
    zeta = np.linalg.svd(B, compute_uv=False).min() ** 2
    shrink = 1 - Descent(start).steps_of[1] * zeta / (2 * K)
    noise = np.sqrt(start.tau * (N + 2 * np.sqrt(N * log) + 2 * log))
    labels = case.norm * (np.linalg.norm(start.arrays[1][:N], 2) + noise)
    error, steps = gap * labels**2 / (m * start.tau), 0
    while error > case.accuracy:
        error, steps = error * shrink, steps + 1
    return steps


def _prompts(case: Case, count: int):
    """Labels by (1) for λ all round the circle of radius B, and ŷ* of (22)."""
    _, features, _ = case.start.arrays
    Z = features[:N].T
    random = np.random.default_rng(case.start.seed)
    for angle in np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS:
        coefficients = case.norm * np.array([np.cos(angle), np.sin(angle)])
        noise = np.sqrt(case.start.tau) * random.standard_normal((count, N, m))
        y = (features[:N] + noise) @ coefficients
        ridge = ridge_by_rows(Z, y.T, m * case.start.tau)
        yield y, np.concatenate([y, (features[N:] @ ridge).T], axis=1)
