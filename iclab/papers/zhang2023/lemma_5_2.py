"""Lemma 5.2: gradient flow on the loss moves U₁₁ and u₋₁ by (5.4), nothing else."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evaluation import prompt_average
from iclab.evidence import Measured, averaged, rounded
from iclab.models import LinearSelfAttention
from iclab.papers.zhang2023._fixed_covariance import Setting, settings, trajectory
from iclab.papers.zhang2023._loss_landscape import population_gradient
from iclab.tasks import LinearRegression
from iclab.theory import lsa_flow

_WHY = "the flow; both speak of points along it"
shares = {"lsa_loss": _WHY, "lsa_loss_random_covariance": _WHY}


@dataclass(frozen=True, eq=False)
class Case:
    """A trajectory to differentiate the loss along: exactly, or on sampled prompts."""

    setting: Setting
    prompts: int = 0


def cases(scale):
    """Every trajectory with the exact loss; short prompts with the model itself."""
    found = {name: Case(setting) for name, setting in settings(scale).items()}
    if scale == "smoke":
        return found
    prompts = {"desk": 1 << 17, "paper": 1 << 21}[scale]
    name = "d=3, geometric spectrum, N=2"
    found[f"{name}, sampled prompts"] = Case(found[name].setting, prompts)
    return found


def predict(case: Case):
    """The vector field (5.4); it has no part in u₁₂ and u₂₁."""
    values = []
    for U in _points(case):
        blocks = jnp.asarray(U[:-1, :-1]), jnp.asarray(U[-1, -1])
        Lambda, N = case.setting.covariance, case.setting.context_length
        values.append(_summary(_framed(*lsa_flow(*blocks, Lambda, N))))
    return np.concatenate(values)


def measure(case: Case, key) -> Measured:
    """Minus the gradient in all entries of U, the off-diagonal blocks included."""
    setting, points = case.setting, _points(case)
    if case.prompts:
        return _sampled(case, points[0], key)
    Lambda, N = setting.covariance, setting.context_length
    _, gradient = population_gradient(points, Lambda, N)
    value = np.concatenate([_summary(-one) for one in gradient])
    d, trace = len(Lambda), float(np.trace(Lambda))
    size = np.max(np.abs(points)) ** 3 * trace**4 + np.max(np.abs(points)) * trace**2
    return rounded(value, 20.0 * d, size)


def decoy(case: Case):
    """Γ = Λ + tr(Λ)I/N: fourth moments counted as if the two factors were different."""
    Lambda, N = np.asarray(case.setting.covariance), case.setting.context_length
    Gamma = Lambda + np.trace(Lambda) / N * np.eye(len(Lambda))
    values = []
    for U in _points(case):
        U11, u = U[:-1, :-1], U[-1, -1]
        pull = u * Gamma @ Lambda @ U11 @ Lambda - Lambda @ Lambda
        values.append(_summary(_framed(-u * pull, -np.sum(pull * U11))))
    return np.concatenate(values)


def labels(case: Case):
    """Three parts of the field at every point of the flow."""
    parts = ("U₁₁", "u₁₂ and u₂₁", "u₋₁")
    points = range(1, len(_points(case)) + 1)
    return [f"{part} at point {i}" for i in points for part in parts]


def _points(case: Case) -> np.ndarray:
    """Weights at the start, on the way and at the end; half way when sampling."""
    found = trajectory(case.setting)
    U11, u_last = np.asarray(found.U11), np.asarray(found.u_last)
    last = len(u_last) - 1
    chosen = [last // 2] if case.prompts else [0, last // 3, 2 * last // 3, last]
    return np.stack([_framed(U11[i], u_last[i]) for i in chosen])


def _framed(U11, u_last) -> np.ndarray:
    """The matrix U of Lemma 5.1 with u₁₂ = u₂₁ = 0."""
    d = len(U11)
    U = np.zeros((d + 1, d + 1))
    U[:d, :d], U[d, d] = U11, u_last
    return U


def _summary(U):
    """One number from U₁₁, along an uneven direction, one from (u₁₂, u₂₁), and u₋₁."""
    k = len(U) - 1
    ramp = np.linspace(-1, 1, k) / np.sqrt(k)
    even = np.ones(k) / np.sqrt(k)
    sides = U[:k, k] @ (ramp + even) + U[k, :k] @ (ramp - 2 * even)
    return (jnp if isinstance(U, jax.Array) else np).stack(
        [(ramp + even) @ U[:k, :k] @ (ramp - 2 * even), sides, U[k, k]]
    )


def _sampled(case: Case, U: np.ndarray, key) -> Measured:
    """The same from squared errors of the model's forward pass on random prompts."""

    def half_squared_error(U, prompt):
        key_query = jnp.zeros_like(U).at[:, :-1].set(U[:, :-1])
        value_projection = jnp.zeros_like(U).at[-1].set(U[:, -1])
        model = LinearSelfAttention(key_query, value_projection)
        return (model.in_token_space(prompt) - prompt.target) ** 2 / 2

    start = jnp.asarray(U)
    found = prompt_average(
        lambda prompt: _summary(-jax.grad(half_squared_error)(start, prompt)),
        LinearRegression(case.setting.covariance),
        examples=case.setting.context_length,
        prompts=case.prompts,
        key=key,
    )
    return averaged(
        np.asarray(found.mean), np.asarray(found.standard_error), found.draws, "prompts"
    )
