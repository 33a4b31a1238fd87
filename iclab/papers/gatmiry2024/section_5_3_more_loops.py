"""Section 5.3: more loops at test time than in training help, but not for ever."""

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.gatmiry2024._test_loops import Drawn, Exact, by_fractions, by_prompts
from iclab.theory import loss_by_test_loops, marchenko_pastur_quadrature

_DRAWS = {"smoke": 20_000, "desk": 100_000, "paper": 1_000_000}


def cases(scale) -> dict[str, Exact]:
    """Two and five loops in training, the ones that the text names."""
    found = exact_cases(scale)
    if scale != "smoke":
        found["d=5, n=20, 2 loops, drawn prompts"] = Drawn(5, 20, 2, 10)
    return found


def exact_cases(scale) -> dict[str, Exact]:
    """Those for which all moments of S are worked out."""
    found = {"d=5, n=20, trained with 2 loops": Exact(5, 20, 2, 20)}
    if scale != "smoke":
        found["d=5, n=20, trained with 5 loops"] = Exact(5, 20, 5, 30)
        found["d=10, n=20, trained with 2 loops"] = Exact(10, 20, 2, 30)
    return found


def predict(case: Exact):
    """The losses after each loop, and after how many the loss is least."""
    losses = loss_by_test_loops(case.step, case.dimension, case.samples, case.most)
    return _with_minimum(np.asarray(losses))


def decoy(case: Exact):
    """The spectrum of the limit d/n fixed, in which no eigenvalue exceeds 2/a⋆."""
    ratio = case.dimension / case.samples
    h, weight = map(np.asarray, marchenko_pastur_quadrature(ratio, 2 * case.most))
    loops = np.arange(1, case.most + 1)[:, None]
    return _with_minimum(case.dimension * (1 - case.step * h) ** (2 * loops) @ weight)


def labels(case: Exact):
    """Loops, and where the loss is least."""
    loops = [f"loss after {i + 1} loops" for i in range(case.most)]
    return [*loops, "loops of the least loss"]


def measure(case: Exact, key, scale) -> Measured:
    """The same losses by exact fractions, or from the model on drawn prompts."""
    if isinstance(case, Drawn):
        losses, error, reason = by_prompts(case, key, _DRAWS[scale])
    else:
        losses = by_fractions(case)
        # 2ℓ powers of numbers known to float64, on the side of the prediction.
        error = 8 * np.arange(1, case.most + 1) * np.finfo(float).eps * losses
        reason = "exact fractions, against float64 round-off of the prediction"
    return Measured(_with_minimum(losses), np.append(error, 0), reason)


def keeps_improving(case: Exact):
    """Every further loop multiplies the loss by 1 at most."""
    return 1.0


def measure_improvement(case: Exact) -> Measured:
    """What the worst of the further loops multiplies the loss by."""
    losses = by_fractions(case)
    factor = float(np.max(losses[1:] / losses[:-1]))
    reason = f"float64 round-off; the loss is least after {1 + np.argmin(losses)} loops"
    return Measured(factor, 4 * np.finfo(float).eps * factor, reason)


printed = Printed(
    predict=keeps_improving,
    cases=exact_cases,
    measure=measure_improvement,
    relation="<=",
)


def _with_minimum(losses: np.ndarray) -> np.ndarray:
    return np.append(losses, 1 + np.argmin(losses))


def numbers(results):
    """Losses by test loop, and where they are least; the last entry says where."""
    five = results["d=5, n=20, trained with 2 loops"].measured
    found = {f"five_{loops}": five[loops - 1] for loops in (5, 8, 10, 20)}
    found["five_at"] = int(five[-1])
    if (name := "d=5, n=20, trained with 5 loops") in results:
        found["long_at"] = int(results[name].measured[-1])
    if (name := "d=10, n=20, trained with 2 loops") in results:
        *losses, at = results[name].measured
        found |= {"ten_least": min(losses), "ten_at": int(at)}
        found |= {"ten_last": losses[-1], "ten_most": len(losses)}
    return found
