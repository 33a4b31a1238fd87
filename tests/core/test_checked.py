"""Arguments are read as the signature says, or refused by name."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.core import (
    Count,
    Covariance,
    NonNegative,
    Seed,
    Share,
    Size,
    between,
    checked,
)
from tests.assertions import assert_close
from tests.refusals import refused


@checked
def risk(
    matrix: Float[Array, "d d"],
    covariance: Covariance,
    samples: Count,
    *,
    noise: NonNegative = 0.0,
    weight: Float[Array, " d"] | None = None,
    times: Float[Array, "*times"] | float = 1.0,
    form: Literal["main", "appendix"] = "main",
    corrected: bool = True,
    key: PRNGKeyArray | None = None,
) -> Float[Array, ""]:
    known = 0.0 if weight is None else jnp.sum(weight)
    total = jnp.trace(matrix @ covariance) / samples + noise + known
    return total + jnp.sum(jnp.asarray(times))


def test_lists_and_numpy_are_welcome():
    expected = risk(jnp.eye(2), jnp.eye(2), 2, noise=1.0, weight=jnp.ones(2))
    call: Any = risk  # what the signature does not promise, and takes all the same
    found = call(
        [[1, 0], [0, 1]], np.eye(2, dtype=int), np.int64(2), noise=1, weight=[1, 1]
    )
    assert_close(found, expected)
    assert_close(call(jnp.eye(2), jnp.eye(2), 2, times=[1.0, 2.0]), 4.0)


def test_jit_sees_shapes():
    call: Any = risk
    program = jax.jit(lambda m, n, s: call(m, np.eye(2), n, noise=s))
    assert_close(program(jnp.eye(2), 2, 1.0), 3.0)
    message = "risk: `covariance` must be a 3×3 matrix like `matrix`, got shape (2, 2)"
    with refused(message):
        program(jnp.eye(3), 2, 1.0)


def test_objects_may_stand_for_numbers():
    class Law:
        pass

    @checked(finite=False)
    def of(
        law: Float[Array, "d d"] | Law, rate: float | Callable[[int], float] = 1.0
    ) -> tuple[Any, Any]:
        return law, rate

    law, rate = Law(), lambda step: 1.0 / step
    call: Any = of
    assert call(law, rate) == (law, rate)
    assert call([[1, 2], [3, 4]], 2)[0].shape == (2, 2)
    owner = of.__qualname__
    with refused(f"{owner}: `law` must be a square matrix or a Law, got 'x'"):
        call("x")
    with refused(f"{owner}: `rate` must be a number, got 'x'"):
        call(law, "x")


EYE = np.eye(2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"matrix": 1j}, "`matrix` must be a square matrix, got 1j"),
        ({"matrix": "x"}, "`matrix` must be a square matrix, got 'x'"),
        ({"matrix": None}, "`matrix` must be a square matrix, got None"),
        ({"matrix": [[1, 2]]}, "`matrix` must be a square matrix, got shape (1, 2)"),
        (
            {"matrix": EYE * 1j},
            "`matrix` must be a square matrix, got array([[0.+1.j, 0.+0.j],"
            " [0.+0.j, 0.+1.j]])",
        ),
        (
            {"matrix": EYE * np.nan},
            "`matrix` must be finite, got 4 entries that are not",
        ),
        (
            {"covariance": -EYE},
            "`covariance` must be positive definite, got smallest eigenvalue -1",
        ),
        ({"samples": 0}, "`samples` must be an integer ≥ 1, got 0"),
        ({"samples": 2.0}, "`samples` must be an integer ≥ 1, got 2.0"),
        ({"samples": True}, "`samples` must be an integer ≥ 1, got True"),
        ({"samples": 2**63}, f"`samples` must be an integer below 2⁶³, got {2**63}"),
        ({"noise": -1}, "`noise` must be ≥ 0 and finite, got -1"),
        ({"noise": np.inf}, "`noise` must be ≥ 0 and finite, got inf"),
        ({"noise": 10**400}, "`noise` must be ≥ 0 and finite, got inf"),
        ({"noise": [1.0]}, "`noise` must be a number, got shape (1,)"),
        ({"noise": "1"}, "`noise` must be a number, got '1'"),
        (
            {"weight": [1, 2, 3]},
            "`weight` must be a vector of 2 numbers like `matrix`, got shape (3,)",
        ),
        (
            {"weight": []},
            "`weight` must be a vector of 2 numbers like `matrix`, got shape (0,),"
            " which"
            " is empty",
        ),
        ({"form": "other"}, "`form` must be 'main' or 'appendix', got 'other'"),
        ({"form": []}, "`form` must be 'main' or 'appendix', got []"),
        ({"corrected": 1}, "`corrected` must be True or False, got 1"),
        (
            {"key": 3},
            "`key` must be a random key, as `jax.random.key(0)` makes one, got 3",
        ),
        (
            {"matrix": EYE * 1e308, "samples": 1, "covariance": EYE * 1e10},
            "the result overflows float64 for `matrix` up to 1e+308, `covariance` up"
            " to 1e+10, `samples` up to 1",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_nonsense_is_named(change, message):
    arguments = {"matrix": EYE, "covariance": EYE, "samples": 3} | change
    with refused(f"risk: {message}"):
        risk(**arguments)


def test_wrong_words_name_the_function():
    with pytest.raises(TypeError) as caught:
        risk(EYE, EYE)  # pyright: ignore[reportCallIssue]
    assert str(caught.value) == "risk: missing a required argument: 'samples'"


@checked
def sized(size: Size, seed: Seed, share: Share, loops: Annotated[int, between(1, 64)]):
    return float(size + seed) * share * loops


def test_sizes_seeds_and_shares():
    assert sized(2, 0, 0.5, 1) == 1.0
    with refused(
        "sized: `size` must be an integer of at most 16,777,216, got 99999999"
    ):
        sized(99_999_999, 0, 0.5, 1)
    with refused("sized: `seed` must be an integer from 0 to 2⁶³ − 1, got -1"):
        sized(2, -1, 0.5, 1)
    with refused("sized: `share` must be between 0 and 1, got 1.0"):
        sized(2, 0, 1.0, 1)
    with refused("sized: `loops` must be an integer from 1 to 64, got 65"):
        sized(2, 0, 0.5, 65)
