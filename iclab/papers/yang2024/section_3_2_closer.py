"""First item of the list after (25): are predictions better the closer m is to N?"""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured, Printed, rounded
from iclab.papers.yang2024._tables import Table, ridge_by_rows


@dataclass(frozen=True)
class Case:
    """A table of features; labels are shown for N of its tokens, one number after
    another, and asked for the last ones.
    """

    table: Table
    lengths: tuple[int, ...]

    def shown(self, N: int) -> np.ndarray:
        """Z of the first N tokens."""
        return self.table.Z_hat[:, :N]

    @property
    def asked(self) -> np.ndarray:
        """Tokens whose labels are never shown."""
        return self.table.Z_hat[:, max(self.lengths) + 1 :]


def cases(scale) -> dict[str, Case]:
    """N from half of m to half as much again."""
    sizes = ((8, 0.5),) if scale == "smoke" else ((8, 0.5), (20, 0.01), (100, 0.01))
    found = {}
    for m, tau in sizes:
        lengths = tuple(range(m // 2, 3 * m // 2 + 1, max(1, m // 20)))
        table = Table(2 * m, m, m, tau, m)
        found[f"m={m}, N={lengths[0]}…{lengths[-1]}, τ={tau:g}"] = Case(table, lengths)
    return found


def predict(case: Case):
    """Expected error of an unseen label, mτ(1 + zᵀ(ZZᵀ + mτI)⁻¹z), for every N."""
    return np.array([_error(case, N) for N in case.lengths])


def as_printed(case: Case):
    """Nowhere less than at N = m."""
    return np.full(len(case.lengths), _error(case, case.table.m))


def decoy(case: Case):
    """With one label more."""
    return np.array([_error(case, N + 1) for N in case.lengths])


def labels(case: Case):
    """Numbers of labels."""
    return [f"N = {N}" for N in case.lengths]


def measure(case: Case) -> Measured:
    """E(ŷ − y)² over λ and noise of ridge regression with penalty mτ."""
    penalty, asked = case.table.m * case.table.tau, case.asked
    found = []
    for N in case.lengths:
        Z = case.shown(N)
        weights = ridge_by_rows(Z, np.eye(N), penalty).T @ asked
        missed = np.sum((Z @ weights - asked) ** 2, axis=0)
        noise = penalty * (1 + np.sum(weights**2, axis=0))
        found.append(np.mean(missed + noise))
    return rounded(np.array(found), 1e3 * case.table.condition, max(found))


printed = Printed(predict=as_printed, relation=">=", labels=labels)


def _error(case: Case, N: int) -> float:
    Z, asked = case.shown(N), case.asked
    penalty = case.table.m * case.table.tau
    gram = Z @ Z.T + penalty * np.eye(len(Z))
    inside = np.sum(asked * np.linalg.solve(gram, asked), axis=0)
    return float(penalty * (1 + np.mean(inside)))


def numbers(results, printed):
    """How much smaller errors get beyond N = m, at the most."""
    parts = [np.min(one.measured / one.predicted) for one in printed.values()]
    return {"smaller": 1 - min(parts)}
