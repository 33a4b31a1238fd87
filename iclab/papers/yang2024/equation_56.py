"""Equations (56) and (82): the gradient of the loss in a key–query matrix."""

import numpy as np

from iclab.evidence import Measured, Printed, rounded
from iclab.papers.yang2024._instances import Instances
from iclab.papers.yang2024._population import evaluated
from iclab.papers.yang2024._single import error_scale, formulas, simple, single_problems

cases = single_problems


def predict(case: Instances):
    """1/K Σ_{k,j} (Z̄δ_k)ᵀz̄_j w_{h,k} s^h_jk Σ_i s^h_ik (v_j − v_i)v_kᵀ, by head."""
    return formulas(case).key_query_gradient


def as_printed(case: Instances):
    """The same with z_j in the place of z̄_j."""
    return formulas(case).gradient_printed


printed = Printed(predict=as_printed, cases=simple, nearby=True)


def decoy(case: Instances):
    """v_k(v_j − v_i)ᵀ in the place of (v_j − v_i)v_kᵀ."""
    return formulas(case).key_query_gradient.swapaxes(1, 2)


def measure(case: Instances) -> Measured:
    """Differentiating the model's loss over a population of tasks."""
    found = evaluated(case)
    gradient = found.key_query_gradient[0]
    return rounded(gradient, error_scale(case), 1 + found.loss[0])


def numbers(results, printed):
    """How far off the printed one is, at the most."""
    off = [np.abs(one.measured - one.predicted).max() for one in printed.values()]
    return {"off": max(off)}
