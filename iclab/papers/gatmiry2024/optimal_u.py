"""Corollary A.4, Theorem A.8: what u adds to the loss, a positive form in u."""

import itertools
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured
from iclab.models import LoopedTransformer
from iclab.papers.gatmiry2024._every_prompt import (
    Rule,
    every_sample,
    population_loss,
)
from iclab.papers.gatmiry2024._matrices import rotated
from iclab.theory import looped_loss

_EIGENVALUES = (1.6, 0.4), (1.6, 0.4, 0.9)


@dataclass(frozen=True, eq=False)
class Case:
    """A, n, L, and whether the prediction averages words in S, not sums for all S."""

    A: np.ndarray
    samples: int
    loops: int = 2
    words: bool = False

    @property
    def covariance(self) -> np.ndarray:
        """Σ⋆."""
        return rotated(_EIGENVALUES[len(self.A) - 2])

    @property
    def rule(self) -> Rule:
        """All S, exactly for the printed form, which has one power more."""
        return every_sample(self.covariance, self.samples, 2 * self.loops + 1)


def cases(scale) -> dict[str, Case]:
    """A near the optimum, without symmetry, of rank one, and 0."""
    inverse = np.linalg.inv(rotated(_EIGENVALUES[0]))
    skew = np.array([[0.7, 0.5], [-0.4, 0.9]])
    found = {
        "d=2, n=8, L=2, A = 0.6Σ⋆⁻¹": Case(0.6 * inverse, 8),
        "d=2, n=8, L=2, A not symmetric": Case(skew, 8),
        "d=2, n=8, L=2, A of rank one": Case(np.outer([1.0, 0.5], [0.3, 0.8]), 8),
        "d=2, n=8, L=2, A = 0": Case(np.zeros((2, 2)), 8),
        "d=2, n=8, L=3, A not symmetric": Case(skew, 8, 3),
    }
    if scale != "smoke":
        found["d=2, n=3, L=2, A not symmetric"] = Case(skew, 3)
        found["d=2, n=8, L=2, A not symmetric, words"] = Case(skew, 8, words=True)
        A = np.array([[0.7, 0.5, 0.1], [-0.4, 0.9, 0.0], [0.2, -0.3, 0.5]])
        found["d=3, n=8, L=2, A not symmetric"] = Case(A, 8)
    return found


def predict(case: Case):
    """E(Σ_i SA(I−SA)ⁱ)Σ⋆(…)ᵀ, its smaller eigenvalue, > 0 if A ≠ 0, and no slope."""
    if not case.words:
        return _form(case, case.covariance)
    setting = {"covariance": jnp.asarray(case.covariance), "samples": case.samples}
    A = jnp.asarray(case.A)
    return _summary(
        lambda u: float(looped_loss(A, jnp.asarray(u), **setting, loops=case.loops)),
        len(A),
    )


def decoy(case: Case):
    """S for Σ⋆, as Corollary A.4 prints it."""
    if not np.any(case.A):
        return None
    return _form(case, case.rule.S)


def measure(case: Case) -> Measured:
    """Differences between losses of the model, integrated over every prompt."""
    found = {}

    def loss(u: np.ndarray) -> float:
        model = LoopedTransformer(jnp.asarray(case.A), jnp.asarray(u), loops=case.loops)
        one = population_loss(model.unrolled(), case.covariance, case.samples)
        found[tuple(u)] = one
        return float(one.value)

    value = _summary(loss, len(case.A))
    error = 2 * max(float(one.error) for one in found.values())
    return Measured(value, error, next(iter(found.values())).reason)


def labels(case: Case):
    """Entries of the form, its smallest eigenvalue, and the slopes."""
    places = range(1, len(case.A) + 1)
    form = [f"form ({i}, {j})" for i in places for j in places]
    return [*form, "eigenvalue", *(f"slope {i}" for i in places)]


def _summary(loss, d: int) -> np.ndarray:
    """Form, its smallest eigenvalue, and slopes at 0 of a function quadratic in u."""
    base, units = loss(np.zeros(d)), np.eye(d)
    up = np.array([loss(one) for one in units]) - base
    down = np.array([loss(-one) for one in units]) - base
    form = np.diag((up + down) / 2)
    for i, j in itertools.combinations(range(d), 2):
        both = loss(units[i] + units[j]) - base
        form[i, j] = form[j, i] = (both - up[i] - up[j]) / 2
    return _entries(form, (up - down) / 2)


def _form(case: Case, covariance: np.ndarray) -> np.ndarray:
    """The same from the sum of Corollary A.4, for every S."""
    identity = np.eye(len(case.A))
    step = case.rule.S @ case.A
    powers = [np.linalg.matrix_power(identity - step, i) for i in range(case.loops)]
    total = step @ sum(powers)
    form = case.rule.mean(total @ covariance @ total.swapaxes(1, 2))
    return _entries(form, np.zeros(len(form)))


def _entries(form: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    return np.array([*form.flat, np.linalg.eigvalsh(form)[0], *slopes])
