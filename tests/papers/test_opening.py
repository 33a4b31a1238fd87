"""Papers from anywhere: one registry, and what is said when a paper is not right."""

import importlib
import importlib.machinery
import re
import sys

import pytest

from iclab import papers
from iclab.papers import _offers
from iclab.testing import check_paper
from tests.papers.small_paper import edit, write_paper


def _keys() -> list[str]:
    return [opened.key for opened in papers.every_paper()]


def test_a_folder_is_a_room_like_the_others(registry, tmp_path):
    folder = write_paper(tmp_path, "small-2026", "small_one")
    assert papers.open_papers([folder]) == ()
    opened = papers.find_paper("small-2026")
    assert papers.open_papers([folder, tmp_path]) == ()  # once, however it is named
    assert _keys().count("small-2026") == 1
    assert (opened.folder, opened.flag) == (folder, f"--paper {folder}")
    claim, figure = papers.select(["small-2026"])
    assert papers.module_name(claim) == "small_one.theorem_1_2"
    assert papers.load_claim(claim).id == claim.id
    assert papers.load_figure(figure).id == figure.id
    assert papers.method(claim).summary == "Theorem 1.2."
    assert papers.claim_job(claim, "smoke", 0).run()["verdict"] == "holds"
    assert papers.select()[-2:] == (claim, figure)


def test_a_room_is_found_where_it_is_by_its_name(registry, tmp_path, monkeypatch):
    write_paper(tmp_path / "near-2026" / "src", "near-2026", "near_2026")
    monkeypatch.chdir(tmp_path)
    assert papers.open_papers_here(["zhang2023", "far2026/x", "..", "/", ""]) == ()
    assert papers.open_papers_here(["near-2026/theorem-1.2"]) == ("near-2026",)
    assert papers.find_paper("near-2026").flag == ""
    assert papers.open_papers_here(["near-2026"]) == ()


def test_a_room_is_found_from_inside(registry, tmp_path, monkeypatch):
    write_paper(tmp_path, "inside2026")
    monkeypatch.chdir(tmp_path)
    assert papers.open_papers_here(["inside2026"]) == ("inside2026",)
    monkeypatch.chdir(tmp_path / "inside2026")
    assert papers.open_papers_here(["other2026"]) == ()


def test_a_folder_of_the_same_name_hides_no_room(registry, tmp_path, monkeypatch):
    """As when Python is started beside what `iclab new` has written."""
    write_paper(tmp_path / "here2026" / "src", "here2026")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    assert papers.open_papers_here(["here2026"]) == ("here2026",)
    claim, _ = papers.select(["here2026"])
    assert papers.load_claim(claim).id == claim.id


def test_folders_of_the_environment(registry, tmp_path, monkeypatch):
    first = write_paper(tmp_path / "a", "first2026")
    write_paper(tmp_path / "b" / "src", "second2026")
    monkeypatch.setenv("ICLAB_PAPERS", f"{first}:{tmp_path / 'b'}:")
    assert _keys()[-2:] == ["first2026", "second2026"]
    assert papers.find_paper("first2026").flag == ""


def test_installed_packages_offer_papers(registry, tmp_path, monkeypatch):
    write_paper(tmp_path, "installed2026")
    facts = tmp_path / "installed2026-0.1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Name: installed2026\nVersion: 0.1\n")
    points = "[iclab.papers]\nx = installed2026\ny = gone2026\n"
    (facts / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)
    assert _keys()[-1] == "installed2026"
    assert papers.find_paper("installed2026").origin == "the package installed2026"
    assert papers.paper_problems() == (
        "the paper of the package installed2026 cannot be opened: gone2026 is no"
        " package",
    )


def test_two_papers_with_one_key(registry, tmp_path):
    one = write_paper(tmp_path, "twice2026", "one_of_two")
    two = write_paper(tmp_path, "twice2026", "two_of_two")
    with pytest.raises(papers.PaperProblem) as problem:
        papers.open_papers([one, two])
    assert str(problem.value) == (
        f"two papers have the key twice2026: that of {one} (named) and that of {two}"
        " (named); leave one out"
    )


