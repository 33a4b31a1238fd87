"""Proposition 3.1, (5)–(9): the loop takes steps of preconditioned gradient descent."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.core import Prompt
from iclab.evidence import Measured, Printed, rounded
from iclab.models import LoopedTransformer
from iclab.papers.gatmiry2024._prompts import Instance, instance, token_rows

LOOPS = 4


@dataclass(frozen=True, eq=False)
class Case:
    """One prompt and the matrix of (5)."""

    prompt: Instance
    A: np.ndarray


def cases(scale) -> dict[str, Case]:
    """A that is symmetric and A that is not; at larger scales fewer examples too."""
    d = 3
    lengths = {"smoke": (8,), "desk": (2, 8), "paper": (1, 2, 3, 8, 100)}[scale]
    B = np.random.default_rng(d).standard_normal((d, d)) / 4
    found = {}
    for n in lengths:
        prompt = instance(d, n)
        symmetric = (B + B.T) / 2 + 0.6 * np.eye(d)
        found[f"d={d}, n={n}, symmetric A"] = Case(prompt, symmetric)
        found[f"d={d}, n={n}, A not symmetric"] = Case(prompt, B + 0.6 * np.eye(d))
    return found


def predict(case: Case):
    """∇ℓ(0) = −2Xy, Attn = n w₁ᵀ[X x_q], and w_t + (1/n)AᵀX(y − Xᵀw_t) by loops."""
    X, y = case.prompt.X, case.prompt.labels
    return _summary(case, -2 * X @ y, X.shape[1], case.A.T, 1.0)


def as_printed(case: Case):
    """∇ℓ(0) = Xy, Attn = −w₁ᵀ[X x_q], and w_t − (1/n)A∇ℓ(w_t), ℓ(w) = ‖Xᵀw − y‖²."""
    X, y = case.prompt.X, case.prompt.labels
    return _summary(case, X @ y, -1.0, case.A, 2.0)


printed = Printed(predict=as_printed, nearby=True)


def decoy(case: Case):
    """The gradient at 0 in every loop: w_t + (1/n)AᵀXy."""
    X, y = case.prompt.X, case.prompt.labels
    good = predict(case)
    w1 = case.A.T @ X @ y / X.shape[1]
    rows = np.arange(1, LOOPS + 1)[:, None] * (w1 @ case.prompt.columns)
    tail = rows.size + 1
    return np.concatenate([good[:-tail], rows.ravel(), rows[-1, -1:]])


def labels(case: Case):
    """Entries of the slope, and of the label rows by loops."""
    d, n = case.prompt.X.shape
    slope = [f"slope, entry {i + 1}" for i in range(d)]
    columns = [*(f"example {i + 1}" for i in range(n)), "query"]
    attention = [f"Attn, {column}" for column in columns]
    loops = [f"loop {t + 1}, {column}" for t in range(LOOPS) for column in columns]
    return [*slope, *attention, *loops, "answer of the model"]


def measure(case: Case) -> Measured:
    """Slope of ℓ at 0, rows of the token matrices by (2), (3), and the model's answer.

    Attn is n(Z⁽⁰⁾ − Z⁽¹⁾), and Z⁽ᵗ⁾ has labels y − Xᵀw_t and −⟨w_t, x_q⟩.
    """
    X, _, query = case.prompt
    d, n = X.shape
    A = np.broadcast_to(case.A, (LOOPS, d, d))
    rows = token_rows(A, np.zeros((LOOPS, d)), case.prompt)
    moved = rows[0] - rows[1:]
    slope, answer = _run(case.A, X.T, case.prompt.labels, query)
    value = np.concatenate([slope, n * moved[0], moved.ravel(), [answer]])
    size = max(1.0, float(np.max(np.abs(value))))
    return rounded(value, LOOPS * X.size * d**2, size)


def _summary(case: Case, slope: np.ndarray, times: float, A: np.ndarray, step: float):
    """∇ℓ(0), `times` w₁ᵀ[X x_q], w_tᵀ[X x_q] for every t, the query's last again."""
    X, y, columns = case.prompt.X, case.prompt.labels, case.prompt.columns
    w = np.zeros(len(X))
    rows = []
    for _ in range(LOOPS):
        w = w + step * A @ X @ (y - w @ X) / X.shape[1]
        rows.append(w @ columns)
    row = np.concatenate(rows)
    return np.concatenate([slope, times * rows[0], row, row[-1:]])


@jax.jit
def _run(A, examples, labels, query):
    slope = jax.grad(lambda w: jnp.sum((examples @ w - labels) ** 2))
    model = LoopedTransformer(A, loops=LOOPS)
    answer = model.in_token_space(Prompt(examples, labels, query))
    return slope(jnp.zeros(len(query))), answer
