"""Whatever a public function is given, it answers or says what is wrong."""

import pytest

from tests.fuzz.arguments import callables
from tests.fuzz.campaign import Surprise, calls, outcome

# The calls of CI; `python -m tests.fuzz --calls 100000` makes more.
CALLS = 400


@pytest.mark.usefixtures("unchecked")
def test_nonsense_gets_a_sentence():
    made = [*calls(0, CALLS, "theory."), *calls(0, CALLS // 4, "tasks.")]
    assert [str(one) for one in made if isinstance(one, Surprise)] == []


def test_every_folder_is_called():
    folders = {name.partition(".")[0] for name in callables()}
    assert {"algorithms", "core", "evaluation", "models", "tasks", "theory"} <= folders
    assert len(callables()) > 150


def test_a_surprise_is_seen():
    def careless(size: int) -> float:
        return float("nan") if size else 1 / size

    def careful(size: int) -> float:
        raise ValueError(f"`size` must be ≥ 1, got {size}")

    assert outcome(careless, {"size": 1}) == "an answer that is not finite"
    assert outcome(careless, {"size": 0}) == "ZeroDivisionError: division by zero"
    assert outcome(careful, {"size": 0}) is None
