"""Gallery and errata, from a folder of results; sentences and seeds, from records.

The folder is the one that `ICLAB_SITE_RESULTS` names, or the record in `records/desk`,
or that in `records/paper`, or else one that a run of a few figures at smoke scale
writes beside the site. Nothing is shown that was not run: what a folder lacks is said
to be missing.
"""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from iclab.evidence import ERRATUM_CLASSES, Evidence, Sentence
from iclab.papers import every_paper
from iclab.report._errata import anchor, in_markdown, not_lines
from iclab.report._items import Item, items, opening
from iclab.report._slips import by_weight
from iclab.report._text import markdown as _words
from iclab.results import Run, read_run
from iclab.show import number

DOCS = Path(__file__).parents[1]
_RECORDS = DOCS.parent / "records"
_SMOKE = DOCS / "_build" / "smoke"
# Few and quick: what a reader sees when nobody has kept a run.
_QUICK = (
    "findings/figure-layers-of-bayes",
    "gatmiry2024/figure-weight-sharing",
    "yang2024/figure-3",
    "gatmiry2024/lemma-4.1",
)
_COPIES = DOCS / "_generated"
_SHOWN = {"svg": "SVG", "pdf": "PDF", "png": "PNG", "csv": "numbers (CSV)"}


def folder() -> Path:
    """Where the results are that the site shows."""
    named = os.environ.get("ICLAB_SITE_RESULTS")
    if named:
        return Path(named)
    kept = (_RECORDS / name for name in ("desk", "paper"))
    return next((path for path in kept if _whole(path)), _SMOKE)


def _whole(path: Path) -> bool:
    return (path / "results.json").is_file()


def prepare(app: Sphinx) -> None:
    """Have results: run a few at smoke scale if there is nothing to show."""
    if folder() == _SMOKE:
        words = ("reproduce", *_QUICK, "--scale", "smoke", "--out", str(_SMOKE))
        done = subprocess.run(
            [sys.executable, "-m", "iclab", *words], capture_output=True, text=True
        )
        if done.returncode:
            raise ExtensionError(
                f"iclab reproduce failed: {done.stderr or done.stdout}"
            )


def _run() -> Run:
    return read_run(folder())


def page() -> str:
    """Every figure: picture, caption, evidence, command, files."""
    run = _run()
    every = [one for one in _items(run) if one.entry.kind == "figure"]
    parts = [_said_of(run), "", *_thumbnails(every)]
    for opened in every_paper():
        here = [item for item in every if item.entry.paper == opened.paper.key]
        if here:
            parts.append(f"## {opened.paper.key}: {opened.paper.title}\n")
            parts += map(_figure, here)
    return "\n".join(parts)


def _items(run: Run) -> list[Item]:
    """What iclab's own papers list, whatever else is installed where this is built."""
    own = {opened.key for opened in every_paper() if opened.origin == "iclab"}
    return [item for item in items(run) if item.entry.paper in own]


def _said_of(run: Run) -> str:
    """The run in a sentence, with its machine as code: x86_64 is no formula.

    Without its time where that is the time of reading what was there.
    """
    text = re.sub(r" in [^,]*, mostly with cached results", "", opening(run))
    return re.sub(r"\w+_\w+", r"`\g<0>`", text)


def _thumbnails(every: Iterable[Item]) -> Iterator[str]:
    """All pictures, small, each a link to its place on the page."""
    yield "::::{container} thumbnails"
    for item in every:
        kind = next((one for one in ("svg", "png") if one in item.files), None)
        if kind is not None:
            yield f":::{{figure}} /{_copied(item, kind)}"
            yield f':target: "#figure-{anchor(item.entry)}"'
            yield f':alt: "{item.entry.id}"'
            yield ":class: picture"
            yield ""
            yield item.entry.id
            yield ":::"
    yield "::::"
    yield ""


def figure(id: str) -> str:
    """The picture of one figure and what it shows, for a page about it."""
    (item,) = (one for one in _items(_run()) if one.entry.id == id)
    _, _, rest = _figure(item).split("\n", 2)
    return rest


def _figure(item: Item) -> str:
    lines = [f"(figure-{anchor(item.entry)})=", f"### {item.entry.id}", ""]
    if item.record is None:
        lines += [_words(item.entry.statement), ""]
        lines += ["Not in the folder that this page was made from.", ""]
        return "\n".join([*lines, *_facts(item)])
    shown = next((kind for kind in ("svg", "png") if kind in item.files), None)
    if shown:
        lines += [
            f":::{{figure}} /{_copied(item, shown)}",
            f":alt: {_plain(item.entry.statement)}",
            ":class: picture",
            "",
            _words(item.entry.statement),
            ":::",
            "",
        ]
    if item.paper_statements:
        lines += ["What its paper says of it:", ""]
        lines += [
            f"- **{one.state}**: {_words(one.statement)} ({one.place})"
            for one in item.paper_statements
        ]
        lines.append("")
    if item.evidence:
        lines += ["What we find:", ""]
        lines += [f"- {_evidence(one)}" for one in item.evidence]
        lines.append("")
    return "\n".join([*lines, *_facts(item)])


