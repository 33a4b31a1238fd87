"""Contents and files of every paper's room match one to one."""

import importlib
from pathlib import Path

import pytest

from iclab import papers
from iclab.evidence import Claim, Figure

ROOMS = Path(papers.__file__).parent
ENTRIES = papers.ENTRIES


def _files(paper: str) -> set[str]:
    found = {path.stem for path in (ROOMS / paper).glob("*.py")}
    return {name for name in found if name[0] != "_" and name != "contents"}


def test_ids_are_unique():
    assert len({entry.id for entry in ENTRIES}) == len(ENTRIES)


def test_every_room_is_in_the_catalogue():
    rooms = {path.parent.name for path in ROOMS.glob("*/contents.py")}
    assert rooms == {entry.paper for entry in ENTRIES}
    assert rooms <= {paper.key for paper in papers.PAPERS}


@pytest.mark.parametrize("paper", sorted({entry.paper for entry in ENTRIES}))
def test_contents_and_files_match(paper):
    named = [papers.module_name(entry) for entry in papers.select([paper])]
    assert {name.rpartition(".")[2] for name in named} == _files(paper)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_entry_and_file_agree(entry):
    module = importlib.import_module(papers.module_name(entry))
    if entry.kind == "figure":
        assert isinstance(module.FIGURE, Figure)
        assert module.FIGURE.id == entry.id
        return
    assert isinstance(module.CLAIM, Claim)
    assert module.CLAIM.id == entry.id
    printed = module.CLAIM.printed
    assert (entry.erratum is not None) == (printed is not None and not printed.beside)
    if printed is not None and printed.beside:
        assert entry.remark is not None


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_entries_say_something(entry):
    assert len(entry.statement.split()) >= 5
    assert entry.locator
    how = papers.method(entry)
    assert how.summary
    assert all(text for _, text in how.steps)
