"""Which family a model belongs to: fits, compared on prompts not fitted to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from iclab.core import AbstractPredictor, Prompt, checked
from iclab.probes._bayes import bayes_predictions
from iclab.probes._bootstrap import (
    LEVEL,
    Interval,
    bootstrap_weights,
    bounds,
    ratio,
)
from iclab.probes._families import Candidate, candidates, fixed, symmetric
from iclab.probes._filter import context_of
from iclab.probes._predictions import predictions
from iclab.probes._spectra import Moments
from iclab.tasks import AbstractTask

# A family is named if all but this share of the model's E ŷ² is its.
NAMED = 0.05
# Differences below this share of E ŷ² are round-off of somebody's arithmetic.
_ROUND_OFF = 1e-9
_FOLDS = 5
# How much worse than the best a fit must be to be out of question.
_FAR = 4.0
# Prompts for the search from many starts, and how many starts are followed.
_FEW, _FOLLOWED = 256, 6


@checked(finite=False)
@dataclass(frozen=True)
class FamilyFit:
    """The member of a family that is closest to a model.

    `distance` is E(ŷ − its prediction)² / E ŷ² on prompts that were not fitted to.
    `parameters` are by name, and `intervals` hold 90 % of their bootstrap draws: a
    number of steps is chosen anew in every draw, and sizes are those for the number
    named. `size` counts what was chosen: parameters, and a number of steps. `metric`
    says what the family sees: the inputs, or the inputs whitened by the task's
    covariance. `predictions` are the member's own on the prompts.
    """

    name: str
    metric: str
    size: int
    steps: int | None
    parameters: Mapping[str, Any]
    intervals: Mapping[str, Any]
    distance: Interval
    theta: Float[np.ndarray, "..."]  # empty where a family has no parameters
    free: bool
    predictions: Float[np.ndarray, " prompts"]


@checked(finite=False)
@dataclass(frozen=True)
class FamilyChoice:
    """The verdict over all families.

    `name` is that of `fit`, or "none" if even the closest is further than 5 % of the
    model's E ŷ² away. `fit` is the smallest family within one standard error of
    the best; `close` are the others there. `fits` has one member of each family.
    """

    name: str
    fit: FamilyFit
    close: tuple[str, ...]
    fits: tuple[FamilyFit, ...]
    bayes: str | None


@checked(finite=False)
def fit_families(
    predictor: AbstractPredictor,
    prompts: Prompt,
    *,
    context: int | None = None,
    task: AbstractTask | None = None,
    key: PRNGKeyArray | None = None,
) -> FamilyChoice:
    """Fit every family to the predictions on `prompts` and say which one it is.

    Families: zero, averaging (one step of any size), gradient descent (constant or free
    steps, with a matrix or without), gradient flow, GD++, Newton's iteration, ridge,
    least squares, and the Bayes rule of a `task`. Each is fitted on four fifths of the
    prompts and judged on the rest, five times; the smallest family within one standard
    error of the best is chosen, so that a larger one does not win by its size.
    """
    n = context_of(prompts, context)
    answers = predictions(predictor, prompts, [n])[:, 0]
    if key is None:
        key = jax.random.key(0)
    weights = bootstrap_weights(key, len(answers))
    return choose(Moments.of(prompts, n), answers, weights, task)


def choose(
    moments: Moments,
    answers: Float[np.ndarray, " prompts"],
    weights: Float[np.ndarray, "draws prompts"],
    task: AbstractTask | None = None,
) -> FamilyChoice:
    """The family of given predictions."""
    tried, bayes = _all_candidates(moments, task)
    few = _all_candidates(_first(moments, _FEW), task)[0]
    folds = np.arange(len(answers)) % _FOLDS
    power = float(np.mean(answers**2))
    thetas, errors = [], []
    with np.errstate(over="ignore", invalid="ignore"):
        for candidate, small in zip(tried, few, strict=True):
            theta = _search(small, answers[:_FEW])
            theta = _refined(candidate, answers, np.ones(len(answers)), theta, 30)
            thetas.append(theta)
            errors.append((answers - candidate.predict(theta)[0]) ** 2)
        # Who is far away even on the prompts of the fit needs no others.
        means = _means(errors)
        far = _FAR * np.min(means) + _ROUND_OFF * power
        for i, candidate in enumerate(tried):
            if means[i] <= far:
                errors[i] = _held_out(candidate, answers, folds, thetas[i])
    means = _means(errors)

    def best_of(places: Sequence[int]) -> tuple[int, list[int]]:
        """The smallest within one standard error of the best, and all of those."""
        best = min(places, key=lambda i: means[i])
        error = np.std(errors[best]) / np.sqrt(len(answers))
        bound = means[best] + max(error, _ROUND_OFF * power)
        within = [i for i in places if means[i] <= bound]
        return min(within, key=lambda i: (tried[i].size, means[i])), within

    def fit(i: int) -> FamilyFit:
        one = tried[i]
        kind = (one.family, one.metric, one.free)
        peers = {
            other.steps: errors[j]
            for j, other in enumerate(tried)
            if (other.family, other.metric, other.free) == kind
        }
        return _fit(one, thetas[i], errors[i], peers, moments, answers, weights)

    groups: dict[tuple[str, str], list[int]] = {}
    for i, one in enumerate(tried):
        groups.setdefault((one.family, one.metric), []).append(i)
    chosen, within = best_of(range(len(tried)))
    members = [chosen if chosen in g else best_of(g)[0] for g in groups.values()]
    fits = {i: fit(i) for i in members}
    order = sorted(members, key=lambda i: (i != chosen, means[i]))
    near = {(tried[i].family, tried[i].metric) for i in within}
    near -= {(tried[chosen].family, tried[chosen].metric)}
    close = [_label(*pair) for pair in groups if pair in near]
    best = fits[chosen]
    name = best.name if best.distance.value <= NAMED else "none"
    return FamilyChoice(name, best, tuple(close), tuple(fits[i] for i in order), bayes)


def _means(errors: Sequence[np.ndarray]) -> Float[np.ndarray, " tried"]:
    means = np.array([np.mean(one) for one in errors])
    return np.where(np.isfinite(means), means, np.inf)


def _label(family: str, metric: str) -> str:
    return family if metric == "inputs" else f"{family} ({metric})"


def _all_candidates(
    moments: Moments, task: AbstractTask | None
) -> tuple[list[Candidate], str | None]:
    """Every family in every metric, and what the Bayes rule is if it is one of them."""
    found = candidates(moments, "inputs")
    root = whitening(task)
    if root is not None:
        found += candidates(moments.under(root), "whitened", matrices=False)
    rule = None if task is None else bayes_predictions(task, moments)
    if rule is None:
        return found, None
    solve = next(one for one in found if one.family == "least squares")
    other, _ = solve.predict(np.zeros(0))
    gap, power = np.mean((rule - other) ** 2), np.mean(rule**2)
    if gap <= _ROUND_OFF * power:
        return found, "least squares"
    return [*found, fixed("Bayes rule", rule)], "Bayes rule"


def whitening(task: AbstractTask | None) -> Float[np.ndarray, "d d"] | None:
    """Λ^{−½} of a task with one covariance that is not a multiple of the identity."""
    covariance = getattr(task, "covariance", None)
    if covariance is None:
        return None
    values, vectors = np.linalg.eigh(np.asarray(covariance, float))
    round_ = values[-1] - values[0] <= 1e-9 * values[-1]
    if round_ or values[0] <= 1e-9 * values[-1]:
        return None
    return (vectors / np.sqrt(values)) @ vectors.T


def _first(moments: Moments, number: int) -> Moments:
    S, c, x = moments.gram, moments.correlation, moments.query
    return Moments(S[:number], c[:number], x[:number], moments.count)


def _search(candidate: Candidate, answers: Float[np.ndarray, " few"]):
    """The best parameters over all starts, on few prompts."""
    starts = candidate.starts
    if starts.shape[1] == 0:
        return starts[0]
    loss = lambda theta: np.sum((answers - candidate.predict(theta)[0]) ** 2)  # noqa: E731
    losses = np.array([loss(theta) for theta in starts])
    order = np.argsort(np.where(np.isfinite(losses), losses, np.inf))
    followed = order[: _FOLLOWED if starts.shape[1] > 1 else 2]
    unit = np.ones(len(answers))
    ends = [_refined(candidate, answers, unit, starts[i], 25) for i in followed]
    return min(ends, key=loss)


def _refined(
    candidate: Candidate,
    answers: Float[np.ndarray, " prompts"],
    weights: Float[np.ndarray, " prompts"],
    theta: Float[np.ndarray, " m"],
    iterations: int,
) -> Float[np.ndarray, " m"]:
    """Levenberg and Marquardt's method for weighted least squares."""
    if len(theta) == 0:
        return theta
    predicted, J = candidate.predict(theta)
    residual = answers - predicted
    loss, damping = np.sum(weights * residual**2), 0.0
    for _ in range(iterations):
        step = _step(J, residual, weights, damping)
        trial = theta + step
        predicted, J_trial = candidate.predict(trial)
        residual_trial = answers - predicted
        found = np.sum(weights * residual_trial**2)
        if np.isfinite(found) and found < loss:
            small = loss - found <= 1e-9 * loss
            theta, J, residual, loss = trial, J_trial, residual_trial, found
            damping = 0.0 if damping < 1e-6 else damping / 10
            if small:
                break
        elif damping > 1e6 or np.linalg.norm(step) <= 1e-13 * np.linalg.norm(theta):
            break
        else:
            damping = max(10 * damping, 1e-4)
    return theta


