"""What every page has: a head, controls, boards, and an address that keeps settings."""

import html
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import marimo as mo

from iclab.explore._board import Board, Foot, Picture
from iclab.explore._pages import PAGES
from iclab.explore._settings import Settings
from iclab.show import Chart

_SettingsT = TypeVar("_SettingsT", bound=Settings)


def head(kind: type[Settings]) -> mo.Html:
    """Links to all pages, the title of this one, and what one does there."""
    (own,) = (page for page in PAGES if page.name == kind.page)
    links = " · ".join(
        f"<strong>{html.escape(page.title)}</strong>"
        if page is own
        else f'<a href="../{page.name}/">{html.escape(page.title)}</a>'
        for page in PAGES
    )
    return mo.Html(
        '<nav style="font-size:0.9rem;opacity:0.9"><a href="../">iclab explore</a>'
        f' &nbsp;|&nbsp; {links}</nav><h1 style="margin:0.3em 0 0.1em;font-size:1.7rem;'
        f'font-weight:650">{html.escape(own.title)}</h1>'
        f'<p style="margin:0 0 0.6em">{html.escape(own.text)}</p>'
    )


def read(kind: type[_SettingsT]) -> tuple[_SettingsT, list[str]]:
    """Settings in the page's address, and what of it was not taken.

    The address is asked for here: a name for it in a page's cell would make marimo run
    that cell again whenever a link is kept.
    """
    return kind.from_query(dict(mo.query_params().to_dict()))


def complaints(sentences: list[str]) -> mo.Html | None:
    """What of a link was not taken, in sentences that quote it."""
    items = "".join(f"<li>{html.escape(one)}</li>" for one in sentences)
    return mo.callout(mo.Html(f"<ul>{items}</ul>"), kind="warn") if items else None


def keep(settings: Settings, foot: Any) -> None:
    """Show code and link of settings, and make the page's address that link."""
    foot.widget.show(settings)
    params, wanted = mo.query_params(), settings.query()
    for name in list(params.to_dict()):
        if name not in wanted:
            params.remove(name)
    for name, value in wanted.items():
        if params.get(name) != value:
            params.set(name, value)


def sliders(start: Settings, **labels: str | tuple[str, float]) -> dict[str, Any]:
    """A slider for each of these settings, whose step is 1 if it is not said."""
    found = {}
    for name, label in labels.items():
        text, step = (label, 1) if isinstance(label, str) else label
        low, high = start.limits(name)
        found[name] = slider(text, getattr(start, name), low, high, step)
    return found


def slider(label: str, value: float, low: float, high: float, step: float = 1) -> Any:
    """A slider that shows its value."""
    return mo.ui.slider(low, high, step, value=value, label=label, show_value=True)


def row(*parts: Any, gap: float = 2) -> mo.Html:
    """Things beside each other, below where the page is too narrow."""
    return mo.hstack(parts, justify="start", gap=gap, wrap=True)


def board(
    chart: Chart, points: Sequence[Mapping[str, Any]] = (), **options: Any
) -> Any:
    """A board with its first picture."""
    moved = [dict(point) for point in points]
    return mo.ui.anywidget(
        Board(svg=chart.svg(), frame=chart.frame(), points=moved, **options)
    )


def picture(svg: str) -> Any:
    """A picture that changes while Python is at work."""
    return mo.ui.anywidget(Picture(svg=svg))


def foot() -> Any:
    """Where `keep` shows code and link."""
    return mo.ui.anywidget(Foot())
