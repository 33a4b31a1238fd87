"""How far from the optimum a matrix can be whose loss is small."""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.evidence import Measured
from iclab.theory import looped_loss, looped_optimum, spectral_distance

_DIRECTIONS = 32
_HALVINGS = 50
# So many samples that S is the identity, and δ below 10⁻³.
ENDLESS = 10**40


@dataclass(frozen=True, eq=False)
class Setting:
    """A distribution of prompts, the number of loops, and ε of the theorem."""

    covariance: np.ndarray
    samples: int
    loops: int
    tolerance: float

    @property
    def dimension(self) -> int:
        """Dimension d of the inputs."""
        return len(self.covariance)

    @property
    def optimum(self) -> np.ndarray:
        """a⋆Σ⋆⁻¹."""
        a, _ = looped_optimum(self.dimension, self.samples, self.loops)
        inverse = np.linalg.inv(self.covariance)
        return a * (inverse + inverse.T) / 2

    def distance(self, A: np.ndarray) -> float:
        """The smallest ε with (1 − ε)A_opt ≼ A ≼ (1 + ε)A_opt."""
        return spectral_distance(jnp.asarray(A), jnp.asarray(self.optimum))

    def losses(self, A: np.ndarray) -> np.ndarray:
        """Exact losses of a stack of matrices, symmetric or not."""
        found = _exact(A, self.covariance, samples=self.samples, loops=self.loops)
        return np.asarray(found)


def settings(scale, tolerances: tuple[float, float]) -> dict[str, Setting]:
    """White and uneven inputs; ε just above what the theorem allows, by case."""
    small, large = tolerances
    Sigma = np.array([[1.2, 0.4], [0.4, 0.5]])
    found = {
        f"L=2, d=2, n=1e8, ε={small:g}, Σ⋆=I": Setting(np.eye(2), 10**8, 2, small),
        f"L=2, d=2, n=1e8, ε={large:g}, Σ⋆≠I": Setting(Sigma, 10**8, 2, large),
        "L=2, d=2, n=1e40, ε=0.5, Σ⋆≠I": Setting(Sigma, ENDLESS, 2, 0.5),
    }
    if scale != "smoke":
        found["L=1, d=3, n=1e12, ε=0.25"] = Setting(np.eye(3), 10**12, 1, 0.25)
        found["L=2, d=3, n=1e18, ε=0.06"] = Setting(np.eye(3), 10**18, 2, 0.06)
        found["L=3, d=2, n=1e18, ε=0.3"] = Setting(np.eye(2), 10**18, 3, 0.3)
    return found


def farthest(setting: Setting, loss: float, allowed: float) -> Measured:
    """The largest spectral distance among symmetric A whose loss is just `loss`.

    Directions are random, and such that one eigenvalue alone moves, which costs least.
    """
    d = setting.dimension
    root = np.linalg.cholesky(setting.optimum)
    random = np.random.default_rng([d, setting.samples % 2**32, setting.loops])
    v = random.standard_normal((_DIRECTIONS, d))
    v[:8] = np.eye(d)[0] * np.resize([1, -1], 8)[:, None]
    bases = np.linalg.qr(random.standard_normal((_DIRECTIONS, d, d)))[0]
    V = (bases * v[:, None, :]) @ bases.swapaxes(1, 2)

    def matrices(s: np.ndarray) -> np.ndarray:
        return root @ (np.eye(d) + s[:, None, None] * V) @ root.T

    near, far = np.zeros(_DIRECTIONS), np.full(_DIRECTIONS, 1.0)
    while np.any(inside := setting.losses(matrices(far)) <= loss):
        far = np.where(inside, 2 * far, far)
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        inside = setting.losses(matrices(middle)) <= loss
        near, far = np.where(inside, middle, near), np.where(inside, far, middle)
    distance = max(setting.distance(A) for A in matrices(near))
    reason = (
        f"float64 round-off of eigenvalues; farthest of {_DIRECTIONS} with loss"
        f" {loss:.4g}, {100 * distance / allowed:.2g} % of what is allowed"
    )
    error = 100 * d * np.finfo(float).eps * (1 + distance)
    sides = [distance, -distance] if setting.samples >= ENDLESS else []
    return Measured(np.array([distance, *sides]), error, reason)


def bounds(setting: Setting, allowed: float, part: float) -> np.ndarray:
    """What is allowed and, where S = I, what is reached, from both sides.

    With so many samples the loss is Σ(1 − λ)²ᴸ, and one eigenvalue alone goes farthest:
    `part` of the bound, up to one in a thousand.
    """
    reached = part * allowed * np.array([1.001, -0.999])
    return np.array([allowed, *(reached if setting.samples >= ENDLESS else ())])


@functools.partial(jax.jit, static_argnames=("samples", "loops"))
def _exact(A: Array, covariance: Array, *, samples: int, loops: int) -> Array:
    def loss(A):
        return looped_loss(A, covariance=covariance, samples=samples, loops=loops)

    return jax.vmap(loss)(jnp.asarray(A))
