"""Signals between two items of a run."""

import os
import signal

import pytest

from iclab.lab import Stopped
from iclab.lab._signals import stoppable


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_until_an_item_is_done(number):
    done, closed = [], []

    def events():
        try:
            yield from range(10)
        finally:
            closed.append(True)

    before = signal.getsignal(number)

    def run():
        with stoppable(events()) as given:
            for event in given:
                if event == 2:
                    os.kill(os.getpid(), number)
                done.append(event)

    with pytest.raises(Stopped) as stop:
        run()
    assert done == [0, 1, 2]
    assert closed == [True]
    assert stop.value.exit_code == 128 + number
    assert signal.getsignal(number) is before


def test_a_signal_ends_the_waiting():
    def events():
        os.kill(os.getpid(), signal.SIGINT)
        yield "never seen"

    seen = []
    with pytest.raises(Stopped), stoppable(events()) as given:
        seen += list(given)
    assert seen == []
