"""Proposition 1: with H ≥ N heads a Gaussian start has B_k of full row rank."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured
from iclab.models import MultiHeadSoftmax

# Tokens (±1, ±1)/√2: all different, but alike in pairs in every coordinate.
_SQUARE = ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))


@dataclass(frozen=True)
class Case:
    """K unit tokens in R^d, N of them shown, H heads with entries N(0, β²)."""

    K: int
    N: int
    d: int
    H: int
    spread: float = 1.0
    square: bool = False

    def tokens(self) -> np.ndarray:
        """Random tokens, or the corners of a square before them."""
        found = np.random.default_rng(self.K).standard_normal((self.K, self.d))
        if self.square:
            found[: len(_SQUARE)] = _SQUARE
        return found / np.linalg.norm(found, axis=1, keepdims=True)


def cases(scale) -> dict[str, Case]:
    """Just enough heads, more, too few; and tokens that Assumption 3 excludes."""
    found = [Case(6, 3, 2, 4), Case(6, 4, 2, 3), Case(6, 4, 2, 4, square=True)]
    if scale != "smoke":
        found += [Case(6, 3, 2, 3), Case(8, 5, 2, 5, 3.0), Case(8, 5, 3, 9)]
    return {
        f"K={case.K}, N={case.N}, d={case.d}, H={case.H}, β={case.spread:g}"
        + (", a square" if case.square else ""): case
        for case in found
    }


def predict(case: Case):
    """Rank N if H ≥ N, and H if not: least and most over starts and tokens."""
    return np.full(2, min(case.N, case.H))


def decoy(case: Case):
    """The rank of the scores VᵀQ_hv_k, which softmax does not keep."""
    return np.full(2, min(case.N, case.H, case.d))


def measure(case: Case, key, scale) -> Measured:
    """Singular values of Z̄C_k above round-off, with C_k from the model."""
    starts = {"smoke": 30, "desk": 300, "paper": 3_000}[scale]
    tokens, w = jnp.asarray(case.tokens()), jnp.zeros((case.H, case.K))
    random = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    Q = case.spread * random.standard_normal((starts, case.H, case.d, case.d))
    attention = jax.vmap(lambda Q: MultiHeadSoftmax(Q, w).attention(tokens, case.N))
    C = np.transpose(np.asarray(jax.jit(attention)(Q)), (0, 3, 2, 1))
    Z = np.random.default_rng(1).standard_normal((2, case.N))
    values, vectors = np.linalg.eigh(Z.T @ Z + 0.2 * np.eye(case.N))
    root = (vectors * np.sqrt(values)) @ vectors.T
    s = np.linalg.svd(root @ C, compute_uv=False)
    zero = np.finfo(float).eps * 10 * case.N * s.max()
    ranks = np.sum(s > zero, axis=-1)
    smallest = s[s > zero].min()
    reason = (
        f"a count over {starts} starts and {case.K} tokens; the smallest singular value"
        f" is {smallest:.1g}, {smallest / zero:.0e} times what counts as zero"
    )
    return Measured(np.array([ranks.min(), ranks.max()]), 0, reason)
