"""The suite's ways to compare numbers."""

from typing import Any

import numpy as np

from iclab.core import Estimate


def assert_close(
    actual: Any, expected: Any, *, rtol: float = 1e-10, atol: float = 1e-12
):
    """Entries agree to float64 accuracy; a looser tolerance says why at its place."""
    np.testing.assert_allclose(
        np.asarray(actual), np.asarray(expected), rtol=rtol, atol=atol
    )


def assert_mean_close(mean: Any, standard_error: Any, expected: Any, *, z: float = 4.5):
    """A Monte Carlo mean lies within `z` standard errors of what was expected."""
    deviation = np.abs(np.asarray(mean) - np.asarray(expected))
    scores = deviation / np.maximum(np.asarray(standard_error), 1e-300)
    assert np.all(scores <= z), f"largest z-score {np.max(scores):.2f} > {z}"


def assert_estimated(found: Estimate, expected: Any, *, z: float = 4.5):
    """An estimate lies within `z` of its standard errors of what was expected."""
    assert_mean_close(found.mean, found.standard_error, expected, z=z)
