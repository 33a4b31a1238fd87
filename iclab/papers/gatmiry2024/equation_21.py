"""(21): the power of A^½SA^½ − I, opened up."""

from dataclasses import dataclass
from math import comb

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.gatmiry2024._matrices import mean_power_from, rotated
from iclab.theory import wishart_matrix_moments

_A = np.array([0.9, 1.4])


@dataclass(frozen=True)
class Case:
    """The power k and n examples; d = 2."""

    order: int
    samples: int

    @property
    def covariance(self) -> np.ndarray:
        """Σ⋆, which does not commute with A."""
        return rotated((1.6, 0.4))


def cases(scale) -> dict[str, Case]:
    """An odd and an even power, few examples."""
    pairs = [(3, 8)] if scale == "smoke" else [(3, 8), (4, 3), (5, 20)]
    return {f"d=2, k={k}, n={n}": Case(k, n) for k, n in pairs}


def predict(case: Case):
    """The trace of Σ_{i=0}ᵏ (−1)^{k−i}C(k,i) E(A^½SA^½)ⁱ."""
    return _total(case, (-1) ** case.order, 0)


def as_printed(case: Case):
    """Σ_{i=1}ᵏ (−1)ⁱC(k,i)(…)ⁱ."""
    return _total(case, 1, 1)


printed = Printed(predict=as_printed, nearby=True)


def decoy(case: Case):
    """The sum from i = 1 on."""
    return _total(case, (-1) ** case.order, 1)


def measure(case: Case) -> Measured:
    """The same from powers of A^½SA^½ − I over every S."""
    root = np.diag(np.sqrt(_A))
    values, _, error = mean_power_from(
        case.covariance, root, 1.0, case.samples, case.order
    )
    reason = "float64 round-off of powers of sample covariances that integrate exactly"
    return Measured(float(np.sum(values)), error, reason)


def _total(case: Case, sign: int, first: int) -> float:
    k, moved = case.order, np.sqrt(np.outer(_A, _A)) * case.covariance
    moments = np.asarray(wishart_matrix_moments(jnp.asarray(moved), case.samples, k))
    traces = np.trace(moments, axis1=1, axis2=2)
    terms = [sign * (-1) ** i * comb(k, i) * traces[i] for i in range(first, k + 1)]
    return float(sum(terms))
