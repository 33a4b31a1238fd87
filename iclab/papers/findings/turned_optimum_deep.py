"""Ten loops with all weights free are trained to aI + bJ with J² = −I.

Past three loops no exact loss of general weights is known, so L-BFGS minimises the mean
over a fixed set of weighted draws of S, first over a part of them, then over all, and
other draws are the judge. Expected before the run: five random starts end at one loss
within 3 %, that of the best two numbers a and b, below the exact optimum among
symmetric weights. Found with 40,000 draws: the means agree with every key that was
tried, the spread is 2.4 % with one key and 4.3 % with another.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import STANDARD_ERRORS, Measured
from iclab.theory import looped_loss_on_draws, looped_optimum
from iclab.training import minimise

_SAMPLES = 20
# How far the five may be from one another, and their mean from aI + bJ.
_WITHIN = 0.03
# Multiples of I that the starts have besides entries N(0, 0.1²).
_STARTS = (0.0, 0.1, 0.2, 0.3, 0.4)
# Training goes from a twentieth of the draws to all of them, with so many steps each.
_STAGES = ((20, 60), (4, 60), (1, 12))

shares = {
    "looped_loss_on_draws": (
        "is minimised over all weights and over two, on other draws; "
        "findings/covered-means tests it"
    ),
}


@dataclass(frozen=True)
class Case:
    """d inputs, L loops, draws to train on and as many others to judge by."""

    dimension: int
    loops: int
    draws: int


def cases(scale) -> dict[str, Case]:
    """Ten inputs and ten loops; less of both to be quick."""
    case = {
        "smoke": Case(4, 5, 8_000),
        "desk": Case(10, 10, 40_000),
        "paper": Case(10, 10, 400_000),
    }[scale]
    return {f"d={case.dimension}, n={_SAMPLES}, L={case.loops}": case}


def predict(case: Case):
    """The least loss of aI + bJ, on draws of its own; and a spread of 0."""
    train, judge = jax.random.split(jax.random.key(0))
    turned = eqx.Partial(lambda loss, x: loss(_turned(x, case)), _part(case, train, 4))
    x = minimise(turned, jnp.array([0.5, 0.3]), max_steps=15, tolerance=1e-3).model
    return np.array([float(_part(case, judge)(_turned(x, case))), 0.0])


def decoy(case: Case):
    """The exact optimum among symmetric weights."""
    return np.array([looped_optimum(case.dimension, _SAMPLES, case.loops)[1], 0.0])


def measure(case: Case, key) -> Measured:
    """Mean of five losses on draws that none was trained on, and their spread."""
    train, judge, starts = jax.random.split(key, 3)
    stages = [(_part(case, train, part), steps) for part, steps in _STAGES]
    fresh = _part(case, judge)
    d = case.dimension
    weights = 0.1 * jax.random.normal(starts, (len(_STARTS), d, d))
    found, eigenvalues = [], []
    for A, multiple in zip(weights, _STARTS, strict=True):
        A = A + multiple * jnp.eye(d)
        for loss, steps in stages:
            A = minimise(loss, A, max_steps=steps, tolerance=1e-4).model
        found.append(fresh.estimate(A))
        eigenvalues.append(np.linalg.eigvals(A))
    losses, errors = np.array([list(map(float, one)) for one in found]).T
    mean, (symmetric, _) = losses.mean(), decoy(case)
    a, b = np.mean(np.real(eigenvalues)), np.mean(np.abs(np.imag(eigenvalues)))
    reason = (
        f"3 % besides {STANDARD_ERRORS:g} standard errors over {case.draws:,} draws;"
        f" {mean / symmetric:.3f} of the symmetric optimum, eigenvalues of A on average"
        f" {a:.3f} ± {b:.3f}i"
    )
    error = _WITHIN * mean + STANDARD_ERRORS * errors.mean()
    value = np.array([mean, np.ptp(losses) / mean])
    return Measured(value, np.array([error, _WITHIN]), reason)


def _part(case: Case, key, part: int = 1):
    """The loss on draws of a key, on one in `part` of them."""
    loss = looped_loss_on_draws(
        covariance=jnp.eye(case.dimension),
        samples=_SAMPLES,
        loops=case.loops,
        key=key,
        draws=case.draws,
    )
    some = jax.tree.map(lambda leaf: leaf[: len(leaf) // part], loss.drawn)
    return eqx.tree_at(lambda loss: loss.drawn, loss, some)


def _turned(x, case: Case):
    """aI + bJ, J turning the coordinates 0 and 1, 2 and 3, … by 90°."""
    J = jnp.kron(jnp.eye(case.dimension // 2), jnp.array([[0.0, 1.0], [-1.0, 0.0]]))
    return x[0] * jnp.eye(case.dimension) + x[1] * J
