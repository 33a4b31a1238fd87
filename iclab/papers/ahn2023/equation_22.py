"""(22)–(25), (29), (30): the layers as a product, how it turns with the inputs, and the
direction within S that does what any direction does.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.ahn2023._equivariance import Labels, Rotated, instance
from iclab.papers.ahn2023._multi_layer import (
    LAYERS,
    Setting,
    loss_and_gradient,
    round_off,
    settings,
    slope,
    slope_round_off,
)
from iclab.theory import scalar_transformer_loss

# Largest change of an a_i between the points that a slope on S is taken from.
_WIDTH = 0.1


@dataclass(frozen=True, eq=False)
class Slope:
    """(25): how fast f changes from a point a of S along arbitrary matrices R."""

    setting: Setting
    a: np.ndarray
    R: np.ndarray

    def predicted(self) -> float:
        """The slope along r_iΣ⁻¹, r_i = Tr(Σ^½R_iΣ^½)/d, from the loss on S."""
        return self._slope_on_S(self._r)

    def decoy(self) -> float:
        """r_i = Tr(R_i)/d, without Σ."""
        return self._slope_on_S(np.trace(self.R, axis1=1, axis2=2) / len(self.R[0]))

    def measured(self) -> Measured:
        """⟨∇f, R⟩ with the gradient of the exact loss over all matrices."""
        gradient, (of_loss, of_slope) = self._gradient()
        error = of_slope * float(np.sum(np.abs(self.R)))
        error += slope_round_off(of_loss, _WIDTH / float(np.max(np.abs(self._r))))
        value = float(np.sum(gradient * self.R))
        return Measured(value, error, "float64 round-off of both slopes")

    @property
    def _r(self) -> np.ndarray:
        inside = self.setting.whitened(self.R)
        return np.trace(inside, axis1=1, axis2=2) / self.setting.dimension

    def _gradient(self) -> tuple[np.ndarray, tuple[float, float]]:
        A = self.setting.multiples(self.a)
        return loss_and_gradient(A, self.setting)[1], round_off(A, self.setting)

    def _slope_on_S(self, r: np.ndarray) -> float:
        d, n = self.setting.dimension, self.setting.samples

        def loss(time: float) -> float:
            a = jnp.asarray(self.a + time * r)
            return float(scalar_transformer_loss(a, None, d, n))

        return slope(loss, _WIDTH / float(np.max(np.abs(r))))


def cases(scale) -> dict[str, Labels | Rotated | Slope]:
    """One prompt for the identities about prompts; the exact loss for (25)."""
    one = instance(3, 8, moving=False)
    found: dict[str, Labels | Rotated | Slope] = {
        "(22): labels after every layer": Labels(one),
        "(29): G of rotated inputs": Rotated(one, None),
    }
    for j in range(LAYERS):
        found[f"(30): derivative of G in A_{j}"] = Rotated(one, j)
    for name, setting in settings(scale).items():
        random = np.random.default_rng(list(name.encode()))
        a = -random.uniform(0.1, 1, LAYERS)
        R = random.standard_normal((LAYERS, *setting.covariance.shape))
        found[f"(25): {name}"] = Slope(setting, a, R)
    return found


def predict(case: Labels | Rotated | Slope):
    """G with I + M…; U_ΣG; the slope along r_iΣ⁻¹."""
    return case.predicted()


def printed_cases(scale) -> dict[str, Labels | Rotated | Slope]:
    """Those about G."""
    found = cases(scale)
    return {name: case for name, case in found.items() if not isinstance(case, Slope)}


def as_printed(case: Labels | Rotated | Slope):
    """G with I − M… as above (28)."""
    assert not isinstance(case, Slope)
    return case.printed()


printed = Printed(predict=as_printed, cases=printed_cases, nearby=True)


def measure(case: Labels | Rotated | Slope) -> Measured:
    """Forward passes; for (25) the gradient of the exact loss over all matrices."""
    return case.measured()


def decoy(case: Labels | Rotated | Slope):
    """No mask; rotation forgotten; r_i without Σ."""
    return case.decoy()
