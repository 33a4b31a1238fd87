"""Theorem A.1, (12), (13): labels after every layer, with u, without shared weights."""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.core import Prompt
from iclab.evidence import Measured, rounded
from iclab.models import UntiedTransformer
from iclab.papers.gatmiry2024._prompts import Instance, instance, token_rows

LAYERS = 4


@dataclass(frozen=True, eq=False)
class Case:
    """One prompt and the weights of every layer."""

    prompt: Instance
    A: np.ndarray
    u: np.ndarray


def cases(scale) -> dict[str, Case]:
    """Layers that do not commute; at larger scales fewer examples than inputs too."""
    d = 3
    lengths = {"smoke": (8,), "desk": (2, 8), "paper": (1, 2, 3, 8, 100)}[scale]
    random = np.random.default_rng([d, LAYERS])
    A = random.standard_normal((LAYERS, d, d)) / 3 + np.eye(d) / 2
    u = random.standard_normal((LAYERS, d))
    return {
        f"d={d}, n={n}, {LAYERS} layers": Case(instance(d, n), A, u) for n in lengths
    }


def predict(case: Case):
    """wᵀΠ(I − SA_i) − Σ u_iᵀSA_iΠ(I − SA_j) on X, and y_q less the same on x_q."""
    return _labels(case, -1.0, case.A, case.u)


def printed(case: Case):
    """The same with plus in front of the sum."""
    return _labels(case, 1.0, case.A, case.u)


def decoy(case: Case):
    """The layers in the other order."""
    return _labels(case, -1.0, case.A[::-1], case.u[::-1])


def labels(case: Case):
    """Entries of the label rows by layers."""
    examples = range(1, case.prompt.X.shape[1] + 1)
    columns = [*(f"example {i}" for i in examples), "query"]
    layers = range(1, LAYERS + 1)
    rows = [f"layer {t}, {column}" for t in layers for column in columns]
    return [*rows, *(f"answer after {t} layers" for t in layers)]


def measure(case: Case) -> Measured:
    """Last rows of the token matrices by (2), (3), and what the model answers."""
    X, w, query = case.prompt
    rows = token_rows(case.A, case.u, case.prompt)[1:]
    rows[:, -1] *= -1  # the query's entry of Z⁽ᵗ⁾ is −y_q⁽ᵗ⁾
    answers = _run(case.A, case.u, X.T, case.prompt.labels, query)
    value = np.concatenate([rows.ravel(), answers])
    size = max(1.0, float(np.max(np.abs(value))))
    return rounded(value, LAYERS * X.size * len(w) ** 2, size)


def _labels(case: Case, sign: float, A: np.ndarray, u: np.ndarray) -> np.ndarray:
    """y⁽ᵗ⁾ and y_q⁽ᵗ⁾ for every t by the products, then y_q⁽ᵗ⁾ again."""
    X, w, query = case.prompt
    S = case.prompt.S
    factors = np.eye(len(w)) - S @ A
    rows = []
    for t in range(1, len(A) + 1):
        v = w @ _product(factors[:t])
        for i in range(t):
            v = v + sign * u[i] @ S @ A[i] @ _product(factors[i + 1 : t])
        rows.append(np.append(v @ X, w @ query - v @ query))
    rows = np.array(rows)
    return np.concatenate([rows.ravel(), rows[:, -1]])


def _product(factors: np.ndarray) -> np.ndarray:
    """From left to right; the identity if there are none."""
    return functools.reduce(np.matmul, factors, np.eye(factors.shape[-1]))


@jax.jit
def _run(A, u, examples, labels, query):
    prompt = Prompt(examples, labels, query)
    model = UntiedTransformer(jnp.asarray(A), jnp.asarray(u))
    return model.predictions_by_depth(prompt)[1:]
