"""Sections 1 and 6.1: with B free, the best point of S may be the global minimum.

Two inputs, of which every prompt is integrated, and all entries of all matrices: the
best point of S is a minimum in all of them, and no descent ends lower. Some end in
other minima, above it.
"""

import functools
from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured
from iclab.papers._two_inputs import Network
from iclab.papers.ahn2023._two_inputs import derivatives
from iclab.theory import optimal_gd_plus_plus

# Standard deviation of the entries of the starts.
_SCALE = 0.5
# Ends nearer than this to the least loss, relative to it, are the same.
_SAME = 1e-6

shares = {
    "optimal_gd_plus_plus": (
        "names the point; loss, slope and curvatures are those of the model there"
    ),
}


@dataclass(frozen=True)
class Case:
    """Layers and examples; from how many starts, or the best point of S itself."""

    layers: int
    samples: int
    starts: int = 0

    @property
    def network(self) -> Network:
        """All entries of A and B free."""
        return Network(self.layers, self.samples, with_B=True)


def cases(scale) -> dict[str, Case]:
    """Two and three layers: curvatures at the best point of S, and descents."""
    found = {
        "d=2, n=10, two layers, curvature": Case(2, 10),
        "d=2, n=10, two layers, descents": Case(2, 10, 30),
    }
    if scale != "smoke":
        found["d=2, n=10, three layers, curvature"] = Case(3, 10)
        found["d=2, n=10, three layers, descents"] = Case(3, 10, 6)
    if scale == "paper":
        for n in (5, 20):
            found[f"d=2, n={n}, two layers, descents"] = Case(2, n, 200)
            found[f"d=2, n={n}, three layers, descents"] = Case(3, n, 30)
    return found


def predict(case: Case):
    """The least loss on S; at its point no slope and no curvature below 0."""
    loss = optimal_gd_plus_plus(2, case.samples, case.layers)[2]
    return loss if case.starts else np.array([loss, 0.0, 0.0])


def decoy(case: Case):
    """The least loss on S for one example more; a saddle at the best point."""
    loss = optimal_gd_plus_plus(2, case.samples + 1, case.layers)[2]
    return loss if case.starts else np.array([loss, 0.0, 1.0])


def labels(case: Case):
    """What is measured at the best point of S, or where descents end."""
    if case.starts:
        return ["least loss where descents end"]
    return ["loss", "slope", "curvatures below 0"]


def measure(case: Case) -> Measured:
    """Descents over all entries; the model's loss on every prompt where they end."""
    network = case.network
    if case.starts:
        losses = _ends(case)
        best = network.matrices(_descended(case)[np.argmin(losses)].point)
        found = derivatives(*best, np.eye(2), case.samples)
        same = np.sum(losses < losses.min() * (1 + _SAME))
        reason = f"round-off and slope left; {same} of {case.starts} descents end here"
        return Measured(found.loss, found.loss_error + 1e-9 * found.loss, reason)
    a, b, _ = map(np.asarray, optimal_gd_plus_plus(2, case.samples, case.layers))
    point = network.point(a, b)
    curvatures = network.curvatures(point)
    found = derivatives(*network.matrices(point), np.eye(2), case.samples)
    slope = np.sqrt(np.sum(found.A**2) + np.sum(found.B**2))
    value = np.array([found.loss, slope, np.sum(curvatures < 0)])
    error = np.array([found.loss_error, network.size * found.error, 0])
    reason = f"float64 round-off; curvatures from {curvatures[0]:.2g} to"
    return Measured(value, error, f"{reason} {curvatures[-1]:.2g}")


@functools.cache
def _descended(case: Case):
    random = np.random.default_rng([case.layers, case.samples])
    network = case.network
    return [network.descend(network.start(random, _SCALE)) for _ in range(case.starts)]


def _ends(case: Case) -> np.ndarray:
    return np.array([end.loss for end in _descended(case)])


def numbers(results):
    """How many descents of the deepest case with n = 10 end at the best point of S."""
    shown = [case for name, case in cases("desk").items() if name in results]
    case = [one for one in shown if one.starts][-1]
    relative = np.sort(_ends(case) / _ends(case).min())
    return {
        "layers": case.layers,
        "starts": case.starts,
        "best": int(np.sum(relative <= 1 + _SAME)),
        "next": float(min(relative[relative > 1 + _SAME], default=np.nan)),
    }
