"""`iclab.check`, `iclab.reproduce`, `iclab.entries`: records as objects."""

import pytest

import iclab
from iclab.papers import PaperProblem, UnknownId
from iclab.results import read_run
from tests.papers.small_paper import edit, write_paper
from tests.refusals import refused

pytestmark = pytest.mark.usefixtures("registry")


@pytest.fixture
def paper(tmp_path):
    return write_paper(tmp_path, "small2026")


def test_entries(paper):
    claim, figure = iclab.entries("small2026", papers=paper)
    assert (claim.id, figure.kind) == ("small2026/theorem-1.2", "figure")
    assert len(iclab.entries()) > 100
    with pytest.raises(UnknownId, match="did you mean zhang2023"):
        iclab.entries(["zhang2032"])
    with pytest.raises(PaperProblem, match="there is no such folder"):
        iclab.entries(papers=[paper / "nowhere"])


def test_records_of_claims_and_figures(paper, tmp_path, capsys):
    folder = tmp_path / "results"
    options = {"scale": "smoke", "papers": [paper], "jobs": 1, "quiet": True}
    found = iclab.reproduce("small2026", out=folder, **options)
    assert capsys.readouterr() == ("", "")
    assert found.good
    assert len(found) == 2
    assert found.verdicts == dict.fromkeys(
        ("small2026/theorem-1.2", "small2026/figure-1"), "holds"
    )
    claim, figure = found
    assert claim.cases[0].predicted == 4.0
    kept = read_run(folder).records
    assert found["small2026/figure-1"] == kept["small2026/figure-1"]
    assert found.page == folder / "report" / "index.html"
    assert found[1:].verdicts == {"small2026/figure-1": "holds"}
    with pytest.raises(KeyError, match="is not here: there is small2026"):
        found["small2026/figure-2"]
    # As a notebook shows them: the verdict, the numbers, the picture.
    page = claim._repr_html_()
    for word in ("holds", "Two and two are four here.", "Theorem 1.2", "All numbers"):
        assert word in page
    assert "data:image/svg+xml;base64," in figure._repr_html_()
    assert "The line rises" in figure._repr_html_()
    whole = found._repr_html_()
    assert whole.count("<article>") == 2
    assert "<script" not in whole


def test_what_is_false_is_said_and_a_program_that_stops(paper, tmp_path):
    options = {"scale": "smoke", "papers": paper, "jobs": 1, "quiet": True}
    edit(paper, "theorem_1_2.py", "return 4.0", "return 4.5")
    (false,) = iclab.check("small2026/theorem-1.2", **options)
    assert (false.verdict, false.good) == ("fails", False)
    edit(paper, "theorem_1_2.py", "return 4.5", "raise OSError('<b>no</b>')")
    (stopped,) = iclab.check("small2026/theorem-1.2", out=tmp_path / "r", **options)
    assert stopped.failed
    assert stopped.reason == "OSError: <b>no</b> (theorem_1_2.py, line 13, in predict)"
    assert "&lt;b&gt;no&lt;/b&gt;" in stopped._repr_html_()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"scale": "small"}, "check: `scale` must be 'smoke' or 'desk' or"
                             " 'paper', got 'small'"),
        ({"seed": -1}, "check: `seed` must be an integer from 0 to 2⁶³ − 1, got"
                       " -1"),
        ({"jobs": 1.5}, "check: `jobs` must be an integer ≥ 1, got 1.5"),
        ({"ids": [3]}, "check: `ids[0]` must be a string, got 3"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named(options, sentence):
    with refused(sentence):
        iclab.check(**{"ids": "zhang2023/theorem-4.1"} | options)


def test_a_figure_is_no_claim(paper):
    id = "small2026/figure-1"
    with refused(f"{id} is a figure: use `iclab reproduce {id}`"):
        iclab.check("small2026/figure-1", papers=paper, quiet=True)


def test_settings_are_those_of_the_command_line(tmp_path):
    close = "unknown setting 'dimensions': did you mean dimension?"
    with refused(f"ahn2023/figure-1: {close}"):
        iclab.reproduce(
            "ahn2023/figure-1",
            settings={"dimensions": 3},
            out=tmp_path / "results",
            quiet=True,
        )
    assert not (tmp_path / "results").exists()
