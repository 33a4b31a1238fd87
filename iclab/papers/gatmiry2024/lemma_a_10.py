"""Lemma A.10: where the loss is at least about ε^{2L}, its gradient is not small."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.gatmiry2024._dominance import TOO_LARGE, Even, Scattered, smallest
from iclab.theory import dominance_constant, looped_delta

# ε = 1 and more than 1700 inputs leave the hypothesis no fewer samples than this.
_MANY = 10**34

relation = ">="

shares = {
    "dominance_constant": "is quoted in the reason, and is no part of the number",
}


@dataclass(frozen=True)
class Loss:
    """The loss ε^{2L} + dδ^{2L}(ε+2)^{2L} that the lemma asks for, by ε."""

    dimension: int
    samples: int
    loops: int

    def __call__(self, epsilon: np.ndarray) -> np.ndarray:
        power = 2 * self.loops
        noise = self.dimension * self.delta**power
        return epsilon**power + noise * (epsilon + 2) ** power

    @property
    def delta(self) -> float:
        """δ of Section 3.5."""
        return looped_delta(self.dimension, self.samples, self.loops)

    @property
    def smallest(self) -> float:
        """The least ε allowed, 8δd^{3/(4L)}; the other hypothesis is 4dδ^{4L−2} ≤ 1."""
        d, L = self.dimension, self.loops
        assert 4 * d * self.delta ** (4 * L - 2) <= 1
        return 8 * self.delta * d ** (3 / (4 * L))

    def epsilon(self, losses: np.ndarray) -> np.ndarray:
        """The largest ε ≤ 1 for which these losses are large enough."""
        low, high = np.zeros_like(losses), np.ones_like(losses)
        low = np.where(self(high) <= losses, 1.0, low)
        for _ in range(60):
            middle = (low + high) / 2
            enough = self(middle) <= losses
            low, high = np.where(enough, middle, low), np.where(enough, high, middle)
        return low


def cases(scale) -> dict[str, Even | Scattered]:
    """Random A in a low dimension; equal eigenvalues in a high one."""
    found: dict[str, Even | Scattered] = {
        "L=2, d=3, n=1e18, random A": Scattered(np.eye(3), 10**18, 2)
    }
    if scale != "smoke":
        found["L=3, d=2, n=1e24, A=aI"] = _edge(2, 10**24, 3)
        found["L=2, d=4200, n=1e29, A=aI"] = _edge(4200, 10**29, 2)
    return found | high(scale)


def high(scale) -> dict[str, Even | Scattered]:
    """L = 4 on both sides of d = 256^{4/3}, where the printed bound begins to fail."""
    return {f"L=4, d={d}, n=1e34, A=aI": _edge(d, _MANY, 4) for d in (1600, 1700)}


def predict(case: Even | Scattered):
    """L²d^{−(L−1)/L}: the factor 2L of the gradient, and d to the power that Hölder's
    inequality gives.
    """
    return dominance_constant(case.dimension, case.loops)


def as_printed(case: Even | Scattered):
    """1/4."""
    return 0.25


printed = Printed(predict=as_printed, cases=high)


def decoy(case: Even | Scattered):
    """More than the sharp constant, where all eigenvalues agree."""
    return TOO_LARGE * predict(case) if isinstance(case, Even) else None


def measure(case: Even | Scattered) -> Measured:
    """The smallest ‖∇L‖²/ε^{4L−2} with the largest ε that a loss allows."""
    L = case.loops
    required = Loss(case.dimension, case.samples, L)
    found = case.slopes()
    epsilon = required.epsilon(found.loss)
    # An ε of 0 stands for losses too small for any, which are not tested.
    power = np.maximum(epsilon, 1e-300) ** (4 * L - 2)
    tested = epsilon >= required.smallest
    relative = found.squared_error / found.squared
    relative += (2 * L - 1) / L * found.loss_error / found.loss
    ratio = np.where(tested, found.squared / np.where(tested, power, 1.0), np.inf)
    return smallest(ratio, ratio * relative, tested, predict(case))


def _edge(d: int, n: int, L: int) -> Even:
    """A = aI with the smallest loss for which ε = 1, and with a larger one."""
    (loss,) = Loss(d, n, L)(np.ones(1))
    # For so many samples S is the identity to float64, and the loss d(1 − a)^{2L}.
    a = 1 - float(loss / d) ** (1 / (2 * L)) * (1 + 1e-12)
    return Even(d, n, L, (a, a - 0.1))


def numbers(results, printed):
    """‖∇L‖² at ε = 1, where the printed bound has begun to fail."""
    return {"gradient": printed["L=4, d=1700, n=1e34, A=aI"].measured}
