"""Theorem 4.5: where gradient flow ends when every prompt has its own covariance."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.evidence import Measured
from iclab.papers.zhang2023._any_covariance import (
    Law,
    dependent,
    full,
    loss_of_all,
    slope_of_all,
    trajectory as trajectory_of,
)
from iclab.papers.zhang2023._random_covariance import Setting, settings, trajectory
from iclab.papers.zhang2023._trajectory import SUMMARY, summary
from iclab.theory import (
    lsa_optimum,
    lsa_optimum_given_covariances,
    lsa_optimum_random_covariance,
    random_covariance_coefficients,
    three_moment_covariances,
)

# Random starts of the search over all weights, and how large their entries are.
_STARTS, _SIZES = 12, (0.1, 0.5, 1.0)

shares = {
    "lsa_optimum_random_covariance": "names the point whose curvatures are counted",
    "_law": "reads the law that both speak of",
}


@dataclass(frozen=True, eq=False)
class Search:
    """The loss (4.10) over all weights, for a law with independent entries."""

    moments: Float[Array, "3 d"]
    context_length: int


Case = Setting | Law | Search


def cases(scale) -> dict[str, Case]:
    """Flows by law; entries that depend; full matrices; the loss over all weights."""
    found: dict[str, Case] = {**settings(scale), **dependent(scale), **full(scale)}
    d = 5 if scale == "smoke" else 20
    names = [name for name in settings(scale) if name.startswith(f"d={d}, ")]
    for name in names[: 1 if scale == "smoke" else None : 4]:
        law, N = settings(scale)[name], settings(scale)[name].context_length
        found[f"{name.replace(f'd={d}', 'd=2')}, all weights"] = Search(
            law.moments[:, -2:], N
        )
    return found


def labels(case: Case) -> tuple[str, ...]:
    """What the numbers are."""
    if isinstance(case, Search):
        return "least loss found", "negative curvatures at the limit"
    return SUMMARY


def predict(case: Case):
    """Limits of U₁₁ and u₋₁; the least loss over all weights by (C.6)."""
    if isinstance(case, Search):
        gamma, xi, _ = random_covariance_coefficients(case.moments, case.context_length)
        total = jnp.sum(case.moments[0])
        return np.array([float(total - jnp.sum(xi**2 / gamma)) / 2, 0])
    if isinstance(case, Law):
        return _summary(
            lsa_optimum_given_covariances(
                case.covariances, case.context_length, shares=case.shares
            )
        )
    return _summary(lsa_optimum_random_covariance(case.moments, case.context_length))


def measure(case: Case, key) -> Measured:
    """Follow the flow on the exact loss, which never mentions Γ_τ, or search it."""
    if isinstance(case, Search):
        return _searched(case, key)
    found = trajectory_of(case) if isinstance(case, Law) else trajectory(case)
    U11, u_last = found.flow.model
    # A unit vector on each side: an entry moves by at most the error of the weights.
    size = 1 + float(u_last) + float(np.linalg.norm(U11))
    return found.measured(summary(U11, u_last), size)


def decoy(case: Case):
    """The limit of Theorem 4.1 for the mean covariance; for full matrices (4.12) as if
    they commuted; for entries that depend, independent ones with their laws.
    """
    if isinstance(case, Setting):
        return _summary(lsa_optimum(jnp.diag(case.moments[0]), case.context_length))
    if isinstance(case, Search):
        W_KQ, W_PV = lsa_optimum(jnp.diag(case.moments[0]), case.context_length)
        loss = float(loss_of_all(_joined(W_KQ, W_PV), *_atoms(case)))
        return np.array([loss, 0])
    s, known = np.asarray(case.shares), np.asarray(case.covariances)
    d, N = case.dimension, case.context_length
    if not np.any(known * (1 - np.eye(d))):
        entries = np.diagonal(known, axis1=1, axis2=2)
        moments = jnp.asarray([s @ entries**k for k in (1, 2, 3)])
        return _summary(lsa_optimum_random_covariance(moments, N))
    square = known @ known
    traces = np.trace(known, axis1=1, axis2=2)[:, None, None]
    Gamma = (1 + 1 / N) * known + traces / N * np.eye(d)
    mean = lambda stack: np.einsum("m,mij->ij", s, stack)  # noqa: E731
    B = np.linalg.solve(mean(Gamma @ square), mean(square))
    u_last = np.sqrt(np.linalg.norm(B))
    return summary(B / u_last, u_last)


def _searched(case: Search, key) -> Measured:
    """Descents from random starts with every weight free, and curvatures at the limit.

    Newton's method in a trust region: it leaves saddles.
    """
    # Here, because it takes half a second that no other entry needs.
    from scipy.optimize import minimize

    d, atoms = case.moments.shape[1], _atoms(case)
    shape = (d + 1, d + 1)

    def value(flat: np.ndarray) -> float:
        return float(loss_of_all(jnp.asarray(flat).reshape(shape), *atoms))

    def slope(flat: np.ndarray) -> np.ndarray:
        return np.asarray(
            slope_of_all(jnp.asarray(flat).reshape(shape), *atoms)
        ).ravel()

    def bend(flat: np.ndarray) -> np.ndarray:
        curved = _bend_of_all(jnp.asarray(flat).reshape(shape), *atoms)
        return np.asarray(curved).reshape(len(flat), -1)

    ends = []
    for index, one in enumerate(jax.random.split(key, _STARTS)):
        size = _SIZES[index % len(_SIZES)]
        start = size * np.asarray(jax.random.normal(one, (shape[0] * shape[1],)))
        found = minimize(
            value, start, jac=slope, hess=bend, method="trust-exact",
            options={"gtol": 1e-9, "maxiter": 500},
        )  # fmt: skip
        ends.append(float(found.fun))
    limit = _joined(*lsa_optimum_random_covariance(case.moments, case.context_length))
    curvatures = np.linalg.eigvalsh(bend(np.asarray(limit).ravel()))
    negative = int(np.sum(curvatures < -1e-9 * curvatures[-1]))
    least = min(ends)
    # At a slope g a minimum of curvature c is g²/c away in loss: far below this.
    error = np.array([1e-9 * abs(least), 0.0])
    reason = (
        f"the lowest of {_STARTS} descents to slopes of 1e-9; "
        f"{sum(end < least * (1 + 1e-9) for end in ends)} of them end there"
    )
    return Measured(np.array([least, negative]), error, reason)


# Compiled once: every search has two inputs and four covariances.
_bend_of_all = jax.jit(jax.hessian(loss_of_all))


def _atoms(case: Search) -> tuple[Array, Array, int]:
    """Finitely many covariances with the loss of the law, exactly."""
    return *three_moment_covariances(case.moments), case.context_length


def _joined(W_KQ: Array, W_PV: Array) -> Array:
    """U = (U₁₁ u₁₂; u₂₁ᵀ u₋₁), the weights that matter."""
    return W_KQ.at[-1, -1].set(W_PV[-1, -1])


def _summary(weights: tuple[Array, Array]) -> np.ndarray:
    W_KQ, W_PV = weights
    return summary(W_KQ[:-1, :-1], W_PV[-1, -1])
