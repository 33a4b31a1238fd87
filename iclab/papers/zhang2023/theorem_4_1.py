"""Theorem 4.1: gradient flow ends at one preconditioned gradient step, and no other
weights have a smaller loss.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from iclab.core import Prompt
from iclab.evidence import Measured
from iclab.models import LinearSelfAttention
from iclab.papers.zhang2023._extreme_starts import of_rank_one
from iclab.papers.zhang2023._fixed_covariance import Setting, settings, trajectory
from iclab.papers.zhang2023._gaussian_prompts import exact_prompts
from iclab.papers.zhang2023._loss_landscape import bowl, descend
from iclab.papers.zhang2023._trajectory import SUMMARY, summary
from iclab.theory import lsa_optimum, optimal_preconditioner


@dataclass(frozen=True, eq=False)
class AllWeights:
    """A training distribution, to be searched over all weights from random starts."""

    setting: Setting
    starts: int


@dataclass(frozen=True)
class AllParameters:
    """Two inputs with these variances, N = 1, and a Θ of rank one: the whole model."""

    variances: tuple[float, float]


def cases(scale) -> dict[str, Setting | AllWeights | AllParameters]:
    """Limits of the flow, of three dimensions from three kinds of Θ; least losses with
    every block free; and a flow of all parameters.
    """
    found: dict[str, Setting | AllWeights | AllParameters] = dict(settings(scale))
    for name, setting in settings(scale).items():
        if len(setting.covariance) != 3 or not (
            scale == "paper" or setting.context_length == 10
        ):
            continue
        found[f"{name}, least loss over all weights"] = AllWeights(setting, 12)
        for along in ("weakest", "random") if "equal" not in name else ():
            found[f"{name}, Θ of rank one, {along}"] = of_rank_one(setting, along)
    return found | {"d=2, N=1, all 18 parameters": AllParameters((1.6, 0.4))}


def predict(case: Setting | AllWeights | AllParameters):
    """The limits (4.1), and ½(tr Λ − tr Λ²Γ⁻¹), their loss, as the least of all."""
    if isinstance(case, AllParameters):
        limits = lsa_optimum(jnp.diag(jnp.asarray(case.variances)), 1)
        return np.concatenate([np.ravel(one) for one in limits])
    if isinstance(case, AllWeights):
        Lambda, N = case.setting.covariance, case.setting.context_length
        return _loss_of(Lambda, optimal_preconditioner(Lambda, N))
    W_KQ, W_PV = lsa_optimum(case.covariance, case.context_length)
    return summary(W_KQ[:-1, :-1], W_PV[-1, -1])


def measure(case: Setting | AllWeights | AllParameters) -> Measured:
    """Follow the flow on the exact population loss, which never mentions Γ.

    That of all parameters runs the model on prompts whose weights integrate exactly.
    """
    if isinstance(case, AllParameters):
        return _whole_flow(case)
    if isinstance(case, AllWeights):
        return _least_loss(case)
    found = trajectory(case)
    value = summary(*found.flow.model)
    # A unit vector on each side: an entry moves by at most the error of the weights.
    size = 1 + float(found.flow.model[1]) + float(np.linalg.norm(found.flow.model[0]))
    return found.measured(value, size)


def decoy(case: Setting | AllWeights | AllParameters):
    """The trace term of Γ dropped: the limit of infinitely long training prompts."""
    if isinstance(case, AllParameters):
        block = np.zeros((2, 3, 3))
        inverse = 1 / (2 * np.asarray(case.variances))
        u_last = np.sqrt(np.linalg.norm(inverse))
        block[0, [0, 1], [0, 1]], block[1, 2, 2] = inverse / u_last, u_last
        return block.ravel()
    setting = case.setting if isinstance(case, AllWeights) else case
    N = setting.context_length
    inverse = np.linalg.inv((1 + 1 / N) * np.asarray(setting.covariance))
    if isinstance(case, AllWeights):
        return _loss_of(setting.covariance, inverse)
    u_last = np.sqrt(np.linalg.norm(inverse))
    return summary(inverse / u_last, u_last)


def labels(case: Setting | AllWeights | AllParameters):
    """Those of the weights at rest; of the least loss none."""
    if isinstance(case, AllParameters):
        places = [f"[{i}, {j}]" for i in (1, 2, 3) for j in (1, 2, 3)]
        return [f"{name}{place}" for name in ("W_KQ", "W_PV") for place in places]
    return () if isinstance(case, AllWeights) else SUMMARY


def _whole_flow(case: AllParameters) -> Measured:
    """W_KQ and W_PV where gradient flow on the model's own loss comes to rest."""
    covariance = np.diag(case.variances)
    points = exact_prompts(covariance, 1)
    prompts = (
        jnp.asarray(points.tokens[:, :2, :1].swapaxes(1, 2)),
        jnp.asarray(points.tokens[:, 2, :1]),
        jnp.asarray(points.query),
    )
    targets, weights = jnp.asarray(points.targets()), jnp.asarray(points.weights)

    @jax.jit
    def loss(flat):
        model = LinearSelfAttention(*flat.reshape(2, 3, 3))
        answers = jax.vmap(lambda *parts: model(Prompt(*parts)))(*prompts)
        return weights @ (answers - targets) ** 2 / 2

    gradient = jax.jit(jax.grad(loss))
    v = np.array([0.6, 0.8])
    start = np.zeros((2, 3, 3))
    # σ² < 2/(√2‖Γ‖), and ‖Γ‖ = 2·1.6 + 2 = 5.2.
    start[0, :2, :2], start[1, 2, 2] = 0.4 * np.outer(v, v), 0.4
    downhill = lambda time, flat: -np.asarray(gradient(flat))  # noqa: E731
    how = {"method": "DOP853", "rtol": 1e-8, "atol": 1e-10, "t_eval": (60, 120)}
    found = solve_ivp(downhill, (0, 120), start.ravel(), **how)
    middle, end = found.y.T
    error = np.linalg.norm(end - middle) + 1e-8 * found.nfev
    reason = (
        "what the second half of the time changed, plus the solver's error over"
        f" {found.nfev} gradients"
    )
    return Measured(end, error, reason)


def _least_loss(case: AllWeights) -> Measured:
    """The least loss that descents over all of U reach, and that of the flow's end."""
    setting = case.setting
    Lambda, N, d = setting.covariance, setting.context_length, len(setting.covariance)
    starts = np.random.default_rng([d, N]).standard_normal((case.starts, d + 1, d + 1))
    free = np.ones((d + 1, d + 1))
    found = [descend(start, free, Lambda, N) for start in starts]
    best = min(found, key=lambda one: one.loss)
    end, quadratic = trajectory(setting), bowl(setting)
    U11, u_last = map(np.asarray, end.flow.model)
    value = [best.loss, quadratic.least + quadratic.gap((u_last * U11)[None])[0]]
    error = best.slope**2 / best.curvature
    error += quadratic.steepest * (2 * float(u_last) * end.resting_error) ** 2
    error += 200 * np.finfo(float).eps * (1 + float(np.trace(Lambda)))
    reason = "gradients left, squared over the curvature, and float64 round-off"
    return Measured(np.array(value), error, reason)


def _loss_of(covariance, inverse) -> np.ndarray:
    """½(tr Λ − tr Λ²Γ⁻¹): for the search, and for the flow."""
    Lambda = np.asarray(covariance)
    loss = (np.trace(Lambda) - np.trace(Lambda @ Lambda @ np.asarray(inverse))) / 2
    return np.full(2, loss)
