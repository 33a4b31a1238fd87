r"""The matrix between which a model's filter stands, and how much it explains.

$$\hat y=x_q^\top P\,g(PSP)\,Pc$$

with P symmetric and g a spline, both fitted together. P = I is the filter itself, and
P = Λ^{−½} the one in whitened inputs.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from iclab.core import checked
from iclab.probes._bootstrap import Interval, bounds, ratio
from iclab.probes._families import by_upper_half, symmetric
from iclab.probes._filter import KNOTS, spectrum_knots, spline
from iclab.probes._spectra import Moments

# A free matrix is not asked for from this dimension on: its entries are too many.
MANY = 17
_ITERATIONS, _AGAIN = 20, 5
# Eigenvalues closer than this share have their divided difference as a derivative.
_CLOSE = 1e-4


@checked(finite=False)
@dataclass(frozen=True)
class Preconditioner:
    """The matrix Q = P² of ŷ = x_qᵀ P g(PSP) P c that suits a model best.

    It has trace d. `departure` is ‖Q − I‖_F/√d, and `whitened_departure` the same in
    whitened inputs, for a task with a covariance that is not a multiple of I. `r2` is
    the share of E ŷ² explained on prompts that were not fitted to, and `gain` what that
    is more than without a matrix: where `gain` is nothing, as for least squares, which
    no matrix changes, the matrix means nothing either.
    """

    matrix: Float[np.ndarray, "d d"]
    departure: Interval
    whitened_departure: Interval | None
    r2: Interval
    gain: Interval

    @property
    def earned(self) -> bool:
        """The matrix explains what no filter of the inputs does, 0.1 % at least."""
        return self.gain.lower > 1e-3


def fit_preconditioner(
    moments: Moments,
    answers: Float[np.ndarray, " prompts"],
    weights: Float[np.ndarray, "draws prompts"],
    *,
    starts: tuple[Float[np.ndarray, "d d"], ...] = (),
    whitening: Float[np.ndarray, "d d"] | None = None,
) -> Preconditioner | None:
    """Fit matrix and filter to predictions, from I and from other `starts` for P.

    None for one dimension, where there is nothing to turn, and for many, where the
    prompts would not do.
    """
    d = moments.query.shape[1]
    if not 1 < d < MANY or not np.any(answers):
        return None
    problem = _Problem(moments, answers)
    first = [problem.started(start) for start in (np.eye(d), *starts)]
    ends = [problem.refined(one, np.ones(len(answers)), _ITERATIONS) for one in first]
    theta = min(ends, key=lambda one: np.sum(problem.residual(one) ** 2))
    # On prompts that were not fitted to, in two halves: with a matrix and without.
    half = np.arange(len(answers)) % 2 == 0
    own, plain = np.empty(len(answers)), np.empty(len(answers))
    for mine in (half, ~half):
        there = (~mine).astype(float)
        for errors, start, matrix in ((own, theta, True), (plain, first[0], False)):
            fitted = problem.refined(start, there, _AGAIN, matrix=matrix)
            errors[mine] = problem.residual(fitted)[mine] ** 2
    power = answers**2
    left = ratio(own, power, weights)
    r2 = Interval(1 - left.value, 1 - left.upper, 1 - left.lower)
    gain = ratio(plain - own, power, weights)
    draws, P = problem.draws(theta, weights), problem.matrix(theta)

    def departure(root: Float[np.ndarray, "d d"]) -> Interval:
        def apart(P):
            Q = _of_trace_d(root @ P @ P @ root)
            return np.linalg.norm(Q - np.eye(d), axis=(-2, -1)) / math.sqrt(d)

        lower, upper = bounds(apart(problem.matrix(draws)))
        return Interval(float(apart(P)), float(lower), float(upper))

    return Preconditioner(
        _of_trace_d(P @ P),
        departure(np.eye(d)),
        None if whitening is None else departure(np.linalg.inv(whitening)),
        r2,
        gain,
    )


def _of_trace_d(Q: Float[np.ndarray, "*draws d d"]) -> Float[np.ndarray, "*draws d d"]:
    return Q * (Q.shape[-1] / np.trace(Q, axis1=-2, axis2=-1))[..., None, None]


class _Problem:
    """Least squares in θ: the spline's values, then the upper half of P."""

    def __init__(self, moments: Moments, answers: Float[np.ndarray, " prompts"]):
        self._moments, self._answers = moments, answers
        self._d = moments.query.shape[1]
        self._places = spectrum_knots(moments.spectra(), KNOTS)
        self._basis = spline(self._places)

    def matrix(self, theta: Float[np.ndarray, "*draws m"]):
        """P, symmetric."""
        return symmetric(theta[..., len(self._places) :], self._d)

    def started(self, P: Float[np.ndarray, "d d"]) -> Float[np.ndarray, " m"]:
        """P scaled to the spectrum of the inputs, with the filter that suits it."""
        P = P * math.sqrt(self._d / np.sum(P**2))
        theta = np.append(np.ones(len(self._places)), P[np.triu_indices(self._d)])
        return self.refined(theta, np.ones(len(self._answers)), 1, matrix=False)

    def residual(self, theta: Float[np.ndarray, " m"]) -> Float[np.ndarray, " prompts"]:
        return self._answers - self._predict(theta)[0]

    def refined(
        self,
        theta: Float[np.ndarray, " m"],
        weights: Float[np.ndarray, " prompts"],
        iterations: int,
        *,
        matrix: bool = True,
    ) -> Float[np.ndarray, " m"]:
        """Levenberg and Marquardt's method; without `matrix` P stays."""
        moving = slice(None if matrix else len(self._places))
        predicted, J = self._predict(theta)
        residual = self._answers - predicted
        loss, damping = np.sum(weights * residual**2), 1e-6
        root = np.sqrt(weights)
        for _ in range(iterations):
            part = J[:, moving] * root[:, None]
            scale = np.maximum(np.linalg.norm(part, axis=0), 1e-300)
            part = part / scale
            system = part.T @ part + damping * np.eye(part.shape[1])
            step = np.zeros_like(theta)
            step[moving] = np.linalg.solve(system, part.T @ (root * residual)) / scale
            predicted, J_trial = self._predict(theta + step)
            trial = self._answers - predicted
            found = np.sum(weights * trial**2)
            if found < loss:
                small = loss - found <= 1e-6 * loss
                theta, J, residual, loss = theta + step, J_trial, trial, found
                damping = max(damping / 10, 1e-9)
                if small:
                    break
            elif damping > 1e3:
                break
            else:
                damping *= 30
        return theta

    def draws(self, theta, weights: Float[np.ndarray, "draws prompts"]):
        """θ in every bootstrap draw, by one step of Gauss and Newton's method."""
        predicted, J = self._predict(theta)
        scale = np.maximum(np.linalg.norm(J, axis=0), 1e-300)
        J = J / scale
        slopes = weights @ (J * (self._answers - predicted)[:, None])
        # Directions that the predictions hardly see, as the scale of P, stay.
        inverse = np.linalg.pinv(J.T @ J, rcond=1e-8, hermitian=True)
        return theta + slopes @ inverse / scale

    def _predict(self, theta: Float[np.ndarray, " m"]):
        """Predictions and their derivatives by θ."""
        K, m = len(self._places), self._moments
        P = self.matrix(theta)
        turned = m.under(P)
        lam, U = np.linalg.eigh(turned.gram)
        present = lam > 1e-12 * lam[:, -1:]
        lam, safe = np.where(present, lam, 0.0), np.where(present, lam, 1.0)
        onto = lambda v: np.einsum("pij,pi->pj", U, v)  # noqa: E731
        a, b = onto(turned.query), onto(turned.correlation)

        def g(at):
            return np.where(present, self._basis(np.log(at)) @ theta[:K] / at, 0.0)

        features = np.einsum(
            "pdk,pd->pk", self._basis(np.log(safe)), np.where(present, a * b / safe, 0)
        )
        value, slope = g(safe), g(safe * (1 + _CLOSE)) - g(safe * (1 - _CLOSE))
        slope = slope / (2 * _CLOSE * safe)
        # Divided differences of g. Its value at 0 is not seen, as b has no part there.
        gap = lam[:, :, None] - lam[:, None, :]
        near = np.abs(gap) <= _CLOSE * np.maximum(lam[:, :, None], lam[:, None, :])
        gap = np.where(near, 1.0, gap)
        middle = (slope[:, :, None] + slope[:, None, :]) / 2
        difference = (value[:, :, None] - value[:, None, :]) / gap
        Phi = np.where(near, middle, difference)
        W = np.einsum(
            "pki,pij,plj->pkl", U, a[:, :, None] * Phi * b[:, None, :], U, optimize=True
        )
        PS = P @ m.gram
        by_P = W @ PS + np.swapaxes(PS, 1, 2) @ W
        back = lambda v: np.einsum("pij,pj->pi", U, value * v)  # noqa: E731
        by_P += back(b)[:, :, None] * m.query[:, None, :]
        by_P += back(a)[:, :, None] * m.correlation[:, None, :]
        return features @ theta[:K], np.column_stack([features, by_upper_half(by_P)])
