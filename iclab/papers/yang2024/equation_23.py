"""(23): which ridge regression predicts best, with penalty Nτ or with mτ."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.yang2024._tables import Table, expected_loss, ridge_by_rows
from iclab.theory import performance_gap, representation_infimum


def cases(scale) -> dict[str, Table]:
    """The sizes of Figure 3 (a tenth at `smoke`): N below m, equal, and above."""
    if scale == "smoke":
        sizes = [(20, N, 10) for N in (5, 15)]
    else:
        sizes = [(200, N, 100) for N in (50, 100, 125, 150)]
    return {
        f"m={m}, N={N}, K={K}, τ=0.01": Table(K, N, m, 0.01, 7) for K, N, m in sizes
    }


@functools.cache
def predict(case: Table):
    """Mean error of an unseen label with penalty mτ, and how much Nτ adds.

    The first is the least that is linear in the labels, so the second is the mean
    squared distance of the two predictions.
    """
    infimum, gap = map(float, _theory(case.features, case.N, case.tau))
    return np.array([2 * infimum, gap]) * case.K / (case.K - case.N)


def decoy(case: Table):
    """The two exchanged."""
    error, added = predict(case)
    return None if case.m == case.N else np.array([error, -added])


def as_printed(case: Table):
    """Nothing is better than penalty Nτ."""
    return 0.0


def measure(case: Table) -> Measured:
    """Both expected errors from the covariance of all labels."""
    ours, theirs = (_error(case, penalty) for penalty in (case.m, case.N))
    error = 1e-13 * case.condition * ours
    reason = f"round-off of the covariances, condition number {case.condition:.1g}"
    return Measured(np.array([ours, theirs - ours]), error, reason)


def measure_printed(case: Table) -> Measured:
    """How much larger the error with Nτ is than with mτ."""
    both = measure(case)
    ours, added = both.value
    reason = f"{both.reason}; errors {ours:.4f} with mτ and {ours + added:.4f} with Nτ"
    return Measured(added, both.error, reason)


printed = Printed(predict=as_printed, measure=measure_printed, relation="<=")


@functools.cache
def _error(case: Table, times: int) -> float:
    """(1/(K−N)) Σ_{k>N} E(ŷ_k − y_k)² of ridge regression that copies shown labels."""
    weights = np.eye(case.N, case.K)
    ridge = ridge_by_rows(case.Z, np.eye(case.N), times * case.tau)
    weights[:, case.N :] = ridge.T @ case.Z_query
    return 2 * case.K * expected_loss(weights, case) / (case.K - case.N)


@functools.partial(jax.jit, static_argnums=1)
def _theory(features, N, tau):
    problem = (features, N, tau)
    return jnp.stack([representation_infimum(*problem), performance_gap(*problem)])


def numbers(results):
    """Expected errors with both penalties, with the fewest labels and the most."""
    ours = list(results)
    found = {}
    for place, name in (("few", ours[0]), ("many", ours[-1])):
        error, added = results[name].measured
        labels = int(name.partition("N=")[2].partition(",")[0])
        found |= {
            place: labels,
            f"{place}_ours": error,
            f"{place}_theirs": error + added,
        }
    return found
