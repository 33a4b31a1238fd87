"""Corollary 4.3: prompt lengths that bring the risk down to ε."""

import functools
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, Printed, rounded
from iclab.papers.zhang2023._random_instances import one_by_one, random_covariances
from iclab.theory import lsa_risk, optimal_preconditioner, sample_complexity

# Pairs (Λ, ε) in a case.
_NUMBER = {"smoke": 200, "desk": 1000, "paper": 5000}

relation = "<="


@dataclass(frozen=True)
class Pairs:
    """Random covariances and accuracies in this dimension."""

    dimension: int


def cases(scale):
    """Condition numbers up to 1000, accuracies down to 10⁻⁴."""
    sizes = {"smoke": (3,), "desk": (3, 8), "paper": (1, 3, 8, 20)}[scale]
    return {f"worst risk over ε, d={d}": Pairs(d) for d in sizes}


def predict(case: Pairs):
    """With M ≥ 2(d+1)trΛ/ε and N ≥ [2(1+2d+d²κ)trΛ]^{1/2}ε^{-1/2}: at most 1."""
    return 1.0


def measure(case: Pairs, scale) -> Measured:
    """Exact risk at the lengths of the corollary."""
    return _worst(_instances(case.dimension, _NUMBER[scale]), as_printed=False)


def decoy(case: Pairs):
    """Lengths longer than needed: risks of 0.95 ε."""
    return 0.95


def measure_printed(case: Pairs, scale) -> Measured:
    """The same with ε^{-1/2} inside the root of N."""
    return _worst(_instances(case.dimension, _NUMBER[scale]), as_printed=True)


printed = Printed(predict=predict, measure=measure_printed)


def numbers(results, printed):
    """The largest risk over ε, at the printed lengths and at the corrected ones."""
    worst = [one.measured for one in printed.values()]
    tight = [one.measured for one in results.values()]
    return {"worst": max(worst), "tight": max(tight)}


class Instances(NamedTuple):
    """Covariances, accuracies, and lengths: M, N, and N as printed."""

    covariance: np.ndarray
    accuracy: np.ndarray
    lengths: np.ndarray


@functools.cache
def _instances(d: int, number: int) -> Instances:
    random = np.random.default_rng([d, number])
    Lambda = random_covariances(random, number, d)
    epsilon = np.exp(random.uniform(np.log(1e-4), 0, number))
    # With ε^{-1/2} inside the root, N is what the accuracy √ε asks for.
    lengths = [
        (*sample_complexity(matrix, one), sample_complexity(matrix, np.sqrt(one))[1])
        for matrix, one in zip(map(jnp.asarray, Lambda), epsilon, strict=True)
    ]
    return Instances(Lambda, epsilon, np.array(lengths).T)


def _worst(instances: Instances, *, as_printed: bool) -> Measured:
    Lambda, epsilon, (M, N, N_printed) = instances
    risk = one_by_one(_risk, Lambda, N_printed if as_printed else N, M)
    # The risk is a difference of numbers near tr Λ.
    size = np.trace(Lambda, axis1=1, axis2=2) / epsilon
    return rounded(float(np.max(risk / epsilon)), Lambda.shape[1] ** 3, size)


def _risk(covariance, context_length, examples):
    """Exact risk of the trained model, averaged over w ~ N(0, I)."""
    P = optimal_preconditioner(covariance, context_length)
    return lsa_risk(P, covariance, examples)
