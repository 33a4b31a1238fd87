"""Old public names: they work for one version, and say what they are now."""

import pytest

from iclab import training
from iclab._renamed import renamed


@pytest.mark.parametrize(
    ("old", "new"),
    [("Course", "TrainingRun"), ("Huber", "HuberLoss"), ("Record", "Recorder")],
)
def test_old_names_work_and_say_the_new_ones(old, new):
    text = f"iclab.training.{old} is now {new}; the next version drops the old name"
    with pytest.warns(DeprecationWarning, match=text) as warned:
        found = getattr(training, old)
    assert found is getattr(training, new)
    assert warned[0].filename == __file__


def test_other_names_are_asked_for_elsewhere():
    with pytest.raises(AttributeError, match="has no attribute 'X'"):
        _ = training.X
    answer = renamed("iclab.training", {}, otherwise=lambda name: name * 2)
    assert answer("X") == "XX"
