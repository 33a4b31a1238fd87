"""Lemma A.5: moments of S for inputs of any covariance, from cycles of pairings."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured
from iclab.papers.gatmiry2024._matrices import mean_power_from, rotated
from iclab.papers.gatmiry2024._pairings import pairing_graphs


@dataclass(frozen=True)
class Case:
    """Eigenvalues of Σ⋆, largest first, the power k, and n examples."""

    eigenvalues: tuple[float, ...]
    order: int
    samples: int


def cases(scale) -> dict[str, Case]:
    """More and fewer examples than inputs, in random bases."""
    two, three = (1.6, 0.4), (1.5, 0.9, 0.1)
    found = [Case(two, 4, 5), Case(three, 3, 2)]
    if scale != "smoke":
        found += [Case(two, 6, 2), Case(three, 4, 40)]
    return {
        f"eigenvalues {c.eigenvalues}, k={c.order}, n={c.samples}": c for c in found
    }


def predict(case: Case):
    """n⁻ᵏ Σ_p n^{C(𝒢)} Π_c tr(Σ⋆^{|c|}) λ_j^{|c*|}, and nothing off the diagonal."""
    return _sum(case, lambda cycle, power: np.sum(power ** len(cycle)))


def decoy(case: Case):
    """d for every trace, as for white inputs, and the rest of the powers with c*."""
    return _sum(case, lambda cycle, power: len(power) * power ** len(cycle))


def measure(case: Case) -> Measured:
    """Powers of every S, from the eigenvectors of Σ⋆."""
    covariance, k = rotated(case.eigenvalues), case.order
    identity = np.eye(len(covariance))
    found = mean_power_from(covariance, identity, 0.0, case.samples, k)
    values, beside, error = found
    reason = "float64 round-off of powers of sample covariances that integrate exactly"
    return Measured(np.array([*values, beside]), error, reason)


def _sum(case: Case, trace) -> np.ndarray:
    k, values = case.order, np.array(case.eigenvalues)
    total = np.zeros(len(values))
    for graphs in pairing_graphs(k):
        term = np.full(len(values), float(case.samples) ** (len(graphs.factors) - k))
        for cycle in graphs.places:
            # The last place is the one between the last factor and the first.
            end = k - 1 in cycle
            term = term * (values ** len(cycle) if end else trace(cycle, values))
        total += term
    return np.append(total, 0.0)
