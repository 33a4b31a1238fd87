"""Two layers with two inputs, all entries of all matrices free.

The lowest minimum that descents find is the best point of S, and all minima found on S
are those of the census. With B there is a minimum off S too, far above, whose matrices
have common axes and different steps along them; other descents run off to infinity.
With B = 0 every descent ends at the best point of S. Saddles are on S and off it.
"""

import functools
from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured
from iclab.papers._two_inputs import End, Network, Rests
from iclab.papers.findings._critical_points import census, census_without_B
from iclab.theory import optimal_gd_plus_plus, optimal_steps

# Slopes at which a descent is at rest; the search for critical points rests deeper.
_REST, _DEEPER = 1e-7, 1e-10
# Relative distances below this are none; curvatures below this are those of a circle.
_SAME, _FLAT = 1e-5, 1e-7

# A minimum off S, as searches found it: a₀, a₁ and b₀ of two axes, rounded.
_AXES = np.array([[0.82, -0.40], [-1.82, -0.33], [-0.30, -1.30]])

shares = {"_normalised": "divides exact moments by powers of n"}


@dataclass(frozen=True)
class Case:
    """Examples, whether B is free, and starts of descents.

    `any` is a search for critical points of any kind, and without starts the point in
    question is the minimum off S.
    """

    samples: int
    with_B: bool
    starts: int = 0
    any: bool = False

    @property
    def network(self) -> Network:
        """Two layers."""
        return Network(2, self.samples, self.with_B)


def cases(scale) -> dict[str, Case]:
    """Descents and a minimum off S; at larger scales searches for saddles too."""
    found = {"n=10, B free, a minimum off S": Case(10, True)}
    for n in {"smoke": (10,), "desk": (10,), "paper": (5, 10, 40)}[scale]:
        starts = {"smoke": 30, "desk": 100, "paper": 1000}[scale]
        for with_B, what in ((True, "B free"), (False, "B = 0")):
            found[f"n={n}, {what}, descents"] = Case(n, with_B, starts)
            if scale != "smoke":
                case = Case(n, with_B, starts // 2, any=True)
                found[f"n={n}, {what}, any critical point"] = case
    return found


def labels(case: Case):
    """What is measured at the minimum off S, or at the ends of searches."""
    if not case.starts:
        return ["slope", "falling directions", "flat directions", "off S"]
    return ["least loss", "how far off S", "minima on S that the census lacks"]


def predict(case: Case):
    """The least loss on S, at multiples of I; off S a circle of minima."""
    if not case.starts:
        return np.array([0, 0, 1, 1])
    return np.array([_least(case.samples, case.with_B), 0, 0])


def decoy(case: Case):
    """A saddle; the least loss on S for one example more, and a minimum more."""
    if not case.starts:
        return np.array([0, 1, 1, 1])
    return np.array([_least(case.samples + 1, case.with_B), 0, 1])


def measure(case: Case) -> Measured:
    """Ends of searches over all entries, on every prompt."""
    if not case.starts:
        return _minimum_off_S(case)
    points, losses = minima(case)
    away = off_S(case.network, points)
    known = known_losses(case.samples, case.with_B)
    missing = [
        loss
        for loss in losses[away < _SAME]
        if min(abs(loss / other - 1) for other in known) > _SAME
    ]
    least = float(losses.min())
    value = np.array([least, away[np.argmin(losses)], len(missing)])
    reason = (
        f"slope left and round-off; {len(losses)} of {case.starts} searches end in"
        f" minima, {np.sum(losses < least * (1 + _SAME))} of them in the lowest,"
        f" {np.sum(away > _SAME)} off S"
    )
    return Measured(value, np.array([1e-9 * least, _SAME, 0]), reason)


def _minimum_off_S(case: Case) -> Measured:
    end = minimum_off_S(case)
    curvatures = case.network.curvatures(end.point)
    falling, flat = np.sum(curvatures < -_FLAT), np.sum(np.abs(curvatures) <= _FLAT)
    away = off_S(case.network, end.point[None])[0] > _SAME
    value = np.array([end.slope, falling, flat, away])
    reason = (
        f"where descents rest; loss {end.loss:.6f}, curvatures"
        f" {', '.join(f'{one:.2g}' for one in curvatures[:3])} … {curvatures[-1]:.2g}"
    )
    return Measured(value, np.array([_REST, 0, 0, 0]), reason)


@functools.cache
def minimum_off_S(case: Case) -> End:
    """From its rounded weights down to where the descent rests."""
    matrices = [np.diag(axes) for axes in _AXES]
    return case.network.descend(np.ravel(matrices))


def minima(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Points and losses of all ends that are at rest and have no falling direction."""
    if case.any:
        found = rests(case)
        good = (found.slopes < _DEEPER) & (found.curvatures[:, 0] > -_FLAT)
        return found.points[good], found.losses[good]
    ends = [
        end
        for end in descents(case)
        if end.slope < _REST and case.network.curvatures(end.point)[0] > -_FLAT
    ]
    return np.array([end.point for end in ends]), np.array([end.loss for end in ends])


@functools.cache
def descents(case: Case) -> list[End]:
    """Levenberg–Marquardt on the loss, from Gaussian matrices of several sizes."""
    return [case.network.descend(start) for start in _starts(case)]


@functools.cache
def rests(case: Case) -> Rests:
    """The same on the gradient: saddles are found as well as minima."""
    return case.network.towards_rest(_starts(case))


def off_S(network: Network, points: np.ndarray) -> np.ndarray:
    """How far points are from multiples of I in all matrices, relatively."""
    matrices = points.reshape(len(points), -1, 2, 2)
    middle = np.trace(matrices, axis1=-2, axis2=-1)[..., None, None] / 2 * np.eye(2)
    rest = np.linalg.norm(matrices - middle, axis=(-2, -1))
    return np.max(rest / np.linalg.norm(matrices, axis=(-2, -1)), axis=-1)


def known_losses(samples: int, with_B: bool) -> list[float]:
    """Losses of the minima on S, by the exact census."""
    if with_B:
        return [one.loss for one in census(2, samples).points if one.falling == 0]
    return [census_without_B(2, samples)[1]]


def _starts(case: Case) -> np.ndarray:
    """Gaussian matrices of several sizes; for any critical point around those of S."""
    random = np.random.default_rng([case.samples, case.with_B, case.any])
    scales = np.geomspace(0.1, 2, case.starts)
    network = case.network
    starts = [network.start(random, scale) for scale in scales]
    if not case.any:
        return np.array(starts)
    a, b = (
        random.uniform(-2.5, 0, (2, case.starts)),
        random.uniform(0, 1.2, case.starts),
    )
    middle = [network.point(a[:, i], np.array([b[i], 0])) for i in range(case.starts)]
    return np.array(middle) + 0.3 * np.array(starts)


def _least(samples: int, with_B: bool) -> float:
    if with_B:
        return optimal_gd_plus_plus(2, samples, 2)[2]
    return optimal_steps(2, samples, 2)[1]


def numbers(results):
    """The loss of the minimum off S, over the least."""
    return {"off": minimum_off_S(Case(10, True)).loss / _least(10, True)}
