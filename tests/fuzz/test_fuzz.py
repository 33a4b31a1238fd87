"""Whatever a public function is given, it answers or says what is wrong."""

import inspect

import pytest

import iclab
from tests.fuzz.__main__ import table
from tests.fuzz.arguments import LEFT_OUT, callables
from tests.fuzz.campaign import ANSWERED, REFUSED, Ended, calls, outcome

# CI calls one in so many of all there are; `python -m tests.fuzz --calls 100000` makes
# many calls of each.
EVERY = 9


@pytest.mark.everything
@pytest.mark.usefixtures("unchecked")
def test_nonsense_gets_a_sentence():
    made = list(calls(0, len(callables()), every=EVERY))
    assert len({one.callee.partition(".")[0] for one in made}) > 10  # folders
    assert [str(one.surprise) for one in made if one.surprise is not None] == []
    assert {one.how for one in made} >= {ANSWERED, REFUSED}


def test_everything_public_is_called():
    known = callables()
    folders = {one.folder for one in known.values()}
    assert folders == {"iclab", *iclab._FOLDERS}
    for name in ("iclab.sweep", "iclab.load", "runs.Store.save", "core.Prompt.prefix"):
        assert name in known
    assert len(known) > 350
    # What is left out is still there to be left out.
    for name in LEFT_OUT:
        folder, *rest = name.split(".")
        value = getattr(iclab, folder)
        for part in rest:
            value = inspect.getattr_static(value, part, None) or getattr(value, part)


def test_a_surprise_is_seen():
    def careless(size: int) -> float:
        return float("nan") if size else 1 / size

    def careful(size: int) -> float:
        raise ValueError(f"`size` must be ≥ 1, got {size}")

    def vague(size: int) -> float:
        raise ValueError(f"must be ≥ 1, got {size}")

    assert outcome(careless, {"size": 1}) == (ANSWERED, "an answer that is not finite")
    _, found = outcome(careless, {"size": 0})
    assert found == "ZeroDivisionError: division by zero"
    assert outcome(careful, {"size": 0}) == (REFUSED, None)
    assert outcome(vague, {"size": 0}) == (REFUSED, "ValueError: must be ≥ 1, got 0")


def test_calls_are_counted_by_folder():
    made = [Ended("core.Prompt", ANSWERED), Ended("core.Prompt.gram", REFUSED)]
    assert table(made).splitlines()[2:] == [
        "| core | 2 | 2 | 1 | 1 | 0 | 0 |",
        "| all | 2 | 2 | 1 | 1 | 0 | 0 |",
    ]
