"""The table of wrong formulas: every line applies, and something can see it."""

import sys
from pathlib import Path

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
    # Through a private function, a helper of the room and `training`.
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
