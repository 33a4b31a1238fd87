"""Equation (33): the residual δ_k, which is Âe_k less the best weights for token k."""

import numpy as np

from iclab.evidence import Measured, Printed, rounded
from iclab.papers.yang2024._instances import Instances
from iclab.papers.yang2024._population import best_weights, evaluated
from iclab.papers.yang2024._single import error_scale, formulas, simple, single_problems

cases = single_problems


def predict(case: Instances):
    """Σ_h w_{h,k}s^h_k − (ZᵀZ + mτI)⁻¹(Zᵀz_k + mτe_k 1{k ≤ N}), N×K."""
    return formulas(case).weights - formulas(case).optimum


def as_printed(case: Instances):
    """The same with z_k in the place of Zᵀz_k."""
    return formulas(case).residuals_printed


printed = Printed(predict=as_printed, cases=simple, nearby=True)


def decoy(case: Instances):
    """Without mτe_k: shown labels are shrunk, not copied."""
    Z_hat, N = case.features[0].T, case.context_length
    Z, m = Z_hat[:, :N], len(Z_hat)
    gram = Z.T @ Z + m * case.noise_variance[0] * np.eye(N)
    return formulas(case).weights - np.linalg.solve(gram, Z.T @ Z_hat)


def measure(case: Instances) -> Measured:
    """The model's Â less the regression of all labels on the shown ones.

    Least squares over every label vector of a population of tasks.
    """
    found = evaluated(case).weights[0] - best_weights(case)[0]
    return rounded(found, error_scale(case), 1 + np.max(np.abs(found)))


def numbers(results, printed):
    """How far off the printed one is, at the most."""
    off = [np.abs(one.measured - one.predicted).max() for one in printed.values()]
    return {"off": max(off)}
