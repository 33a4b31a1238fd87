"""More loops than in training: the mean loss turns and diverges, the median falls on.

Now and then an eigenvalue of S exceeds 2/a, and there each loop makes the error larger.
Such prompts are rare, and carry the mean: the exact expected loss has its least value
after a few loops and grows without bound, while most prompts go on improving.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.core import Mixture, Prompt
from iclab.evaluation import prompt_average
from iclab.evidence import STANDARD_ERRORS, Measured
from iclab.models import LoopedTransformer
from iclab.tasks import LinearRegression
from iclab.theory import looped_optimum, loss_by_test_loops

_LOOPS = 12
# Plain prompts behind a median.
_TYPICAL = 20_000

relation = "<="
_MEANS = [f"{s}mean, {i + 1} loops" for s in ("", "−") for i in range(_LOOPS)]
labels = [*_MEANS, "share of the median"]

shares = {
    "looped_optimum": "gives the trained step",
    "loss_by_test_loops": "is quoted in the reason, and is no part of the number",
}


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
    """Mean losses after one loop to twelve, from both sides.

    And after twelve loops a median of a tenth at most of that after training's loops.
    """
    means = _means(case)
    return np.array([*means, *-means, 0.1])


def decoy(case: Case):
    """Mean losses that go on falling as they did from the first loop to the second."""
    means = _means(case)
    falling = means[0] * (means[1] / means[0]) ** np.arange(_LOOPS)
    return np.array([*falling, *-falling, 0.1])


def measure(case: Case, key, scale) -> Measured:
    """The model on prompts: means by loop, and what became of the median.

    Means are over a mixture that has rare prompts often: plain ones see five loops.
    """
    d, n = case.dimension, case.samples
    count = {"smoke": 20_000, "desk": 100_000, "paper": 1_000_000}[scale]
    a, _ = looped_optimum(d, n, case.trained)
    model = LoopedTransformer(a * jnp.eye(d), loops=_LOOPS)
    found = prompt_average(
        _losses,
        LinearRegression(jnp.eye(d)),
        model,
        examples=n,
        prompts=count,
        key=key,
        mixture=Mixture.of_degree(2 * _LOOPS, n, d),
    )
    means, error = np.asarray(found.mean), STANDARD_ERRORS * found.standard_error
    medians = _medians(model, n, _TYPICAL, jax.random.fold_in(key, 1))
    share = medians[-1] / medians[case.trained - 1]
    exact = _means(case)
    reason = (
        f"{STANDARD_ERRORS:g} standard errors over {count:,} prompts of a mixture;"
        f" after {_LOOPS} loops the exact mean is"
        f" {exact[-1] / exact[case.trained - 1]:.3g} times that after {case.trained}"
    )
    value = np.array([*means, *-means, share])
    return Measured(value, np.array([*error, *error, 0.0]), reason)


def _means(case: Case) -> np.ndarray:
    a, _ = looped_optimum(case.dimension, case.samples, case.trained)
    return np.asarray(loss_by_test_loops(a, case.dimension, case.samples, _LOOPS))


def _losses(prompt: Prompt, model: LoopedTransformer) -> Array:
    """Squared errors by loop on a prompt's inputs, w and x_q summed over the axes."""
    X = prompt.examples
    eye = jnp.eye(X.shape[1])

    def error(w, query):
        return w @ query - model.predictions_by_depth(Prompt(X, X @ w, query))[1:]

    # Task by task: all of them on all prompts would not fit.
    by_query = jax.vmap(error, (None, 0))
    errors = jax.lax.map(lambda w: by_query(w, eye), eye)
    return jnp.sum(errors**2, axis=(0, 1))


@eqx.filter_jit
def _medians(model: LoopedTransformer, n: int, count: int, key: Array) -> Array:
    prompts = LinearRegression(jnp.eye(len(model.A))).sample_batch(key, count, n)
    by_prompt = jax.lax.map(lambda one: _losses(one, model), prompts, batch_size=1000)
    return jnp.median(by_prompt, axis=0)
