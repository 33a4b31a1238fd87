"""Pages of what is wrong in a paper, for its authors."""

from html import unescape
from typing import Any

import pytest

from iclab import papers
from iclab.evidence import Entry
from iclab.report import write_errata
from iclab.results import read_run
from tests.report import example


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return read_run(example.write_results(tmp_path_factory.mktemp("run") / "results"))


@pytest.mark.parametrize("opened", papers.every_paper(), ids=lambda one: one.key)
def test_a_page_has_every_erratum_and_note(opened, run, tmp_path):
    markdown, html = write_errata(opened.key, run, tmp_path)
    slips = [one for one in papers.select([opened.key]) if one.erratum_class]
    for path in (markdown, html):
        text = unescape(path.read_text("utf-8"))
        assert opened.paper.title in text
        assert text.index("What this page is not") < text.index("Statements that fail")
        assert all(entry.locator in text for entry in slips)
        assert text.count("By hand") == sum(bool(one.counterexample) for one in slips)
        assert "«" not in text


def test_pages_replace_pages_and_no_other_file(run, tmp_path):
    first = write_errata("zhang2023", run, tmp_path)
    assert write_errata("zhang2023", run, tmp_path) == first
    for path in first:
        kept = path.read_text("utf-8")
        path.write_text("mine", "utf-8")
        with pytest.raises(OSError, match="did not write it"):
            write_errata("zhang2023", run, tmp_path)
        path.write_text(kept, "utf-8")


def test_a_quotation_is_a_few_words_about_a_slip():
    fields: Any = {"remark": "a root too long", "erratum_class": "misprint"}
    Entry("me2026/a", "claim", "(1)", "so it is", quote="a root", **fields)
    with pytest.raises(ValueError, match="at most 12 words"):
        Entry("me2026/a", "claim", "(1)", "so it is", quote="a " * 13, **fields)
    with pytest.raises(ValueError, match="goes with an erratum or a remark"):
        Entry("me2026/a", "claim", "(1)", "so it is", quote="a root")
