"""Two layers with one input: all critical points, none missing.

With B there are seven: three minima and four saddles, each with one falling direction;
one of the saddles is a single step of gradient descent. With B = 0 there are three: the
Gauss steps in either order, and a saddle between them, the best shared step. The same
holds on S for more inputs, whose critical points are critical in all entries.
"""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured
from iclab.papers.findings._critical_points import census, census_without_B
from iclab.theory import looped_optimum, optimal_gd_plus_plus, optimal_steps

shares = {"_normalised": "units: moments divided by d nᵏ"}


@dataclass(frozen=True)
class Case:
    """Inputs (more than one: on S), examples, and whether B is free."""

    dimension: int
    samples: int
    with_B: bool = True


def cases(scale) -> dict[str, Case]:
    """One input with few examples and many; two and five inputs on S."""
    sizes = {
        "smoke": [(1, 5), (1, 20)],
        "desk": [(1, 1), (1, 5), (1, 20), (1, 100), (2, 10), (5, 20)],
        "paper": [*((1, n) for n in range(1, 41)), (1, 100), (2, 10), (3, 6), (5, 20)],
    }[scale]
    found = {}
    for d, n in sizes:
        place = f"d={d}, n={n}" + (", on S" if d > 1 else "")
        found[f"{place}, B free"] = Case(d, n)
        found[f"{place}, B = 0"] = Case(d, n, with_B=False)
    return found


def labels(case: Case):
    """Counts, and losses of some of the points."""
    if not case.with_B:
        return ["critical points", "loss of both minima", "loss of the saddle"]
    counts = ["critical points", "minima", "saddles with one falling direction"]
    losses = ["least loss", "loss of the saddle with A₀ = 0"]
    return [*counts, *losses, "least loss is below that far away"]


def predict(case: Case):
    """Seven or three; losses of the best points of S, of one step, of a shared step."""
    d, n = case.dimension, case.samples
    if not case.with_B:
        return np.array([3, optimal_steps(d, n, 2)[1], looped_optimum(d, n, 2)[1]])
    losses = optimal_gd_plus_plus(d, n, 2)[2], optimal_steps(d, n, 1)[1]
    return np.array([7, 3, 4, *losses, 1])


def decoy(case: Case):
    """One minimum and one saddle more; losses for one example more."""
    wrong = predict(Case(case.dimension, case.samples + 1, case.with_B))
    return wrong + np.array([2, 1, 1, 0, 0, 0] if case.with_B else [2, 0, 0])


def measure(case: Case) -> Measured:
    """Real roots of a resultant, counted by Sturm's sequence, and the points there."""
    d, n = case.dimension, case.samples
    if not case.with_B:
        value = np.array(census_without_B(d, n))
        reason = "a count in fractions; round-off of losses"
        return Measured(value, 1e-12 * np.array([0, d, d]), reason)
    found = census(d, n)
    points = [*found.points, found.one_step]
    minima, saddles = (sum(p.falling == index for p in points) for index in (0, 1))
    least = found.points[0].loss
    counts = [found.roots + 1, minima, saddles]
    value = np.array([*counts, least, found.one_step.loss, least < found.far])
    reason = (
        f"Sturm's sequence has {found.roots} real roots, and as many points are shown,"
        " with exact slopes; round-off of losses"
    )
    return Measured(value, 1e-12 * np.array([0, 0, 0, d, d, 0]), reason)


def numbers(results):
    """Losses of the minima with one input and twenty examples, over the least."""
    points = census(1, 20).points
    minima = [one.loss for one in points if one.falling == 0]
    return {"second": minima[1] / minima[0], "third": minima[2] / minima[0]}
