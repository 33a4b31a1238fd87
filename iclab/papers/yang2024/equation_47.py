"""(46)–(48): how far Q and B_k get along the descent of Theorem 1.

(47) is what steps of the size (42) add up to when gaps shrink as (18) has it, up to a
part η_wζ₀/8K. (48) turns it into the distance of B_k, and at the least γ of (15) the
constants are chosen so that it is (1 − 1/√2)√ζ₀. In the descents Q gets nowhere near.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from iclab.evidence import Measured
from iclab.papers.yang2024._descents import (
    Descent,
    H,
    K,
    Path,
    attention_of,
    constants_of,
    label_root_of,
    path_of,
    rates_of,
    theorem_runs,
)

# States of a path at which B_k is computed; how far the known part may be away.
_STATES, _SHARP = 200, 0.02

shares = {
    "learning_rates": "sets the rates of the descents; norms and ζ₀ are found again",
}

relation = "<="


@dataclass(frozen=True)
class Case:
    """One of the two bounds along one descent."""

    run: Descent
    bound: Literal["(47)", "(48)"]


def cases(scale) -> dict[str, Case]:
    """Both bounds along every run."""
    return {
        f"{bound}: {run}": Case(run, bound)
        for run in theorem_runs(scale)
        for bound in ("(47)", "(48)")
    }


def predict(case: Case):
    """‖Q_h − Q_h⁽⁰⁾‖ or ‖B_k − B_k⁽⁰⁾‖ at most; and what steps add up to."""
    bound = _bound(case)
    return np.array([bound, (1 + _SHARP) * bound, -(1 - _SHARP) * bound])


def decoy(case: Case):
    """√(1 − x) taken for 1 − x in the sum; half of what is left of ζ₀ in (48)."""
    bound = _bound(case)
    wrong = 0.5 if case.bound == "(47)" else (1 - 0.75**0.5) / (1 - 0.5**0.5)
    return np.array([bound, wrong * (1 + _SHARP) * bound, -(1 - _SHARP) * bound])


def measure(case: Case, scale) -> Measured:
    """The farthest of every step (or some states), and the sum of the proof's steps."""
    path, start = path_of(case.run, scale), case.run.start
    steps, root = _sum_of_steps(case, path), label_root_of(start)
    if case.bound == "(47)":
        far = np.linalg.norm(path.key_query - path.key_query[0], axis=(2, 3)).max()
        reached, what = steps, "every step"
    else:
        states = path.key_query[:: max(1, len(path.gaps) // _STATES)]
        C = np.moveaxis(attention_of(start, states), -1, -3)
        B = root @ np.swapaxes(C, -1, -2)
        far = np.linalg.norm(B - B[:1], axis=(2, 3)).max()
        reached = 2 * np.linalg.norm(root, 2) * np.sqrt(H) * steps
        what = f"{len(states)} states and all tokens"
    reason = f"float64 round-off; {what}, {far / _bound(case):.1g} of the bound"
    error = np.array([1e-13, 1e-9 * reached, 1e-9 * reached])
    return Measured(np.array([far, reached, -reached]), error, reason)


def _bound(case: Case) -> float:
    rates = rates_of(case.run.start, case.run.rates)
    zeta, gamma = float(rates.zeta), float(rates.gamma)
    if case.bound == "(48)":
        return (1 - 1 / np.sqrt(2)) * np.sqrt(zeta)
    column = np.linalg.norm(label_root_of(case.run.start), axis=0).max()
    gap = float(constants_of(case.run.start).initial_gap)
    sigma = zeta * gamma**2 / K
    alpha = float(rates.weight_bound)
    return 8 * np.sqrt(2) * gamma * alpha * column / sigma * np.sqrt(gap)


def _sum_of_steps(case: Case, path: Path) -> float:
    """Σ_t η_Q·(42) with gaps (1 − η_Qσ/2)ᵗΔ⁽⁰⁾, norms and ζ₀ by NumPy."""
    start = case.run.start
    root, Q = label_root_of(start), path.key_query[0]
    B = root @ np.transpose(attention_of(start, Q), (2, 1, 0))
    zeta = np.linalg.svd(B, compute_uv=False).min() ** 2
    by_Q, by_w = case.run.steps_of
    gamma, gap = np.sqrt(by_w / by_Q), path.gaps[0]
    norm, column = np.linalg.norm(root, 2), np.linalg.norm(root, axis=0).max()
    alpha = 4 * norm * np.sqrt(2 * K * gap) / (gamma * zeta)
    first = by_Q * 2 * np.sqrt(2) * gamma * alpha * column * np.sqrt(gap)
    return first / (1 - np.sqrt(1 - by_w * zeta / (2 * K)))
