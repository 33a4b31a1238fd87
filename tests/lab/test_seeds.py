"""Several seeds: every figure follows them, and records say how verdicts do."""

import numpy as np

from iclab import lab, papers
from iclab.papers.ahn2023._experiments import instance
from iclab.papers.yang2024._experiments import dictionary_of
from iclab.runs import Outcome, here

_SHARED = {"zhang2023": ["1"], "ahn2023": ["1", "2", "3", "4"]}
_SHARED |= {"yang2024": ["2a", "2b", "4", "5a", "5b", "attention"]}


def _figure_jobs(id: str, seed: int):
    (entry,) = papers.select([id])
    return papers.figure_jobs(entry, "smoke", seed)


def test_units_that_share_samples_share_them_by_the_seed():
    for paper, figures in _SHARED.items():
        for name in figures:
            for job in _figure_jobs(f"{paper}/figure-{name}", 3).values():
                assert job.config["settings"]["seed"] == 3


def test_other_seeds_are_other_instances_and_dictionaries():
    sizes = {"dimension": 3, "layers": 2, "initial_std": 0.1}
    first, again = (instance({**sizes, "seed": 0}, 1), instance(sizes, 1))
    other = instance({**sizes, "seed": 1}, 1)
    np.testing.assert_array_equal(first.root, again.root)
    assert np.abs(first.root - other.root).max() > 0.01
    jobs = _figure_jobs("yang2024/figure-2a", 0)
    settings = next(iter(jobs.values())).config["settings"]
    tokens = [dictionary_of({**settings, "seed": seed}).tokens for seed in (0, 1)]
    assert np.abs(tokens[0] - tokens[1]).max() > 0.1


CHECK = lab.Request(
    command="check", ids=("zhang2023/lemma-5.1",), scale="smoke", seed=4, seeds=2
)


def test_a_record_says_how_the_item_ends_with_every_seed():
    (record,) = lab.run(CHECK, engine=here).records
    assert record.seed == 4
    assert record.scatter is not None
    assert record.scatter.seeds == (4, 5)
    assert record.scatter.words == "holds with all of 2 seeds"
    assert record.good
    assert all(len(values) == 2 for values in record.scatter.numbers.values())
    (line, *_) = lab.result_lines(record)
    assert line.endswith("(holds with all of 2 seeds)")


def test_a_seed_whose_program_stops_decides_nothing():
    def second_stops(jobs):
        first, second = jobs
        yield from here([first])
        yield Outcome(second, None, "Traceback\nError: no\n", 1.0)

    (record,) = lab.run(CHECK, engine=second_stops).records
    assert record.verdict == "holds"
    assert record.scatter is not None
    assert record.scatter.verdicts == ("holds", "undecided")
    assert not record.good
