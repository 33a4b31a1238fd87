"""Contents and files of every room of iclab match one to one."""

from pathlib import Path

import pytest

from iclab import papers
from iclab.testing import check_room

ROOMS = Path(papers.__file__).parent
ENTRIES = papers.select()


def test_every_room_is_open():
    rooms = {path.parent for path in ROOMS.glob("*/contents.py")}
    assert rooms <= {room.folder for room in papers.rooms()}
    assert not papers.room_problems()


@pytest.mark.parametrize("room", papers.rooms(), ids=lambda room: room.key)
def test_entries_and_files_agree(room):
    check_room(room.key, scale=None)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_entries_say_something(entry):
    assert len(entry.statement.split()) >= 5
