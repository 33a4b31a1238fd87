"""Footnote 3: the loss does not depend on B of the last layer."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.core import Prompt
from iclab.evidence import Measured
from iclab.models import LinearTransformer
from iclab.papers.ahn2023._fixed_prompts import Batch, layers, prompts


@dataclass(frozen=True)
class Case:
    """A number of layers."""

    layers: int


def cases(scale):
    """The paper's three layers; at larger scales fewer and more."""
    counts = {"smoke": (3,), "desk": (1, 3), "paper": (1, 2, 3, 4)}[scale]
    return {f"d=3, n=5, {k} layers": Case(k) for k in counts}


def predict(case: Case):
    """1 for each layer whose B has an effect, 0 for the last."""
    return np.append(np.ones(case.layers - 1), 0)


def decoy(case: Case):
    """Every B has an effect."""
    return np.ones(case.layers)


def measure(case: Case) -> Measured:
    """Derivatives by B_0 … B_{k−1} of the mean squared error on random prompts."""
    A, B = layers(case.layers, 3)
    batch = prompts(50, 3, 5)
    slopes = np.linalg.norm(np.asarray(_slopes(B, A, batch)), axis=(1, 2))
    loss = float(np.mean(batch.target**2))
    noise = batch.labels.size * np.finfo(float).eps * loss
    seen = slopes > noise
    smallest, largest = slopes[seen].min(initial=np.inf), slopes[~seen].max(initial=0)
    reason = f"yes or no: effects are above {smallest:.2g} or below {largest:.2g}"
    return Measured(seen.astype(float), 0, reason)


@jax.jit
@jax.grad
def _slopes(B, A, batch: Batch):
    model = LinearTransformer.sparse(A, B)

    def error(x, y, query, target):
        return target - model.in_token_space(Prompt(x, y, query))

    return jnp.mean(jax.vmap(error)(*batch) ** 2)
