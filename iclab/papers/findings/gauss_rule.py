"""The best k steps are a Gauss rule: reciprocals of its nodes, a Christoffel number.

Without noise k steps with sizes η_j leave Π(1 − η_jλ) of a label. Its mean square over
the mean spectrum μ is least where the polynomial is orthogonal to all of lower degree
in λ dμ: its zeros are the k-point Gauss nodes of λ dμ. For one input and for two the
spectrum is known outright, and least squares over polynomials finds the same.
"""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured
from iclab.papers.findings._spectra import spectrum
from iclab.theory import optimal_steps, wishart_quadrature


@dataclass(frozen=True)
class Case:
    """One input or two, n examples, k steps."""

    dimension: int
    samples: int
    steps: int


def cases(scale) -> dict[str, Case]:
    """One step to four, or six, on short prompts and longer ones."""
    found = [Case(1, 6, 3), Case(2, 4, 2), Case(2, 20, 1), Case(2, 20, 4)]
    if scale != "smoke":
        found += [Case(1, 40, 6), Case(2, 2, 3), Case(2, 10, 6)]
    return {f"d={c.dimension}, n={c.samples}, k={c.steps}": c for c in found}


def predict(case: Case):
    """The step sizes, smallest first, and the loss."""
    steps, loss = optimal_steps(case.dimension, case.samples, case.steps)
    return np.array([*steps, loss])


def decoy(case: Case):
    """Reciprocals of the Gauss nodes of μ itself, without the factor λ."""
    nodes, _ = map(
        np.asarray, wishart_quadrature(case.dimension, case.samples, 2 * case.steps - 1)
    )
    eigenvalues, chances = spectrum(case.dimension, case.samples)
    left = np.prod(1 - eigenvalues[:, None] / nodes, axis=1)
    loss = case.dimension * chances @ left**2
    return np.array([*np.sort(1 / nodes), loss])


def measure(case: Case) -> Measured:
    """The polynomial 1 + Σc_jλʲ of least mean square, its zeros and what it leaves."""
    eigenvalues, chances = spectrum(case.dimension, case.samples)
    powers = eigenvalues[:, None] ** np.arange(1, case.steps + 1)
    root = np.sqrt(chances)
    scale_of = np.sqrt(chances @ powers**2)
    scaled = root[:, None] * powers / scale_of
    solution, _, _, singular = np.linalg.lstsq(scaled, -root, rcond=None)
    coefficients = solution / scale_of
    zeros = np.roots([*coefficients[::-1], 1.0])
    loss = case.dimension * np.sum((root + scaled @ solution) ** 2)
    value = np.array([*np.sort(np.real(1 / zeros)), loss])
    condition = float(singular[0] / singular[-1])
    error = 1e4 * np.finfo(float).eps * condition * np.abs(value)
    reason = f"float64 round-off of least squares of condition {condition:.1g}"
    return Measured(value, error, reason)