def sentences() -> str:
    """What papers say of their figures, and whether it is confirmed at their sizes."""
    every = [
        item
        for item in _items(read_run(_RECORDS / "paper"))
        if item.entry.kind == "figure"
    ]
    figures = [item for item in every if not item.entry.is_variant]
    states = Counter(one.state for item in figures for one in item.paper_statements)
    lines = [
        f"Of {states.total()} sentences {states['confirmed']} are confirmed,"
        f" {states['not confirmed']} are not, and {states['not tested']} cannot be"
        " tested.",
        "",
        "| Figure | The paper says | At its own size |",
        "|---|---|---|",
    ]
    lines += [
        f"| {item.entry.id} | {_words(one.statement)} ({_words(one.place)}) |"
        f" {_outcome(one)} |"
        for item in figures
        for one in item.paper_statements
    ]
    missing = [item.entry.id for item in figures if item.record is None]
    in_part = [f"`{item.entry.id}`" for item in every if item.entry.is_variant]
    for words, ids in (("Not run whole", missing), ("In part", in_part)):
        if ids:
            lines += ["", f"{words}: {', '.join(ids)}."]
    return "\n".join(lines)


def seeds() -> str:
    """Verdicts with several seeds: how many items have one, and which have more."""
    found = {
        item.entry.id: item.record.scatter
        for item in _items(read_run(_RECORDS / "desk-seeds"))
        if item.record is not None and item.record.scatter is not None
    }
    alike = Counter(one.verdicts[0] for one in found.values() if one.agree)
    words = ", ".join(f"{count} {verdict}" for verdict, count in alike.items())
    lines = [
        f"Of {len(found)} items {alike.total()} have one verdict with every seed"
        f" ({words}); the others depend on it.",
        "",
        "| Item | With the seeds of the record |",
        "|---|---|",
    ]
    lines += [f"| {id} | {one.words} |" for id, one in found.items() if not one.agree]
    return "\n".join(lines)


def _outcome(one: Sentence) -> str:
    """Whether a sentence is confirmed; if not, by which numbers, and the caveat."""
    found = [_missed(test) for test in one.tests if not test.holds]
    reasons = [f"may be due to {one.caveat}"] if one.caveat and found else []
    words = "; ".join(filter(None, [*found, *reasons, one.note]))
    state = f"**{one.state}**" if one.state == "not confirmed" else one.state
    return f"{state}: {_words(words)}" if words else state


def _missed(test: Evidence) -> str:
    if test.value is None:
        return f"{test.statement}: missing"
    return f"{test.statement}: {number(test.value, 3)}, asked {_bound(test)}"


def _bound(test: Evidence) -> str:
    relation = {"<=": "≤", ">=": "≥"}.get(test.relation, test.relation)
    return f"{relation} {number(test.bound, 3)}"


def _evidence(one: Evidence) -> str:
    words = _words(one.statement)
    if one.value is None:
        return f"**missing**: {words}"
    mark = "holds" if one.holds else "fails"
    found = f"{number(one.value, 3)} {_bound(one)}"
    history = f"; {one.history}" if one.history else ""
    return f"**{mark}**: {words} ({_words(found + history)})"


def _facts(item: Item) -> Iterator[str]:
    yield f":Verdict: {item.verdict}"
    yield f":Command: `{item.command}`"
    yield f":Source: `{_source(item)}`"
    files = [
        f"{{download}}`{words} </{_copied(item, kind)}>`"
        for kind, words in _SHOWN.items()
        if kind in item.files
    ]
    if files:
        yield f":Files: {', '.join(files)}"
    yield ""


def _source(item: Item) -> str:
    from iclab.papers import module_name

    return module_name(item.entry).replace(".", "/") + ".py"


def _copied(item: Item, kind: str) -> str:
    """A file of a figure, copied to where Sphinx finds it."""
    name = item.files[kind]
    goal = _COPIES / name.replace("/", "-")
    goal.parent.mkdir(exist_ok=True)
    found = (item.run.folder / name).read_bytes()
    if not goal.exists() or goal.read_bytes() != found:
        goal.write_bytes(found)
    return goal.relative_to(DOCS).as_posix()


def errata() -> str:
    """Every printed statement that fails, and what holds instead."""
    run = _run()
    every = [item for item in _items(run) if not item.entry.is_variant]
    wrong = [item for item in every if item.entry.erratum]
    notes = [item for item in every if item.entry.remark]
    parts = ["What this page is not:", "", *not_lines(), _said_of(run), ""]
    parts.append(
        f"{len(wrong)} printed statements fail, the heaviest first, and beside"
        f" {len(notes)} that hold there is a note. `iclab errata PAPER` writes those of"
        " one paper, as Markdown and HTML.\n"
    )
    for name, meaning in ERRATUM_CLASSES.items():
        here = [item for item in wrong if item.entry.erratum_class == name]
        parts += [f"## {name.capitalize()}\n", f"{meaning} ({len(here)})\n"]
        parts += in_markdown(here, site=True)
    parts.append("## Notes on statements that hold\n")
    parts += in_markdown(by_weight(notes), site=True)
    return "\n".join(parts)


def _plain(text: str) -> str:
    return " ".join(text.replace("`", "").split())
