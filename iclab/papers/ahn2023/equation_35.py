"""(35): with B too, the flow within S lowers the loss d times as fast as it must."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.ahn2023._multi_layer import slope, slope_round_off
from iclab.papers.ahn2023._two_inputs import LAYERS, derivatives

# The loss along a line has degree 26; differences of degree 6 over this share of the
# size of a and b leave what the error bar says.
_WIDTH = 2e-3


@dataclass(frozen=True, eq=False)
class Point:
    """A point (a, b) of S, and whether B flows along Σ⁻¹ as printed or along I."""

    covariance: np.ndarray
    a: np.ndarray
    b: np.ndarray
    along_inverse: bool = False

    @property
    def inverse(self) -> np.ndarray:
        """Σ⁻¹."""
        return np.linalg.inv(self.covariance)

    @property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """A_i = a_iΣ⁻¹ and B_i = b_iI."""
        scalars = self.a[:, None, None], self.b[:, None, None]
        return scalars[0] * self.inverse, scalars[1] * np.eye(2)


_SAMPLES = 10
_COVARIANCE = np.array([[1.3, 0.4], [0.4, 0.5]])


def cases(scale) -> dict[str, Point]:
    """Random points of S, none of them stationary."""
    random = np.random.default_rng(35)
    number = {"smoke": 1, "desk": 2, "paper": 4}[scale]
    a, b = -random.uniform(0.2, 0.8, (number, LAYERS)), random.uniform(0.1, 0.5, LAYERS)
    return {
        f"d=2, n=10, point {i + 1} of S": Point(_COVARIANCE, a[i], b)
        for i in range(number)
    }


def predict(case: Point):
    """−df/dt along the flow is d Σ(‖∇_A f‖² + ‖∇_B f‖²)."""
    return 2.0


def printed_cases(scale) -> dict[str, Point]:
    """Inputs ten times as large, with dBᵢ/dt = −sᵢΣ⁻¹ as above (35)."""
    return {
        name: Point(10 * one.covariance, one.a, one.b, along_inverse=True)
        for name, one in cases(scale).items()
    }


def as_printed(case: Point):
    """At least Σ(‖∇_A f‖² + ‖∇_B f‖²), layer by layer of A and of B."""
    return np.ones(2)


def measure(case: Point) -> Measured:
    """Differences of the exact loss along the flow's direction, over the squares."""
    return _measured(case, parts=False)


def measure_parts(case: Point) -> Measured:
    """The same for the flow of A alone and for that of B alone."""
    return _measured(case, parts=True)


printed = Printed(
    predict=as_printed,
    cases=printed_cases,
    measure=measure_parts,
    relation=">=",
    nearby=True,
    labels=lambda case: ("A alone", "B alone"),
)


def decoy(case: Point):
    """As fast as gradient flow: the rate with the 1/d that r_i has below (34)."""
    return 1.0


def _measured(case: Point, *, parts: bool) -> Measured:
    A, B = case.weights
    here = derivatives(A, B, case.covariance, _SAMPLES)
    r = np.einsum("iab,ba->i", here.A, case.covariance)
    s = np.einsum("iaa->i", here.B)
    of_A = -r[:, None, None] * case.inverse
    of_B = -s[:, None, None] * (case.inverse if case.along_inverse else np.eye(2))
    squares = [float(np.sum(one**2)) for one in (here.A, here.B)]
    if parts:
        moves = [(of_A, 0 * of_B, squares[0]), (0 * of_A, of_B, squares[1])]
    else:
        moves = [(of_A, of_B, sum(squares))]
    found = np.array([_rate(case, *move) for move in moves])
    reason = "what half the width changes, and float64 round-off of losses"
    value, error = found.T
    return Measured(value if parts else value[0], error if parts else error[0], reason)


def _rate(
    case: Point, of_A: np.ndarray, of_B: np.ndarray, squares: float
) -> tuple[float, float]:
    """−df/dt along a direction over `squares`, and its error."""
    A, B = case.weights
    here = derivatives(A, B, case.covariance, _SAMPLES)
    size = max(np.max(np.abs(of_A @ case.covariance)), np.max(np.abs(of_B)))
    width = _WIDTH / size

    def loss(time: float) -> float:
        moved = A + time * of_A, B + time * of_B
        return derivatives(*moved, case.covariance, _SAMPLES).loss

    fine, coarse = (slope(loss, w) for w in (width, 2 * width))
    error = abs(fine - coarse) + slope_round_off(here.loss_error, width)
    return -fine / squares, error / squares
