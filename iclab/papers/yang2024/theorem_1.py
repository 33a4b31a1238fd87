"""Theorem 1: with the learning rates (15)–(17) the gap shrinks at a linear rate.

Along whole descents from quick starts, and step by step from starts as they come, with
rates below (16) and γ above (15). From most of these the guarantee is far below what
happens; with two labels it is a quarter of it in the end, as along the descents.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured
from iclab.models import MultiHeadSoftmax
from iclab.papers.yang2024._descents import (
    Descent,
    K,
    d,
    label_root_of,
    m,
    path_of,
    rates_of,
    theorem_runs,
)
from iclab.tasks import Representation
from iclab.theory import (
    attention_eigenvalues,
    representation_constants,
    smallest_gamma,
    smoothness_constant_simple,
)
from iclab.training import descent_path, exact_gap, two_rates

# Near the optimum only w moves, and its slowest direction shrinks by (1 − η_wζ₀/K)² a
# step: four times the guarantee, no less as long as Q rests. More is not reached.
_TOO_FAST = 4.2
_SLOWEST = 3.96

# Below this part of the first gap Â − A is lost in the rounding of Â.
_FLOOR = 1e-16

shares = {
    "learning_rates": (
        "sets the rates that descents are run with, and the unit of their speed"
    ),
}

relation = ">="


# γ in units of (15), and η_Q in units of 1/L.
_GAMMAS, _RATES = (1.0, 3.0, 10.0), (1.0, 0.1)
_STARTS, _TAU = 8, 0.5


@dataclass(frozen=True)
class Starts:
    """The first dictionaries and starts that come, with β = 1."""

    N: int
    H: int

    @property
    def steps(self) -> int:
        """Until the slowest direction is all that is left, where that is soon."""
        return 600 if self.ends else 60

    @property
    def ends(self) -> bool:
        """Whether some start among these is quick."""
        return self.N == 2


def cases(scale) -> dict[str, Descent | Starts]:
    """Starts with L of (17) and with the corrected one, and unselected ones."""
    shapes = {
        "smoke": [(2, 2), (4, 8)],
        "desk": [(2, 2), (2, 6), (3, 3), (3, 9), (4, 8), (5, 5), (5, 15)],
        "paper": [(N, times * N) for N in (2, 3, 4, 5) for times in (1, 2, 3)],
    }[scale]
    found: dict[str, Descent | Starts] = {str(run): run for run in theorem_runs(scale)}
    for N, H in shapes:
        found[f"{_STARTS} starts as they come, N={N}, H={H}"] = Starts(N, H)
    return found


def predict(case: Descent | Starts):
    """−log(1 − η_wζ₀/(2K)), from the first step on and in every single step.

    And what it comes to while Q hardly moves, four times that, less one in a hundred.
    For unselected starts every step, in units of the guarantee, by γ and η_Q.
    """
    if isinstance(case, Starts):
        return np.ones((len(_GAMMAS), len(_RATES)))
    return np.array([1, 1, _SLOWEST]) * _guarantee(case)


def decoy(case: Descent | Starts):
    """The rate of (18), made larger than it ever is in the end."""
    if isinstance(case, Descent):
        return np.full(3, _TOO_FAST * _guarantee(case))
    if not case.ends:
        return None
    # A tenth of the rate does not come to the end of the descent.
    return np.array([[_TOO_FAST, 1.0]] * len(_GAMMAS))


def measure(case: Descent | Starts, scale) -> Measured:
    """The smallest log(Δ⁽⁰⁾/Δ⁽ᵗ⁾)/t and the smallest log(Δ⁽ᵗ⁾/Δ⁽ᵗ⁺¹⁾) of all steps."""
    if isinstance(case, Starts):
        return _step_by_step(case)
    path = path_of(case, scale)
    gaps = path.gaps
    last = int(np.argmin(gaps > _FLOOR * gaps[0])) or len(gaps)
    logs = np.log(gaps[:last])
    average = (logs[0] - logs[1:]) / np.arange(1, last)
    single = -np.diff(logs)
    slowest = np.array([average.min(), single.min(), single.min()])
    # Entries of Â are known to some 1e-15, and the gap is ‖Z̄(Â − A)‖²/(2K).
    size = np.linalg.norm(label_root_of(case.start), 2)
    error = 4e-15 * size / np.sqrt(gaps[last - 1])
    moved = np.max(np.abs(path.key_query[last - 1] - path.key_query[0]))
    guarantee = _guarantee(case)
    reason = (
        f"round-off of Â in {last - 1} steps; rates are {slowest[0] / guarantee:.2f}"
        f" and {slowest[1] / guarantee:.2f} times the guarantee {guarantee:.3g}, the"
        f" gap ends at {gaps[last - 1]:.1g}, no entry of Q moves more than {moved:.1g}"
    )
    return Measured(slowest, error, reason)


def _guarantee(case: Descent) -> float:
    return float(-np.log(rates_of(case.start, case.rates).factor))


def _step_by_step(case: Starts) -> Measured:
    """The smallest log(Δ⁽ᵗ⁾/Δ⁽ᵗ⁺¹⁾) of all starts and steps, over that of (64)."""
    random = np.random.default_rng([case.N, case.H])
    tokens = random.standard_normal((_STARTS, K, d))
    tokens /= np.linalg.norm(tokens, axis=2, keepdims=True)
    features = random.standard_normal((_STARTS, K, m))
    Q = random.standard_normal((_STARTS, case.H, d, d))
    slowest, guarantee, last = map(
        np.asarray, _all_rates(jnp.asarray(tokens), jnp.asarray(features), Q, case)
    )
    # The gap is a sum of squares, and Â is known to some 1e-15.
    error = 4e-15 / np.sqrt(last) / guarantee
    reason = (
        f"round-off of Â; {_STARTS} starts, {case.steps} steps each; guarantees from"
        f" {guarantee.min():.1g} to {guarantee.max():.1g}"
    )
    value = slowest / guarantee
    at = np.argmin(value - error, axis=0)[None]
    found, bar = (np.take_along_axis(one, at, axis=0)[0] for one in (value, error))
    return Measured(found, bar, reason)


def _all_rates(tokens, features, Q, case: Starts):
    N, H = case.N, case.H

    def one(tokens, features, Q):
        constants = representation_constants(features, N, _TAU)
        zeta = jnp.min(attention_eigenvalues(Q, tokens, features, N, _TAU))
        least = smallest_gamma(constants, zeta, H)
        task = Representation(tokens, features, context_length=N, noise_variance=_TAU)
        gap = exact_gap(task)

        def descend(times, part):
            gamma = times * least
            rate = part / smoothness_constant_simple(constants, H, gamma, zeta)
            losses = descent_path(
                gap,
                MultiHeadSoftmax(Q, jnp.zeros((H, K))),
                steps=case.steps,
                optimiser=two_rates(rate, gamma**2 * rate),
            ).losses
            promised = -jnp.log1p(-(gamma**2) * rate * zeta / (2 * K))
            return -jnp.max(jnp.diff(jnp.log(losses))), promised, losses[-1]

        by_rate = jax.vmap(descend, in_axes=(None, 0))
        by_gamma = jax.vmap(by_rate, in_axes=(0, None))
        return by_gamma(jnp.array(_GAMMAS), jnp.array(_RATES))

    return jax.jit(jax.vmap(one))(tokens, features, Q)
