"""Displays after Theorem 4.2: the risk for linear labels, and its two upper bounds."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.zhang2023._fixed_covariance import Setting
from iclab.papers.zhang2023._quadrature import gaussian_rule
from iclab.papers.zhang2023._random_instances import one_by_one, random_covariances
from iclab.papers.zhang2023._simulation import (
    distribution,
    preconditioner_error,
    trained_model,
)
from iclab.theory import (
    linear_label_covariance,
    lsa_risk,
    lsa_risk_bound,
    nonlinear_risk,
    optimal_preconditioner,
)

# Random problems in a case.
_NUMBER = {"smoke": 500, "desk": 5000, "paper": 50_000}
_WEIGHT = np.array([0.5, -2.0, 1.0])
_EXAMPLES = 4

relation = "<="


@dataclass(frozen=True)
class Bounds:
    """Random covariances, weights and lengths in this dimension."""

    dimension: int


@dataclass(frozen=True, eq=False)
class LinearLabels:
    """One training distribution: Σ of (4.5), or the risk itself."""

    setting: Setting
    of_risk: bool


def cases(scale):
    """Σ and the exact risk for two covariances, the bounds for thousands."""
    found = {}
    for spectrum in ("geometric", "one tiny"):
        setting = distribution(spectrum, 10)
        found[f"Σ, {spectrum} spectrum"] = LinearLabels(setting, of_risk=False)
        found[f"risk, {spectrum} spectrum"] = LinearLabels(setting, of_risk=True)
    for d in {"smoke": (3,), "desk": (3, 8), "paper": (1, 3, 8, 20)}[scale]:
        found[f"worst risk over bound, d={d}"] = Bounds(d)
    return found


def predict(case: Bounds | LinearLabels):
    """Ratios of at most 1; the displayed formulas for Σ and for the risk."""
    if isinstance(case, Bounds):
        return np.ones(5)
    Lambda, w = case.setting.covariance, jnp.asarray(_WEIGHT)
    Sigma = linear_label_covariance(Lambda, w)
    if not case.of_risk:
        return _both_sides(_summary(np.asarray(Sigma)))
    N = case.setting.context_length
    return _both_sides(nonlinear_risk(w, Sigma, 0.0, Lambda, N, _EXAMPLES))


def measure(case: Bounds | LinearLabels, scale) -> Measured:
    """Exact risks of thousands of models; quadrature; a model after its flow."""
    if isinstance(case, Bounds):
        return _worst_ratios(case.dimension, _NUMBER[scale])
    Lambda, w = case.setting.covariance, jnp.asarray(_WEIGHT)
    if not case.of_risk:
        x, weights = gaussian_rule(Lambda, 3)
        xy = x * (x @ _WEIGHT)[:, None]
        mean = weights @ xy
        Sigma = (xy - mean).T * weights @ (xy - mean)
        value = _both_sides(_summary(Sigma))
        return rounded(value, 9 * len(x), np.max(np.abs(xy)) ** 2)
    P = trained_model(case.setting).preconditioner
    value = float(lsa_risk(P, Lambda, _EXAMPLES, weight=w))
    slope = jax.grad(lambda P: lsa_risk(P, Lambda, _EXAMPLES, weight=w))(P)
    error = float(np.linalg.norm(slope)) * preconditioner_error(case.setting)
    reason = "slope of the risk times the error of the flow's final weights"
    return Measured(_both_sides(value), 2 * error, reason)


def decoy(case: Bounds | LinearLabels):
    """d in place of d+1 where 1/M rules; Σ not centred; the 1/N² term without its 2."""
    if isinstance(case, Bounds):
        wrong = case.dimension / (case.dimension + 1)
        return np.array([1, wrong, 1, wrong, 1])
    Lambda, w = np.asarray(case.setting.covariance), _WEIGHT
    if not case.of_risk:
        Sigma = np.asarray(linear_label_covariance(jnp.asarray(Lambda), jnp.asarray(w)))
        Sigma = Sigma + np.outer(Lambda @ w, Lambda @ w)
        return _both_sides(_summary(Sigma))
    N, trace = case.setting.context_length, np.trace(Lambda)
    step = np.linalg.inv((1 + 1 / N) * Lambda + trace / N * np.eye(3)) @ Lambda
    return predict(case) - _both_sides(trace * np.sum((step @ w) ** 2) / N**2)


def _worst_ratios(d: int, number: int) -> Measured:
    """Largest risk over bound for fixed w and for random w, each for any lengths and
    for long training prompts; then the two bounds for random w over each other.
    """
    random = np.random.default_rng([d, number])
    Lambda = random_covariances(random, number, d)
    w = random.standard_normal((number, d))
    M, N = np.exp(random.uniform(0, np.log(1e4), (2, number))).astype(int)
    fixed, averaged, chain = one_by_one(_ratios, Lambda, N, M, w)
    long = np.full(number, 10**6)
    long_fixed, long_averaged, _ = one_by_one(_ratios, Lambda, long, M, w)
    ratios = [fixed, long_fixed, averaged, long_averaged, chain]
    # A risk is a difference of numbers near ‖w‖² tr Λ, the bounds are above ‖w‖²_Λ / M.
    size = np.sum(w**2, axis=1) * np.trace(Lambda, axis1=1, axis2=2) * M
    size = size / np.einsum("ni,nij,nj->n", w, Lambda, w)
    return rounded(np.max(ratios, axis=1), d**3, size)


def _ratios(covariance, context_length, examples, weight):
    """Risk over bound for one w, for random w, and one bound over the other."""
    P = optimal_preconditioner(covariance, context_length)
    lengths = context_length, examples
    bound = lambda w: lsa_risk_bound(covariance, *lengths, w)  # noqa: E731
    for_random = lsa_risk_bound(covariance, *lengths)
    return (
        lsa_risk(P, covariance, examples, weight=weight) / bound(weight),
        lsa_risk(P, covariance, examples) / for_random,
        # Averaging the first bound over w is summing it over an orthonormal basis.
        jnp.sum(jax.vmap(bound)(jnp.eye(len(covariance)))) / for_random,
    )


def _summary(Sigma: np.ndarray) -> np.ndarray:
    """First row, and the trace."""
    return np.append(Sigma[0], np.trace(Sigma))


def _both_sides(value) -> np.ndarray:
    """An equality as two inequalities."""
    value = np.atleast_1d(np.asarray(value))
    return np.concatenate([value, -value])
