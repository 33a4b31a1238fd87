"""Which queries a trained layer answers with zero: those that Γ⁻¹ turns orthogonal.

A query orthogonal to all examples is not enough unless Λ is a multiple of I.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.core import Prompt
from iclab.evidence import Measured
from iclab.models import LinearSelfAttention
from iclab.theory import lsa_optimum, optimal_preconditioner

shares = {
    "optimal_preconditioner": "makes weights and a query; the model predicts from them",
}


@dataclass(frozen=True)
class Case:
    """Eigenvalues of Λ, the training length, and whether Γ turns the query."""

    eigenvalues: tuple[float, ...]
    length: int
    turned: bool


def cases(scale) -> dict[str, Case]:
    """Equal and unequal eigenvalues, queries orthogonal before Γ⁻¹ and after it."""
    return {
        "Λ = I, x_q orthogonal": Case((1.0, 1.0, 1.0), 10, False),
        "Λ uneven, x_q orthogonal": Case((2.0, 1.0, 0.1), 10, False),
        "Λ uneven, Γ⁻¹x_q orthogonal": Case((2.0, 1.0, 0.1), 10, True),
    }


def predict(case: Case):
    """Zero, or x_qᵀΓ⁻¹c with the correlation c of examples and labels."""
    if case.turned or len(set(case.eigenvalues)) == 1:
        return 0.0
    prompt = _prompt(case)
    P = np.asarray(optimal_preconditioner(_covariance(case), case.length))
    return float(np.asarray(prompt.query) @ P @ np.asarray(prompt.correlation()))


def decoy(case: Case):
    """The query's own label, of which the prompt says nothing; zero where it is not."""
    prompt = _prompt(case)
    return float(prompt.target) if predict(case) == 0 else 0.0


def measure(case: Case) -> Measured:
    """The layer with the weights of Theorem 4.1 of zhang2023, on one such prompt."""
    model = LinearSelfAttention(*lsa_optimum(_covariance(case), case.length))
    value = float(model(_prompt(case)))
    return Measured(value, 1e-13, "float64 round-off of a few hundred operations")


def _covariance(case: Case):
    return jnp.diag(jnp.array(case.eigenvalues))


def _prompt(case: Case) -> Prompt:
    """Four examples in a plane, and a query outside of it."""
    random = np.random.default_rng(8)
    plane, w = random.standard_normal((2, 3)), random.standard_normal(3)
    examples = random.standard_normal((4, 2)) @ plane
    query = np.cross(*plane)
    if case.turned:  # Γ maps it to a query that Γ⁻¹ turns orthogonal
        P = np.asarray(optimal_preconditioner(_covariance(case), case.length))
        query = np.linalg.solve(P, query)
    return Prompt(*map(jnp.asarray, (examples, examples @ w, query, query @ w)))
