"""Lemma A.6: A^½SA^½ is the sample covariance of inputs of covariance A^½Σ⋆A^½."""

from dataclasses import dataclass
from math import comb

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.gatmiry2024._every_prompt import every_sample
from iclab.theory import wishart_matrix_moments

SIGMA = {2: np.array([[1.3, 0.4], [0.4, 0.5]]), 3: np.diag([1.5, 0.8, 0.3]) + 0.1}


@dataclass(frozen=True)
class Case:
    """Dimension d, n examples, L loops."""

    dimension: int
    samples: int
    loops: int

    @property
    def root(self) -> np.ndarray:
        """A^½, for an A that does not commute with Σ⋆."""
        return np.diag(np.linspace(0.5, 0.9, self.dimension)) + 0.15


def cases(scale) -> dict[str, Case]:
    """Two inputs; at larger scales three, and fewer and more examples."""
    found = {"d=2, n=8, L=2": Case(2, 8, 2)}
    if scale != "smoke":
        found["d=2, n=3, L=3"] = Case(2, 3, 3)
        found["d=3, n=5, L=2"] = Case(3, 5, 2)
    return found


def predict(case: Case):
    """tr E(I − S̃)^{2L} from moments of S̃, x̃ ~ N(0, A^½Σ⋆A^½)."""
    return _by_moments(case, case.root)


def decoy(case: Case):
    """The same for x̃ = Ax."""
    return _by_moments(case, case.root @ case.root)


def measure(case: Case) -> Measured:
    """tr(I − A^½SA^½)^{2L} for every S, x ~ N(0, Σ⋆)."""
    d, L, root = case.dimension, case.loops, case.root
    rule = every_sample(SIGMA[d], case.samples, 2 * L)
    inside = root @ rule.S @ root
    powers = np.linalg.matrix_power(np.eye(d) - inside, 2 * L)
    value = rule.mean(np.trace(powers, axis1=1, axis2=2))
    size = rule.mean((1 + np.linalg.norm(inside, axis=(1, 2))) ** (2 * L))
    return rounded(value, 10 * d**2 * L, d * size)


def _by_moments(case: Case, map_: np.ndarray) -> float:
    covariance = jnp.asarray(map_ @ SIGMA[case.dimension] @ map_.T)
    moments = wishart_matrix_moments(covariance, case.samples, 2 * case.loops)
    signs = [(-1) ** k * comb(2 * case.loops, k) for k in range(len(moments))]
    return float(np.array(signs) @ np.trace(np.asarray(moments), axis1=1, axis2=2))
