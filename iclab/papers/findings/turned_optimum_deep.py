"""Ten loops with all weights free are trained to aI + bJ with J² = −I.

Past three loops no exact loss of general weights is known, so L-BFGS minimises the mean
over a fixed set of weighted draws of S, first few of them, then many, and other draws
are the judge. Expected before the run: five random starts end at one loss, that of the
best two numbers a and b, and below the optimum among symmetric weights; with an odd
number of inputs J leaves one direction out.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import STANDARD_ERRORS, Measured
from iclab.theory import looped_loss_on_draws, looped_optimum, sampled_looped_loss
from iclab.training import minimise

_SAMPLES, _LOOPS = 20, 10
# How far the five may be from one another, and their mean from aI + bJ.
_WITHIN = 0.03
# Multiples of I that the starts have besides entries N(0, 0.1²).
_STARTS = (0.0, 0.1, 0.2, 0.3, 0.4)


@dataclass(frozen=True)
class Case:
    """d inputs; draws on which training begins and ends, and draws to judge by."""

    dimension: int
    few: int
    many: int
    fresh: int


def cases(scale) -> dict[str, Case]:
    """Six inputs; then ten, and an odd number."""
    if scale == "smoke":
        sizes = [(6, 500, 4_000, 20_000)]
    elif scale == "desk":
        sizes = [(10, 2_000, 20_000, 40_000), (5, 2_000, 20_000, 40_000)]
    else:
        sizes = [(10, 2_000, 200_000, 400_000), (5, 2_000, 200_000, 400_000)]
    return {f"d={one[0]}, n=20, L=10": Case(*one) for one in sizes}


def predict(case: Case):
    """The least loss of aI + bJ, from draws of its own; and five alike."""
    train, judge = jax.random.split(jax.random.key(0))
    loss = looped_loss_on_draws(**_prompts(case), key=train, draws=case.many)
    along = eqx.Partial(lambda loss, x: loss(_turned(x, case.dimension)), loss)
    found = minimise(along, jnp.array([0.5, 0.3]), max_steps=20, tolerance=1e-4)
    A = _turned(found.model, case.dimension)
    mean, _ = sampled_looped_loss(A, **_prompts(case), key=judge, draws=case.fresh)
    return np.array([float(mean), 0.0])


def decoy(case: Case):
    """The least loss of symmetric A, which is exact."""
    return np.array([looped_optimum(case.dimension, _SAMPLES, _LOOPS)[1], 0.0])


def measure(case: Case, key, scale) -> Measured:
    """Mean of five losses on draws that none was trained on, and their spread."""
    few_key, many_key, judge, starts = jax.random.split(key, 4)
    few = looped_loss_on_draws(**_prompts(case), key=few_key, draws=case.few)
    many = looped_loss_on_draws(**_prompts(case), key=many_key, draws=case.many)
    fresh = looped_loss_on_draws(**_prompts(case), key=judge, draws=case.fresh)
    d, losses, errors, shapes = case.dimension, [], [], []
    noise = 0.1 * jax.random.normal(starts, (len(_STARTS), d, d))
    for multiple, entries in zip(_STARTS, noise, strict=True):
        A = multiple * jnp.eye(d) + entries
        A = minimise(few, A, max_steps=100, tolerance=1e-3).model
        A = minimise(many, A, max_steps=30, tolerance=1e-4).model
        loss, error = map(float, fresh.estimate(A))
        losses.append(loss)
        errors.append(error)
        shapes.append(np.linalg.eigvals(A))
    mean, spread = np.mean(losses), np.ptp(losses) / np.mean(losses)
    a, b = np.mean(np.real(shapes)), np.sum(np.abs(np.imag(shapes)))
    b = b / len(shapes) / (d - d % 2)
    symmetric = looped_optimum(d, _SAMPLES, _LOOPS)[1]
    reason = (
        f"3 % besides {STANDARD_ERRORS:g} standard errors over {case.fresh:,} draws;"
        f" {mean / symmetric:.3f} of the symmetric optimum, eigenvalues of A around"
        f" {a:.3f} ± {b:.3f}i"
    )
    error = _WITHIN * mean + STANDARD_ERRORS * np.mean(errors)
    return Measured(np.array([mean, spread]), np.array([error, _WITHIN]), reason)


def _prompts(case: Case) -> dict:
    d = case.dimension
    return {"covariance": jnp.eye(d), "samples": _SAMPLES, "loops": _LOOPS}


def _turned(x, d: int):
    """aI + bJ, J turning the coordinates 0 and 1, 2 and 3, … by 90°."""
    even = jnp.arange(0, d - 1, 2)
    J = jnp.zeros((d, d)).at[even, even + 1].set(1.0).at[even + 1, even].set(-1.0)
    return x[0] * jnp.eye(d) + x[1] * J
