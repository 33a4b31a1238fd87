"""The paper, tasks and predictors keep iclab's rules; closed forms by other ways."""

import jax
import numpy as np
import pytest
from mahankali2023._predictors import BayesRidge, OneStep
from mahankali2023._random_functions import RandomFunction
from mahankali2023._steps import (
    bent_powers,
    nonlinear_step,
    one_step,
    one_step_loss,
    sine_powers,
)

from iclab import papers
from iclab.testing import check_paper, check_predictor, check_task


def test_room():
    check_paper("mahankali2023")


def test_the_room_is_found_as_a_package():
    assert papers.find_paper("mahankali2023").origin == "the package mahankali2023"


@pytest.mark.parametrize("predictor", [OneStep(0.5), BayesRidge(0.5)])
def test_predictors(predictor):
    check_predictor(predictor)


def test_task():
    check_task(RandomFunction(2, noise_std=0.5))


def test_linear_labels_are_a_special_case():
    d, n, noise = 3, 7, 0.4
    general = nonlinear_step(d, n, noise, *bent_powers(d, 0.0)[:2])
    assert general == pytest.approx(one_step(d, n, noise), rel=1e-14)


def test_the_step_is_the_minimum_of_a_parabola():
    """E(⟨w, x_q⟩ − ηb·x_q)² = d − 2ηnd + η² nd(n + d + 1 + σ²)."""
    d, n, noise = 4, 9, 0.3
    eta = one_step(d, n, noise)
    parabola = [d, -2 * n * d, n * d * (n + d + 1 + noise)]
    assert parabola[1] + 2 * eta * parabola[2] == pytest.approx(0, abs=1e-10)
    least = parabola[0] + eta * parabola[1] + eta**2 * parabola[2]
    assert least == pytest.approx(one_step_loss(d, n, noise), rel=1e-12)


@pytest.mark.parametrize(
    ("task", "powers"),
    [
        (RandomFunction(2, scale=0.8), sine_powers(2, 0.8)),
        (RandomFunction(3, bend=0.3), bent_powers(3, 0.3)),
    ],
    ids=["sine", "parabola"],
)
def test_powers_by_sampling(task, powers):
    """E‖u‖² = E f(x)f(x')⟨x, x'⟩ for two inputs of one function."""
    batch = task.sample_batch(jax.random.key(0), 200_000, 1)
    x, f = np.asarray(batch.examples)[:, 0], np.asarray(batch.labels)[:, 0]
    x_q, g = np.asarray(batch.query), np.asarray(batch.target)
    samples = (f * g * np.sum(x * x_q, 1), f**2 * np.sum(x**2, 1), f**2)
    for values, expected in zip(samples, powers, strict=True):
        error = values.std() / len(values) ** 0.5
        assert abs(values.mean() - expected) < 5 * error
