"""A scalar network is a polynomial: what gradient descent and GD++ leave of a label.

`residual_polynomial` gives the coefficients of what k layers with A_i = a_iΣ⁻¹ and
B_i = b_iI leave of a label on an eigenvalue h. The classical methods are run on prompts
that have nothing but that eigenvalue. Newton's iteration, k times from S/(tr S)², is
2ᵏ⁺¹ steps of gradient descent, of sizes ±1/tr S by turns.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.algorithms import GradientDescent, GradientDescentPlusPlus, IterativeNewton
from iclab.core import Prompt
from iclab.evidence import Measured, rounded
from iclab.theory import residual_polynomial

_PLACES = np.array([0.1, 0.5, 1.0, 1.7, 2.5])
# The trace of S with which Newton's iteration is run: one eigenvalue is not enough.
_TRACE = 3.0


@dataclass(frozen=True)
class Case:
    """a_i, and b_i of GD++ unless there are none; or rounds of Newton's iteration."""

    a: tuple[float, ...]
    b: tuple[float, ...] | None = None
    rounds: int = 0


def cases(scale) -> dict[str, Case]:
    """One to four layers, with and without B."""
    return {
        "one step": Case((-0.7,)),
        "four steps": Case((-1.2, -0.3, -0.8, 0.2)),
        "GD++, two layers": Case((-0.6, -1.1), (-0.4, 0.0)),
        "GD++, three layers": Case((-0.4, -0.7, -1.3), (-0.3, 0.2, 0.0)),
        "Newton, two rounds": Case((-1 / _TRACE, 1 / _TRACE) * 4, rounds=2),
    }


def predict(case: Case):
    """The polynomial at five eigenvalues."""
    b = None if case.b is None else jnp.array(case.b)
    return _at_places(np.asarray(residual_polynomial(jnp.array(case.a), b)))


def decoy(case: Case):
    """B forgotten; without B the polynomial without its highest power."""
    coefficients = np.array(residual_polynomial(jnp.array(case.a)))
    if case.b is None:
        coefficients[-1] = 0.0
    return _at_places(coefficients)


def measure(case: Case) -> Measured:
    """What is left of the label ⟨w, x⟩ = 1 on prompts of one example √h."""
    eta = -jnp.array(case.a)
    if case.b is None:
        method = GradientDescent(eta)
    else:
        method = GradientDescentPlusPlus(eta, eta * jnp.array(case.b))

    def left(h):
        root = jnp.sqrt(h)[None]
        return 1 - method(Prompt(root[:, None], root, jnp.ones(1)))

    def left_by_newton(h):
        # Two examples along the axes, S = diag(h, _TRACE − h), and labels of the first.
        X = jnp.diag(jnp.sqrt(2 * jnp.array([h, _TRACE - h])))
        newton = IterativeNewton(case.rounds)
        return 1 - newton(Prompt(X, X[:, 0], jnp.array([1.0, 0.0])))

    run = left_by_newton if case.rounds else left
    values = np.asarray(jax.vmap(run)(jnp.asarray(_PLACES)))
    return rounded(values, 100, 1 + np.max(np.abs(values)))


def _at_places(coefficients: np.ndarray) -> np.ndarray:
    return np.polynomial.polynomial.polyval(_PLACES, coefficients)
