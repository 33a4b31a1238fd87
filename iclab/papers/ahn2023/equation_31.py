"""(31), (36), (37), (39)–(52): with B too, layers turn with the inputs, and a direction
within S does what any direction does.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.ahn2023._equivariance import Labels, Rotated, instance
from iclab.papers.ahn2023._two_inputs import LAYERS, Derivatives, derivatives
from iclab.theory import scalar_transformer_loss


@dataclass(frozen=True, eq=False)
class Slopes:
    """(36), (37): slopes of f from a point (a, b) of S along R_j and along S_j."""

    covariance: np.ndarray
    samples: int
    a: np.ndarray
    b: np.ndarray
    R: np.ndarray
    S: np.ndarray

    def predicted(self) -> np.ndarray:
        """Along r_jΣ⁻¹, r_j = Tr(Σ^½R_jΣ^½)/d, and s_jI, s_j = Tr(S_j)/d: f on S."""
        return self._slopes_on_S(self.r)

    def decoy(self) -> np.ndarray:
        """r_j = Tr(R_j)/d, without Σ."""
        return self._slopes_on_S(np.trace(self.R, axis1=1, axis2=2) / 2)

    def measured(self) -> Measured:
        """⟨∇f, R_j⟩ and ⟨∇f, S_j⟩ with the gradient of the exact loss."""
        found = self.derivatives()
        of_A = np.sum(found.A * self.R, axis=(1, 2))
        of_B = np.sum(found.B * self.S, axis=(1, 2))
        size = 4 * float(np.max(np.abs([self.R, self.S])))
        reason = "float64 round-off over all nodes of an exact rule"
        return Measured(np.concatenate([of_A, of_B]), size * found.error, reason)

    @property
    def r(self) -> np.ndarray:
        """r_j = Tr(Σ^½R_jΣ^½)/d."""
        return np.trace(self.R @ self.covariance, axis1=1, axis2=2) / 2

    @property
    def s(self) -> np.ndarray:
        """s_j = Tr(Σ^{−½}S_jΣ^½)/d."""
        return np.trace(self.S, axis1=1, axis2=2) / 2

    def derivatives(self) -> Derivatives:
        """Gradients of the exact loss in all entries of A and B."""
        A = self.a[:, None, None] * np.linalg.inv(self.covariance)
        B = self.b[:, None, None] * np.eye(2)
        return derivatives(A, B, self.covariance, self.samples)

    def _slopes_on_S(self, r: np.ndarray) -> np.ndarray:
        def loss(a, b):
            return scalar_transformer_loss(a, b, 2, self.samples)

        gradient = jax.jit(jax.grad(loss, (0, 1)))
        of_a, of_b = gradient(jnp.asarray(self.a), jnp.asarray(self.b))
        return np.concatenate([r * np.asarray(of_a), self.s * np.asarray(of_b)])


def cases(scale) -> dict[str, Labels | Rotated | Slopes]:
    """One prompt for the identities about prompts; the exact loss for the slopes."""
    one = instance(3, 8, moving=True)
    found: dict[str, Labels | Rotated | Slopes] = {
        "(31): labels after every layer": Labels(one),
        "(39), (44): X_k and G of rotated inputs": Rotated(one, None),
    }
    # B of the last layer moves only what nothing reads.
    for j in range(LAYERS - 1):
        found[f"(40), (45): derivatives in B_{j}"] = Rotated(one, LAYERS + j)
    for j in range(LAYERS):
        found[f"(47), (50): derivatives in A_{j}"] = Rotated(one, j)
    found["(36), (37): d=2, n=10"] = slopes(2)
    return found


def slopes(seed: int) -> Slopes:
    """A random point of S and random directions for every matrix."""
    random = np.random.default_rng([31, seed])
    R, S = random.standard_normal((2, LAYERS, 2, 2))
    a, b = -random.uniform(0.2, 0.8, LAYERS), random.uniform(0.1, 0.5, LAYERS)
    return Slopes(np.array([[1.3, 0.4], [0.4, 0.5]]), 10, a, b, R, S)


def predict(case: Labels | Rotated | Slopes):
    """G with I + M…; U_ΣX_k, U_ΣG; slopes along r_jΣ⁻¹ and s_jI."""
    return case.predicted()


def printed_cases(scale) -> dict[str, Labels | Rotated | Slopes]:
    """Those about G."""
    found = cases(scale)
    return {name: case for name, case in found.items() if not isinstance(case, Slopes)}


def as_printed(case: Labels | Rotated | Slopes):
    """G with I − M… as above (38)."""
    assert not isinstance(case, Slopes)
    return case.printed()


printed = Printed(predict=as_printed, cases=printed_cases, nearby=True)


def measure(case: Labels | Rotated | Slopes) -> Measured:
    """Forward passes; for the slopes the gradient of the exact loss in A and B."""
    return case.measured()


def decoy(case: Labels | Rotated | Slopes):
    """No mask; rotation forgotten; r_j without Σ."""
    return case.decoy()
