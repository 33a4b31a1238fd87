"""Section 4: which rows of P and which columns of Q the loss of one layer sees."""

from dataclasses import dataclass

import jax
import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.ahn2023._single_layer import prompt_nodes, rotated, squared_error

_COVARIANCE = rotated((1.6, 0.2))


@dataclass(frozen=True)
class Case:
    """Two inputs, and a number of examples that is not 2."""

    samples: int


def cases(scale):
    """Fewer examples than inputs; at larger scales more, too."""
    lengths = {"smoke": (1,), "desk": (1, 3), "paper": (1, 3)}[scale]
    return {f"d=2, n={n}, random weights": Case(n) for n in lengths}


def predict(case: Case):
    """d columns of Q have an effect, d rows of P have none, whatever n is."""
    d = len(_COVARIANCE)
    return np.array([d, d])


def as_printed(case: Case):
    """The first n columns of Q and the first n rows of P."""
    return np.array([case.samples, case.samples])


printed = Printed(predict=as_printed, nearby=True)


def decoy(case: Case):
    """Every column of Q, the last one included."""
    d = len(_COVARIANCE)
    return np.array([d + 1, d])


def measure(case: Case) -> Measured:
    """Derivatives of the exact loss by every entry of P and Q, at random weights."""
    nodes = prompt_nodes(_COVARIANCE, case.samples)
    P, Q = np.random.default_rng([case.samples, 4]).standard_normal((2, 3, 3))
    of_P, of_Q = map(np.asarray, _slopes(P, Q, nodes))
    rows, columns = np.linalg.norm(of_P, axis=1), np.linalg.norm(of_Q, axis=0)
    # A polynomial whose derivative vanishes at a random point does not see the entry.
    noise = len(nodes.weights) * np.finfo(float).eps * max(rows.max(), columns.max())
    seen = np.concatenate([rows, columns])
    smallest, largest = seen[seen > noise].min(), seen[seen <= noise].max(initial=0)
    value = np.array([np.sum(columns > noise), np.sum(rows <= noise)])
    reason = f"counts: effects are above {smallest:.2g} or below {largest:.2g}"
    return Measured(value, 0, reason)


_slopes = jax.jit(jax.grad(squared_error, argnums=(0, 1)))
