"""Section 3.7, after Theorem 3.3: midpoints of the loss in A against its chords."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured
from iclab.papers.gatmiry2024._every_prompt import every_sample, looped_losses
from iclab.papers.gatmiry2024._rotations import best_turned
from iclab.theory import looped_optimum

PAIRS = {"smoke": 40, "desk": 200, "paper": 1000}
WHITE = np.eye(2)

relation = "<="


@dataclass(frozen=True)
class Symmetric:
    """Random pairs of symmetric matrices, near I and far from it; white inputs."""

    samples: int
    loops: int


@dataclass(frozen=True, eq=False)
class Pair:
    """Two matrices, and how far above their chord the midpoint is at least, L = 2."""

    samples: int
    A: np.ndarray
    B: np.ndarray
    excess: float


def cases(scale) -> dict[str, Symmetric | Pair]:
    """Symmetric matrices; nilpotent I − A; turns about a multiple of I."""
    found = symmetric_cases(scale)
    A = np.array([[1.0, -2.0], [0.0, 1.0]])
    found["d=2, n=10⁴, L=2, I − 2e₁e₂ᵀ and its transpose"] = Pair(10**4, A, A.T, 1.0)
    n = 100
    a, epsilon, loss = best_turned(n)
    A = a * WHITE + epsilon * np.array([[0.0, 1.0], [-1.0, 0.0]])
    excess = looped_optimum(2, n, 2)[1] - loss
    found[f"d=2, n={n}, L=2, aI ± εJ"] = Pair(n, A, A.T, excess)
    return found


def symmetric_cases(scale) -> dict[str, Symmetric | Pair]:
    """Two loops; at larger scales fewer examples and three loops too."""
    sizes = [(20, 2), (100, 2)]
    if scale != "smoke":
        sizes += [(3, 2), (3, 3), (100, 3)]
    return {f"d=2, n={n}, L={L}, symmetric A": Symmetric(n, L) for n, L in sizes}


def predict(case: Symmetric | Pair):
    """Midpoints below chords for symmetric A, of the loss and of Lemma 4.1's formula;
    above by no less than `excess` for the other pairs.
    """
    return np.zeros(2) if isinstance(case, Symmetric) else -case.excess


def decoy(case: Symmetric | Pair):
    """As convex as one loop, by (1 + 3/n)‖(A − B)/2‖²; thrice the excess of the pair.

    None with few examples, where two loops are even more convex.
    """
    if isinstance(case, Pair):
        return -3 * case.excess
    return np.full(2, -1 - 3 / case.samples) if case.samples >= 20 else None


def measure(case: Symmetric | Pair, scale) -> Measured:
    """Losses of the model, integrated over every prompt.

    For symmetric A the largest excess over ‖(A − B)/2‖², for a pair the excess negated.
    """
    n, loops = case.samples, case.loops if isinstance(case, Symmetric) else 2
    ends = _ends(case, PAIRS[scale])
    places = np.concatenate([ends, ends.mean(axis=1, keepdims=True)], axis=1)
    losses = looped_losses(places, WHITE, n, loops)
    excess, error = _excess(losses.value), 2 * np.max(losses.error, axis=1)
    if isinstance(case, Pair):
        return Measured(-excess[0], error[0], losses.reason)
    spread = np.sum((ends[:, 0] - ends[:, 1]) ** 2, axis=(1, 2)) / 4
    rule = every_sample(WHITE, n, 2 * loops)
    powers = np.linalg.matrix_power(WHITE - rule.S @ places[:, :, None], 2 * loops)
    formula = _excess(np.trace(powers, axis1=3, axis2=4) @ rule.weights)
    value = np.array([np.max(excess / spread), np.max(formula / spread)])
    return Measured(value, np.max(error / spread), losses.reason)


def _ends(case: Symmetric | Pair, count: int) -> np.ndarray:
    """Half of the pairs near I, the others up to several times I; or one, repeated."""
    if isinstance(case, Pair):  # as many as there are of the others: one compilation
        return np.broadcast_to(np.stack([case.A, case.B]), (count, 2, 2, 2))
    random = np.random.default_rng([case.samples, case.loops])
    width = np.repeat([0.3, 3.0], count // 2)[:, None, None, None]
    entries = random.standard_normal((count, 2, 2, 2))
    return WHITE + width * (entries + entries.swapaxes(2, 3)) / 2


def _excess(values: np.ndarray) -> np.ndarray:
    """Of the value at the midpoint, which comes last, over the mean of the ends."""
    return values[:, 2] - (values[:, 0] + values[:, 1]) / 2
