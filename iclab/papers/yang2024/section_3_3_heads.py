"""Section 3.3 and after Theorem 1: whether (18) is slower with more heads.

The guarantee is 1 − γ²ζ₀/(2KL). L/γ² falls as γ grows, to √2H‖Z̄‖²/K, so that the best
rate that (15)–(18) promise is ζ₀/(2√2H‖Z̄‖²). ζ₀/H is the least eigenvalue of a mean of
H independent matrices: a concave function of a mean, whose expectation cannot fall.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, Printed, averaged
from iclab.models import MultiHeadSoftmax
from iclab.papers.yang2024._descents import (
    SLOW,
    K,
    N,
    Start,
    constants_of,
    d,
    label_root_of,
)
from iclab.theory import (
    smallest_gamma,
    smoothness_constant,
    smoothness_constant_simple,
    weight_bound,
)

# γ in units of (15) at which L is its limit to three digits.
_LARGE = 1e4


# Numbers of heads, from N on.
_HEADS = (3, 4, 10, 50, 100, 300, 1000, 3000)

relation = ">="


@dataclass(frozen=True)
class Case:
    """The dictionary of a start, and the numbers of heads that are compared."""

    start: Start
    heads: tuple[int, ...]


def cases(scale) -> dict[str, Case]:
    """From H = N on."""
    heads = (*_HEADS[:5], 1000) if scale == "smoke" else _HEADS
    starts = SLOW[:1] if scale == "smoke" else SLOW
    return {f"{start}, H = {heads}": Case(start, heads) for start in starts}


def predict(case: Case):
    """No less than with the number of heads before."""
    return np.ones(len(case.heads) - 1)


def decoy(case: Case):
    """In proportion to the number of heads."""
    return np.divide(case.heads[1:], case.heads[:-1])


def measure(case: Case, key, scale) -> Measured:
    """Quotients of the mean guaranteed rate at a large γ, from one H to the next."""
    rates = _rates(case, _seed(key), scale)[1]
    mean = rates.mean(axis=1)
    # Of a quotient of means: the spread of r' − (mean r'/mean r) r, over mean r.
    rest = rates[1:] - (mean[1:] / mean[:-1])[:, None] * rates[:-1]
    error = rest.std(axis=1, ddof=1) / np.sqrt(rates.shape[1]) / mean[:-1]
    found = averaged(mean[1:] / mean[:-1], error, rates.shape[1], "starts")
    return Measured(found.value, found.error, f"{found.reason}; rates {_words(mean)}")


def measure_printed(case: Case, key, scale) -> Measured:
    """Quotients of the median guaranteed rate at the smallest γ that (15) allows."""
    rates = _rates(case, _seed(key), scale)[0]
    median = np.median(rates, axis=1)
    # The 1σ band of a median's rank, five times over.
    half = 2.5 / np.sqrt(rates.shape[1])
    low, high = np.quantile(rates, [0.5 - half, 0.5 + half], axis=1)
    quotient = median[1:] / median[:-1]
    error = quotient - low[1:] / high[:-1]
    reason = f"ranks of {rates.shape[1]} starts; medians {_words(median)}"
    return Measured(quotient, error, reason)


printed = Printed(predict=predict, measure=measure_printed, relation="<=")


@functools.cache
def _rates(case: Case, seed: int, scale) -> np.ndarray:
    """γ²ζ₀/(2KL) as printed and at its best; then heads, then starts."""
    starts = {"smoke": 200, "desk": 400, "paper": 1_000}[scale]
    tokens = jnp.asarray(case.start.arrays[0])
    most = max(case.heads)
    Q = np.random.default_rng(seed).standard_normal((starts, most, d, d))
    w = jnp.zeros((most, K))
    attention = jax.jit(jax.vmap(lambda Q: MultiHeadSoftmax(Q, w).attention(tokens, N)))
    B = label_root_of(case.start) @ np.transpose(np.asarray(attention(Q)), (0, 3, 2, 1))
    constants = constants_of(case.start)
    rates = []
    for H in case.heads:
        s = np.linalg.svd(B[..., :H], compute_uv=False)[..., -1]
        zeta = np.min(s, axis=1) ** 2
        rates.append(_guaranteed(constants, zeta, H))
    return np.stack(rates, axis=1)


def _guaranteed(constants, zeta: np.ndarray, H: int) -> np.ndarray:
    """With L of (17) at the γ of (15), and with the corrected L at a large γ."""

    @jax.jit
    @jax.vmap
    def rates(zeta):
        gamma = smallest_gamma(constants, zeta, H)
        printed = smoothness_constant_simple(constants, H, gamma, zeta)
        large = _LARGE * gamma
        alpha = weight_bound(constants, zeta, large)
        best = smoothness_constant(constants, H, large, alpha)
        ratios = jnp.stack([gamma**2 / printed, large**2 / best])
        return ratios * zeta / (2 * K)

    return np.asarray(rates(zeta)).T


def _seed(key) -> int:
    return int(np.asarray(jax.random.key_data(key))[-1])


def _words(rates: np.ndarray) -> str:
    return ", ".join(f"{rate:.2g}" for rate in rates)


def numbers(results, printed):
    """How much the guaranteed median rate rises up to H = 100, at the least, and what
    is left of that with the most heads, at the most.
    """
    quotients = [one.measured for one in printed.values()]
    peak = _HEADS.index(100)
    rise = min(float(np.prod(some[:peak])) for some in quotients)
    fall = max(float(np.prod(some[peak:])) for some in quotients)
    last = _HEADS[-1] if len(quotients[0]) + 1 == len(_HEADS) else 1000
    return {"rise": rise, "most": 100, "fall": fall, "last": last}
