"""Signs that a terminal obeys: refused where records are read, spelt out elsewhere."""

import json

import pytest

from iclab.cli import main
from iclab.papers import failed_record, select
from iclab.results import ResultsFolder, read_run
from iclab.show import visible
from tests.report import example

SIGNS = [
    "\x00", "\x07", "\x08", "\r", "\x1b[2J", "\x7f", "\x85", "\x9b2J", "\u061c",
    "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069",
]  # fmt: skip
# Where a text may stand in a record, and how it gets there.
PLACES = {
    "statement": lambda one, text: one.update(statement=text),
    "correction": lambda one, text: one.update(correction=text),
    "remark": lambda one, text: one.update(remark=text),
    "case": lambda one, text: one["cases"][0].update(case=text),
    "reason": lambda one, text: one["cases"][0].update(reason=text),
    "settings": lambda one, text: one.update(settings={"a": text}),
    "a name": lambda one, text: one.update(numbers={text: 1}),
    "a word": lambda one, text: one.update(numbers={"a": [text][0]}),
    "missing": lambda one, text: one.update(missing=[text]),
    "iclab": lambda one, text: one.update(iclab=text),
    "commit": lambda one, text: one.update(commit=text),
    "error": lambda one, text: one.update(later={"error": text}),
    "id": lambda one, text: one.update(id=f"zhang2023/{text}"),
}


@pytest.fixture
def folder(tmp_path):
    return example.write_results(tmp_path / "out")


@pytest.mark.parametrize("place", PLACES)
def test_a_record_with_control_characters_is_left_out(folder, place):
    others = read_run(folder).records.keys() - {example.HOLDS}
    whole = (folder / "results.json").read_bytes()
    for sign in SIGNS:
        (folder / "results.json").write_bytes(whole)
        text = f"a{sign}b"
        example.edit(folder, lambda one, t=text: PLACES[place](one, t), example.HOLDS)
        run = read_run(folder)
        assert run.records.keys() == others, repr(sign)
        assert len(run.problems) == 1


@pytest.mark.parametrize("place", PLACES)
def test_they_do_not_reach_the_terminal(folder, capsys, place):
    example.edit(folder, lambda one: PLACES[place](one, "a\x1b[2J"), example.HOLDS)
    out = str(folder)
    for words in (["show", example.HOLDS, "--out", out], ["compare", out, out]):
        assert main(words) == 0
        said = capsys.readouterr()
        assert "\x1b" not in said.out + said.err
        assert "is left out" in said.err


def test_they_do_not_reach_the_report(folder, capsys):
    example.edit(folder, lambda one: one.update(statement="\x1b[2J"), example.HOLDS)
    assert main(["report", str(folder)]) == 0
    assert "\x1b" not in capsys.readouterr().err
    pages = [page.read_text("utf-8") for page in (folder / "report").glob("*.html")]
    assert not [page for page in pages if "\x1b" in page]


def test_facts_with_control_characters_are_not_known(folder):
    path = folder / "results.json"
    run = json.loads(path.read_text())
    facts = {"platform": "a\x1bb", "commit": "\u202e", "versions": {"jax": "\x9b"}}
    path.write_text(json.dumps({**run, **facts, "ids": ["\x07"]}))
    run = read_run(folder)
    assert len(run.problems) == 4
    assert run.facts.platform is None
    assert run.facts.versions is None


def test_lines_stay_where_texts_have_them(folder):
    text = "one\n\ttwo"
    for place in ("statement", "correction", "remark", "reason", "error"):
        example.edit(folder, lambda one, p=place: PLACES[p](one, text), example.HOLDS)
    assert read_run(folder).problems == ()
    for place in ("case", "settings", "missing", "iclab", "commit"):
        example.edit(folder, lambda one, p=place: PLACES[p](one, text), example.HOLDS)
        assert len(read_run(folder).problems) == 1, place


def test_what_stops_a_program_can_be_read_again(tmp_path):
    (entry,) = select([example.HOLDS])
    error = "Traceback:\n\tValueError: \x1b[31mred\x1b[0m \u202e"
    record = failed_record(entry, error, 1.0, seed=0, scale="smoke")
    results = ResultsFolder(tmp_path, {})
    results.add(record)
    results.flush()
    run = read_run(tmp_path)
    assert run.problems == ()
    expected = "Traceback:\n\tValueError: \\x1b[31mred\\x1b[0m \\u202e"
    assert run.records[example.HOLDS].error == expected


def test_names_of_strangers_are_spelt_out(tmp_path, capsys):
    place = tmp_path / "a\x1b[2J\u202eb"
    place.mkdir()
    (place / "results.json").write_text("[]")
    assert main(["report", str(place)]) == 2
    error = capsys.readouterr().err
    assert "\\x1b[2J\\u202eb" in error
    assert not {"\x1b", "\u202e"} & set(error)


def test_visible():
    assert visible("ℓ ≤ 1\n\t–") == "ℓ ≤ 1\n\t–"
    for sign in SIGNS:
        assert visible(f"a{sign[0]}b") == f"a{ascii(sign[0])[1:-1]}b"
