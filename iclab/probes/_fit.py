"""The member of a family that is closest to given predictions."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from iclab.probes._bootstrap import bounds
from iclab.probes._families import Row
from iclab.probes._spectra import Sample

# Prompts for the search, numbers of grid points by number of parameters, and how many
# whole numbers and starts are followed to the end.
_FEW, _POINTS, _FOLLOWED = 256, {0: 1, 1: 21, 2: 8, 3: 5}, 3
_SCATTERED = 60
# Intervals of more parameters than these say little.
_MOST = 8
_STEP = 1e-5


@dataclass(frozen=True)
class Member:
    """A row of the table with its parameters chosen."""

    row: Row
    parameters: Mapping[str, Any]
    intervals: Mapping[str, tuple[float, float]]

    def predict(self, sample: Sample) -> Float[np.ndarray, " prompts"]:
        """What this member predicts."""
        nonlinear = {name: self.parameters[name] for name in self.row.ranges}
        found = self.row.predict(sample, **nonlinear)
        if self.row.linear:
            found = found @ np.array([self.parameters[n] for n in self.row.linear])
        return np.asarray(found)


class _Problem:
    """Weighted least squares in the parameters; linear ones are solved for."""

    def __init__(self, row: Row, whole, sample, answers, sizes, units):
        self.row, self.whole = row, whole
        self.sample, self.sizes = sample, sizes
        self.target = answers * sizes
        self.names = [name for name, r in row.ranges.items() if not r.values]
        ranges = [row.ranges[name] for name in self.names]
        # Log scales, and units of inputs and labels.
        inputs, labels = units
        self.unit = np.array([inputs**r.unit * labels**r.labels for r in ranges])
        self.log = np.array([r.log for r in ranges], bool)
        ends = np.array([(r.low, r.high) for r in ranges]).reshape(-1, 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.ends = np.where(self.log[:, None], np.log(ends), ends)

    def values(self, u) -> dict[str, Any]:
        with np.errstate(over="ignore"):
            real = np.where(self.log, np.exp(u), u) * self.unit
        named = dict(zip(self.names, real.tolist(), strict=True))
        both = {**self.whole, **named}
        return {name: both[name] for name in self.row.ranges}

    def columns(self, u):
        found = self.row.predict(self.sample, **self.values(u))
        return found * (self.sizes[:, None] if self.row.linear else self.sizes)

    def residual(self, u):
        """What is left, and the linear parameters."""
        found = self.columns(u)
        if not self.row.linear:
            return self.target - found, np.zeros(0)
        if not np.all(np.isfinite(found)):
            return np.full(len(found), np.inf), np.zeros(found.shape[1])
        scale = np.linalg.norm(found, axis=0)
        scale = np.where(scale > 0, scale, 1)
        c = np.linalg.lstsq(found / scale, self.target, rcond=None)[0] / scale
        return self.target - found @ c, c

    def loss(self, u) -> float:
        with np.errstate(all="ignore"):
            found = float(np.sum(self.residual(u)[0] ** 2))
        return found if np.isfinite(found) else np.inf

    def starts(self):
        """A grid; scattered points where there are many parameters."""
        m = len(self.names)
        low, high = self.ends.T if m else (np.zeros(0), np.zeros(0))
        if m > 8:  # the matrix: a step that is right for the largest eigenvalue
            half = np.array(
                [name[0] == "Q" and name[1] == name[2] for name in self.names]
            )
            step = np.array([name.startswith("step") for name in self.names])
            return np.where(step, 0.0, np.where(half, 0.5, 0.0))[None]
        if m > 3:
            rng = np.random.default_rng(m)
            return low + (high - low) * rng.random((_SCATTERED, m))
        count = _POINTS[m]
        axes = [np.linspace(a, b, count) for a, b in zip(low, high, strict=True)]
        return np.array(list(itertools.product(*axes))).reshape(count**m, m)

    def zoomed(self, u):
        """Of one parameter, where a derivative says nothing: finer and finer grids."""
        width = (self.ends[0, 1] - self.ends[0, 0]) / 10
        for _ in range(6):
            near = np.clip(u + width * np.linspace(-1, 1, 25)[:, None], *self.ends.T)
            losses = np.array([self.loss(one) for one in near])
            # The middle of what is equally good.
            u = near[np.flatnonzero(losses <= losses.min() * (1 + 1e-12))].mean(axis=0)
            width /= 6
        return u

    def refined(self, u, iterations: int):
        """Levenberg and Marquardt's method with differences."""
        if len(u) == 0:
            return u
        if not self.row.smooth:
            return self.zoomed(u) if iterations > 10 else u
        r = self.residual(u)[0]
        loss, damping = np.sum(r**2), 1e-8
        if not np.isfinite(loss):
            return u
        bottom = 1e-26 * np.sum(self.target**2)
        for _ in range(iterations):
            J = self.slopes(u)
            scale = np.maximum(np.linalg.norm(J, axis=0), 1e-300)
            J = J / scale
            if not np.all(np.isfinite(J)):
                break
            while damping < 1e6:
                system = J.T @ J + damping * np.eye(len(u))
                step = np.linalg.solve(system, J.T @ r) / scale
                trial = np.clip(u - step, *self.ends.T)
                with np.errstate(all="ignore"):
                    after = self.residual(trial)[0]
                    found = np.sum(after**2)
                if np.isfinite(found) and found < loss:
                    break
                damping *= 30
            else:
                break
            small = loss - found <= 1e-7 * loss
            u, r, loss, damping = trial, after, found, max(damping / 30, 1e-12)
            if small or loss <= bottom:
                break
        return u

    def slopes(self, u, linear=None):
        """∂ residual; with `linear` those parameters are held."""

        def left(at):
            if linear is None or not self.row.linear:
                return self.residual(at)[0]
            return self.target - self.columns(at) @ linear

        with np.errstate(all="ignore"):
            pairs = [(left(u + h), left(u - h)) for h in _STEP * np.eye(len(u))]
        flat = [(a - b) / (2 * _STEP) for a, b in pairs]
        return np.stack(flat, axis=1) if flat else np.zeros((len(self.target), 0))


