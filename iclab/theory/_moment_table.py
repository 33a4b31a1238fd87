"""The table of moments that stands for a random diagonal covariance."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.core import finite_array, is_traced, require


def moment_table(
    moments: Float[Array, "3 d"], name: str = "moments"
) -> Float[Array, "3 d"]:
    """Check a table of E λ, E λ², E λ³, a column for each diagonal entry."""
    table = jnp.asarray(moments, dtype=float)
    shaped = table.ndim == 2 and table.shape[0] == 3 and table.shape[1] >= 1
    rule = "a 3×d table of E λ, E λ², E λ³"
    require(shaped, name, rule, f"shape {table.shape}")
    finite_array(table, name)
    if not is_traced(table):
        smallest = float(np.min(np.asarray(table)))
        require(smallest > 0, name, "positive", f"an entry {smallest:.3g}")
    return table
