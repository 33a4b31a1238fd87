"""Contents and files of every room of iclab match one to one."""

from pathlib import Path

import pytest

from iclab import papers

ROOMS = Path(papers.__file__).parent
ENTRIES = papers.select()


def test_every_room_is_open():
    rooms = {path.parent for path in ROOMS.glob("*/contents.py")}
    assert rooms <= {room.folder for room in papers.rooms()}
    assert not papers.room_problems()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_entry_and_file_agree(entry):
    if entry.kind == "figure":
        papers.load_figure(entry)
        return
    printed = papers.load_claim(entry).printed
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
