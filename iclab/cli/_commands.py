"""What each command does that runs nothing: list, show, cite, report, record, cache."""

import argparse
import functools
import json
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import iclab
from iclab import evidence, lab, papers
from iclab.evidence import (
    ERRATUM_CLASSES,
    SCALES,
    Described,
    Entry,
    Paper,
    describe_settings,
    setting_text,
)
from iclab.show import columns, duration, is_unicode, size, tell

if TYPE_CHECKING:
    from iclab.results import Record, Run

# What is said of an entry, in this order.
_FIELDS = ("id", "kind", "paper", "locator", "statement", "hypotheses", "erratum",
           "correction", "formula", "erratum_class", "remark", "credit",
           "counterexample", "quote")  # fmt: skip
# Width of the classes of errata.
_CLASS = max(map(len, ERRATUM_CLASSES))


def list_entries(options: argparse.Namespace) -> int:
    """Name every claim and figure, or every trained model."""
    if options.weights:
        return _list_weights(options)
    entries = [entry.filled({}) for entry in papers.select(options.ids)]
    if options.times:
        return _list_times(entries, options)
    if options.json:
        print_json([_entry_json(entry) for entry in entries])
        return 0
    width = max(len(entry.id) for entry in entries)
    width_left = max(columns() - width - _CLASS - 5, 20)
    for entry in entries:
        mark = "!" if entry.erratum else "*" if entry.remark else " "
        class_ = entry.erratum_class or ""
        text = textwrap.shorten(entry.statement, width_left, placeholder=" …")
        print(f"{entry.id:<{width}} {mark} {class_:<{_CLASS}} {text}")
    legend = ["! fails as printed"] if any(one.erratum for one in entries) else []
    legend += ["* holds, with a note"] if any(e.remark for e in entries) else []
    if legend:
        print(f"\n{'; '.join(legend)}: `iclab show ID` says what and why")
    return 0


def _list_times(entries: Sequence[Entry], options: argparse.Namespace) -> int:
    """Say how long each item takes at every scale."""
    found = {entry.id: _times(entry) for entry in entries}
    if options.json:
        print_json([{"id": id, "seconds": row} for id, row in found.items()])
        return 0
    width = max(map(len, found))
    print(f"{'':<{width}}" + "".join(f"{scale:>11}" for scale in SCALES))
    guessed = False
    for entry in entries:
        cells = []
        for scale in SCALES:
            costs = lab.cost(entry, scale)
            mark = "" if costs is None or costs.measured else "~"
            guessed = guessed or bool(mark)
            cells.append("–" if costs is None else f"{mark}{duration(costs.seconds)}")
        print(f"{entry.id:<{width}}" + "".join(f"{cell:>11}" for cell in cells))
    sums = [sum(row[scale] or 0.0 for row in found.values()) for scale in SCALES]
    print(f"{'together':<{width}}" + "".join(f"{duration(s):>11}" for s in sums))
    print("\non one core of this machine, from times recorded elsewhere", end="")
    print("; ~ from single steps" if guessed else "")
    return 0


def _list_weights(options: argparse.Namespace) -> int:
    """Name every trained model that comes with the package."""
    from iclab.models import shipped_manifests

    found = shipped_manifests()
    if options.ids:
        raise lab.Mistake("--weights names all of them and takes no ID")
    if options.json:
        print_json([{"name": name, **manifest} for name, manifest in found.items()])
        return 0
    width = max(map(len, found))
    for name, manifest in found.items():
        settings = manifest["settings"]
        words = [settings["size"]]
        words += [f"{one} {settings[one]}" for one in ("dimension", "context")]
        words += [f"{settings['covariance']} covariance"]
        words += [] if settings["positional"] else ["no positions"]
        print(f"{name:<{width}}  {manifest['id']}: {', '.join(words)}")
    print("\niclab.models.shipped(NAME) loads one; --json tells all about them")
    return 0


