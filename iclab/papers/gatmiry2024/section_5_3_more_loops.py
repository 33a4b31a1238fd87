"""Section 5.3: more loops at test time than in training help, the more the larger n.

In expectation they do not help for ever: eigenvalues of S are unbounded.
"""

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.gatmiry2024._test_loops import Drawn, Exact, by_fractions, by_prompts
from iclab.theory import loss_by_test_loops, marchenko_pastur_quadrature

# Examples a prompt, which the paper does not give, at its d = 10.
_SAMPLES = 20, 50, 100, 200
_DRAWS = {"smoke": 20_000, "desk": 100_000, "paper": 1_000_000}

shares = {
    "spectrum_rule": "finds the trained step; losses come from fractions or prompts",
}


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
        found |= {_name(n): Exact(10, n, 2, 30) for n in _SAMPLES}
    return found


def predict(case: Exact):
    """The losses after each loop, and after how many the loss is least."""
    losses = loss_by_test_loops(case.step, case.dimension, case.samples, case.most)
    return _with_minimum(np.asarray(losses))


def decoy(case: Exact):
    """One example more; of drawn prompts the limit of many inputs, d/n fixed.

    In that limit no eigenvalue exceeds 2/a⋆.
    """
    if not isinstance(case, Drawn):
        sizes = case.dimension, case.samples + 1, case.most
        return _with_minimum(np.asarray(loss_by_test_loops(case.step, *sizes)))
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
    nearby=True,
)


def _name(samples: int) -> str:
    return f"d=10, n={samples}, trained with 2 loops"


def _with_minimum(losses: np.ndarray) -> np.ndarray:
    return np.append(losses, 1 + np.argmin(losses))


def numbers(results):
    """After how many loops of d = 10 the loss is least, and what it is then."""
    found = {}
    for n in _SAMPLES:
        if (name := _name(n)) in results:
            *losses, at = results[name].measured
            found |= {f"at_{n}": int(at), f"least_{n}": min(losses)}
            found |= {
                f"start_{n}": losses[1],
                f"last_{n}": losses[-1],
                "most": len(losses),
            }
    return found
