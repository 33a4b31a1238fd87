"""A few kills of what starts quickly; `python -m tests.kill` makes many, of all."""

import random

from tests.kill.campaign import campaign
from tests.kill.targets import Sweep


def test_a_sweep_loses_nothing(tmp_path):
    target = Sweep("sweep", tmp_path, jobs=6, seconds=0.1)
    tally = campaign(target, 3, random.Random(0))
    assert (tally.kills, tally.lost) == (3, [])
    assert tally.kept >= target.jobs
