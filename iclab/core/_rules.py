"""What an argument may be beyond its type, as annotations that `checked` reads."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from jaxtyping import Array, Float, Int

from iclab._reading import Rule, Seed as Seed

# Longer axes are a mistake, and asking for one can end the process. Numbers that
# allocate nothing (of samples, in a formula) may be larger.
LARGEST_SIZE = 2**24


@dataclass(frozen=True)
class Matrix:
    """What a square matrix must be besides."""

    kind: Literal["symmetric", "positive definite", "positive semi-definite"]


@dataclass(frozen=True)
class Own:
    """What a value must be for the object whose method gets it.

    `fitted(object, value)` is the value as the method wants it, or a `ValueError`.
    """

    words: str
    fitted: Callable[[Any, Any], Any]


def between(smallest: int, largest: int) -> Rule:
    """The rule of an integer, for annotations as `Annotated[int, between(1, 64)]`."""
    for name, bound in (("smallest", smallest), ("largest", largest)):
        if not isinstance(bound, int):
            raise TypeError(f"between: `{name}` must be an integer, got {bound!r}")
    words = f"an integer from {smallest:,} to {largest:,}"
    return Rule(words, lambda n: smallest <= n <= largest)


_AT_LEAST_ONE = Rule("an integer ≥ 1", lambda n: n >= 1)

# Numbers: a Python or NumPy number, or a JAX array without axes.
Number = float | int | Float[Array, ""]
Positive = Annotated[Number, Rule("> 0 and finite", lambda x: x > 0)]
NonNegative = Annotated[Number, Rule("≥ 0 and finite", lambda x: x >= 0)]
Limit = Annotated[float, Rule("> 0, or infinite", lambda x: x > 0, infinite=True)]
Share = Annotated[Number, Rule("between 0 and 1", lambda x: 0 < x < 1)]

# Whole numbers. A `Count` may be traced; a `Size` is the length of an array.
Count = Annotated[
    int | Int[Array, ""],
    _AT_LEAST_ONE,
    Rule("an integer below 2⁶³", lambda n: n < 2**63),
]
Size = Annotated[
    int,
    _AT_LEAST_ONE,
    Rule(f"an integer of at most {LARGEST_SIZE:,}", lambda n: n <= LARGEST_SIZE),
]

# Matrices.
Symmetric = Annotated[Float[Array, "d d"], Matrix("symmetric")]
Covariance = Annotated[Float[Array, "d d"], Matrix("positive definite")]
SecondMoment = Annotated[Float[Array, "d d"], Matrix("positive semi-definite")]
