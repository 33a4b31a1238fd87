"""The table of wrong formulas: every line applies, and something can see it."""

import functools
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import mutants  # pyright: ignore[reportMissingImports]

TABLE = mutants.table()


def test_the_table_is_large_and_has_no_twins():
    assert len(TABLE) >= 150
    assert len({mutant.key for mutant in TABLE}) == len(TABLE)
    folders = {mutant.file.split("/")[0] for mutant in TABLE}
    assert folders == {"theory", "models", "algorithms", "tasks"}


def test_every_mutant_is_another_program():
    for mutant in TABLE:  # the message of what does not apply names its line
        original = (mutants.PACKAGE / mutant.file).read_text(encoding="utf-8")
        changed = mutant.source()
        assert changed != original
        compile(changed, mutant.file, "exec")


def test_claims_are_found_by_calls_and_imports():
    by_key = {mutant.function: mutant for mutant in TABLE}
    near = mutants.claims_that_reach(by_key["attended_bound"])
    assert near == {"yang2024/lemma-9": 1}
    # Through a private function, a helper of the paper and `training`.
    far = mutants.claims_that_reach(by_key["_relative_eigenvalues"])
    assert "gatmiry2024/theorem-4.4" in far
    assert "zhang2023/theorem-4.1" not in far


def test_a_process_reads_the_mutant():
    mutant = next(one for one in TABLE if one.function == "moment_deviation")
    program = (
        f"import sys; sys.path.insert(0, {str(mutants.TABLE.parent)!r})\n"
        "import mutants\n"
        f"(one,) = (m for m in mutants.table() if m.key == {mutant.key!r})\n"
        "mutants.install(one)\n"
        "import iclab.theory\n"
        "print(iclab.theory.moment_deviation(3, 10_000, 2))\n"
    )
    found = mutants.subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "0.12"  # half of 4kd/√n


class Case(NamedTuple):
    """What a step of a claim returns, as far as the campaign looks."""

    verdict: str
    printed: bool = False


def test_a_claim_stops_at_its_first_red_case():
    ran = []

    def step(case: Case):
        ran.append(case)
        return case

    # A printed statement that fails is no red case: that is what it is there for.
    cases = [Case("holds"), Case("fails", True), Case("undecided"), Case("holds")]
    steps = mutants._until_red([functools.partial(step, case) for case in cases])
    with pytest.raises(mutants._Red, match="undecided"):
        [one() for one in steps]
    assert ran == cases[:3]


def test_the_record_keeps_first_results_and_notes(tmp_path, monkeypatch):
    for name in ("RECORD", "CLAIMS", "SUMMARY"):
        old = getattr(mutants, name)
        monkeypatch.setattr(mutants, name, tmp_path / old.name)
    mutant = TABLE[0]
    row = {name: getattr(mutant, name) for name in ("file", "function")}
    row |= {"scale": "smoke", "before": mutant.before, "after": mutant.after}
    row |= {"code": "", "claims": 1, "seen by": "", "verdict": "", "tests": ""}
    mutants.Record().keep(row)
    assert f"- `{mutant.key}` (no claim of 1)" in mutants.SUMMARY.read_text()
    with mutants.SUMMARY.open("a") as file:
        file.write("\n" + mutants.NOTES + "\nBy hand.\n")
    mutants.Record().keep(row | {"seen by": "zhang2023/lemma-a.1"})
    record, text = mutants.Record(), mutants.SUMMARY.read_text()
    assert record.told("smoke", mutant)["first"] == "not seen"
    assert "| a claim at `smoke` | 1 | 1 | 100.0% | 85% |" in text
    assert "| a claim at `smoke` | 0 | 1 | 0.0% |" in text
    assert text.endswith("\n## How it was run\n\nBy hand.\n")
