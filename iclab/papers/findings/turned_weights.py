"""Weights that are not symmetric do better in a loop: the exact threshold.

At two loops and two inputs, turning a⋆I by εJ lowers the loss from n = 15 on, and no
earlier; as n grows the best loss is 44/n² where symmetric weights have 46/n².
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured
from iclab.papers.findings._turned import loss
from iclab.theory import looped_loss, looped_optimum

_J = jnp.array([[0.0, 1.0], [-1.0, 0.0]])
# Round-off of the sums over pairings.
_UNIT = 2000 * np.finfo(float).eps

shares = {
    "looped_optimum": "names the place at which the curvature is taken",
}


@dataclass(frozen=True)
class Case:
    """Prompts of n examples, and whether the question is the limit of long ones."""

    samples: int
    limit: bool = False


def cases(scale) -> dict[str, Case]:
    """Both sides of the threshold, and long prompts."""
    found = {f"curvature at n={n}": Case(n) for n in (10, 14, 15, 40)}
    return found | {"n² times the best losses": Case(10**5, limit=True)}


def predict(case: Case):
    """The curvature along J at a⋆I, in rationals; or 46 and 44."""
    if case.limit:
        return np.array([46.0, 44.0])
    return loss(case.samples).curvature(looped_optimum(2, case.samples, 2)[0])


def decoy(case: Case):
    """No gain from turning: 46 for both; no curvature at all."""
    return np.array([46.0, 46.0]) if case.limit else 0.0


def measure(case: Case) -> Measured:
    """Curvature of the loss, averaged word by word; or least losses times n²."""
    n = case.samples
    if case.limit:
        exact, start = loss(n), looped_optimum(2, n, 2)[0]
        found = [exact.least(start, turned=turned)[0] for turned in (False, True)]
        reason = "what is left of the limit is of order 1/n"
        return Measured(n**2 * np.array(found), 50 * 46 / n, reason)
    a = looped_optimum(2, n, 2)[0]

    def along(epsilon: float) -> float:
        A = a * jnp.eye(2) + epsilon * _J
        return float(looped_loss(A, covariance=jnp.eye(2), samples=n, loops=2))

    # Even in ε and of degree four: three values give the coefficient of ε².
    bend = 2 * (16 * along(0.5) - along(1.0) - 15 * along(0.0)) / 3
    reason = "float64 round-off of words of up to four S"
    return Measured(bend, _UNIT * along(1.0) * 16, reason)
