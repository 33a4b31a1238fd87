"""Figure 1, dashed line: error of trained linear attention when M, N → ∞."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.evidence import Measured
from iclab.models import LinearSelfAttention
from iclab.papers.zhang2023._random_covariance import (
    DRAWS,
    drawn_diagonals,
    sample_mean,
    trained_on_long_prompts,
)
from iclab.tasks import Exponential, Fixed, RandomCovariance
from iclab.theory import lsa_limit_risk, wishart_samples

# Test covariances are multiplied by these.
SCALES = (1.0, 4.0, 9.0)

# Examples in a simulated prompt: as good as infinitely many, the rest is of order d/M.
EXAMPLES = 10**6


@dataclass(frozen=True)
class Case:
    """A dimension, and whether (1/M)Σxxᵀ is simulated or replaced by its limit."""

    dimension: int
    simulated: bool

    @property
    def random(self) -> RandomCovariance:
        """Random covariances with Exponential(1) entries, in training and at test."""
        return RandomCovariance((Exponential(),) * self.dimension)

    @property
    def identity(self) -> RandomCovariance:
        """The other way to train: the identity as the covariance of every prompt."""
        return RandomCovariance((Fixed(1.0),) * self.dimension)


def cases(scale) -> dict[str, Case]:
    """The limit of (4.13), and prompts so long that the model comes close to it."""
    if scale == "smoke":
        return {"d=5, limit of (4.13)": Case(5, simulated=False)}
    return {
        "d=20, limit of (4.13)": Case(20, simulated=False),
        f"d=5, M={EXAMPLES:,}": Case(5, simulated=True),
    }


def predict(case: Case):
    """Error per dimension for c = 1, 4, 9: trained on Exponential(1), then on I."""
    return _risks(case, SCALES)


def decoy(case: Case):
    """The inputs multiplied by c, and not their covariance."""
    return _risks(case, [c**2 for c in SCALES])


def measure(case: Case, key, scale) -> Measured:
    """Squared errors of the two trained models on common prompts."""
    models = [trained_on_long_prompts(task) for task in (case.random, case.identity)]
    chunks = {"smoke": 4, "desk": 4 if case.simulated else 16, "paper": 64}[scale]
    errors = [_errors(case, models, one) for one in jax.random.split(key, chunks)]
    return sample_mean(np.concatenate(errors), "prompts")


def _errors(
    case: Case, models: list[LinearSelfAttention], key
) -> Float[np.ndarray, "draws models scales"]:
    """Squared errors per dimension; covariance, w and x_q drawn for every prompt."""
    for_diagonals, for_vectors, for_grams = jax.random.split(key, 3)
    diagonals = drawn_diagonals(case.random.laws, for_diagonals)
    shape = (2, DRAWS, case.dimension)
    weights, white = np.asarray(jax.random.normal(for_vectors, shape))
    queries = np.sqrt(diagonals) * white
    target = np.sum(weights * queries, axis=1)
    if case.simulated:
        grams = _grams(jnp.asarray(diagonals), for_grams)
        correlations = np.einsum("nij,nj->ni", grams, weights)
    else:
        correlations = diagonals * weights
    found = np.empty((DRAWS, len(models), len(SCALES)))
    for m, model in enumerate(models):
        prediction = np.sum(queries @ model.preconditioner * correlations, axis=1)
        for s, c in enumerate(SCALES):
            # Covariance times c: x_q gains √c, (1/M)Σyx gains c, the target √c.
            error = c**1.5 * prediction - c**0.5 * target
            found[:, m, s] = error**2 / case.dimension
    return found


@jax.jit
def _grams(diagonals: Array, key) -> Array:
    """(1/M)Σxxᵀ of prompts whose inputs have these covariances."""
    d = diagonals.shape[1]
    white = wishart_samples(key, jnp.eye(d), EXAMPLES, (DRAWS,))
    roots = jnp.sqrt(diagonals)
    return white * roots[:, :, None] * roots[:, None, :]


def _risks(case: Case, scales) -> np.ndarray:
    test = case.random.moments()
    training = (test, case.identity.moments())
    risks = [[lsa_limit_risk(moments, test, c) for c in scales] for moments in training]
    return np.asarray(risks) / case.dimension
