"""One problem at a time, for identities, and what the formulas say about it."""

import dataclasses
import functools
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array

from iclab.papers.yang2024._instances import (
    GENERAL,
    SQUARE,
    Instances,
    Sizes,
    random_instances,
    reference,
)
from iclab.theory import (
    multi_head_weights,
    representation_gap,
    representation_gradient,
    representation_infimum,
    representation_infimum_printed,
    representation_loss,
    representation_optimum,
    representation_residuals_printed,
    softmax_columns,
)

SIMPLE = f"{SQUARE}, τ=1/4, f(v) = (v₁, v₁v₂)"


class Formulas(NamedTuple):
    """s^h_k, Â, A, the gradient in Q and in w, L, L − L*, L* and L* as printed.

    For m = N also δ and the gradient in Q as printed.
    """

    attention: Array
    weights: Array
    optimum: Array
    key_query_gradient: Array
    value_gradient: Array
    loss: Array
    gap: Array
    infimum: Array
    infimum_printed: Array
    residuals_printed: Array | None
    gradient_printed: Array | None


@functools.cache
def single_problems(scale: str) -> dict[str, Instances]:
    """A problem of simple numbers, where m = N, and random ones of other sizes."""
    found = simple(scale)
    found[f"{GENERAL}, τ=1/2, random"] = single(GENERAL)
    if scale != "smoke":
        more = Sizes(9, 4, 3, 2, 5), Sizes(7, 2, 4, 3, 1), Sizes(5, 5, 2, 2, 6)
        found |= {f"{sizes}, τ=1/2, random": single(sizes) for sizes in more}
    return found


def simple(scale: str) -> dict[str, Instances]:
    """The problem of simple numbers, in which m = N."""
    return {SIMPLE: reference()}


@functools.cache
def single(sizes: Sizes) -> Instances:
    """A random problem with numbers of order one, τ = ½ and γ = 3."""
    base, random = random_instances(sizes, 1), np.random.default_rng(16)
    return dataclasses.replace(
        base,
        features=random.standard_normal(base.features.shape),
        noise_variance=np.array([0.5]),
        gamma=np.array([3.0]),
        key_query=random.standard_normal(base.key_query.shape),
        value=random.standard_normal(base.value.shape) / 3,
    )


def formulas(case: Instances) -> Formulas:
    """All formulas at the first problem of `case`."""
    return formulas_at(case, case.key_query[0], case.weights[0])


def formulas_at(case: Instances, key_query, weights) -> Formulas:
    """All formulas at these parameters in the first problem of `case`."""
    problem = case.tokens[0], case.features[0], case.noise_variance[0]
    N = case.context_length
    found = _formulas(key_query, weights, *problem, context_length=N)
    return jax.tree.map(np.asarray, found)


def error_scale(case: Instances) -> float:
    """Label vectors in an average over a population, and how much can cancel there."""
    K, m = case.features.shape[1:]
    condition = np.linalg.norm(case.features[0]) ** 2 / (m * case.noise_variance[0])
    return 2 * m * K * 2**m * (1 + float(condition))


def shown_labels(case: Instances) -> np.ndarray:
    """Labels of the N shown tokens, of no special kind."""
    return 1.5 * np.cos(1.0 + 2.0 * np.arange(case.context_length))


@functools.partial(jax.jit, static_argnames="context_length")
def _formulas(
    Q: Array, w: Array, tokens: Array, features: Array, tau: Array, *, context_length
) -> Formulas:
    N = context_length
    A = representation_optimum(features, N, tau)
    weights = multi_head_weights(Q, w, tokens, N)
    problem = Q, w, tokens, features, N, tau
    by_Q, by_w = representation_gradient(*problem)
    square = features.shape[1] == N
    return Formulas(
        attention=softmax_columns(Q, tokens, N),
        weights=weights,
        optimum=A,
        key_query_gradient=by_Q,
        value_gradient=by_w,
        loss=representation_loss(weights, features, tau),
        gap=representation_gap(weights, A, features, tau),
        infimum=representation_infimum(features, N, tau),
        infimum_printed=representation_infimum_printed(features, N, tau),
        residuals_printed=representation_residuals_printed(weights, features, tau)
        if square
        else None,
        gradient_printed=representation_gradient(*problem, printed=True)[0]
        if square
        else None,
    )
