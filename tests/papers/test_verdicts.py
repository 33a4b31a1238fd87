"""Every claim at smoke scale: as the papers have it, or corrected where they err."""

import pytest

from iclab import papers
from iclab.evidence import run_claim

CLAIMS = [entry for entry in papers.ENTRIES if entry.kind == "claim"]


@pytest.mark.parametrize("entry", CLAIMS, ids=lambda entry: entry.id)
def test_verdict(entry):
    result = run_claim(papers.load_claim(entry), "smoke", 0)
    expected = "holds" if entry.erratum is None else "corrected"
    bad = [case.json() for case in result.cases if case.verdict != "holds"]
    assert result.verdict == expected, bad
