"""Lemma 6, (16)–(19): the components of the loss for standard normal inputs."""

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.ahn2023._component_minima import (
    COMPONENT,
    Component,
    flat_directions,
    measured_component,
    predicted_component,
)

labels = [*COMPONENT, "flat directions"]


def cases(scale):
    """Few and many examples; another dimension at larger scales."""
    shapes = {
        "smoke": ((3, 2),),
        "desk": ((3, 2), (3, 20), (5, 20)),
        "paper": ((1, 5), (2, 2), (3, 2), (3, 20), (5, 20), (5, 1000)),
    }[scale]
    return {f"d={d}, n={n}": Component((1.0,) * d, n, d - 1) for d, n in shapes}


def predict(case: Component):
    """(17), (19) and X_j; adding any antisymmetric matrix to X_j changes nothing."""
    d, coefficient = len(case.variances), _coefficient(case)
    of_lemma = predicted_component(1.0, coefficient, -1 / coefficient)
    return np.append(of_lemma, d * (d + 1) / 2)


def as_printed(case: Component):
    """⟨C, E⟩ a sum without its 1/n, hence n times (19); and a unique minimiser."""
    of_lemma = predict(case)[:-1]
    of_lemma[2] *= case.samples
    return np.append(of_lemma, 0)


printed = Printed(predict=as_printed, nearby=True)


def decoy(case: Component):
    """d + 1 where (18) has d + 2."""
    coefficient = _coefficient(case) - 1 / case.samples
    of_lemma = predicted_component(1.0, coefficient, -1 / coefficient)
    return np.append(of_lemma, predict(case)[-1])


def measure(case: Component) -> Measured:
    """Moments by quadrature, and how many directions f_j is flat in."""
    found = measured_component(case)
    value = np.append(found.value, flat_directions(case))
    errors = np.append(np.full(len(found.value), found.error), 0)
    return Measured(value, errors, f"{found.reason}; the last one is a count")


def _coefficient(case: Component) -> float:
    """(n−1)/n + (d+2)/n, as (19) has it."""
    d, n = len(case.variances), case.samples
    return (n - 1) / n + (d + 2) / n
