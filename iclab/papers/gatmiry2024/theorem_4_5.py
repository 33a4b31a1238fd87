"""Theorem 4.5 (A.13): the error of the trained model on any one prompt."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from iclab.core import Prompt
from iclab.evidence import Measured, Printed
from iclab.models import LoopedTransformer
from iclab.papers.gatmiry2024._out_of_distribution import (
    LENGTH,
    Prompts,
    across,
    random_prompts,
)

relation = "<="


def cases(scale) -> dict[str, Prompts]:
    """Random prompts at the edge of the hypothesis, and the worst that are known."""
    count = {"smoke": 40, "desk": 1000, "paper": 4000}[scale]
    uneven = np.diag([1.0, 0.2, 1e-3])
    found = {
        "L=2, d=3, ζ=0.1, random": random_prompts(uneven, 10**30, 2, 0.1, count),
        "L=1, d=2, ζ=0.2, w across x": across(),
        "L=2, d=2, ζ=0.1, the best of all A": _turned(count),
    }
    if scale != "smoke":
        found["L=3, d=3, ζ=0.5"] = random_prompts(uneven, 10**36, 3, 0.5, count)
        found["L=1, d=5, ζ=0.9"] = random_prompts(np.eye(5), 10**24, 1, 0.9, count)
    return found


def printed_cases(scale) -> dict[str, Prompts]:
    """Under (30), and under (10) of the main text."""
    return {
        "L=1, d=2, ζ=0.2, under (30)": across(),
        "L=1, d=2, ζ=0.2, under (10)": across(low=1.0),
    }


def predict(case: Prompts):
    """(1+r)²(1+r−ζ)^{2L}‖x_q‖²_{Σ⋆⁻¹}‖w‖²_{Σ⋆} with r = 16δd^{1/(2L)}."""
    return case.bound(corrected=True)


def as_printed(case: Prompts):
    """The same with ‖x_q‖²_{Σ⋆}‖w‖²_{Σ⋆⁻¹}."""
    return case.bound(corrected=False)


printed = Printed(predict=as_printed, cases=printed_cases)


def decoy(case: Prompts):
    """The power 2L + 2 of 1 − ζ; so few samples leave the bound far away."""
    if case.turned:
        return None
    return predict(case) * (1 - case.margin) ** 2


def measure(case: Prompts) -> Measured:
    """The largest squared error of the trained model, run on tokens as (2)–(4) say."""
    d, L = len(case.covariance), case.loops
    x_q, w = case.query, case.weights
    model = LoopedTransformer(jnp.asarray(case.A), loops=L)
    worst = float(np.max(np.asarray(_errors(model, case.inputs, x_q, w)) ** 2))
    sizes = np.linalg.norm(w, axis=1) * np.linalg.norm(x_q, axis=1)
    size = float(np.max(sizes)) * np.linalg.cond(case.covariance)
    rounding = L * LENGTH * d * np.finfo(float).eps * size
    reason = f"float64 round-off; the largest of {len(w)}"
    return Measured(worst, 2 * np.sqrt(worst) * rounding, reason)


def _turned(count: int) -> Prompts:
    """At the least n that Theorem 3.2 allows, where the turn is largest."""
    found = random_prompts(np.diag([1.0, 0.2]), 2**20, 2, 0.1, count)
    return dataclasses.replace(found, turned=True)


@jax.jit
def _errors(model, X, x_q, w):
    def error(X, x_q, w):
        return w @ x_q - model.in_token_space(Prompt(X, X @ w, x_q))

    return jax.vmap(error)(X, x_q, w)


def numbers(results, printed):
    """The error of one prompt, and its bound with the norms swapped and right."""
    slip = printed["L=1, d=2, ζ=0.2, under (30)"]
    return {
        "error": slip.measured,
        "swapped": slip.predicted,
        "bound": results["L=1, d=2, ζ=0.2, w across x"].predicted,
    }
