"""Theorem 1, (8): the weights of one layer that minimise the loss over all (b, A)."""

import functools
from typing import NamedTuple

import jax
import numpy as np

from iclab.evidence import Measured, Printed, Scale
from iclab.papers.ahn2023._single_layer import Moments, moments, rotated
from iclab.papers.ahn2023._single_layer_search import Ends, families, search
from iclab.theory import ahn_optimum

labels = "least loss", "‖b⊗A‖", "1ᵀA1", "1ᵀAr", "rᵀA1", "minima up to scale"


class Case(NamedTuple):
    """Eigenvalues of Σ, and the number of examples."""

    eigenvalues: tuple[float, ...]
    samples: int


def cases(scale: Scale) -> dict[str, Case]:
    """One input, where there is a second family of minima, and several."""
    found = {
        "d=1, n=5": Case((0.7,), 5),
        "d=3, equal spectrum, n=2": Case((1.0, 1.0, 1.0), 2),
        "d=3, geometric spectrum, n=10": Case((1.6, 0.8, 0.4), 10),
    }
    if scale != "smoke":
        found["d=2, steep spectrum, n=2"] = Case((1.0, 0.1), 2)
        found["d=5, geometric spectrum, n=20"] = Case((1.6, 1.0, 0.6, 0.4, 0.25), 20)
    if scale == "paper":
        found["d=1, n=1"] = Case((2.0,), 1)
        found["d=4, one tiny eigenvalue, n=50"] = Case((1.5, 1.0, 0.5, 0.02), 50)
    return found


def predict(case: Case):
    """tr Σ − tr(Σ²Γ⁻¹), b⊗A in four numbers, and how many minima up to scale."""
    P, Q = map(np.asarray, _optimum(rotated(case.eigenvalues), samples=case.samples))
    return _summary(case, P[-1, -1] * Q[:-1, :-1])


def as_printed(case: Case):
    """The same with one minimum up to scale in every dimension."""
    return np.append(predict(case)[:-1], 1)


printed = Printed(predict=as_printed, nearby=True)


def decoy(case: Case):
    """The trace term of Γ dropped."""
    Gamma = (1 + 1 / case.samples) * rotated(case.eigenvalues)
    return _summary(case, -np.linalg.inv(Gamma))


def measure(case: Case, scale) -> Measured:
    """L-BFGS on the exact loss from random starts, with all of b and A free."""
    ends, exact = _searched(scale)[case], _problem(case)
    lowest = ends.losses.min()
    # The loss is convex in b⊗A: no weights go below its minimum over all tensors.
    gap = abs(lowest - exact.loss(exact.least()))
    gap += 1000 * np.finfo(float).eps * (1 + np.sum(case.eigenvalues))
    reached = ends.products[ends.losses - lowest <= np.sqrt(gap)]
    best, d = ends.products[np.argmin(ends.losses)], len(case.eigenvalues)
    # With b = (p, c) and A over qᵀ, labels meet cA + pqᵀ: −Γ⁻¹ in both families.
    forms = _forms(best[d, :d] + best[:d, d])
    value = [lowest, np.linalg.norm(best), *forms, families(reached)]
    curvatures = np.linalg.eigvalsh(exact.square.reshape((d + 1) ** 2, -1))
    smallest = curvatures[curvatures > 1e-9].min() * min(case.eigenvalues)
    error = np.full(len(value), np.sqrt(2 * gap / smallest))
    error[0], error[-1] = gap, 0
    reason = (
        f"distance {gap:.1g} to a lower bound, the minimum of the convex loss in b⊗A; "
        f"its root over the curvature for A; a count of {len(reached)} searches"
    )
    return Measured(np.array(value), error, reason)


def _summary(case: Case, A: np.ndarray) -> np.ndarray:
    """Least loss, norm of b⊗A for b = e_{d+1} and A over 0, forms of A, a count."""
    Sigma = rotated(case.eigenvalues)
    count = 2 if len(Sigma) == 1 else 1
    loss = np.trace(Sigma + Sigma @ Sigma @ A)
    return np.array([loss, np.linalg.norm(A), *_forms(A), count])


def _forms(A: np.ndarray) -> list[float]:
    """Three forms of a matrix in two unit vectors."""
    even, ramp = np.ones(len(A)), np.arange(1.0, len(A) + 1)
    even, ramp = even / np.linalg.norm(even), ramp / np.linalg.norm(ramp)
    return [float(u @ A @ v) for u, v in ((even, even), (even, ramp), (ramp, even))]


def _problem(case: Case) -> Moments:
    return moments(rotated(case.eigenvalues), case.samples)


@functools.cache
def _searched(scale: Scale) -> dict[Case, Ends]:
    """The searches of all cases of a scale, which one call does together."""
    chosen = list(cases(scale).values())
    return dict(zip(chosen, search([_problem(case) for case in chosen]), strict=True))


_optimum = jax.jit(ahn_optimum, static_argnames="samples")
