"""Laws of the coefficients λ that tell one representation task from another."""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.core import NonNegativeFloat, Size, checked, refuse, require

# A promised mean or variance is refused when a sample is this many standard errors off.
_CHECK_DRAWS, _CHECK_ERRORS = 1 << 14, 6.0


class AbstractCoefficientLaw(eqx.Module):
    """Law of the entries of λ, which are independent and alike."""

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, count: Size) -> Float[Array, " count"]:
        """Draw `count` independent entries."""

    @abc.abstractmethod
    def moments(self) -> tuple[float, float]:
        """E λᵢ and E λᵢ²; (0, 1) is Assumption 1 of yang2024."""


@checked
class GaussianCoefficients(AbstractCoefficientLaw):
    """N(`mean`, `std`²): standard by default; mean 1 and std 2 is out of domain.

    Source: yang2024, Section 4: N(0, I) to train on, N(1, 4I) to test out of domain.
    """

    mean: float = 0.0
    std: NonNegativeFloat = 1.0

    def sample(self, key: PRNGKeyArray, count: Size) -> Float[Array, " count"]:
        return self.mean + self.std * jax.random.normal(key, (count,))

    def moments(self) -> tuple[float, float]:
        return self.mean, self.mean**2 + self.std**2


@checked
class RademacherCoefficients(AbstractCoefficientLaw):
    """±1 with equal chances: ‖λ‖² = m always."""

    def sample(self, key: PRNGKeyArray, count: Size) -> Float[Array, " count"]:
        return jax.random.rademacher(key, (count,), dtype=float)

    def moments(self) -> tuple[float, float]:
        return 0.0, 1.0


@checked
class UnitCoefficients(AbstractCoefficientLaw):
    """Any law of mean 0 and variance 1: `draw(key, count)` gives independent entries.

    Mean and variance are promises; a sample of 2¹⁴ entries that is six standard errors
    away from them is refused.
    """

    draw: Callable[[PRNGKeyArray, int], Float[Array, " count"]]

    def __check_init__(self):
        rule = f"a function (key, count) → `count` numbers, {_CHECK_DRAWS} if so asked"
        try:
            sample = np.asarray(self.draw(jax.random.key(0), _CHECK_DRAWS))
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
            refuse(f"`draw` must be {rule}, got {found}")
        found = f"shape {sample.shape}"
        require(sample.shape == (_CHECK_DRAWS,), "draw", rule, found)
        for name, values, promised in (
            ("of mean 0", sample, 0.0),
            ("of variance 1", sample**2, 1.0),
        ):
            mean = float(np.mean(values))
            error = float(np.std(values)) / _CHECK_DRAWS**0.5
            near = abs(mean - promised) <= _CHECK_ERRORS * error + 1e-12
            require(near, "draw", name, f"{mean:.4g} ± {error:.2g}")

    def sample(self, key: PRNGKeyArray, count: Size) -> Float[Array, " count"]:
        return jnp.asarray(self.draw(key, count))

    def moments(self) -> tuple[float, float]:
        return 0.0, 1.0
