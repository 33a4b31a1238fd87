"""Lemma 2, (9)–(11): the layers take steps of preconditioned gradient descent."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.core import Prompt
from iclab.evidence import Measured, Printed, rounded
from iclab.models import LinearTransformer
from iclab.papers.ahn2023._fixed_prompts import Batch, layers, prompts


@dataclass(frozen=True, eq=False)
class Case:
    """A prompt, and one weight A_i more than there are layers."""

    prompt: Batch
    A: np.ndarray


def cases(scale):
    """Fewer examples than inputs, and more; k = 4 layers."""
    d, k = 3, 4
    lengths = {"smoke": (10,), "desk": (2, 10), "paper": (1, 2, 3, 10, 100)}[scale]
    A, _ = layers(k + 1, d)
    found = {}
    for n in lengths:
        prompt = Batch(*(part[0] for part in prompts(1, d, n)))
        found[f"d={d}, n={n}, k={k} layers"] = Case(prompt, A)
    return found


def predict(case: Case):
    """−⟨x, w_i⟩ for w_{i+1} = w_i + A_i∇R(w_i), i < k, and the curvatures of R."""
    return _summary(case, _iterates(case, case.A[:-1], 1.0), 1.0)


def as_printed(case: Case):
    """k layers with A_0 … A_k, so k + 1 steps at the end, and Hessian XXᵀ/(2n)."""
    *labels, _ = _iterates(case, case.A[:-1], 1.0)
    return _summary(case, [*labels, _iterates(case, case.A, 1.0)[-1]], 0.5)


printed = Printed(predict=as_printed, nearby=True)


def decoy(case: Case):
    """w_i − A_i∇R(w_i), the usual sign of a descent."""
    return _summary(case, _iterates(case, case.A[:-1], -1.0), 1.0)


def labels(case: Case):
    """The label by layers, and the curvatures of R."""
    layers = [f"label after {i} layers" for i in range(len(case.A))]
    d = case.prompt.query.size
    return [*layers, *(f"curvature {i + 1}" for i in range(d))]


def measure(case: Case) -> Measured:
    """The query's label after each of k layers, and the Hessian of (10)."""
    labels, hessian = map(np.asarray, _run(case.A[:-1], case.prompt))
    value = np.append(labels, np.linalg.eigvalsh(hessian))
    operations = len(case.A) * case.prompt.labels.size * len(hessian) ** 2
    return rounded(value, operations, max(1.0, float(np.max(np.abs(value)))))


def _iterates(case: Case, A: np.ndarray, sign: float) -> list[float]:
    """−⟨x, w_i⟩ along the iteration, from w_0 = 0."""
    X, y, query, _ = case.prompt
    w = np.zeros(len(query))
    labels = [0.0]
    for A_i in A:
        w = w + sign * A_i @ (X.T @ (X @ w - y)) / len(y)
        labels.append(-query @ w)
    return labels


def _summary(case: Case, labels: list[float], factor: float) -> np.ndarray:
    X = case.prompt.examples
    return np.append(labels, np.linalg.eigvalsh(factor * X.T @ X / len(X)))


@jax.jit
def _run(A, prompt):
    """Labels by the forward pass (4), and second derivatives of R as (10) has it."""
    X, y, query, _ = prompt
    model = LinearTransformer.sparse(A)
    labels = model.streams_in_token_space(Prompt(X, y, query))[:, -1]
    hessian = jax.hessian(lambda w: jnp.sum((X @ w - y) ** 2) / (2 * len(y)))
    return labels, hessian(jnp.ones(len(query)))