def _step(J, residual, weights, damping: float):
    scale = np.sqrt(np.sum(weights[:, None] * J**2, axis=0))
    scale = np.where(np.isfinite(scale) & (scale > 0), scale, 1.0)
    J = np.nan_to_num(J / scale) * np.sqrt(weights)[:, None]
    right = np.nan_to_num(residual) * np.sqrt(weights)
    m = J.shape[1]
    if m > 16:
        system = J.T @ J + max(damping, 1e-13) * np.eye(m)
        return np.linalg.solve(system, J.T @ right) / scale
    if damping > 0:
        J = np.concatenate([J, np.sqrt(damping) * np.eye(m)])
        right = np.append(right, np.zeros(m))
    return np.linalg.lstsq(J, right, rcond=None)[0] / scale


def _held_out(
    candidate: Candidate,
    answers: Float[np.ndarray, " prompts"],
    folds: Int[np.ndarray, " prompts"],
    theta: Float[np.ndarray, " m"],
) -> Float[np.ndarray, " prompts"]:
    """Squared errors on every prompt of a fit to the other folds."""
    if len(theta) == 0:
        return (answers - candidate.predict(theta)[0]) ** 2
    errors = np.empty(len(answers))
    for fold in range(_FOLDS):
        mine = folds == fold
        own = _refined(candidate, answers, (~mine).astype(float), theta, 6)
        errors[mine] = ((answers - candidate.predict(own)[0]) ** 2)[mine]
    return errors


