"""Optimisers and plans as plain values."""

import numpy as np
import optax
import pytest

from iclab.training import HuberLoss, Optimiser, Plan, join_processes
from iclab.training._plan import described, differences
from tests.assertions import assert_close
from tests.refusals import refused


def test_schedules():
    steps = np.arange(11)

    def rate(**kind):
        schedule = Optimiser(learning_rate=1.0, **kind).rate(10)
        return [float(schedule(step)) for step in steps]

    assert_close(rate(), np.ones(11))
    assert_close(rate(schedule="linear"), 1 - steps / 10, atol=1e-6)
    falling = (1 + np.cos(np.pi * steps / 10)) / 2
    assert_close(rate(schedule="cosine"), falling, atol=1e-6)
    warm = rate(warmup=4)
    assert_close(warm, [0.25, 0.5, 0.75] + [1.0] * 8, rtol=1e-6)
    assert_close(rate(warmup=4, schedule="linear")[4:], 1 - np.arange(7) / 6, atol=1e-6)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Optimiser("adam", 0.1), optax.adam(0.1)),
        (Optimiser("adamw", 0.1, weight_decay=0.2), optax.adamw(0.1, weight_decay=0.2)),
        (Optimiser("sgd", 0.1, momentum=0.9), optax.sgd(0.1, 0.9)),
    ],
)
def test_methods_are_those_of_optax(ours, theirs):
    found = []
    for one in (ours.transformation(5), theirs):
        x, state = np.array([1.0, -2.0]), one.init(np.array([1.0, -2.0]))
        for _ in range(3):
            updates, state = one.update(2 * x, state, x)
            x = x + np.asarray(updates)
        found.append(x)
    assert_close(found[0], found[1])


def test_clipping():
    one = Optimiser("sgd", 1.0, clip=0.5).transformation(5)
    updates, _ = one.update(np.array([3.0, 4.0]), one.init(np.zeros(2)))
    assert_close(updates, [-0.3, -0.4], rtol=1e-6)


def test_functions_are_described_by_their_names():
    # An address would be another one in the process that resumes.
    flat = described(Plan(1), None, (np.linalg.norm, test_clipping))
    assert flat["model[0]"] == "numpy.linalg.norm"
    assert flat["model[1]"].endswith("test_plan.test_clipping")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"method": "adagrad"}, "'adam' or 'adamw' or 'sgd', got 'adagrad'"),
        ({"learning_rate": 0.0}, "> 0 and finite, got 0.0"),
        ({"clip": 0.0}, "> 0 and finite, got 0.0"),
        ({"weight_decay": 0.1}, "0 unless adamw, got 0.1"),
        ({"momentum": 0.1}, "0 unless sgd, got 0.1"),
        ({"momentum": -1.0}, "≥ 0 and finite, got -1.0"),
        ({"warmup": 0.5}, "an integer from 0 to 2⁶³ − 1, got 0.5"),
    ],
)
def test_refusals_of_optimisers(settings, complaint):
    with refused(f"Optimiser: `{next(iter(settings))}` must be {complaint}"):
        Optimiser(**settings)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"steps": 0}, "an integer ≥ 1, got 0"),
        ({"seed": 2**63}, f"an integer from 0 to 2⁶³ − 1, got {2**63}"),
        ({"precision": "int8"}, "'float32' or 'float64' or 'bfloat16', got 'int8'"),
        ({"optimiser": 3}, "an Optimiser or a GradientTransformation, got 3"),
    ],
)
def test_refusals_of_plans(settings, complaint):
    with refused(f"Plan: `{next(iter(settings))}` must be {complaint}"):
        Plan(**{"steps": 1} | settings)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (("here", 2, 0), "`coordinator` must be host:port, got 'here'"),
        (("here:1", 2, 2), "`process_id` must be between 0 and 1, got 2"),
        (
            ("here:1",),
            "`processes` must be given together with `coordinator` and `process_id`,"
            " got None",
        ),
    ],
)
def test_refusals_of_processes(given, complaint):
    with refused(f"join_processes: {complaint}"):
        join_processes(*given)


def test_differences_do_not_go_into_parts_of_another_kind():
    there = {"task": "Linear", "task.scale": 1.0, "task.laws[0]": "Fixed", "batch": 4}
    here = {"task": "Random", "task.noise": 0.0, "tasks": 2, "batch": 8}
    assert differences(there, here) == [
        "`batch` is 4 there and 8 here",
        "`task` is Linear there and Random here",
        "`tasks` is nothing there and 2 here",
    ]


def test_differences_know_what_was_renamed():
    here = described(Plan(1), HuberLoss(), None)
    assert here["problem"] == "HuberLoss"
    assert differences(here | {"problem": "Huber"}, here) == []
