"""Optimisers and plans as plain values."""

import types
from typing import Any

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
    halved = rate(schedule="halving", halve_every=3)
    assert_close(halved, [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125])
    warm = rate(warmup=4)
    assert_close(warm, [0.25, 0.5, 0.75] + [1.0] * 8, rtol=1e-6)
    assert_close(rate(warmup=4, schedule="linear")[4:], 1 - np.arange(7) / 6, atol=1e-6)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Optimiser("adam", 0.1), optax.adam(0.1)),
        (Optimiser("adamw", 0.1, weight_decay=0.2), optax.adamw(0.1, weight_decay=0.2)),
        (Optimiser("adam", 0.1, betas=(0.5, 0.8)), optax.adam(0.1, 0.5, 0.8)),
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


def test_clipping_by_matrix():
    # Two layers in a stack, a matrix and a vector: each within the bound by itself.
    gradient = {
        "stack": np.array([[[3.0, 4.0]], [[0.3, 0.0]]]),
        "matrix": np.array([[0.0, 5.0], [12.0, 0.0]]),
        "vector": np.array([0.0, 2.0]),
    }
    one = Optimiser("sgd", 1.0, clip=0.5, clip_by="matrix").transformation(5)
    updates: Any = one.update(gradient, one.init(gradient))[0]
    expected = {
        "stack": [[[-0.3, -0.4]], [[-0.3, 0.0]]],
        "matrix": [[0.0, -2.5 / 13], [-6 / 13, 0.0]],
        "vector": [0.0, -0.5],
    }
    for name, values in expected.items():
        assert_close(updates[name], values)


def test_plans_of_settings():
    settings = types.SimpleNamespace(steps=7, clip=0.5, clip_by="matrix", other=1)
    optimiser = Optimiser(clip=0.5, clip_by="matrix")
    assert Plan.of(settings) == Plan(7, optimiser=optimiser)


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
        (
            {"betas": (0.9, 0.99), "method": "sgd"},
            "as they are for sgd, which has none, got (0.9, 0.99)",
        ),
        (
            {"halve_every": 3},
            "given with the schedule halving, and with no other, got 3",
        ),
        (
            {"halve_every": None, "schedule": "halving"},
            "given with the schedule halving, and with no other, got None",
        ),
        ({"clip_by": "matrix"}, "whole unless `clip` is given, got matrix"),
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


def test_checkpoints_of_the_version_before_have_fewer_settings():
    here = described(Plan(1), None, None)
    added = ("redraw_every", "start_scale", "optimiser.clip_by", "optimiser.betas[0]")
    there = {name: one for name, one in here.items() if name not in added}
    assert differences(there, here) == []
    here = described(Plan(1, redraw_every=3), None, None)
    assert differences(there, here) == ["`redraw_every` is 1 there and 3 here"]


def test_optimisers_of_optax_are_told_apart():
    def settings(optimiser):
        return described(Plan(1, optimiser=optimiser), None, None)

    one, same = (
        optax.chain(optax.clip(1.0), optax.adam(optax.cosine_decay_schedule(0.1, 9)))
        for _ in range(2)
    )
    other = optax.chain(
        optax.clip(1.0), optax.adam(optax.cosine_decay_schedule(0.1, 8))
    )
    assert differences(settings(one), settings(same)) == []
    assert differences(settings(one), settings(other)) == ["`optimiser` is another one"]


def test_differences_know_what_was_renamed():
    here = described(Plan(1), HuberLoss(), None)
    assert here["problem"] == "HuberLoss"
    assert differences(here | {"problem": "Huber"}, here) == []
