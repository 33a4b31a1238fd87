"""The numbers that pages show, and the lines that promise the same numbers."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from iclab.explore import _claims, _depth, _gpt2, _one_layer, _representation
from iclab.explore._claims import History, Moved
from iclab.explore._depth import Depth
from iclab.explore._gpt2 import Gpt2
from iclab.explore._one_layer import OneLayer
from iclab.explore._representation import Attention
from iclab.theory import looped_loss
from tests.assertions import assert_close

SHIFTED = OneLayer((1.0, 0.25), 7, 0.5, (0.5, 2.0), (3.0,), (1.0, 0.1))


def _run(code: str) -> dict[str, Any]:
    lines = [line for line in code.splitlines() if line.strip()]
    assert 5 <= len(lines) <= 15
    assert max(map(len, lines)) <= 120 or "array(" in code
    names: dict[str, Any] = {}
    exec(code, names)  # as a user would
    return names


def test_one_layer_and_its_code():
    names = _run(SHIFTED.code())
    parts, curve = SHIFTED.parts(), SHIFTED.simulated()
    assert_close(parts.risk, np.array(names["risk"]), rtol=1e-12)
    total = parts.limit + parts.inputs + parts.noise
    assert_close(total, parts.risk, rtol=1e-12)
    for name in ("mean", "lower", "upper"):
        assert_close(getattr(curve, name), getattr(names["curve"], name), rtol=1e-12)
    # The simulation knows nothing of the formula, and its interval holds 90 %.
    exact = dict(zip(parts.examples.tolist(), parts.risk, strict=True))
    inside = [
        0.9 * low < exact[int(M)] < 1.1 * high
        for M, low, high in zip(curve.lengths, curve.lower, curve.upper, strict=True)
    ]
    assert np.mean(inside) >= 0.75
    chart = _one_layer.risk_chart(parts, curve)
    assert "label noise" in chart.svg()


def test_spectra_of_one_layer_fit_each_other():
    train, test, query, task = SHIFTED.spectra()
    assert (train, test) == ((1.0, 0.25), (0.5, 2.0))
    assert query == (3.0, 2.0)  # the rest as the test inputs have it
    assert task == (1.0, 0.1)
    assert OneLayer((2.0, 1.0)).spectra() == ((2.0, 1.0),) * 3 + ((1.0, 1.0),)
    assert OneLayer((2.0,)).resized(2).spectra()[0] == (2.0, 1.0)


@pytest.mark.parametrize("shown", [(False, False, False), (True, False, True)])
def test_points_on_the_board_are_the_spectra(shown):
    points = _one_layer.spectrum_points(SHIFTED, shown)
    assert len(points) == 2 * (1 + sum(shown))
    found = OneLayer.from_points(points, 7, 0.5)
    spectra = SHIFTED.spectra()
    assert found.spectrum == spectra[0]
    assert found.test == (spectra[1] if shown[0] else ())
    assert found.query_spectrum == (spectra[2] if shown[1] else ())
    assert found.task == (spectra[3] if shown[2] else ())


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_depth_and_its_code(noise):
    settings = Depth(dimension=3, samples=8, layers=2, noise_std=noise)
    names = _run(settings.code())
    steps = settings.steps()
    assert_close(steps.free, names["steps"])
    assert steps.free_loss == names["loss"]
    assert (steps.shared, steps.shared_loss) == (names["shared"], names["shared_loss"])
    assert steps.filter_loss == names["filter_loss"]
    assert_close(settings.by_test_loops(), names["test_loops"])
    places = np.linspace(0, 3, 7)
    residuals = steps.residuals(places, settings.layers)
    wanted = np.polynomial.polynomial.polyval(places, np.asarray(names["residual"]))
    assert_close(residuals["free steps"], wanted, rtol=1e-12, atol=1e-12)
    best = np.polynomial.polynomial.polyval(places, np.asarray(names["g"]))
    assert_close(residuals["best of this degree"], 1 - places * best)
    by_depth = settings.by_depth()
    assert by_depth["free steps"][1] == steps.free_loss
    assert np.all(by_depth["free steps"] <= by_depth["one step, looped"] * (1 + 1e-9))
    assert np.all(by_depth["best of this degree"] <= by_depth["free steps"] + 1e-9)


def test_test_loops_with_noise_are_those_of_the_looped_loss():
    settings = Depth(dimension=3, samples=8, noise_std=0.7, trained_loops=2)
    step = settings.by_test_loops()
    white, shared = jnp.eye(3), dataclasses.replace(settings, layers=2).steps().shared
    given = {"covariance": white, "samples": 8, "noise_variance": 0.7**2}
    exact = looped_loss(shared * white, loops=3, **given)
    assert_close(step[2], float(exact), rtol=1e-10)
    assert _depth._verdict(np.array([1.0, 0.5, 4.0]), settings).endswith("from 3 on")
    assert "better" in _depth._verdict(np.array([1.0, 0.5, 0.4]), settings)


def test_attention_and_its_code():
    sizes = {"tokens": 5, "shown": 3, "features": 2, "heads": 3}
    for optimiser in _representation.OPTIMISERS:
        settings = Attention(**sizes, optimiser=optimiser, steps=100)
        names = _run(settings.code())
        frames = []
        last = settings.train(frames.append)
        assert [frame.step for frame in frames] == [0, 50, 100]
        assert_close(frames[0].weights, settings.first().weights)
        assert_close(last.weights, names["weights"], rtol=1e-9, atol=1e-12)
        assert_close(last.gaps[:100], names["gaps"][:100], rtol=1e-9, atol=1e-12)
        assert_close(settings.ridge(), names["ridge"])
        assert last.gaps[-1] < 0.2 * settings.first().gaps[0]
        title = _representation.gap_chart(settings, last, settings.ridge()).title
        assert title.startswith("Gap to ridge")


def test_a_training_that_explodes_says_so():
    settings = Attention(
        tokens=5, shown=3, features=2, heads=3, optimiser="gradient descent", rate=0.2
    )
    frame = settings.train()
    assert frame.diverged
    title = _representation.gap_chart(settings, frame, settings.ridge()).title
    assert title.startswith("Diverged after")


@pytest.mark.parametrize("space", ["line", "plane"])
def test_gpt2_and_its_code(space, monkeypatch):
    monkeypatch.setattr(_gpt2, "CELLS", 3)
    settings = Gpt2(space=space, plane=(0.5, 1.0, 0.0, -1.0, 0.5, 1.0, 1.0, 1.0, 0.0))
    monkeypatch.setattr(Gpt2, "filter", lambda self: None)
    head, _, _ = settings.code().partition("\ntask, key")
    names = _run(head)
    for ours, theirs in zip(settings.answers(), names["answers"], strict=True):
        assert_close(ours, np.asarray(theirs, float), rtol=1e-4, atol=1e-4)
    examples, labels = settings.prompt()
    assert examples.shape == (len(labels), 5)
    if space == "plane":
        assert_close(labels, np.array([-0.1, 1.05, 0.3]))  # the second is mislabelled


def test_the_filter_of_gpt2_and_its_code(monkeypatch):
    monkeypatch.setattr(_gpt2, "_FILTER_GROUPS", 2)
    settings = Gpt2(line=(1.0, 0.5) * 6)
    names = _run(settings.code())
    found = settings.filter()
    assert_close(found.value, names["curve"].value)
    title = _gpt2.filter_chart(settings, found).title
    assert f"M = 6: R² = {found.r2.value:.3f}" in title


def test_points_of_gpt2_go_to_the_board_and_back():
    for settings in (Gpt2(), Gpt2(space="plane")):
        assert settings.moved(settings.points()) == settings
    one = Gpt2().moved([{"x": 1.23456, "y": -0.5}])
    assert one.line == (1.23, -0.5)
    assert Gpt2(line=()).prompt()[0].shape == (1, 5)


def test_claims_and_their_code():
    settings = Moved("ahn2023/section-4-isotropic", changes="samples:4;nonsense:3")
    names = _run(settings.code())
    trial = settings.trial()
    assert_close(trial.predicted, np.ravel(names["predicted"]))
    assert_close(trial.measured, np.ravel(names["measured"].value))
    assert trial.verdict == names["verdict"] == "holds"
    assert names["case"].samples == 4
    # Prediction inside the error bar, decoy outside in some entry.
    assert trial.distances(trial.predicted).max() < 1
    assert trial.decoy is not None
    assert trial.distances(trial.decoy).max() > 1
    assert "<td>" in _claims.table(trial)


def test_parameters_of_claims():
    names = [one.name for one in Moved("ahn2023/theorem-1").parameters()]
    assert names[-1] == "samples"
    assert names[0] == "eigenvalues.0"
    case = Moved("ahn2023/theorem-1", changes="eigenvalues.0:1.2").changed()
    assert case.eigenvalues[0] == 1.2
    far = Moved(changes="samples:1e9")
    assert far.values() == {"samples": 4}  # twice the case's own, and no more
    for one in far.parameters():
        assert one.low <= one.value <= one.high
    assert Moved("no/such").entry.id == Moved().id
    assert far.moved({"samples": 2, "dimension": 5}, 3) == (
        Moved(changes="dimension:5", seed=3)
    )


def test_what_a_claim_refuses_is_said(monkeypatch):
    settings = Moved()
    claim = settings.claim

    def refuse(case: Any) -> Any:
        raise ValueError("theory: `samples` must be even, got 3\nand more")

    broken = dataclasses.replace(claim, predict=refuse)
    monkeypatch.setattr(_claims.papers, "load_claim", lambda entry: broken)
    with pytest.raises(
        _claims.Refused, match=r"^theory: `samples` must be even, got 3"
    ):
        settings.trial()


def test_numbers_that_a_claim_has_no_measurement_for():
    moved = Moved("ahn2023/theorem-1", "d=1, n=5", "samples:4")
    with pytest.raises(_claims.Refused, match="measured for its own cases only"):
        moved.trial()


def test_history_follows_the_number_that_moved_last():
    trial = Moved().trial()
    history = History()
    for samples in (2, 3, 4):
        history.add({"samples": samples, "seed": 0}, trial)
    assert [place for place, _ in history.along()] == [2, 3, 4]
    history.add({"samples": 4, "seed": 1}, trial)
    assert history.name == "seed"
    assert [place for place, _ in history.along()] == [0, 1]
    assert _claims.history_chart(history, 0).title == "Entry 1 as seed moves"
    _claims.history_chart(history, 30).svg()  # an entry that is not there
