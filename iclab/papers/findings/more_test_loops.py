"""More loops than in training: the mean loss turns and diverges, the median falls on.

Now and then an eigenvalue of S exceeds 2/a, and there each loop makes the error larger.
Such prompts are rare, and carry the mean: the exact expected loss has its least value
after a few loops and grows without bound, while most prompts go on improving.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.core import Prompt
from iclab.evidence import STANDARD_ERRORS, Measured
from iclab.models import LoopedTransformer
from iclab.theory import looped_optimum, loss_by_test_loops

_LOOPS = 12

relation = "<="
_MEANS = [f"{sign}mean, {i} loops" for sign in ("", "−") for i in range(1, 6)]
labels = [*_MEANS, "share of the median"]


@dataclass(frozen=True)
class Case:
    """Inputs, examples, and loops in training."""

    dimension: int
    samples: int
    trained: int


def cases(scale) -> dict[str, Case]:
    """The papers' five inputs, and ten."""
    found = [Case(5, 20, 2)]
    if scale != "smoke":
        found += [Case(5, 20, 3), Case(10, 40, 2)]
    return {
        f"d={c.dimension}, n={c.samples}, trained with {c.trained} loops": c
        for c in found
    }


def predict(case: Case):
    """Mean losses after one loop to five, from both sides.

    And after twelve loops a median of a tenth at most of that after training's loops.
    """
    means = _means(case)[:5]
    return np.array([*means, *-means, 0.1])


def decoy(case: Case):
    """Mean losses that go on falling as they did from the first loop to the second."""
    means = _means(case)
    falling = means[0] * (means[1] / means[0]) ** np.arange(5)
    return np.array([*falling, *-falling, 0.1])


def measure(case: Case, key, scale) -> Measured:
    """The model on prompts: means by loop, and what became of the median."""
    count = {"smoke": 20_000, "desk": 100_000, "paper": 1_000_000}[scale]
    losses = _losses(case, count, key)
    means, spread = losses.mean(axis=0)[:5], losses.std(axis=0)[:5] / np.sqrt(count)
    medians = np.median(losses, axis=0)
    share = medians[-1] / medians[case.trained - 1]
    error = STANDARD_ERRORS * spread
    exact = _means(case)
    reason = (
        f"{STANDARD_ERRORS:g} standard errors over {count:,} prompts; after {_LOOPS}"
        f" loops the exact mean is {exact[-1] / exact[case.trained - 1]:.3g} times that"
        f" after {case.trained}"
    )
    value = np.array([*means, *-means, share])
    return Measured(value, np.array([*error, *error, 0.0]), reason)


def _means(case: Case) -> np.ndarray:
    a, _ = looped_optimum(case.dimension, case.samples, case.trained)
    return np.asarray(loss_by_test_loops(a, case.dimension, case.samples, _LOOPS))


def _losses(case: Case, count: int, key) -> np.ndarray:
    """Squared errors by prompt and loop, w and x_q summed over the axes."""
    d, n = case.dimension, case.samples
    a, _ = looped_optimum(d, n, case.trained)
    model = LoopedTransformer(a * jnp.eye(d), loops=_LOOPS)
    eye = jnp.eye(d)

    def one(X):
        def error(w, query):
            prompt = Prompt(X, X @ w, query)
            return w @ query - model.predictions_by_depth(prompt)[1:]

        errors = jax.vmap(jax.vmap(error, (None, 0)), (0, None))(eye, eye)
        return jnp.sum(errors**2, axis=(0, 1))

    X = jax.random.normal(key, (count, n, d))
    return np.asarray(jax.jit(lambda X: jax.lax.map(one, X, batch_size=1000))(X))
