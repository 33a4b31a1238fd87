"""When every prompt has its own covariance: what k layers are worth.

With S for Λ the error of A_i = a_i I on a direction of variance λ is a polynomial p of
it, p(0) = 1, and the loss ∫p² dν with dν = λe^{−λ}dλ: the second λ is the query's. Its
least value is a Christoffel number, 1/Σ_{j≤k}(j + 1), by Laguerre's polynomials.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import least_squares, minimize

from iclab.evidence import Measured
from iclab.models import LinearTransformer
from iclab.papers.findings._exponential_covariances import least, moments
from iclab.theory import linear_transformer_loss

# Random starts of the search over matrices.
_STARTS = 4


@dataclass(frozen=True)
class Long:
    """Layers on infinitely long prompts, where directions do not mix."""

    layers: int


@dataclass(frozen=True)
class Short:
    """Layers with any matrices A_i on short prompts of two inputs."""

    layers: int
    samples: int


def cases(scale) -> dict[str, Long | Short]:
    """Up to six layers on long prompts; one and two of any matrices on short ones."""
    deepest = {"smoke": 3, "desk": 6, "paper": 8}[scale]
    found: dict[str, Long | Short] = {
        f"long prompts, {k} layers": Long(k) for k in range(1, deepest + 1)
    }
    short = ((1, 5),) if scale == "smoke" else ((1, 5), (2, 5), (2, 20))
    for k, n in short:
        found[f"d=2, n={n}, {k} layers of any matrices"] = Short(k, n)
    return found


def predict(case: Long | Short):
    """2/((k + 1)(k + 2)) of what predicting 0 leaves; else by exact moments."""
    k = case.layers
    if isinstance(case, Long):
        return np.array([2 / ((k + 1) * (k + 2))])
    return np.array([least(moments(2, case.samples, 2 * k), k)])


def decoy(case: Long | Short):
    """The query's own variance forgotten: 1/(k + 1), by e^{−λ}dλ; else n + 1 for n."""
    k = case.layers
    if isinstance(case, Long):
        return np.array([1 / (k + 1)])
    return np.array([least(moments(2, case.samples + 1, 2 * k), k)])


def measure(case: Long | Short, key) -> Measured:
    """Train the model's own steps on errors by variance, or matrices on the loss."""
    return _trained_steps(case) if isinstance(case, Long) else _trained(case, key)


def _trained_steps(case: Long) -> Measured:
    """Least squares on the errors of the model, at variances of one input."""
    k = case.layers
    nodes, weights = np.polynomial.laguerre.laggauss(2 * k + 2)

    @jax.jit
    def residuals(steps):
        model = LinearTransformer.sparse(-steps[:, None, None])

        def error(variance):
            one = jnp.ones(1)
            G = variance * jnp.ones((1, 1))  # w = x_q = 1, and N does not matter
            return 1 - model.from_moments(G, G[0], G[0, 0], one, 1)

        roots = jnp.sqrt(jnp.asarray(weights * nodes))
        return roots * jax.vmap(error)(jnp.asarray(nodes))

    slopes: Any = jax.jit(jax.jacfwd(residuals))  # Any: SciPy's stub wants a string
    starts = np.geomspace(0.1, 1, k) if k > 1 else np.array([0.5])
    found = least_squares(
        lambda steps: np.asarray(residuals(jnp.asarray(steps))),
        starts,
        slopes,
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
        max_nfev=2000,
    )
    value = np.array([2 * found.cost])
    return Measured(
        value, 1e-7 * value, "descent to rest: steps are good to half of it"
    )


def _trained(case: Short, key) -> Measured:
    """The lowest of descents from random matrices, on the exact loss."""
    k, d = case.layers, 2
    nodes, weights = np.polynomial.laguerre.laggauss(k + 1)
    rows = jnp.asarray(np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, d))
    shares = jnp.asarray(np.outer(weights, weights).ravel())
    shape = (k, d, d)

    @jax.jit
    @jax.value_and_grad
    def loss(flat):
        def given(row):
            return linear_transformer_loss(
                flat.reshape(shape),
                covariance=jnp.diag(row),
                weight_covariance=jnp.eye(d),
                samples=case.samples,
            )

        return shares @ jax.vmap(given)(rows) / d

    ends = []
    for one in jax.random.split(key, _STARTS):
        start = -0.3 + 0.2 * np.asarray(jax.random.normal(one, (k * d * d,)))
        found = minimize(
            lambda flat: tuple(map(np.asarray, loss(jnp.asarray(flat)))),
            start,
            jac=True,
            method="BFGS",
            options={"gtol": 1e-10, "maxiter": 500},
        )
        ends.append((float(found.fun), np.asarray(found.x).reshape(shape)))
    value, A = min(ends, key=lambda end: end[0])
    scalars = np.trace(A, axis1=1, axis2=2)[:, None, None] / d * np.eye(d)
    off = float(np.max(np.abs(A - scalars)))
    reason = (
        f"the lowest of {_STARTS} descents with all entries free; its matrices are"
        f" {off:.1g} from multiples of I"
    )
    return Measured(np.array([value]), 1e-7 * value, reason)
