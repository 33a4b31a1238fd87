"""Lemmas 9 and 10: the loss when the query already carries its label."""

from dataclasses import dataclass

import jax
import numpy as np

from iclab.core import Prompt
from iclab.evidence import Measured, rounded
from iclab.models import LinearTransformer
from iclab.papers.ahn2023._fixed_prompts import Batch, layers, prompts


@dataclass(frozen=True, eq=False)
class Case:
    """Prompts of some distribution, and weights of the form (13)."""

    batch: Batch
    A: np.ndarray
    B: np.ndarray


def cases(scale):
    """Normal and skewed inputs and tasks: the lemma is for any distribution."""
    shapes = {"smoke": ((5, 3),), "desk": ((2, 3), (5, 3)), "paper": ((2, 1), (5, 4))}
    return {
        f"d=3, n={n}, k={k} layers, {'skewed' if skewed else 'normal'} prompts": Case(
            prompts(200, 3, n, skewed=skewed), *layers(k, 3)
        )
        for n, k in shapes[scale]
        for skewed in (False, True)
    }


def predict(case: Case):
    """Mean of Tr((I−M)ȲᵀȲ(I−M)), three of its terms, and no effect elsewhere."""
    _, Y = _forward(case, case.batch.target)
    return _summary(Y[:, -1] ** 2)


def decoy(case: Case):
    """The projector I − M forgotten: all tokens counted."""
    _, Y = _forward(case, case.batch.target)
    return _summary(np.sum(Y**2, axis=1))


def measure(case: Case) -> Measured:
    """Squared errors (5) of the model, whose query has the label 0.

    The last number is by how much any other entry of Z_k moves when the query's label
    does (Lemma 10).
    """
    errors = np.asarray(_errors(case.A, case.B, case.batch))
    without, labelled = (_forward(case, y) for y in (0 * errors, case.batch.target))
    moved = max(
        np.max(np.abs(labelled[0] - without[0])),
        np.max(np.abs(labelled[1] - without[1])[:, :-1]),
    )
    value = _summary(errors**2)
    value[-1] = moved
    # Every layer adds up n products of d terms.
    operations = len(case.A) * case.batch.examples[0].size * 10.0
    return rounded(value, operations, np.max(value))


def _forward(case: Case, query_labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """X_k and Y_k of (54) for all prompts, from queries with these labels."""
    batch = case.batch
    X = np.concatenate([batch.examples, batch.query[:, None]], axis=1).swapaxes(1, 2)
    Y = np.column_stack([batch.labels, query_labels])
    n = batch.labels.shape[1]
    mask = np.append(np.ones(n), 0.0)
    for A, B in zip(case.A, case.B, strict=True):
        attention = X.swapaxes(1, 2) @ A @ X
        Y = Y + np.einsum("pi,pij->pj", Y * mask, attention) / n
        X = X + B @ (X * mask) @ attention / n
    return X, Y


def _summary(squares: np.ndarray) -> np.ndarray:
    """Mean, three single prompts, and a place for what else moves."""
    return np.array([np.mean(squares), *squares[:3], 0.0])


@jax.jit
def _errors(A, B, batch: Batch):
    model = LinearTransformer.sparse(A, B)

    def error(x, y, query, target):
        return target - model.in_token_space(Prompt(x, y, query))

    return jax.vmap(error)(*batch)