def show(options: argparse.Namespace) -> int:
    """Say what a result states, how it is checked, and what the last run found."""
    entries = papers.select(options.ids)
    last = _last_results(options)
    entries = [
        last[entry.id].with_numbers(entry) if entry.id in last else entry.filled({})
        for entry in entries
    ]
    if options.json:
        print_json(
            [
                _entry_json(entry)
                | {
                    "method": _method_json(entry),
                    "settings": _settings_json(entry),
                    "seconds": _times(entry),
                    "last_result": last[entry.id].json() if entry.id in last else None,
                }
                for entry in entries
            ]
        )
        return 0
    for number, entry in enumerate(entries):
        if number:
            print()
        print(f"{entry.id}: {papers.paper(entry.id).title}, {entry.locator}")
        _field("statement", entry.statement)
        _field("hypotheses", entry.hypotheses)
        _field("quoted", entry.quote and f"“{entry.quote}”")
        _field("erratum", _classed(entry, entry.erratum))
        _field("remark", _classed(entry, entry.remark))
        _field("by hand", entry.counterexample)
        _field("credit", entry.credit)
        _field("correction", entry.correction)
        how = papers.method(entry)
        _field("check", how.summary)
        for name, text in how.steps:
            _field(name, text)
        _field("file", str(how.file))
        _field("theory", ", ".join(how.theory))
        for words in _setting_words(entry):
            _field(*words)
        verb = "check" if entry.kind == "claim" else "reproduce"
        _field("time", _times_words(entry))
        _field("run it", f"iclab {verb} {entry.id} {papers.find_paper(entry.id).flag}")
        if entry.id in last:
            _show_last(last[entry.id])
    return 0


def _times(entry: Entry) -> dict[str, float | None]:
    """Seconds of an item on one core of this machine, by scale."""
    costs = {scale: lab.cost(entry, scale) for scale in SCALES}
    return {scale: one and one.seconds for scale, one in costs.items()}


def _times_words(entry: Entry) -> str:
    """The same in words; empty where nothing is known."""
    words = [
        f"{duration(seconds)} ({scale})"
        for scale, seconds in _times(entry).items()
        if seconds is not None
    ]
    return f"about {', '.join(words)} on one core of this machine" if words else ""


def _settings(entry: Entry) -> list[Described]:
    """Settings of a figure in words; this loads its code."""
    if entry.kind == "claim":
        return []
    kind = papers.load_figure(entry).settings
    return [] if kind is None else describe_settings(kind)


def _setting_words(entry: Entry) -> Iterator[tuple[str, str]]:
    """Lines that say what a figure's settings are; `--set NAME=VALUE` changes one."""
    for number, one in enumerate(_settings(entry)):
        usual = setting_text(one.values["desk"]) or "none"
        values = {scale: setting_text(value) for scale, value in one.values.items()}
        others = [
            f"{scale} {value}"
            for scale, value in values.items()
            if value != values["desk"]
        ]
        shown = f"{usual} ({'; '.join(others)})" if others else usual
        yield "" if number else "settings", f"{one.name} = {shown}: {one.text}"


def _settings_json(entry: Entry) -> list[dict[str, Any]]:
    return [{**one._asdict(), "values": dict(one.values)} for one in _settings(entry)]


def report(options: argparse.Namespace) -> int:
    """Write the HTML report of a folder of results again."""
    from iclab.report import build_report

    with lab.mistakes(f"the report in {options.folder}"):
        page = build_report(options.folder, functools.partial(say, options))
    print(f"report: {page}")
    return 0


def errata(options: argparse.Namespace) -> int:
    """Write the pages of papers' errata, with the numbers of the last run."""
    from iclab.report import write_errata

    keys = {papers.find_paper(word).key: word for word in options.ids}
    for key, word in keys.items():
        if word != key:
            raise lab.Mistake(f"a page is about a whole paper: {key}, not {word}")
    run = _last_run(options)
    for key in keys:
        with lab.mistakes(f"to {options.to}"):
            pages = write_errata(key, run, options.to)
        print(*pages, sep="\n")
    return 0


def record(options: argparse.Namespace) -> int:
    """Write results, tables and pictures of a folder to another, and a manifest."""
    from iclab.results import keep_record

    run, order = read_folder(options, options.folder), papers.select()
    with lab.mistakes(f"to {options.record}"):
        manifest = keep_record(run, options.record, [entry.id for entry in order])
    items = manifest["items"]
    counts = ", ".join(f"{len(items[name])} {name}" for name in items)
    print(f"{options.record}: {counts} ({size(manifest['bytes'])})")
    for name in manifest["left_out"]:
        print(f"left out: {name}")
    return 0


