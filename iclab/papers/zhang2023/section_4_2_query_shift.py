"""Section 4.2, query shifts: queries of any covariance are tolerated."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.evidence import Measured
from iclab.papers.zhang2023._shifted_risk import decay_rate, exact_risks, sampled_risks
from iclab.papers.zhang2023._simulation import distribution, shifted_task

_SPECTRUM = "one tiny"


shares = {"largest_initial_scale": "the start's scale; the flow's end has none of it"}


@dataclass(frozen=True, eq=False)
class Query:
    """A covariance of the query, seen for some lengths or as the lengths grow."""

    covariance: Float[Array, "d d"]
    growing: bool


def cases(scale):
    """Queries along a direction that examples hardly have, and large ones anywhere."""
    Lambda = np.asarray(distribution(_SPECTRUM, 2).covariance)
    rare = np.linalg.eigh(Lambda)[1][:, 0]
    line, wide = jnp.asarray(np.outer(rare, rare)), jnp.diag(jnp.array([9.0, 1.0, 4.0]))
    found = {
        "wide queries, short prompts": Query(wide, growing=False),
        "queries on a rare line, rate in M=N": Query(line, growing=True),
        "wide queries, rate in M=N": Query(wide, growing=True),
    }
    if scale != "smoke":
        found["queries on a rare line, short prompts"] = Query(line, growing=False)
    return found


def predict(case: Query):
    """Exact risks; and exponent −1, so that they vanish."""
    return -1.0 if case.growing else _risks(query_covariance=case.covariance)


def measure(case: Query, key, scale) -> Measured:
    """Models after their gradient flow, on prompts with a foreign query."""
    Lambda = distribution(_SPECTRUM, 2).covariance
    if case.growing:
        return decay_rate(_SPECTRUM, key, query_covariance=case.covariance)
    task = shifted_task(Lambda, query_covariance=case.covariance)
    return sampled_risks(task, _SPECTRUM, key, scale)


def decoy(case: Query):
    """The risk that queries like the examples have; the rate of its root."""
    return -0.5 if case.growing else _risks()


def _risks(**shift) -> np.ndarray:
    Lambda = distribution(_SPECTRUM, 2).covariance
    return exact_risks(Lambda, Lambda, **shift)
