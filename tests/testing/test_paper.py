"""`check_paper` passes a paper that is right, and says what is wrong with another."""

import pytest

from iclab.testing import check_paper
from tests.papers.small_paper import edit, write_paper

pytestmark = pytest.mark.usefixtures("registry")


def test_a_room_that_is_right(tmp_path):
    folder = write_paper(tmp_path, "right2026")
    assert check_paper(folder) is None
    check_paper("right2026", scale=None)


TWO_TABLES = ('{"line": {"count": 3}}', '{"line": {"count": 3}, "more": {"count": 2}}')
ERRATUM = '"Five.", erratum="No.", correction="Four.", erratum_class="false"'
WRONG = {
    "false": ("theorem_1_2.py", ("return 4.0", "return 4.5"),
              "theorem-1.2: the verdict must be holds, got fails: only:"
              " predicted = 4.5, measured 4 ± 10⁻⁹, decoy 5 (round-off)"),
    "decoy": ("theorem_1_2.py", ("return 5.0", "return 4.0"),
              "theorem-1.2: the verdict must be holds, got undecided: only:"
              " predicted = 4, measured 4 ± 10⁻⁹, decoy 4 (round-off)"),
    "no-decoy": ("theorem_1_2.py", ("return 5.0", "return None"),
                 "theorem-1.2: the verdict must be holds, got undecided:"
                 " no decoy was rejected"),
    "erratum": ("contents.py", ('"Two and two are four here."', ERRATUM),
                "theorem-1.2: an erratum in contents.py and `printed` go together"),
    "silent": ("contents.py", ('"Theorem 1.2"', '" "'),
               "theorem-1.2: its entry has no locator"),
    "docstring": ("theorem_1_2.py", ('"""Two and two."""', ""),
                  "theorem-1.2: no docstring says what measure does"),
    "number": ("contents.py", ("Two and two are", "«{none:.2f}»"),
               "theorem-1.2: its statement names none, which no run has found"),
    "evidence": ("figure_1.py", ('">=", 1.0', '">=", 2.0'),
                 "figure-1: what it should show is not there: The line rises: 1.0,"
                 " expected >= 2.0"),
    "reason": ("figure_1.py", (', "whole numbers"', ""),
               "figure-1: every bound needs its `reason`"),
    "json": ("figure_1.py", ('"count": 3', '"count": 3, "bad": np.eye(2)'),
             "figure-1: its settings and results must be plain JSON: Object of type"
             " ndarray is not JSON serializable"),
    "missing": ("contents.py", ("ENTRIES = (", "OTHERS = ("),
                "contents.py: `ENTRIES` must be a list, got None"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(tmp_path, case):
    file, (old, new), sentence = WRONG[case]
    folder = write_paper(tmp_path, "wrong2026")
    edit(folder, file, old, new)
    with pytest.raises(AssertionError) as failure:
        check_paper(folder)
    assert str(failure.value).endswith(sentence)


def test_any_part_of_the_tables_is_drawn_or_said_to_be_too_little(tmp_path):
    folder = write_paper(tmp_path, "parts2026")
    edit(folder, "figure_1.py", *TWO_TABLES)
    check_paper(folder)  # asks for `line` where it is not: that is said
    other = write_paper(tmp_path, "wrong2026")
    edit(other, "figure_1.py", *TWO_TABLES)
    other_lines = "len(set(tables) - {'line'})"
    edit(other, "figure_1.py", "Page()", f"Page(dpi=100 / {other_lines})")
    sentence = (
        "with the table 'line' alone, ZeroDivisionError: division by zero; `draw`"
    )
    with pytest.raises(AssertionError, match=sentence):
        check_paper(other)


def test_no_room(tmp_path):
    with pytest.raises(AssertionError, match=r"there is no contents\.py in the folder"):
        check_paper(tmp_path)
