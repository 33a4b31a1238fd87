"""Thousands of random problems in one compiled call."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from numpy.typing import ArrayLike


def random_covariances(random: np.random.Generator, number: int, d: int) -> np.ndarray:
    """Covariances with condition numbers up to 1000, one in ten of them I."""
    basis, _ = np.linalg.qr(random.standard_normal((number, d, d)))
    spread = random.uniform(0, np.log(1000), (number, 1))
    eigenvalues = np.exp(spread * random.uniform(-1, 0, (number, d)))
    covariances = np.einsum("nij,nj,nkj->nik", basis, eigenvalues, basis)
    covariances[: number // 10] = np.eye(d)
    return covariances


def one_by_one(function: Callable[..., Any], *instances: ArrayLike) -> Any:
    """`function` of every instance, down the first axis of the arguments.

    A loop, not `jax.vmap`: several matrix factorisations of one large batch wait for
    each other's threads on the CPU, sometimes for ever (jaxlib 0.10.2, two cores).
    """
    return jax.tree.map(np.asarray, _mapped(function, instances))


@eqx.filter_jit
def _mapped(function: Callable[..., Any], instances: tuple[ArrayLike, ...]) -> Any:
    return jax.lax.map(lambda one: function(*one), instances)
