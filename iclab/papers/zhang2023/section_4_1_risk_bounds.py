"""Displays after Theorem 4.2: the risk for linear labels, and its two upper bounds.

For long training prompts and short test prompts the first bound is (d+1)/M ‖w‖²_Λ and
sharp for every Λ; the other way round its 1/N² term is. Its mean over w is sharp where
Λ ∝ I.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.zhang2023._fixed_covariance import Setting
from iclab.papers.zhang2023._quadrature import gaussian_rule
from iclab.papers.zhang2023._simulation import (
    distribution,
    risk_on_moments,
    trained_model,
)
from iclab.theory import linear_label_covariance, lsa_risk_bound, nonlinear_risk

_WEIGHT = np.array([0.5, -2.0, 1.0])
_EXAMPLES = 20
# A length that is as good as infinite for the other's term.
_LONG = 10**8

relation = "<="


@dataclass(frozen=True, eq=False)
class Bounds:
    """Training and lengths; `random` is the bound over w ~ N(0, I)."""

    setting: Setting
    examples: int
    random: bool


@dataclass(frozen=True, eq=False)
class LinearLabels:
    """One training distribution: Σ of (4.5), or the risk itself."""

    setting: Setting
    of_risk: bool


def cases(scale):
    """Σ and the risk for two covariances; the bounds where they are sharp, and not."""
    found: dict[str, Bounds | LinearLabels] = {}
    for spectrum in ("geometric", "one tiny"):
        setting = distribution(spectrum, 4)
        found[f"Σ, {spectrum} spectrum"] = LinearLabels(setting, of_risk=False)
        found[f"risk, {spectrum} spectrum"] = LinearLabels(setting, of_risk=True)
    lengths = {"short test": (_LONG, 4), "short training": (300, _LONG), "both": (5, 4)}
    for kind, (N, M) in lengths.items():
        for spectrum in ("equal", "one tiny"):
            for random in (False, True):
                which = "random w" if random else "fixed w"
                name = f"bound for {which}, {spectrum} spectrum, {kind}"
                found[name] = Bounds(distribution(spectrum, N), M, random)
    return found


def predict(case: Bounds | LinearLabels):
    """The two bounds; the displayed formulas for Σ and for the risk."""
    Lambda, N = case.setting.covariance, case.setting.context_length
    w = jnp.asarray(_WEIGHT)
    if isinstance(case, Bounds):
        return lsa_risk_bound(Lambda, N, case.examples, None if case.random else w)
    Sigma = linear_label_covariance(Lambda, w)
    if not case.of_risk:
        return _both_sides(_summary(np.asarray(Sigma)))
    return _both_sides(nonlinear_risk(w, Sigma, 0.0, Lambda, N, _EXAMPLES))


def measure(case: Bounds | LinearLabels, key) -> Measured:
    """A model after its flow on the moments of sampled prompts; Σ by quadrature."""
    Lambda = case.setting.covariance
    if isinstance(case, LinearLabels) and not case.of_risk:
        x, weights = gaussian_rule(Lambda, 3)
        xy = x * (x @ _WEIGHT)[:, None]
        mean = weights @ xy
        Sigma = (xy - mean).T * weights @ (xy - mean)
        value = _both_sides(_summary(Sigma))
        return rounded(value, 9 * len(x), np.max(np.abs(xy)) ** 2)
    bounds = isinstance(case, Bounds)
    weight = None if bounds and case.random else jnp.asarray(_WEIGHT)
    examples = case.examples if bounds else _EXAMPLES
    model = trained_model(case.setting)
    risk = risk_on_moments(
        model, Lambda, examples, key=key, weight=weight, draws=1 << 17
    )
    return risk if bounds else risk._replace(value=_both_sides(risk.value))


def decoy(case: Bounds | LinearLabels):
    """d in place of d+1 where 1/M rules, the cross term 2d lost where 1/N² does; Σ not
    centred; the risk without a term of 1/N².
    """
    Lambda, N = np.asarray(case.setting.covariance), case.setting.context_length
    d, trace, w = len(Lambda), np.trace(Lambda), _WEIGHT
    if isinstance(case, Bounds):
        if N == _LONG:
            return predict(case) * d / (d + 1)
        equal = np.ptp(np.linalg.eigvalsh(Lambda)) < 1e-9
        if case.examples != _LONG or (case.random and not equal):
            return None
        cross = 2 * trace * (d if case.random else w @ w) / N**2
        return predict(case) - cross if equal else None
    if not case.of_risk:
        Sigma = np.asarray(linear_label_covariance(jnp.asarray(Lambda), jnp.asarray(w)))
        Sigma = Sigma + np.outer(Lambda @ w, Lambda @ w)
        return _both_sides(_summary(Sigma))
    step = np.linalg.inv((1 + 1 / N) * Lambda + trace / N * np.eye(d)) @ Lambda
    return predict(case) - _both_sides(trace * np.sum((step @ w) ** 2) / N**2)


def _summary(Sigma: np.ndarray) -> np.ndarray:
    """First row, and the trace."""
    return np.append(Sigma[0], np.trace(Sigma))


def _both_sides(value) -> np.ndarray:
    """An equality as two inequalities."""
    value = np.atleast_1d(np.asarray(value))
    return np.concatenate([value, -value])
