"""Items and their jobs, and signals between two of them."""

import os
import signal

import pytest

from iclab.lab import Request, Stopped
from iclab.lab._signals import stoppable
from iclab.lab._work import Work
from iclab.runs import Job, Outcome

IDS = ("zhang2023/lemma-a.3", "zhang2023/theorem-4.1")


def _work(*ids: str, **more) -> Work:
    request = Request(command="check", ids=ids, scale="smoke", **more)
    return Work(request, request.entries())


def test_a_job_that_two_items_share_is_run_once(monkeypatch):
    monkeypatch.setattr(
        "iclab.papers.claim_job", lambda entry, scale, seed: Job("json:dumps", {}, seed)
    )
    work, ids = _work(*IDS), list(IDS)
    jobs = work.every_job
    assert len({job.digest for job in jobs}) == 1
    assert work.owners(jobs[0]) == ids
    case = {"case": "only", "relation": "=", "predicted": 1.0, "measured": 1.0}
    case |= {"error": 0.1, "decoy": 2.0, "reason": "because", "verdict": "holds"}
    result = {"verdict": "holds", "cases": [case], "seconds": 0.5}
    assert work.take(Outcome(jobs[0], result, None, 2.0)) == ids
    assert [work.record(id)[0].verdict for id in ids] == ["holds", "holds"]
    assert work.computed(ids[1]) == 2.0


def test_an_item_that_cannot_be_planned_is_undecided(monkeypatch):
    def refuse(entry, scale, seed):
        raise ValueError("no plan")

    monkeypatch.setattr("iclab.papers.claim_job", refuse)
    work = _work(*IDS, seed=3)
    assert work.every_job == []
    assert list(work.unplanned) == list(IDS)
    record, _ = work.record(IDS[0])
    assert record.verdict == "undecided"
    assert record.reason == "ValueError: no plan"
    assert (record.seed, record.scale) == (3, "smoke")


def test_a_result_that_cannot_be_read_is_undecided():
    work = _work(IDS[0])
    work.take(Outcome(work.every_job[0], {}, None, 1.0))
    record, _ = work.record(IDS[0])
    assert record.reason.endswith("Wrong: `result.verdict` is missing")


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