WRONG = {
    "no-paper": (("contents.py", "PAPER = Paper", "PAPERS = Paper"),
                 "contents.py: `PAPER` must be a Paper, got None"),
    "no-entries": (("contents.py", "ENTRIES = (", "OTHERS = ("),
                   "contents.py: `ENTRIES` must be a list, got None"),
    "error": (("contents.py", "ENTRIES = (", "1 / 0\nENTRIES = ("),
              "ZeroDivisionError: division by zero (contents.py, line 9)"),
    "package": (("__init__.py", '"""A', 'import no_such_thing\n"""A'),
                "ModuleNotFoundError: No module named 'no_such_thing'"
                " (__init__.py, line 1)"),
    "key": (("contents.py", 'key="wrong2026"', 'key="Wrong/../2026"'),
            "Paper: `key` must be small letters, digits, - or _, a letter first, got"
            " 'Wrong/../2026' (contents.py, line 5)"),
    "other-key": (("contents.py", 'key="wrong2026"', 'key="index"'),
                  "the key of a paper cannot be index"),
    "id": (("contents.py", "wrong2026/figure-1", "other2026/figure-1"),
           "the id 'other2026/figure-1' must look like wrong2026/theorem-1.2"),
    "path": (("contents.py", "wrong2026/figure-1", "wrong2026/../../figure-1"),
             "the id 'wrong2026/../../figure-1' must look like wrong2026/theorem-1.2"),
    "twice": (("contents.py", "wrong2026/figure-1", "wrong2026/theorem-1.2"),
              "contents.py has wrong2026/theorem-1.2 twice"),
    "one-file": (("contents.py", "wrong2026/figure-1", "wrong2026/theorem-1-2"),
                 "two ids in contents.py have the same file theorem_1_2.py"),
    "no-file": (("contents.py", "wrong2026/figure-1", "wrong2026/figure-2"),
                "contents.py has wrong2026/figure-2, and there is no file figure_2.py"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_room_that_is_not_right_is_one_line_and_the_rest_works(
    registry, tmp_path, case
):
    (file, old, new), reason = WRONG[case]
    folder = write_paper(tmp_path, "wrong2026")
    edit(folder, file, old, new)
    (problem,) = papers.open_papers([folder])
    origin = f"wrong2026 of {folder} (named)"
    assert problem == f"the paper {origin} cannot be opened: {reason}"
    assert "zhang2023" in _keys()
    assert "wrong2026" not in _keys()


def test_a_file_without_an_entry(registry, tmp_path):
    folder = write_paper(tmp_path, "wrong2026")
    (folder / "lemma_3.py").write_text("")
    (problem,) = papers.open_papers([folder])
    assert problem.endswith(
        "lemma_3.py is not in contents.py: add its entry, or call it _lemma_3.py"
    )


def test_folders_that_are_no_papers(registry, tmp_path):
    write_paper(tmp_path / "many", "one2026")
    write_paper(tmp_path / "many", "two2026")
    taken = write_paper(tmp_path / "taken", "json2026", "json")
    odd = write_paper(tmp_path / "odd", "odd2026", "odd-2026")
    empty = tmp_path / "empty"
    empty.mkdir()
    json = importlib.import_module("json").__path__[0]
    reasons = {
        tmp_path / "nowhere": "there is no such folder",
        empty: "there is no contents.py in the folder",
        tmp_path
        / "many": "the folder holds several packages (one2026, two2026): name one"
        " of them",
        taken: f"the name of the package, json, is taken by {json}: rename the folder",
        odd: "its name 'odd-2026' is no name of a Python package",
    }
    for folder, reason in reasons.items():
        expected = f"the paper {folder} (named) cannot be opened: {reason}"
        assert papers.open_papers([folder])[-1] == expected


WRITTEN_OUT = """

from iclab.evidence import Claim, Figure, Printed
CLAIM = Claim("other2026/theorem-1.2", cases, predict, measure, decoy)
"""


def test_a_claim_may_be_written_out(registry, tmp_path):
    folder = write_paper(tmp_path, "other2026")
    with (folder / "theorem_1_2.py").open("a") as file:
        file.write(WRITTEN_OUT.replace("predict", "lambda case: 4.5"))
    papers.open_papers([folder])
    claim, _ = papers.select(["other2026"])
    assert papers.claim_job(claim, "smoke", 0).run()["verdict"] == "fails"


def test_a_claim_that_is_written_out_has_the_id_of_its_entry(registry, tmp_path):
    folder = write_paper(tmp_path, "wrong2026")
    with (folder / "theorem_1_2.py").open("a") as file:
        file.write(WRITTEN_OUT)
    papers.open_papers([folder])
    claim, _ = papers.select(["wrong2026"])
    for run in (papers.load_claim, lambda e: papers.claim_job(e, "smoke", 0).run()):
        with pytest.raises(ValueError, match=r"py has the id 'other2026/theorem-1.2'$"):
            run(claim)


LACKING = {
    "function": (
        ("theorem_1_2.py", "def decoy", "def decoys"),
        "theorem-1.2: `decoy` in theorem_1_2.py must be a function: a claim needs it,"
        " got nothing",
    ),
    "figure": (
        ("figure_1.py", "def compute", "compute = 3\n\n\ndef computes"),
        "figure-1: `compute` in figure_1.py must be a function: a figure needs it, got"
        " 3",
    ),
    "relation": (
        ("theorem_1_2.py", "def cases", 'relation = "<"\n\n\ndef cases'),
        "theorem-1.2: `relation` in theorem_1_2.py must be one of =, <= and >=, got"
        " '<'",
    ),
    "printed": (
        ("theorem_1_2.py", "def cases", "printed = 5.0\n\n\ndef cases"),
        "theorem-1.2: `printed` in theorem_1_2.py must be a function of a case, or a"
        " Printed, got 5.0",
    ),
    "argument": (
        ("theorem_1_2.py", "measure(case)", "measure(case, random, size)"),
        "theorem-1.2: `measure` in theorem_1_2.py must take a case, and `key` and"
        " `scale` if it needs them, got (case, random, size)",
    ),
    "former name": (
        ("figure_1.py", "def expect", "def said(tables):\n    pass\n\n\ndef expect"),
        "figure-1: `said` in figure_1.py is called `paper_statements` now",
    ),
    "written out": (
        ("figure_1.py", "def jobs", "FIGURE = 1\n\n\ndef jobs"),
        "figure-1: `FIGURE` in figure_1.py must be a Figure, got 1",
    ),
}


@pytest.mark.parametrize("case", LACKING)
def test_a_file_that_lacks_something_is_named(registry, tmp_path, case):
    (file, old, new), message = LACKING[case]
    folder = write_paper(tmp_path, "wrong2026")
    edit(folder, file, old, new)
    papers.open_papers([folder])
    claim, figure = papers.select(["wrong2026"])
    load = papers.load_figure if "figure" in file else papers.load_claim
    sentence = f"^wrong2026/{re.escape(message)}$"
    with pytest.raises(ValueError, match=sentence):
        load(figure if "figure" in file else claim)
    with pytest.raises(AssertionError, match=sentence):
        check_paper(folder, scale=None)


def test_what_is_printed_goes_with_an_erratum(registry, tmp_path):
    folder = write_paper(tmp_path, "printed2026")
    edit(
        folder,
        "theorem_1_2.py",
        "def cases",
        "def printed(case):\n    return 5.0\n\n\ndef cases",
    )
    papers.open_papers([folder])
    claim, _ = papers.select(["printed2026"])
    sentence = "1.2: an erratum in contents.py and `printed` go together$"
    for run in (papers.load_claim, lambda e: papers.claim_job(e, "smoke", 0).run()):
        with pytest.raises(ValueError, match=sentence):
            run(claim)


def test_parts_of_a_figure_are_found_by_name(registry, tmp_path):
    folder = write_paper(tmp_path, "parts2026")
    edit(folder, "figure_1.py", "def jobs", "seeded = trains = True\n\n\ndef jobs")
    papers.open_papers([folder])
    _, entry = papers.select(["parts2026"])
    figure = papers.load_figure(entry)
    assert (figure.id, figure.title) == ("parts2026/figure-1", "Figure 1.")
    assert figure.seeded
    assert figure.trains({})


def test_a_room_that_did_not_open_says_why(registry, tmp_path):
    folder = write_paper(tmp_path, "shut2026")
    edit(folder, "contents.py", "ENTRIES = (", "entries = shut\nENTRIES = (")
    papers.open_papers([folder])
    reason = (
        f"the paper shut2026 of {folder} (named) cannot be opened: NameError: name"
        " 'shut' is not defined (contents.py, line 9)"
    )
    for word in ("shut2026", "shut2026/theorem-1.2"):
        assert papers.why_closed(word) == reason
        with pytest.raises(papers.UnknownId) as mistake:
            papers.select([word])
        assert str(mistake.value) == f"unknown id {word!r}: {reason}"
        with pytest.raises(papers.UnknownId, match="cannot be opened"):
            papers.find_paper(word)


def test_an_unknown_paper_and_an_unknown_model(registry):
    with pytest.raises(papers.UnknownId, match="did you mean zhang2023"):
        papers.find_paper("zhang2032/x")
    with pytest.raises(papers.UnknownId, match="did you mean zhang2023/gpt2"):
        papers.recipe("zhang2023/gpt3")


def test_packages_are_read_only_where_one_offers_a_room(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "missing")])
    monkeypatch.setattr(sys, "meta_path", [importlib.machinery.PathFinder])
    assert not _offers._somebody_may()
    facts = tmp_path / "other-1.0.dist-info"
    facts.mkdir()
    (facts / "entry_points.txt").write_text("[console_scripts]\nother = other:main\n")
    (tmp_path / "flat.egg-info").write_text("Name: flat\n")
    assert not _offers._somebody_may()
    (tmp_path / "EGG-INFO").mkdir()
    (tmp_path / "EGG-INFO" / "entry_points.txt").write_text("[iclab.papers]\nx = x\n")
    assert _offers._somebody_may()


@pytest.mark.parametrize("what", ["archive", "finder"])
def test_packages_kept_in_another_way_are_asked(tmp_path, monkeypatch, what):
    archive = tmp_path / "packages.zip"
    archive.write_bytes(b"PK")
    monkeypatch.setattr(sys, "path", [str(archive)] if what == "archive" else [])
    finder = type("Finder", (), {"find_distributions": lambda self, context: []})()
    own = [importlib.machinery.PathFinder]
    monkeypatch.setattr(sys, "meta_path", own + [finder] * (what == "finder"))
    assert _offers._somebody_may()


LABELS = 'def labels(case):\n    return ["four"]'


@pytest.mark.parametrize("labels", ['labels = ["four"]', LABELS])
def test_labels_of_a_claim_are_names_or_a_function(registry, tmp_path, labels):
    folder = write_paper(tmp_path, "named2026")
    edit(folder, "theorem_1_2.py", "def cases", f"{labels}\n\n\ndef cases")
    papers.open_papers([folder])
    claim, _ = papers.select(["named2026"])
    (case,) = papers.claim_job(claim, "smoke", 0).run()["cases"]
    assert case["labels"] == ["four"]
