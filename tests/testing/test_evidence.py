"""The lint of evidence: on claims of ours, and on claims made to break each rule."""

import pytest

from iclab import papers
from iclab.evidence import CaseResult
from iclab.testing import check_evidence
from iclab.testing._evidence import sides_problem, weak_cases


@pytest.mark.parametrize("key", [one.key for one in papers.every_paper()])
def test_sides_of_our_claims_are_two(key):
    check_evidence(key)


CLAIM = '''"""A claim."""

from iclab.evidence import Measured
from iclab.theory import gamma_matrix, lsa_risk
from iclab.algorithms import Ridge

{extra}

def cases(scale):
    """One."""
    return {{"one": 1}}


def predict(case):
    """By a formula."""
    return gamma_matrix(case, 3)


def measure(case):
    """By another."""
    return Measured({measured}, 0.1, "why")


def decoy(case):
    """Wrong."""
    return {decoy}
'''


@pytest.mark.parametrize(
    ("measured", "decoy", "extra", "message"),
    [
        ("lsa_risk(case, case, 3)", "0", "", None),
        ("gamma_matrix(case, 4)", "0", "", "both reach gamma_matrix"),
        ("_again(case)", "0", "def _again(x):\n    return gamma_matrix(x, 4)\n",
         "both reach gamma_matrix"),
        ("gamma_matrix(case, 4)", "0", "shares = {'gamma_matrix': 'a start'}", None),
        ("1.0", "0", "shares = {'gamma_matrix': 'a start'}", "which the sides do not"),
        ("1.0", "-measure(case).value", "", "no function of what is measured: measure"),
        ("Ridge(case)", "Ridge(2 * case)", "", "of what is measured: Ridge"),
    ],
)  # fmt: skip
def test_rules(tmp_path, measured, decoy, extra, message):
    file = tmp_path / "lemma_1.py"
    file.write_text(CLAIM.format(measured=measured, decoy=decoy, extra=extra))
    shares = {"gamma_matrix": "a start"} if extra.startswith("shares") else {}
    problem = sides_problem(file, tmp_path.name, shares)
    assert problem == message if message is None else message in (problem or "")


def test_weak_decoys_are_named():
    def case(measured, error, decoy):
        return CaseResult("c", "=", measured, measured, error, decoy, "why", "holds")

    near, far = case(1.0, 0.01, 1.05), case(1.0, 0.01, 2.0)
    wide, none = case(1.0, 0.2, 2.0), case(1.0, 0.01, None)
    named = weak_cases("a/b", [near, far, wide, none])
    assert named == ["a/b c: 100 error bars, 100 % of what was measured"]
