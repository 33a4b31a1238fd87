"""Before Corollary 4.3: variance, conditioning and the risk at the same lengths."""

import functools
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.zhang2023._fixed_covariance import Setting
from iclab.papers.zhang2023._simulation import risk_on_moments, trained_model
from iclab.theory import largest_initial_scale, lsa_risk, optimal_preconditioner

# Lengths of training and test prompts.
_N = _M = 10


shares = {"gamma_matrix": "in the start's scale; the flow's end has none of it"}


@dataclass(frozen=True)
class Spectrum:
    """Three eigenvalues in geometric order with this condition number and trace."""

    condition: float
    trace: float = 3.0


def cases(scale):
    """Worse and worse conditioned at one trace, and twice the variance of one."""
    found = {f"κ = {kappa}, tr Λ = 3": Spectrum(kappa) for kappa in (1, 10, 100)}
    return {**found, "κ = 10, tr Λ = 6": Spectrum(10, 6.0)}


def predict(case: Spectrum):
    """The exact risk; for 2Λ twice that of Λ."""
    return case.trace / 3 * _risk(Spectrum(case.condition), trace_term=True)


def measure(case: Spectrum, key) -> Measured:
    """Models after their flow, on the moments of sampled prompts."""
    model = trained_model(_setting(case))
    return risk_on_moments(model, _covariance(case), _M, key=key, draws=1 << 17)


def decoy(case: Spectrum):
    """The trace term of Γ dropped; c² in place of c."""
    if case.trace > 3:
        return (case.trace / 3) ** 2 * _risk(Spectrum(case.condition), trace_term=True)
    return _risk(case, trace_term=False)


def printed_cases(scale):
    """The two that are not well conditioned."""
    return {name: one for name, one in cases(scale).items() if one.condition > 1}


def as_printed(case: Spectrum):
    """At least the risk of Λ = I of this trace."""
    return case.trace / 3 * _risk(Spectrum(1), trace_term=True)


printed = Printed(predict=as_printed, cases=printed_cases, relation=">=", nearby=True)


def numbers(results, printed):
    """Risks by condition number."""
    return {
        f"kappa_{kappa}": results[f"κ = {kappa}, tr Λ = 3"].measured
        for kappa in (1, 10, 100)
    }


def _risk(case: Spectrum, *, trace_term: bool) -> float:
    Lambda = _covariance(case)
    P = optimal_preconditioner(Lambda, _N)
    if not trace_term:
        P = jnp.linalg.inv((1 + 1 / _N) * Lambda)
    return float(lsa_risk(P, Lambda, _M))


def _covariance(case: Spectrum):
    eigenvalues = case.condition ** np.array([0.5, 0.0, -0.5])
    return jnp.diag(jnp.asarray(case.trace * eigenvalues / eigenvalues.sum()))


@functools.cache
def _setting(case: Spectrum) -> Setting:
    covariance = _covariance(case)
    sigma = 0.7 * float(largest_initial_scale(covariance, _N))
    return Setting(covariance, _N, jnp.eye(3) / 3**0.25, sigma)
