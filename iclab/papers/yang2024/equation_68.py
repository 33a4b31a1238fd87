"""(68) and (69): how large the noise of the labels and the labels can become.

Two limits say what (69) leaves: without noise ‖y‖ = B‖Z‖ for the λ that makes it
longest, and with nothing but noise ‖y‖²/(τB²) is a χ² of N degrees, whose quantile the
bound exceeds by a known factor.
"""

from dataclasses import dataclass

import jax
import numpy as np
import scipy.stats

from iclab.evidence import STANDARD_ERRORS, Measured
from iclab.papers.yang2024._tables import Table
from iclab.theory import label_norm_bound

_QUIET, _LOUD = 1e-14, 1e12

relation = "<="


@dataclass(frozen=True)
class Case:
    """A table, ‖λ‖ = B and the failure probability δ."""

    table: Table
    failure: float
    norm: float = 2.0

    @property
    def part(self) -> float | None:
        """What is reached of the bound on ‖y‖, where noise is all or nothing."""
        if self.table.tau == _QUIET:
            return 1.0
        if self.table.tau == _LOUD:
            quantile = scipy.stats.chi2.ppf(1 - self.failure, self.table.N)
            return float(np.sqrt(quantile / self.noise))
        return None

    @property
    def noise(self) -> float:
        """(68)."""
        N = self.table.N
        return N + 2 * np.sqrt(N * self.log) + 2 * self.log

    @property
    def log(self) -> float:
        """log(1/δ)."""
        return float(np.log(1 / self.failure))


def cases(scale) -> dict[str, Case]:
    """Many labels, for which the bound is nearly sharp, and few."""
    lengths = (30,) if scale == "smoke" else (3, 30, 100)
    extreme = {
        f"N=30, m=4, τ={tau:g}, δ=0.1": Case(Table(31, 30, 4, tau, 30), 0.1)
        for tau in (_QUIET, _LOUD)
    }
    return extreme | {
        f"N={N}, m=4, τ=0.5, δ={failure}": Case(Table(N + 1, N, 4, 0.5, N), failure)
        for N in lengths
        for failure in (0.5, 0.1, 0.01)
    }


def predict(case: Case):
    """‖y − Zᵀλ‖²/(τ‖λ‖²) and ‖y‖ at most, in all but δ of the draws."""
    table = case.table
    labels = label_norm_bound(
        float(np.linalg.norm(table.Z, 2)),
        table.N,
        table.tau,
        failure=case.failure,
        coefficient_norm=case.norm,
    )
    bound = np.array([case.noise, float(labels)])
    if case.part is None:
        return bound
    ends = np.array([1.01, -0.99]) * case.part * float(labels)
    return np.concatenate([bound, ends])


def decoy(case: Case):
    """The middle term forgotten; near the median it is not needed."""
    table = case.table
    if table.N < 30 or case.failure == 0.5 or case.part is not None:
        return None
    noise = table.N + 2 * case.log
    size = np.linalg.norm(table.Z, 2) + np.sqrt(table.tau * noise)
    return np.array([noise, case.norm * size])


def measure(case: Case, key, scale) -> Measured:
    """Quantiles over draws of (1), with the λ that makes Zᵀλ longest."""
    table = case.table
    draws = {"smoke": 4_000, "desk": 20_000, "paper": 100_000}[scale]
    left, _, _ = np.linalg.svd(table.Z)
    coefficients = case.norm * left[:, 0]
    random = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    noise = np.sqrt(table.tau) * random.standard_normal((draws, table.N, table.m))
    labels = (table.features[: table.N] + noise) @ coefficients
    scale_of_noise = table.tau * case.norm**2
    square = np.sum((labels - table.Z.T @ coefficients) ** 2, axis=1) / scale_of_noise
    spread = np.sqrt(case.failure * (1 - case.failure) / draws)
    levels = 1 - case.failure + STANDARD_ERRORS * spread * np.array([-1, 0, 1])
    found = np.quantile(
        [square, np.linalg.norm(labels, axis=1)], np.minimum(levels, 1), axis=1
    )
    over = np.mean(square > case.noise)
    reason = (
        f"quantiles {STANDARD_ERRORS:g} standard errors lower and higher, over"
        f" {draws:,} draws; (68) fails in {over:.2g} of them"
    )
    value, error = found[1], np.max(np.abs(found[[0, 2]] - found[1]), axis=0)
    if case.part is not None:
        value = np.array([*value, value[1], -value[1]])
        error = np.array([*error, error[1], error[1]])
    return Measured(value, error, reason)
