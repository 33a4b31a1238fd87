"""Lemma 5, (36): the loss as a sum of squares above its infimum L*."""

import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.yang2024._instances import Instances
from iclab.papers.yang2024._population import best_weights, evaluated, every_label
from iclab.papers.yang2024._single import error_scale, formulas, single_problems

cases = single_problems


def predict(case: Instances):
    """1/2K Σ‖Z̄δ_k‖² + L*; L*, with mτ for every token; its part from k ≤ N, 0.

    And the loss as (75)–(77) write it out.
    """
    found = formulas(case)
    return np.array([found.gap + found.infimum, found.infimum, 0.0, found.loss])


def printed(case: Instances):
    """The same with mτ for the tokens k ≤ N alone."""
    found = formulas(case)
    sides = found.gap + found.infimum_printed, found.infimum_printed
    return np.array([*sides, 0.0, found.loss])


def decoy(case: Instances):
    """τ in the place of mτ: noise that enters the label, not every feature."""
    found, K = formulas(case), case.features.shape[1]
    N, tau = case.context_length, case.noise_variance[0]
    Z, Z_hat = case.features[0, :N].T, case.features[0].T
    A, I = found.weights, np.eye(N, K)
    noise = tau * (np.sum((A - I) ** 2) + K - N)
    least = np.linalg.solve(Z.T @ Z + tau * np.eye(N), Z.T @ Z_hat + tau * I)
    unexplained = np.sum((Z @ least - Z_hat) ** 2)
    unexplained += tau * (np.sum((least - I) ** 2) + K - N)
    loss = np.sum((Z @ A - Z_hat) ** 2) + noise
    return np.array([loss, unexplained, 0.0, loss]) / (2 * K)


def measure(case: Instances) -> Measured:
    """The model's loss, and the least one of any weights, over a population of tasks.

    The least one is what the regression of all labels on the shown ones leaves.
    """
    labels = every_label(case.features, case.noise_variance)[0]
    N = case.context_length
    left = np.mean((labels[:, :N] @ best_weights(case)[0] - labels) ** 2, axis=0) / 2
    loss = evaluated(case).loss[0]
    value = np.array([loss, np.mean(left), np.sum(left[:N]) / len(left), loss])
    return rounded(value, error_scale(case), 1 + loss)


def numbers(results, printed):
    """The least loss of a problem, and what is printed."""
    one = next(iter(printed.values()))
    return {"least": one.measured[1], "printed": one.predicted[1]}
