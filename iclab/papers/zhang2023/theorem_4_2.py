"""Theorem 4.2: the exact risk of the trained model on prompts with any labels."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, Printed, rounded
from iclab.papers.zhang2023._quadrature import gaussian_rule
from iclab.papers.zhang2023._simulation import (
    distribution,
    simulated_risk,
    trained_model,
)
from iclab.tasks import Cubic, NonlinearRegression, Quadratic, Sine
from iclab.theory import best_linear_risk, nonlinear_risk

# Lengths (N in training, M of the test prompt) that a case compares.
_LENGTHS = ((2, 3), (2, 20), (10, 3), (10, 20), (50, 20))


@dataclass(frozen=True, eq=False)
class Labels:
    """Noisy labels that are no linear function, and the wrong turn that they punish."""

    task: NonlinearRegression
    spectrum: str
    wrong_rate: bool


@dataclass(frozen=True, eq=False)
class Curvature:
    """The risk R(w) of a linear predictor, whose Hessian the proof needs."""

    task: NonlinearRegression


@dataclass(frozen=True, eq=False)
class Means:
    """E[xy], E y² and Σ = Cov(xy), which (4.6) is made of."""

    task: NonlinearRegression


@dataclass(frozen=True)
class Cutoffs:
    """y = |x|^power in one dimension, looked at from these distances to zero."""

    power: float
    distances: tuple[float, ...]


def cases(scale):
    """Three label functions, each with its own covariance, and the Hessian."""
    b = jnp.array([0.7, -0.3, 0.4])
    A = jnp.array([[0.3, 0.1, 0.0], [0.1, -0.2, 0.2], [0.0, 0.2, 0.1]])
    quadratic = _task(Quadratic(A, b), "geometric")
    found = {
        "quadratic labels": Labels(quadratic, "geometric", wrong_rate=True),
        "curvature of R": Curvature(quadratic),
        "means over quadratic labels": Means(quadratic),
    }
    if scale != "smoke":
        sine = _task(Sine(b), "equal")
        found["sine labels"] = Labels(sine, "equal", wrong_rate=False)
    if scale == "paper":
        cubic = _task(Cubic(b / 2, 1.0), "one tiny")
        found["cubic labels"] = Labels(cubic, "one tiny", wrong_rate=True)
    return found


def predict(case: Labels | Curvature | Means):
    """(4.6) for every pair of lengths; the Hessian 2Λ of R; means in closed form."""
    if isinstance(case, Means):
        found = case.task.moments()
        return np.concatenate(
            [found.cross, np.ravel(found.square), np.ravel(found.covariance)]
        )
    if isinstance(case, Curvature):
        return 2 * np.diagonal(case.task.covariance)
    return _risks(case, uncentred=False)


def measure(case: Labels | Curvature | Means | Cutoffs, key, scale) -> Measured:
    """Trained models on sampled prompts; automatic differentiation of R; quadrature."""
    match case:
        case Labels():
            prompts = {"smoke": 1 << 15, "desk": 1 << 16, "paper": 1 << 20}[scale]
            pairs = [
                (trained_model(distribution(case.spectrum, N)), M) for N, M in _LENGTHS
            ]
            return simulated_risk(case.task, pairs, prompts=prompts, key=key)
        case Curvature():
            hessian = np.asarray(_hessian(case.task))
            return rounded(np.diagonal(hessian), 1e4, 2 * case.task.covariance)
        case Means():
            return _means(case.task)
        case Cutoffs():
            return _gains(case)


def decoy(case: Labels | Curvature | Means):
    """1/N in place of 1/N², or E[y²xxᵀ] in place of its centred version; Hessian Λ.

    Labels without their noise.
    """
    if isinstance(case, Means):
        noise = np.append(1.0, np.ravel(case.task.covariance)) * case.task.noise_std**2
        return predict(case) - np.append(np.zeros(3), noise)
    if isinstance(case, Curvature):
        return as_printed(case)
    if not case.wrong_rate:
        return _risks(case, uncentred=True)
    N = np.array([N for N, _ in _LENGTHS])
    return predict(case) + (N - 1) * _risks(case, only_length=True)


def printed_cases(scale):
    """What the proof says of R, and labels that satisfy the printed hypotheses.

    For y = |x|^{-1/2} the means of y, xy and x²y² are finite, that of y² is not.
    """
    return {
        "curvature of R": cases(scale)["curvature of R"],
        "d=1, y=|x|^(-1/2), E y² by decades": Cutoffs(-0.5, (1e-10, 1e-100, 1e-300)),
    }


def as_printed(case: Curvature | Cutoffs):
    """The Hessian is Λ; and R exists, so nothing is left of E y² close to zero."""
    if isinstance(case, Curvature):
        return np.diagonal(case.task.covariance)
    return np.zeros(len(case.distances))


printed = Printed(predict=as_printed, cases=printed_cases, nearby=True)


def numbers(results, printed):
    """What a decade of |x| near zero adds to E y²."""
    decades = printed["d=1, y=|x|^(-1/2), E y² by decades"].measured
    return {"decade": decades[0]}


def _risks(case: Labels, *, uncentred: bool = False, only_length: bool = False):
    """(4.6) at all lengths, with Σ not centred, or its last term alone."""
    moments, Lambda = case.task.moments(), case.task.covariance
    a = jnp.linalg.solve(Lambda, moments.cross)
    Sigma = moments.covariance + uncentred * jnp.outer(moments.cross, moments.cross)
    best = best_linear_risk(Lambda, moments.cross, moments.square)
    if only_length:
        Sigma, best = 0 * Sigma, 0.0
    risks = [nonlinear_risk(a, Sigma, best, Lambda, N, M) for N, M in _LENGTHS]
    return np.array(risks)


def _hessian(task: NonlinearRegression):
    """Second derivative of w ↦ E(⟨w, x⟩ − y)², the mean taken by quadrature."""
    x, weights = gaussian_rule(task.covariance, 8)
    y = jax.vmap(task.function)(jnp.asarray(x))
    risk = lambda w: weights @ (x @ w - y) ** 2  # noqa: E731
    return jax.jit(jax.hessian(risk))(jnp.ones(task.dimension))


def _means(task: NonlinearRegression) -> Measured:
    """Over Gauss–Hermite nodes of x, and two values of the noise."""
    x, weights = gaussian_rule(task.covariance, 8)
    clean = np.asarray(jax.vmap(task.function)(jnp.asarray(x)))
    noise = task.noise_std * np.array([[-1.0], [1.0]])
    y, weights = (clean + noise).ravel(), np.tile(weights, 2) / 2
    products = np.tile(x, (2, 1)) * y[:, None]
    cross = weights @ products
    covariance = (weights * products.T) @ products - np.outer(cross, cross)
    value = np.concatenate([cross, [weights @ y**2], covariance.ravel()])
    return rounded(value, 1e4, np.abs(value).max())


def _gains(case: Cutoffs) -> Measured:
    """How much of E y² comes from δ/10 < |x| < δ, in the variable log|x|."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    logs = np.log(case.distances)[:, None] + (nodes - 1) / 2 * np.log(10)
    x = np.exp(logs)
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    value = np.log(10) / 2 * (2 * (x**case.power) ** 2 * density * x) @ weights
    return rounded(value, 20 * abs(np.log(case.distances[-1])), value)


def _task(function, spectrum: str) -> NonlinearRegression:
    covariance = distribution(spectrum, 2).covariance
    return NonlinearRegression(function, covariance, noise_std=0.3)