def fit(
    row: Row,
    sample: Sample,
    answers: Float[np.ndarray, " prompts"],
    sizes: Float[np.ndarray, " prompts"],
    units: tuple[float, float],
) -> list[tuple[Member, Any]]:
    """The best members of a family, one for each of the best whole numbers.

    The second of a pair is what `with_intervals` needs.
    """
    names = [name for name, r in row.ranges.items() if r.values]
    combinations = itertools.product(*(row.ranges[name].values for name in names))
    wholes = [dict(zip(names, one, strict=True)) for one in combinations]
    few, tried = sample[:_FEW], []
    for whole in wholes:
        problem = _Problem(row, whole, few, answers[:_FEW], sizes[:_FEW], units)
        starts = problem.starts()
        losses = np.array([problem.loss(u) for u in starts])
        kept = 1 if len(wholes) > 1 and starts.shape[1] < 2 else 2 + starts.shape[1]
        for i in np.argsort(losses)[:kept]:
            u = problem.refined(starts[i], 10)
            tried.append((problem.loss(u), whole, u))
    tried.sort(key=lambda one: one[0])
    found, seen = [], []
    for loss, whole, u in tried:
        if whole in seen or len(seen) == _FOLLOWED or not np.isfinite(loss):
            continue
        seen.append(whole)
        problem = _Problem(row, whole, sample, answers, sizes, units)
        u = problem.refined(u, 30)
        c = problem.residual(u)[1]
        values = {**problem.values(u), **dict(zip(row.linear, c.tolist(), strict=True))}
        found.append((Member(row, values, {}), (problem, u, c)))
    return found


def with_intervals(
    member: Member,
    found: tuple[_Problem, Any, Any],
    weights: Float[np.ndarray, "draws prompts"],
    peers: Sequence[tuple[Member, Float[np.ndarray, " test"]]],
    test_weights: Float[np.ndarray, "draws test"],
) -> Member:
    """The member with 90 % intervals: one Gauss–Newton step in every bootstrap draw.

    `peers` have other whole numbers, and their squared errors.
    """
    problem, u, c = found
    row, intervals = member.row, {}
    whole = [name for name, r in row.ranges.items() if r.values]
    if whole:
        errors = np.stack([error for _, error in peers], axis=1)
        best = np.argmin(test_weights @ errors, axis=1)
        for name in whole:
            values = np.array([peer.parameters[name] for peer, _ in peers])
            ends = np.quantile(values[best], [0.05, 0.95], method="nearest")
            intervals[name] = (int(ends[0]), int(ends[1]))
    if 0 < len(u) + len(c) <= _MOST and row.smooth:
        columns = [-problem.slopes(u, c)]
        columns += [problem.columns(u)] if len(c) else []
        J = np.concatenate(columns, axis=1)
        J = np.where(np.isfinite(J), J, 0)
        scale = np.maximum(np.linalg.norm(J, axis=0), 1e-300)
        J, r = J / scale, problem.residual(u)[0]
        K = J.shape[1]
        outer = (J[:, :, None] * J[:, None, :]).reshape(-1, K * K)
        grams = (weights @ outer).reshape(-1, K, K)
        slopes = weights @ (J * r[:, None])
        inverse = np.linalg.pinv(grams, rcond=1e-10, hermitian=True)
        moves = np.einsum("bij,bj->bi", inverse, slopes) / scale
        lower, upper = bounds(np.append(u, c) + moves)
        ends = (problem.values(lower[: len(u)]), problem.values(upper[: len(u)]))
        for name in problem.names:
            intervals[name] = (ends[0][name], ends[1][name])
        for name, a, b in zip(
            row.linear, lower[len(u) :], upper[len(u) :], strict=True
        ):
            intervals[name] = (float(a), float(b))
    return Member(row, member.parameters, intervals)
