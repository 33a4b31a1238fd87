"""Write the report: pages, pictures and data in one folder that opens from disk."""

import base64
import dataclasses
import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

from iclab import show
from iclab._files import (
    NotOurs,
    mode_of,
    own,
    read_inside,
    refuse_links,
    see_ours,
    write_inside,
    write_whole,
)
from iclab._reader import checked
from iclab.evidence import ERRATUM_CLASSES
from iclab.papers import every_paper
from iclab.report import _pictures, _text
from iclab.report._items import TIMES, VERDICTS, Item, facts, items, opening
from iclab.report._slips import NOT, by_weight, said_of, slip
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
        "errata": by_weight(item for item in every if item.entry.erratum),
        "remarks": by_weight(item for item in every if item.entry.remark),
        "nots": NOT,
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
        "slip": slip,
        "said_of": said_of,
    }
    environment.globals |= {"times": TIMES}
    return environment


def _counts(every: Iterable[Item]) -> Mapping[str, int]:
    """How many items have each verdict, the verdicts in the report's order."""
    found = Counter(item.verdict for item in every)
    return {name: found[name] for name in VERDICTS}


def write_page(path: Path, mark: str, template: str, **values: Any) -> Path:
    """Write a page as one file that needs no other, with the report's style in it.

    An earlier page, known by its mark, is replaced, and no other file.
    """
    see_page(path, mark)
    css = asset("report.css")
    # The page's policy allows this style sheet and no other.
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    text = (
        environment()
        .get_template(template)
        .render(css=css, css_hash=f"'sha256-{digest}'", mark=mark, **values)
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)
    return path


def see_page(path: Path, mark: str) -> None:
    """See that a page may be written here: nothing is there, or a page of ours is."""
    if not os.path.lexists(path):
        return
    try:
        ours = mark in read_inside(path.parent, path.name).decode(errors="replace")
    except OSError:
        ours = False
    if not ours:
        raise NotOurs(path)


def asset(name: str, selector: str = ":root") -> str:
    """A file that pages need beside them; style sheets begin with the colours.

    Those are variables of the elements that `selector` names.
    """
    templates = resources.files("iclab.report") / "templates"
    text = (templates / name).read_text(encoding="utf-8")
    return show.palette.css(selector) + text if name.endswith(".css") else text
