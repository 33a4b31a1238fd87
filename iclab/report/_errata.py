"""Errata and notes: in words that every page shares, and the pages of one paper."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from iclab._files import write_whole
from iclab._reader import checked
from iclab.evidence import ERRATUM_CLASSES, Entry
from iclab.papers import find_paper
from iclab.report import _text
from iclab.report._build import see_page, write_page
from iclab.report._items import Item, items, opening
from iclab.report._slips import NOT, by_weight, said_of
from iclab.results import Run
from iclab.show import counted

# By these the pages are known to be ours.
_MARK = "<!-- iclab errata -->"
_HTML_MARK = '<meta name="generator" content="iclab errata">'


@checked
def write_errata(
    key: str, run: Run, folder: str | os.PathLike[str] = "."
) -> tuple[Path, Path]:
    """Write what is wrong in a paper, for its authors, as Markdown and as HTML.

    Numbers are those of `run`. Each page is one file that needs no other; earlier ones
    are replaced, and no other file.
    """
    paper = find_paper(key).paper
    every = [
        item
        for item in items(run)
        if item.entry.paper == paper.key and not item.entry.is_variant
    ]
    wrong = by_weight(item for item in every if item.entry.erratum)
    notes = by_weight(item for item in every if item.entry.remark)
    sums = (
        f"Of {len(every)} statements and figures of this paper that are checked"
        f" {len(wrong)} fail as printed, and {len(notes)} hold with a note."
        " Quotations are a few words that say where; all else is in our words. We may"
        " be wrong: each entry says how to run it again."
    )
    made_by = opening(run) if any(item.record for item in every) else ""
    lines = [_MARK, f"# Notes on “{paper.title}”", ""]
    lines += [f"{', '.join(paper.authors)}. {paper.venue_or_note}.", "", sums, ""]
    lines += ["## What this page is not", "", *not_lines(), "The classes:", ""]
    lines += [f"- {name}: {text}" for name, text in ERRATUM_CLASSES.items()]
    for title, some in (
        ("Statements that fail as printed", wrong),
        ("Notes on statements that hold", notes),
    ):
        lines += [
            "",
            f"## {title} ({len(some)})",
            "",
            *(in_markdown(some) or ["None."]),
        ]
    stem = f"errata-{paper.key}"
    paths = Path(folder) / f"{stem}.md", Path(folder) / f"{stem}.html"
    see_page(paths[0], _MARK)
    values = {"paper": paper, "wrong": wrong, "notes": notes, "sums": sums, "nots": NOT}
    values |= {"made_by": made_by, "classes": ERRATUM_CLASSES, "found": found}
    write_page(paths[1], _HTML_MARK, "letter.html", **values)
    write_whole(paths[0], "\n".join([*lines, made_by]).rstrip() + "\n")
    return paths


def not_lines() -> list[str]:
    """What a page of errata is not, as a list in Markdown."""
    return [*(f"- **{head}** {text}" for head, text in NOT), ""]


def in_markdown(some: Iterable[Item], site: bool = False) -> list[str]:
    """Errata or notes as Markdown; on the site with their papers and with targets."""
    return [line for item in some for line in _in_markdown(item, site)]


def _in_markdown(item: Item, site: bool) -> Iterator[str]:
    entry = item.entry
    if site:
        yield f"(erratum-{anchor(entry)})="
    paper = f"{entry.paper}, " if site else ""
    yield f"### {paper}{_text.markdown(entry.locator)}"
    yield ""
    yield f"`{entry.id}`"
    yield ""
    for label, text in said_of(entry):
        yield f"- **{label}**: {_text.markdown(text)}"
    yield f"- **Found**: {found(item)}"
    yield f"- **Run it**: `{item.command}`"
    yield ""
    if entry.formula:
        yield from ("$$", entry.formula, "$$", "")


def anchor(entry: Entry) -> str:
    """The id of an entry as an id of HTML."""
    return entry.id.replace("/", "-").replace(".", "-").replace("@", "-")


def found(item: Item) -> str:
    """The verdict, and in how many cases the printed form fails."""
    if item.record is None:
        return "not in the folder that this page was made from"
    words = [f"verdict {item.verdict}"]
    if failed := len(item.counterexamples):
        words.append(f"{counted(failed, 'case')} in which the printed form fails")
    if held := len(item.cases):
        words.append(f"{counted(held, 'case')} of what holds")
    return "; ".join(words)
