"""Write the report: pages, pictures and data in one folder that opens from disk."""

import dataclasses
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path

import jinja2

from iclab import show
from iclab._files import mode_of, own, read_inside, refuse_links, see_ours, write_inside
from iclab._reader import checked
from iclab.evidence import ERRATUM_CLASSES
from iclab.papers import every_paper
from iclab.report import _pictures, _text
from iclab.report._items import TIMES, VERDICTS, Item, facts, items, opening
from iclab.results import (
    RESULTS,
    Run,
    file_names,
    first,
    locked,
    read_run,
    require_results,
)

_REPORT, _BIBLIOGRAPHY = "report", "references.bib"
ASSETS = ("report.css", "report.js")


@checked
def build_report(
    folder: str | os.PathLike[str], warn: Callable[[str], None] = lambda problem: None
) -> Path:
    """Write `folder`/report from the results in `folder`; returns its first page.

    The report holds copies of the figures and of the results, so that the folder can
    be moved and sent as it is. What is left out, because it cannot be read or was
    altered, is named to `warn`.
    """
    require_results(folder)  # where there are none, nothing is written
    with locked(Path(folder)):
        run = read_run(folder)
        every = items(run)
        odd = [problem for item in every for problem in item.left_out]
        run = dataclasses.replace(run, problems=(*run.problems, *odd))
        for problem in first(run.problems):
            warn(problem)
        return _build(run, every)


def _build(run: Run, every: Sequence[Item]) -> Path:
    target = run.folder / _REPORT
    refuse_links(run.folder, _REPORT)
    target.mkdir(exist_ok=True)
    copied = [name for item in every for name in item.files.values()]
    bibliography = "\n\n".join(opened.paper.bibtex for opened in every_paper())
    made = {_BIBLIOGRAPHY: bibliography + "\n"}
    made |= {name: asset(name) for name in ASSETS} | dict(_pages(run, every))
    own(target, [*copied, RESULTS, *made])
    for name in [*copied, RESULTS]:
        data, mode = read_inside(run.folder, name), mode_of(run.folder / name)
        write_inside(target, name, data, mode=mode)
    for name, text in made.items():
        write_inside(target, name, text)
    return target / "index.html"


@checked
def see_report_place(folder: str | os.PathLike[str], ids: Iterable[str]) -> None:
    """See that no file of others is where the report of these items would be."""
    refuse_links(Path(folder), _REPORT)
    pages = [
        f"{name}.html"
        for name in ("index", "errata", *(opened.key for opened in every_paper()))
    ]
    pictures = [name for id in ids for name in file_names(id)]
    names = [*pages, *ASSETS, _BIBLIOGRAPHY, RESULTS, *pictures]
    see_ours(Path(folder) / _REPORT, names)


def _pages(run: Run, every: Sequence[Item]) -> Iterable[tuple[str, str]]:
    papers = [opened.paper for opened in every_paper()]
    by_paper = {
        paper.key: [item for item in every if item.entry.paper == paper.key]
        for paper in papers
    }
    pages = environment()
    pages.globals |= {
        "papers": papers,
        "by_paper": by_paper,
        "verdicts": VERDICTS,
        "run": run,
        "facts": facts(run),
        "opening": opening(run),
        "classes": ERRATUM_CLASSES,
        "errata": _by_weight(item for item in every if item.entry.erratum),
        "remarks": _by_weight(item for item in every if item.entry.remark),
    }
    for paper in papers:
        here = by_paper[paper.key]
        page = pages.get_template("paper.html")
        yield f"{paper.key}.html", page.render(page=paper.key, paper=paper, items=here)
    yield "errata.html", pages.get_template("errata.html").render(page="errata")
    index = pages.get_template("index.html")
    yield "index.html", index.render(page="index", items=every, counts=_counts(every))


def environment() -> jinja2.Environment:
    """Templates with the report's filters."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("iclab.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "rich": _text.rich,
        "without_braces": _text.without_braces,
        "mathml": _text.mathml,
        "number": show.number,
        "duration": show.duration,
        "picture": _pictures.picture,
        "points": _pictures.points,
        "in_words": _pictures.in_words,
        "counts": _counts,
    }
    environment.globals |= {"times": TIMES}
    return environment


def _counts(every: Iterable[Item]) -> Mapping[str, int]:
    """How many items have each verdict, the verdicts in the report's order."""
    found = Counter(item.verdict for item in every)
    return {name: found[name] for name in VERDICTS}


def _by_weight(some: Iterable[Item]) -> list[Item]:
    """Errata or remarks, the heaviest class first, each in the papers' order."""
    weights = {name: weight for weight, name in enumerate(ERRATUM_CLASSES)}
    return sorted(some, key=lambda item: weights[item.entry.erratum_class or "false"])


def asset(name: str, selector: str = ":root") -> str:
    """A file that pages need beside them; style sheets begin with the colours.

    Those are variables of the elements that `selector` names.
    """
    templates = resources.files("iclab.report") / "templates"
    text = (templates / name).read_text(encoding="utf-8")
    return show.palette.css(selector) + text if name.endswith(".css") else text
