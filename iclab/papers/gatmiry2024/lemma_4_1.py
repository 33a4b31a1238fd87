"""Lemma 4.1, Corollary A.4: the loss without u, and how far it is from the formula."""

from dataclasses import dataclass
from fractions import Fraction

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, rounded
from iclab.models import LoopedTransformer
from iclab.papers.gatmiry2024._every_prompt import every_sample, population_loss
from iclab.papers.gatmiry2024._pairings import loop_means
from iclab.theory import looped_loss, looped_loss_lemma_4_1


@dataclass(frozen=True, eq=False)
class Case:
    """Positive definite A, covariance Σ⋆, n examples, L loops.

    `fractions`: a diagonal A for white inputs, whose loss is a rational number.
    """

    A: np.ndarray
    covariance: np.ndarray
    samples: int
    loops: int
    fractions: tuple[Fraction, ...] | None = None


def cases(scale) -> dict[str, Case]:
    """The smallest counterexample, an A of no special kind, and a multiple of Σ⋆⁻¹."""
    entries = Fraction(1), Fraction(1, 5)
    diagonal, white = np.diag([1.0, 0.2]), np.eye(2)
    Sigma, A = np.array([[1.3, 0.4], [0.4, 0.5]]), np.array([[0.7, 0.2], [0.2, 1.1]])
    most = {"smoke": 2, "desk": 3, "paper": 3}[scale]
    found = {
        f"A=diag(1, 1/5), Σ⋆=I, n=8, L={L}": Case(diagonal, white, 8, L, entries)
        for L in range(1, most + 1)
    }
    found["d=2, n=8, L=2, any A and Σ⋆"] = Case(A, Sigma, 8, 2)
    multiple = 0.6 * np.linalg.inv(Sigma)
    found["d=2, n=8, L=2, A = 0.6Σ⋆⁻¹"] = Case(multiple, Sigma, 8, 2)
    if scale != "smoke":
        Sigma = np.diag([1.5, 0.8, 0.3])
        A = np.diag([0.5, 1.0, 1.5]) + 0.1
        found["d=3, n=5, L=2, any A and Σ⋆"] = Case(A, Sigma, 5, 2)
    return found


def predict(case: Case):
    """E tr Σ⋆⁻¹(I−SA)^LΣ⋆((I−SA)^L)ᵀ, and how much that exceeds the formula."""
    loss = float(looped_loss(jnp.asarray(case.A), **_setting(case)))
    return np.array([loss, loss - _formula(case)])


def printed(case: Case):
    """E tr(I − A^½SA^½)^{2L}, and no excess."""
    return np.array([_formula(case), 0.0])


def decoy(case: Case):
    """The limit S = Σ⋆: tr(I − A^½Σ⋆A^½)^{2L}."""
    G = np.linalg.matrix_power(
        np.eye(len(case.A)) - case.covariance @ case.A, case.loops
    )
    return np.array([np.trace(G @ G), 0.0])


def measure(case: Case) -> Measured:
    """The model on every prompt, or sums over pairings in rational numbers.

    The excess is the mean of Σ_{i<j}(b_i/b_j + b_j/b_i − 2)Q_ij², never negative; b are
    the eigenvalues of B = Σ⋆^½AΣ⋆^½ and Q = (I − B^½WB^½)^L in its basis, W white.
    """
    if case.fractions is not None:
        loss, formula = loop_means(case.fractions, case.samples, case.loops)
        value = np.array([float(loss), float(loss - formula)])
        size = np.trace(np.linalg.matrix_power(np.eye(2) + case.A, 2 * case.loops))
        return rounded(value, 100 * case.loops, 10 * size)
    model = LoopedTransformer(jnp.asarray(case.A), loops=case.loops)
    loss = population_loss(model.unrolled(), case.covariance, case.samples)
    value = np.array([loss.value, _excess(case)])
    return Measured(value, loss.error, loss.reason)


def _excess(case: Case) -> float:
    d, root = len(case.A), np.linalg.cholesky(case.covariance)
    b, basis = np.linalg.eigh(root.T @ case.A @ root)
    rule = every_sample(np.eye(d), case.samples, 2 * case.loops)
    W = basis.T @ rule.S @ basis
    step = np.eye(d) - np.sqrt(np.outer(b, b)) * W
    Q = np.linalg.matrix_power(step, case.loops)
    ratios = b[:, None] / b + b / b[:, None] - 2
    return float(np.sum(np.triu(ratios) * rule.mean(Q**2)))


def _formula(case: Case) -> float:
    return float(looped_loss_lemma_4_1(jnp.asarray(case.A), **_setting(case)))


def _setting(case: Case) -> dict:
    covariance = jnp.asarray(case.covariance)
    return {"covariance": covariance, "samples": case.samples, "loops": case.loops}


def numbers(results, printed):
    """Loss and expression of the smallest counterexample, for one and two loops."""
    found = {}
    for L in (1, 2):
        one = printed[f"A=diag(1, 1/5), Σ⋆=I, n=8, L={L}"]
        found[f"loss_{L}"] = one.measured[0]
        found[f"formula_{L}"] = one.predicted[0]
    return found
