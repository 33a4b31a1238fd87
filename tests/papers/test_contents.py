"""Contents and files of every paper of iclab match one to one."""

from pathlib import Path

import pytest

from iclab import papers
from iclab.testing import check_paper

PAPERS = Path(papers.__file__).parent
ENTRIES = papers.select()


def test_every_room_is_open():
    folders = {path.parent for path in PAPERS.glob("*/contents.py")}
    assert folders <= {opened.folder for opened in papers.every_paper()}
    assert not papers.paper_problems()


@pytest.mark.parametrize("opened", papers.every_paper(), ids=lambda one: one.key)
def test_entries_and_files_agree(opened):
    check_paper(opened.key, scale=None)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_entries_say_something(entry):
    assert len(entry.statement.split()) >= 5


def test_what_hangs_on_our_copy_is_a_remark():
    failures = (entry for entry in ENTRIES if entry.erratum is not None)
    texts = {one.id: f"{one.statement} {one.erratum}" for one in failures}
    ours = {id for id, text in texts.items() if "our copy" in text}
    assert not ours
