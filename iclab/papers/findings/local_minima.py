"""One layer of linear attention has local minima that are not global.

With the label's row of the key–query matrix free, b = (u₁, 0) and −u₁ᵀ/Γ₁₁ in the last
row of A make a network that learns along the leading eigenvector u₁ alone: its loss is
tr Σ − λ₁²/Γ₁₁. For unequal eigenvalues that is a minimum, strict up to rescaling b
against A; for equal ones a saddle. The layer of zhang2023, which attends to the query
too, has the same point (with the sign of its residual), and it is a minimum as well.
"""

import functools
import itertools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.core import Prompt
from iclab.evidence import Measured
from iclab.models import LinearSelfAttention, LinearTransformer
from iclab.theory import ahn_optimum, gamma_matrix, lsa_optimum

_SAMPLES = 2
# Curvatures below this part of the largest one are round-off of zero.
_FLAT = 1e-9

shares = {
    "gamma_matrix": (
        "names the point; loss, slope and curvatures are those of the model there"
    ),
}


@dataclass(frozen=True)
class Case:
    """Eigenvalues of Σ, and whether the point in question is the global minimum.

    `masked`: the layer of ahn2023, which does not attend to the query.
    """

    eigenvalues: tuple[float, float]
    everywhere: bool = False
    masked: bool = True


def cases(scale) -> dict[str, Case]:
    """The local minima, the global ones, and the saddle of equal eigenvalues."""
    uneven = (1.0, 0.1)
    return {
        "eigenvalues 1 and 0.1, the local minimum": Case(uneven),
        "eigenvalues 1 and 0.1, the global minimum": Case(uneven, everywhere=True),
        "equal eigenvalues, the same point": Case((1.0, 1.0)),
        "no mask, the local minimum": Case(uneven, masked=False),
        "no mask, the global minimum": Case(uneven, everywhere=True, masked=False),
    }


def predict(case: Case):
    """Loss, slope, and how many curvatures are negative."""
    variances = np.array(case.eigenvalues)
    Gamma = np.diag(np.asarray(gamma_matrix(jnp.diag(variances), _SAMPLES)))
    learned = variances**2 / Gamma
    gained = learned.sum() if case.everywhere else learned[0]
    saddle = variances[0] == variances[1]
    return np.array([variances.sum() - gained, 0.0, 1.0 if saddle else 0.0])


def decoy(case: Case):
    """The loss of the global minimum at the local one, and the other way round."""
    other = Case(case.eigenvalues, not case.everywhere, case.masked)
    return np.array([predict(other)[0], 0.0, predict(case)[2]])


def measure(case: Case) -> Measured:
    """The model's loss over every prompt, and its first and second derivatives."""
    point = _weights(case)
    prompts = _prompts(case)
    found = _derivatives(point, *prompts, masked=case.masked)
    loss, slope, hessian = map(np.asarray, found)
    curvatures = np.linalg.eigvalsh((hessian + hessian.T) / 2)
    negative = np.sum(curvatures < -_FLAT * curvatures[-1])
    value = np.array([float(loss), np.linalg.norm(slope), float(negative)])
    shown = ", ".join(f"{one:.2g}" for one in curvatures)
    reason = f"float64 round-off over {len(prompts[0]):,} prompts; curvatures {shown}"
    return Measured(value, 1e-12 * np.array([1.0, 10.0, 0.0]), reason)


def _weights(case: Case):
    """b and A, flat: the last row of P and the first d columns of Q."""
    Sigma = jnp.diag(jnp.array(case.eigenvalues))
    if case.everywhere:
        if case.masked:
            P, Q = ahn_optimum(Sigma, _SAMPLES)
        else:
            Q, P = lsa_optimum(Sigma, _SAMPLES)
        return jnp.concatenate([P[-1], Q[:, :-1].ravel()])
    Gamma = gamma_matrix(Sigma, _SAMPLES)
    sign = -1 if case.masked else 1
    A = jnp.zeros((3, 2)).at[2, 0].set(sign / Gamma[0, 0])
    return jnp.concatenate([jnp.array([1.0, 0, 0]), A.ravel()])


@functools.partial(jax.jit, static_argnames="masked")
def _derivatives(point, examples, labels, query, target, weights, *, masked):
    def loss(point):
        P = jnp.zeros((3, 3)).at[2].set(point[:3])
        Q = jnp.zeros((3, 3)).at[:, :2].set(point[3:].reshape(3, 2))
        if masked:
            model = LinearTransformer(P[None], Q[None])
        else:
            model = LinearSelfAttention(Q, P)
        run = jax.vmap(lambda x, y, q: model(Prompt(x, y, q)))
        return weights @ (target - run(examples, labels, query)) ** 2

    return loss(point), jax.grad(loss)(point), jax.hessian(loss)(point)


@functools.cache
def _prompts(case: Case):
    """Gauss–Hermite nodes: three for examples and tasks, two for the query.

    Four for a query that is attended to, and so enters as a cube.
    """
    of_query = 2 if case.masked else 4
    three, few = (np.polynomial.hermite_e.hermegauss(count) for count in (3, of_query))
    lines = [three] * 6 + [few] * 2
    points = np.array(list(itertools.product(*(line for line, _ in lines))))
    masses = np.prod(list(itertools.product(*(mass for _, mass in lines))), axis=1)
    root = np.sqrt(case.eigenvalues)
    examples = points[:, :4].reshape(-1, 2, 2) * root
    w, query = points[:, 4:6], points[:, 6:] * root
    labels = np.einsum("pnd,pd->pn", examples, w)
    target = np.sum(w * query, axis=1)
    return examples, labels, query, target, masses / masses.sum()
