"""The table of moments that stands for a random diagonal covariance."""

from typing import Annotated

import numpy as np
from jaxtyping import Array, Float

from iclab.core import Rule

# E λ, E λ², E λ³, a column for each diagonal entry.
Moments = Annotated[
    Float[Array, "3 d"],
    Rule(
        "positive",
        lambda table: np.min(np.asarray(table)) > 0,
        found=lambda table: f"an entry {np.min(np.asarray(table)):.3g}",
    ),
]
