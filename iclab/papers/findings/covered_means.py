"""Error bars of deep losses: from a mixture they hold, from plain prompts they do not.

Rare prompts carry the loss of many loops. Plain draws hold too few of them, and neither
the mean nor its standard error shows that. From a mixture that stretches the inputs
along one direction, with weights (`core.Mixture`), intervals of nominally 95 % cover
the loss that often.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import roots_genlaguerre, roots_hermitenorm

from iclab.evidence import Measured
from iclab.theory import looped_loss, sampled_looped_loss

_REPETITIONS, _NOMINAL = 200, 1.96

relation = "<="
labels = ["−covered", "covered"]


@dataclass(frozen=True)
class Case:
    """A = aI + bJ (J turns pairs of inputs by 90°), examples, loops, draws a mean."""

    step: float
    turn: float
    dimension: int
    samples: int
    loops: int
    draws: int = 2000

    @property
    def A(self) -> np.ndarray:
        """The weights."""
        A = self.step * np.eye(self.dimension)
        if self.turn:
            J = np.array([[0, 1], [-1, 0]])
            A += self.turn * np.kron(np.eye(self.dimension // 2), J)
        return A


def cases(scale) -> dict[str, Case]:
    """Two inputs, where every loss is known exactly, and ten.

    At `paper` also ten with turned weights, held against three hundred times the draws.
    """
    found = [Case(0.5, b, 2, 5, 10) for b in (0.0, 0.3)]
    if scale != "smoke":
        found += [Case(0.5, b, 2, 5, L) for b in (0.0, 0.3) for L in (5, 20)]
        found += [Case(0.498, 0.0, 10, 20, 10)]
    if scale == "paper":
        found += [Case(0.597, 0.354, 10, 20, 10, 6000)]
    return {
        f"A = {c.step}I{f' + {c.turn}J' if c.turn else ''}, d={c.dimension},"
        f" n={c.samples}, L={c.loops}": c
        for c in found
    }


def predict(case: Case):
    """From 90 % to 98 % of 200 intervals, as was asked before any run."""
    return np.array([-0.90, 0.98])


def decoy(case: Case):
    """At most 60 %, which is more than intervals from plain draws cover."""
    return np.array([-0.90, 0.60])


def measure(case: Case, key) -> Measured:
    """How many of 200 intervals have the exact loss in them."""
    exact = _exact(case)
    covered = _covered(case, key, exact, mixture=True)
    plain = _covered(case, key, exact, mixture=False)
    reason = (
        f"the share of {_REPETITIONS} means of {case.draws:,} draws within {_NOMINAL}"
        f" standard errors of the loss, {exact:.4g}; from plain draws {plain:.1%}"
    )
    return Measured(np.array([-covered, covered]), 0.0, reason)


def _covered(case: Case, key, exact: float, *, mixture: bool) -> float:
    keys = jax.random.split(key, _REPETITIONS)
    sizes = {"samples": case.samples, "loops": case.loops, "draws": case.draws}
    found = _means(jnp.asarray(case.A), keys, **sizes, mixture=mixture)
    means, errors = map(np.asarray, found)
    return float(np.mean(np.abs(means - exact) <= _NOMINAL * errors))


@functools.partial(jax.jit, static_argnames=("samples", "loops", "draws", "mixture"))
def _means(A, keys, **setting):
    """Means and standard errors, one after the other."""
    eye = jnp.eye(len(A))
    return jax.lax.map(
        lambda key: tuple(sampled_looped_loss(A, covariance=eye, key=key, **setting)),
        keys,
    )


def _exact(case: Case) -> float:
    """The loss: by the spectrum for multiples of I, else by all S of two inputs.

    S = TTᵀ/n with T lower triangular, T₁₁² ~ χ²_n, T₂₂² ~ χ²_{n−1} and T₂₁ ~ N(0, 1).
    The loss is a polynomial in T of which means see even powers only, so that Gauss
    rules of 2L + 1 nodes are exact. Of more inputs turned weights have no such rule:
    many draws of their own stand for it.
    """
    n, L = case.samples, case.loops
    A, eye = jnp.asarray(case.A), jnp.eye(case.dimension)
    if case.turn == 0:
        return float(looped_loss(A, covariance=eye, samples=n, loops=L))
    if case.dimension > 2:
        keys, draws = jax.random.split(jax.random.key(1), 300), case.draws
        means, _ = _means(A, keys, samples=n, loops=L, draws=draws, mixture=True)
        return float(jnp.mean(means))
    rules = [roots_genlaguerre(2 * L + 1, k / 2 - 1) for k in (n, n - 1)]
    rules.append(roots_hermitenorm(2 * L + 1))
    first, second, below = np.meshgrid(*[nodes for nodes, _ in rules], indexing="ij")
    mass = np.einsum("i,j,k->ijk", *[weight / weight.sum() for _, weight in rules])
    T = np.stack([np.sqrt(2 * first), 0 * first, below, np.sqrt(2 * second)], axis=-1)
    T = T.reshape(-1, 2, 2)
    G = np.linalg.matrix_power(np.eye(2) - T @ T.mT / n @ case.A, L)
    return float(mass.ravel() @ np.sum(G**2, axis=(1, 2)))
