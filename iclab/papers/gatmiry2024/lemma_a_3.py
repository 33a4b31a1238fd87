"""Lemma A.3: the loss of any layers, given S and on average, as two squared norms."""

import functools
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured
from iclab.models import UntiedTransformer
from iclab.papers.gatmiry2024._every_prompt import Rule, every_sample, losses_given
from iclab.theory import looped_loss

# Sample covariances that are shown one by one, before the mean over all.
_SHOWN = 3
SIGMA = np.array([[1.3, 0.4], [0.4, 0.5]])


@dataclass(frozen=True, eq=False)
class Case:
    """Two layers; inputs N(0, Σ⋆), tasks N(0, Σ⋆⁻¹), n examples."""

    A: np.ndarray
    u: np.ndarray
    samples: int

    @property
    def rule(self) -> Rule:
        """Sample covariances that integrate the loss exactly."""
        return every_sample(SIGMA, self.samples, 2 * len(self.A))

    @property
    def tied(self) -> bool:
        """Whether both layers are the same, as in a loop."""
        return np.array_equal(*self.A) and np.array_equal(*self.u)


def cases(scale) -> dict[str, Case]:
    """Two different layers; at larger scales one layer twice too; A not symmetric."""
    random = np.random.default_rng([2, 3])
    A = random.standard_normal((2, 2, 2)) / 3 + np.eye(2) / 2
    u = random.standard_normal((2, 2))
    lengths = {"smoke": (8,), "desk": (3, 8), "paper": (2, 3, 8, 50)}[scale]
    found = {}
    for n in lengths:
        found[f"d=2, n={n}, different layers"] = Case(A, u, n)
        if scale != "smoke":
            found[f"d=2, n={n}, a loop"] = Case(A[[0, 0]], u[[0, 0]], n)
    return found


def predict(case: Case):
    """‖Σ⋆^{−½}GΣ⋆^{½}‖² + ‖vᵀΣ⋆^{½}‖²; the mean for a loop by averaging words in S."""
    losses = _norms(case, SIGMA, SIGMA)
    if not case.tied:
        return _summary(case, losses)
    A, u = jnp.asarray(case.A[0]), jnp.asarray(case.u[0])
    mean = looped_loss(
        A, u, covariance=jnp.asarray(SIGMA), samples=case.samples, loops=2
    )
    return np.append(losses[:_SHOWN], mean)


def printed(case: Case):
    """The sample covariance S wherever Σ⋆ stands."""
    return _summary(case, _norms(case, case.rule.S, case.rule.S))


def decoy(case: Case):
    """Tasks from N(0, I)."""
    return _summary(case, _norms(case, np.eye(2), SIGMA))


def measure(case: Case) -> Measured:
    """Squared errors of the model, with w, the query and S integrated exactly."""
    model = UntiedTransformer(jnp.asarray(case.A), jnp.asarray(case.u))
    losses = losses_given(model, case.rule, SIGMA)
    error = _summary(case, losses.error)
    return Measured(_summary(case, losses.value), error, losses.reason)


def _norms(case: Case, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """tr(left⁻¹ G right Gᵀ) + vᵀ right v for every S of the rule.

    G = Π(I − SA_i) and vᵀ = Σ u_iᵀSA_iΠ_{j>i}(I − SA_j), layer 0 leftmost.
    """
    S, identity = case.rule.S, np.eye(len(SIGMA))
    factors = [identity - S @ A for A in case.A]
    G = functools.reduce(np.matmul, factors)
    v = np.zeros((len(S), 1, len(SIGMA)))
    for A, u, factor in zip(case.A, case.u, factors, strict=True):
        v = v @ factor + u[None] @ S @ A
    quadratic = np.linalg.solve(left, G @ right @ G.swapaxes(1, 2))
    offset = v @ right @ v.swapaxes(1, 2)
    return np.trace(quadratic, axis1=1, axis2=2) + offset[:, 0, 0]


def _summary(case: Case, losses: np.ndarray) -> np.ndarray:
    return np.append(losses[:_SHOWN], case.rule.mean(losses))