_TITLE = "iclab: a laboratory for the theory of in-context learning"
_SOFTWARE = """\
@software{{iclab,
  title   = {{{title}}},
  author  = {{{{The iclab authors}}}},
  version = {{{version}}},
  year    = {{2026}}
}}"""


def cite(options: argparse.Namespace) -> int:
    """Print BibTeX, each paper once."""
    found = {one.key: one for one in map(_cited, options.ids)}
    print("\n\n".join(one.bibtex for one in found.values()))
    return 0


def _cited(word: str) -> Paper:
    """The paper of a key, a result or a model to train, which must be there.

    `iclab` is the program itself.
    """
    if word == "iclab":
        bibtex = _SOFTWARE.format(title=_TITLE, version=iclab.__version__)
        note = f"Software, version {iclab.__version__}"
        return Paper("iclab", _TITLE, ("The iclab authors",), 2026, note, "", bibtex)
    opened, (id, *_) = papers.find_paper(word), word.split("@")
    if id not in (opened.key, *opened.recipes):
        papers.select([id])
    return opened.paper


def cache(options: argparse.Namespace) -> int:
    """Say where compiled programs are and how large they are, or remove them."""
    from iclab.runs import Cache

    kept = Cache(options.cache)
    if options.action == "clear":
        print(f"removed {size(kept.clear())} from {kept.root}")
    else:
        print(f"{kept.root}: {size(kept.size)} (`iclab cache clear` removes it)")
    return 0


def read_folder(options: argparse.Namespace, folder: str) -> "Run":
    """The results of a folder; what of it cannot be read is said."""
    from iclab.results import first, read_run

    run = read_run(folder)
    for problem in first(run.problems):
        say(options, problem)
    return run


def _last_results(options: argparse.Namespace) -> "Mapping[str, Record]":
    """Records by id in the folder that was named, or, if none was, in the usual one."""
    return _last_run(options).records


def _last_run(options: argparse.Namespace) -> "Run":
    """The run of that folder; an empty one where there is no usual one."""
    from iclab.results import Facts, NoResults, Run

    folder = options.out or iclab.DEFAULT_FOLDER
    try:
        return read_folder(options, folder)
    except NoResults:
        if options.out is not None:
            raise
        return Run(Path(folder), Facts(), {})


def say(options: argparse.Namespace, text: str) -> None:
    """A line on standard error about what goes on without."""
    tell(f"iclab {options.command}: {text}")


def _show_last(record: "Record") -> None:
    """What was found for an item when it was last run, case by case."""
    made = [record.scale, f"seed {record.seed}", duration(record.seconds)]
    made += [record.finished[:10]] if record.finished else []
    _field("last result", f"{record.verdict} ({', '.join(made)})")
    if record.failed:
        _field("", record.reason)
    for case in record.cases:
        _field("", f"{case.verdict}: {evidence.case_line(case)}")
    for one in record.paper_statements:
        _field("", lab.sentence_line(one))
    for one in record.evidence:
        _field("", f"{'holds' if one.holds else 'fails'}: {lab.evidence_line(one)}")
    if record.later is not None:
        _field("", f"a later run stopped: {record.later.reason}")


def _entry_json(entry: Entry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in _FIELDS}


def _classed(entry: Entry, text: str | None) -> str | None:
    return text and f"({entry.erratum_class}) {text}"


def _method_json(entry: Entry) -> dict[str, Any]:
    how = papers.method(entry)
    known = {"file": str(how.file), "theory": list(how.theory)}
    return {"check": how.summary, **dict(how.steps), **known}


def print_json(value: Any) -> None:
    """Print one JSON value on standard output."""
    ascii_only = not is_unicode(sys.stdout)
    print(json.dumps(value, indent=1, ensure_ascii=ascii_only))


def _field(name: str, text: str | None) -> None:
    """A named paragraph, wrapped to the terminal and indented."""
    if not text:
        return
    lead, rest = f"  {name:<11} ", " " * 14
    print(textwrap.fill(text, max(columns(), 40), initial_indent=lead,
                        subsequent_indent=rest))  # fmt: skip