def _fit(
    candidate: Candidate,
    theta: Float[np.ndarray, " m"],
    errors: Float[np.ndarray, " prompts"],
    peers: Mapping[int | None, Float[np.ndarray, " prompts"]],
    moments: Moments,
    answers: Float[np.ndarray, " prompts"],
    weights: Float[np.ndarray, "draws prompts"],
) -> FamilyFit:
    """A candidate with parameters; `peers` have errors for every number of steps."""
    named = lambda one: _parameters(candidate, one, moments)  # noqa: E731
    parameters = named(theta)
    intervals: dict[str, Any] = {}
    counted = next((n for n in ("steps", "iterations") if n in parameters), None)
    if counted is not None:
        intervals[counted] = _steps_interval(peers, answers, weights)
    draws = _draws(candidate, theta, answers, weights)
    if draws is not None:
        tables = [named(one) for one in draws]
        for name, value in parameters.items():
            if isinstance(value, (float, list)):
                columns = [t[name] for t in tables if t[name] is not None]
                if len(columns) == len(tables):
                    lower, upper = bounds(np.array(columns))
                    intervals[name] = [lower.tolist(), upper.tolist()]
    return FamilyFit(
        candidate.family,
        candidate.metric,
        candidate.size,
        candidate.steps,
        parameters,
        intervals,
        ratio(errors, answers**2, weights),
        theta,
        candidate.free,
        candidate.predict(theta)[0],
    )


