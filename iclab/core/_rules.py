"""What an argument may be beyond its type, as annotations that `checked` reads."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from iclab._reader import Natural, Rule, Seed as Seed, get_rules

# Longer axes are a mistake, and asking for one can end the process. Numbers that
# allocate nothing (of samples, in a formula) may be larger.
LARGEST_SIZE = 2**24

# Asymmetry above this, relative to the largest entry, is a mistake, not round-off.
_ASYMMETRY = 1e-8


def between(smallest: int, largest: int) -> Rule:
    """The rule of an integer, for annotations as `Annotated[int, between(1, 64)]`."""
    for name, bound in (("smallest", smallest), ("largest", largest)):
        if not isinstance(bound, int):
            raise TypeError(f"between: `{name}` must be an integer, got {bound!r}")
    words = f"an integer from {smallest:,} to {largest:,}"
    return Rule(words, lambda n: smallest <= n <= largest)


# Numbers: a Python or NumPy number, or a JAX array without axes.
Number = float | int | Float[Array, ""]
Positive = Annotated[Number, Rule("> 0 and finite", lambda x: x > 0)]
NonNegative = Annotated[Number, Rule("≥ 0 and finite", lambda x: x >= 0)]
PositiveFloat = Annotated[float, *get_rules(Positive)]
NonNegativeFloat = Annotated[float, *get_rules(NonNegative)]
Limit = Annotated[float, Rule("> 0, or infinite", lambda x: x > 0, infinite=True)]
Share = Annotated[Number, Rule("between 0 and 1", lambda x: 0 < x < 1)]

# Whole numbers. A `Count` may be traced; a `Size` is the length of an array.
Count = Annotated[
    int | Int[Array, ""],
    *get_rules(Natural),
    Rule("an integer below 2⁶³", lambda n: n < 2**63),
]
Size = Annotated[
    Natural,
    Rule(f"an integer of at most {LARGEST_SIZE:,}", lambda n: n <= LARGEST_SIZE),
]


def _asymmetry(matrix: Array) -> float:
    known = np.asarray(matrix)
    return float(np.max(np.abs(known - known.T)))


def _is_symmetric(matrix: Array) -> bool:
    return _asymmetry(matrix) <= _ASYMMETRY * float(np.max(np.abs(np.asarray(matrix))))


def _smallest(matrix: Array) -> tuple[float, float]:
    """The smallest eigenvalue, and the size below which it is round-off."""
    eigenvalues = np.linalg.eigvalsh(np.asarray(matrix))
    floor = len(eigenvalues) * np.finfo(matrix.dtype).eps * eigenvalues[-1]
    return float(eigenvalues[0]), float(floor)


def _eigenvalue(matrix: Array) -> str:
    return f"smallest eigenvalue {_smallest(matrix)[0]:.3g}"


def _nan_unless_finite(matrix: Array) -> Array:
    """All NaN, so that no factorisation makes a number of it."""
    return jnp.where(jnp.all(jnp.isfinite(matrix)), matrix, jnp.nan)


SYMMETRIC = Rule(
    "symmetric",
    _is_symmetric,
    traced=_nan_unless_finite,
    found=lambda matrix: (
        f"entries that differ from their mirror image by {_asymmetry(matrix):.3g}"
    ),
)
DEFINITE = Rule(
    "positive definite",
    lambda matrix: _smallest(matrix)[0] > _smallest(matrix)[1],
    found=_eigenvalue,
)
SEMIDEFINITE = Rule(
    "positive semi-definite",
    lambda matrix: _smallest(matrix)[0] >= -_smallest(matrix)[1],
    found=_eigenvalue,
)

# Matrices.
Symmetric = Annotated[Float[Array, "d d"], SYMMETRIC]
Covariance = Annotated[Symmetric, DEFINITE]
SecondMoment = Annotated[Symmetric, SEMIDEFINITE]
