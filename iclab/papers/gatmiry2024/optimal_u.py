"""Corollary A.4, Theorem A.8: what u adds to the loss, a positive form in u."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured
from iclab.models import LoopedTransformer
from iclab.papers.gatmiry2024._every_prompt import every_sample, population_loss
from iclab.papers.gatmiry2024._matrices import rotated
from iclab.theory import looped_loss

SIGMA = rotated((1.6, 0.4))
LOOPS = 2

labels = "form (1, 1)", "form (2, 2)", "form (1, 2)", "eigenvalue", "slope 1", "slope 2"


@dataclass(frozen=True, eq=False)
class Case:
    """A, n, and whether the prediction averages words in S, not a sum for every S."""

    A: np.ndarray
    samples: int
    words: bool = False


def cases(scale) -> dict[str, Case]:
    """A near the optimum, without symmetry, of rank one, and 0."""
    inverse = np.linalg.inv(SIGMA)
    skew = np.array([[0.7, 0.5], [-0.4, 0.9]])
    found = {
        "d=2, n=8, L=2, A = 0.6Σ⋆⁻¹": Case(0.6 * inverse, 8),
        "d=2, n=8, L=2, A not symmetric": Case(skew, 8),
        "d=2, n=8, L=2, A of rank one": Case(np.outer([1.0, 0.5], [0.3, 0.8]), 8),
        "d=2, n=8, L=2, A = 0": Case(np.zeros((2, 2)), 8),
    }
    if scale != "smoke":
        found["d=2, n=3, L=2, A not symmetric"] = Case(skew, 3)
        found["d=2, n=8, L=2, A not symmetric, words"] = Case(skew, 8, words=True)
    return found


def predict(case: Case):
    """E(Σ_i SA(I−SA)ⁱ)Σ⋆(…)ᵀ, its smaller eigenvalue, > 0 if A ≠ 0, and no slope."""
    if not case.words:
        return _form(case, SIGMA)
    setting = {"covariance": jnp.asarray(SIGMA), "samples": case.samples}
    A = jnp.asarray(case.A)
    return _summary(
        lambda u: float(looped_loss(A, jnp.asarray(u), **setting, loops=LOOPS))
    )


def decoy(case: Case):
    """S for Σ⋆, as Corollary A.4 prints it."""
    if not np.any(case.A):
        return None
    return _form(case, every_sample(SIGMA, case.samples, 2 * LOOPS + 1).S)


def measure(case: Case) -> Measured:
    """Differences between losses of the model, integrated over every prompt."""
    found = {}

    def loss(u: np.ndarray) -> float:
        model = LoopedTransformer(jnp.asarray(case.A), jnp.asarray(u), loops=LOOPS)
        one = population_loss(model.unrolled(), SIGMA, case.samples)
        found[tuple(u)] = one
        return float(one.value)

    value = _summary(loss)
    error = 2 * max(float(one.error) for one in found.values())
    return Measured(value, error, next(iter(found.values())).reason)


def _summary(loss) -> np.ndarray:
    """Form, its smaller eigenvalue, and slopes at 0 of a function quadratic in u."""
    base, units = loss(np.zeros(2)), np.eye(2)
    up = np.array([loss(one) for one in units]) - base
    down = np.array([loss(-one) for one in units]) - base
    both = loss(np.ones(2)) - base
    diagonal, slopes = (up + down) / 2, (up - down) / 2
    beside = (both - np.sum(up)) / 2
    form = np.diag(diagonal) + beside * (1 - units)
    return np.array([*diagonal, beside, np.linalg.eigvalsh(form)[0], *slopes])


def _form(case: Case, covariance: np.ndarray) -> np.ndarray:
    """The same from the sum of Corollary A.4, for every S."""
    rule = every_sample(SIGMA, case.samples, 2 * LOOPS + 1)
    step = rule.S @ case.A
    powers = [np.linalg.matrix_power(np.eye(2) - step, i) for i in range(LOOPS)]
    total = step @ sum(powers)
    form = rule.mean(total @ covariance @ total.swapaxes(1, 2))
    smaller = np.linalg.eigvalsh(form)[0]
    return np.array([form[0, 0], form[1, 1], form[0, 1], smaller, 0.0, 0.0])