def _steps_interval(
    peers: Mapping[int | None, Float[np.ndarray, " prompts"]],
    answers: Float[np.ndarray, " prompts"],
    weights: Float[np.ndarray, "draws prompts"],
) -> list[int]:
    """Between which numbers of steps the best one lies in 90 % of the draws."""
    numbers = sorted(k for k in peers if k is not None)
    errors = np.stack([peers[k] for k in numbers], axis=1)
    finite = np.all(np.isfinite(errors), axis=0)
    sums = np.where(finite, weights @ np.where(finite, errors, 0.0), np.inf)
    # The smallest of those that differ by nothing: more steps can do what fewer do.
    bound = sums.min(axis=1) + _ROUND_OFF * (weights @ answers**2)
    best = np.sort(np.array(numbers)[np.argmax(sums <= bound[:, None], axis=1)])
    outside = int(len(best) * (1 - LEVEL) / 2)
    return [int(best[outside]), int(best[-1 - outside])]


def _draws(candidate, theta, answers, weights):
    """Parameters in every bootstrap draw, by one step of Newton's method from θ̂."""
    if not 0 < len(theta) <= 8:
        return None

    def slope(at):
        predicted, J = candidate.predict(at)
        return J * (answers - predicted)[:, None]

    sizes = 1e-5 * np.maximum(np.abs(theta), 1e-3 * max(np.max(np.abs(theta)), 1e-9))
    moved = [
        (slope(theta + move).sum(0) - slope(theta - move).sum(0)) / (2 * size)
        for move, size in zip(np.diag(sizes), sizes, strict=True)
    ]
    curvature = -(np.array(moved) + np.array(moved).T) / 2
    if not np.all(np.isfinite(curvature)) or np.linalg.eigvalsh(curvature)[0] <= 0:
        J = candidate.predict(theta)[1]
        curvature = J.T @ J
    moves = (weights @ slope(theta)) @ np.linalg.pinv(curvature, hermitian=True)
    return theta + moves


def _parameters(
    candidate: Candidate, theta: Float[np.ndarray, " m"], moments: Moments
) -> dict[str, Any]:
    """Parameters by the names that people use."""
    k, family = candidate.steps, candidate.family
    if family == "averaging":
        return {"step": float(theta[0])}
    if family == "ridge":
        tau = float(np.exp(min(theta[0], 300.0)))
        return {"tau": tau, "penalty": moments.count * tau}
    if family == "gradient flow":
        return {"time": float(np.exp(min(theta[0], 300.0)))}
    if family == "Newton":
        return {"iterations": k}
    if family == "gradient descent" and not candidate.free:
        return {"steps": k, "step": float(theta[0])}
    if family == "gradient descent":
        return {"steps": k, "step_sizes": step_sizes(theta), "filter": theta.tolist()}
    if family == "GD++" and not candidate.free:
        return {"steps": k, "step": float(theta[0]), "contraction": float(theta[1])}
    if family == "GD++":
        assert k is not None
        eta, beta = theta[:k].tolist(), theta[k:].tolist()
        return {"steps": k, "step_sizes": eta, "contractions": beta}
    if family == "preconditioned gradient descent":
        d = moments.query.shape[1]
        half = d * (d + 1) // 2
        eta, Q = [1.0, *theta[half:].tolist()], symmetric(theta[:half], d).tolist()
        return {"steps": k, "step_sizes": eta, "preconditioner": Q}
    return {}


def step_sizes(coefficients: Float[np.ndarray, " k"]) -> list[float] | None:
    """Step sizes of the gradient descent with filter Σ θ_j λʲ, if they are real."""
    polynomial = np.append(-coefficients[::-1], 1.0)
    roots = np.roots(polynomial)
    if len(roots) < len(coefficients) or np.any(
        np.abs(roots.imag) > 1e-6 * np.abs(roots)
    ):
        return None
    return np.sort(1 / roots.real).tolist()
