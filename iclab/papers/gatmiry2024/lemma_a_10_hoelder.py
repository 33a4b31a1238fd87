"""The step of Lemma A.10 from 2L-th to (4L−2)-th powers by Hölder's inequality."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured

relation = ">="


@dataclass(frozen=True)
class Case:
    """d numbers and the number of loops L."""

    dimension: int
    loops: int


def cases(scale) -> dict[str, Case]:
    """Two loops and more: for one both sides are equal, whatever the exponent."""
    pairs = [(100, 2), (5, 3)]
    if scale != "smoke":
        pairs += [(2, 2), (1000, 5), (20, 10)]
    return {f"d={d}, L={L}": Case(d, L) for d, L in pairs}


def predict(case: Case):
    """d^{−(L−1)/L}."""
    return case.dimension ** (-(case.loops - 1) / case.loops)


def printed(case: Case):
    """d^{−(L−1)/(2L−1)}."""
    return case.dimension ** (-(case.loops - 1) / (2 * case.loops - 1))


def decoy(case: Case):
    """One number forgotten, (d−1)^{−(L−1)/L}."""
    return (case.dimension - 1) ** (-(case.loops - 1) / case.loops)


def measure(case: Case, scale) -> Measured:
    """The smallest Σx^{4L−2}/(Σx^{2L})^{(2L−1)/L} among random numbers and equal ones.

    The random ones range from nearly equal to a few that outweigh all others.
    """
    d, L = case.dimension, case.loops
    count = {"smoke": 200, "desk": 2000, "paper": 20000}[scale]
    random = np.random.default_rng([d, L])
    spread = np.geomspace(1e-3, 3.0, count)[:, None]
    x = np.exp(spread * random.standard_normal((count, d)))
    x = np.concatenate([np.full((1, d), 0.3), x / np.max(x, axis=1, keepdims=True)])
    sums = np.sum(x ** (4 * L - 2), axis=1)
    ratio = sums / np.sum(x ** (2 * L), axis=1) ** ((2 * L - 1) / L)
    error = (2 * d + 8 * L) * np.finfo(float).eps * ratio[0]
    reason = (
        f"float64 round-off; smallest among {count} random vectors"
        f" {np.min(ratio[1:]) / ratio[0]:.6g} times that of equal numbers"
    )
    return Measured(float(np.min(ratio)), float(error), reason)


def numbers(results, printed):
    """The ratio of the sides for equal numbers, and the printed factor."""
    one = printed["d=100, L=2"]
    return {"equal": one.measured, "printed": one.predicted}
