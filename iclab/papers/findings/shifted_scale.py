"""The best steps are fragile: a little more variance, and they do worse than nothing.

Steps that are best for one variance of the inputs are close to what the largest
eigenvalues allow there. With s times the variance at test time each eigenvalue is s
times as large, and the error is an integral over the same spectrum. Expected before the
run, from that integral: error over that of predicting zero, by the steps for s = 1.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.core import Mixture
from iclab.evaluation import sampled_risk
from iclab.evidence import Measured, averaged
from iclab.models import LinearTransformer
from iclab.tasks import LinearRegression
from iclab.theory import optimal_steps, scalar_transformer_loss

labels = [f"s = {s}" for s in (1.0, 1.5, 2.0)]
_SCALES = (1.0, 1.5, 2.0)

shares = {
    "optimal_steps": "makes the weights; models on prompts are measured",
}


@dataclass(frozen=True)
class Case:
    """Inputs, examples and layers."""

    dimension: int
    samples: int
    layers: int


def cases(scale) -> dict[str, Case]:
    """The papers' five inputs and twenty examples."""
    found = [Case(5, 20, 1), Case(5, 20, 3)]
    if scale != "smoke":
        found += [Case(5, 20, 2), Case(5, 20, 5), Case(10, 40, 3)]
    return {f"d={c.dimension}, n={c.samples}, {c.layers} layers": c for c in found}


def predict(case: Case):
    """Exact errors, by quadrature: A = −a_i I is −sa_i times the inverse covariance."""
    return np.array([_relative(case, s) for s in _SCALES])


def decoy(case: Case):
    """The same with a tenth more variance."""
    return np.array([_relative(case, 1.1 * s) for s in _SCALES])


def measure(case: Case, key, scale) -> Measured:
    """The models on prompts of each variance, from the mixture."""
    d, n, k = case.dimension, case.samples, case.layers
    count = {"smoke": 20_000, "desk": 100_000, "paper": 1_000_000}[scale]
    steps, _ = optimal_steps(d, n, k)
    model = LinearTransformer.sparse(-steps[:, None, None] * jnp.eye(d)[None])
    law = Mixture.of_degree(2 * k, n, d)
    found = []
    for s in _SCALES:
        task = LinearRegression(s * jnp.eye(d))
        sizes = {"examples": n, "prompts": count, "key": key}
        found.append(sampled_risk({"": model}, task, **sizes, mixture=law)[""])
    means, errors = np.array([[*map(float, one)] for one in found]).T
    scaled = np.array(_SCALES) * d
    return averaged(means / scaled, errors / scaled, count, "prompts of a mixture")


def _relative(case: Case, s: float) -> float:
    steps, _ = optimal_steps(case.dimension, case.samples, case.layers)
    loss = scalar_transformer_loss(-s * steps, None, case.dimension, case.samples)
    return float(loss) / case.dimension
