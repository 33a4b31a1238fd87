"""After Theorem 1: (18) is slower with a larger dictionary.

(18) has K beside ζ₀, (15) and (17) have it in γ and L, and ζ₀ is the least over tokens.
With tokens that are added to a dictionary all this is a quotient for every start, and
the K of (18) alone would halve it at every doubling.
"""

from dataclasses import dataclass

import jax
import numpy as np

from iclab.evidence import Measured

# Sizes of nested dictionaries; labels, features, inputs and τ.
_SIZES = (6, 12, 24, 48)
_N, _M, _D, _TAU = 3, 2, 3, 0.1

relation = "<="


@dataclass(frozen=True)
class Case:
    """Number H of heads."""

    heads: int


def cases(scale) -> dict[str, Case]:
    """As many heads as labels, and more."""
    heads = (9,) if scale == "smoke" else (3, 9, 30)
    return {f"N={_N}, H={one}, K from 6 to 48": Case(one) for one in heads}


def predict(case: Case):
    """No faster with twice as many tokens, from any start."""
    return np.ones(len(_SIZES) - 1)


def decoy(case: Case):
    """Half as fast, as the K of (18) by itself has it."""
    return np.full(len(_SIZES) - 1, 0.5)


def measure(case: Case, key, scale) -> Measured:
    """The largest quotient of all starts, of η_wζ₀/2K with the γ of (15)."""
    starts = {"smoke": 100, "desk": 1_000, "paper": 10_000}[scale]
    random = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    rates = np.array([_of_start(random, case.heads) for _ in range(starts)])
    quotients = rates[:, 1:] / rates[:, :-1]
    medians = ", ".join(f"{one:.2g}" for one in np.median(rates, axis=0))
    reason = f"float64 round-off; {starts} starts, median rates {medians}"
    return Measured(quotients.max(axis=0), 1e-9, reason)


def _of_start(random: np.random.Generator, H: int) -> list[float]:
    V = random.standard_normal((_SIZES[-1], _D))
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    F = random.standard_normal((len(V), _M))
    scores = np.exp(V[:_N] @ random.standard_normal((H, _D, _D)) @ V.T)
    C = np.transpose(scores / scores.sum(axis=1, keepdims=True), (2, 1, 0))
    values, vectors = np.linalg.eigh(F[:_N] @ F[:_N].T + _M * _TAU * np.eye(_N))
    root = (vectors * np.sqrt(values)) @ vectors.T
    least = np.linalg.svd(root @ C, compute_uv=False)[:, -1] ** 2
    return [_guarantee(F, root, float(least[:K].min()), H, K) for K in _SIZES]


def _guarantee(F: np.ndarray, root: np.ndarray, zeta: float, H: int, K: int) -> float:
    """η_wζ₀/2K by (14)–(17) as printed, with ‖Z̄‖ in the bracket of (17)."""
    targets = F[:_N] @ F[:K].T
    correlation = np.linalg.norm(targets, 2)
    targets[:, :_N] += _M * _TAU * np.eye(_N)
    norm, column = np.linalg.norm(root, 2), np.linalg.norm(root, axis=0).max()
    gap = np.sum(np.linalg.solve(root, targets) ** 2) / (2 * K)
    constant = 128 * np.sqrt(2) / (np.sqrt(2) - 1)
    square = constant * norm**2 * np.sqrt(H) * column * K**1.5 * gap / zeta**2.5
    gamma = np.sqrt(square)
    bracket = 8 * H * norm * np.sqrt(2 * K * gap) / zeta + 1 + correlation / (_M * _TAU)
    first = 8 * square / K + 4096 * K**2 * _N * gap / (gamma * zeta**2)
    second = square**2 / K**2 + 16384 * K**3 * norm**2 * gap**2 / (gamma * zeta**4)
    L = norm**2 * np.sqrt(bracket**2 * first + 2 * H**2 * second)
    return float(square * zeta / (2 * K * L))
