"""What every page's page has: its head, and an address that keeps its settings."""

import html
from typing import Any

import marimo as mo

from iclab.explore._pages import PAGES
from iclab.explore._settings import Settings


def query() -> dict[str, Any]:
    """Settings in the page's address, as they are now.

    Called where its result is used: a name in a page's cell would make marimo run that
    cell again whenever a link is kept.
    """
    return dict(mo.query_params().to_dict())


def head(name: str) -> mo.Html:
    """Links to all pages, the title of this one, and what one does there."""
    (own,) = (page for page in PAGES if page.name == name)
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


def keep(settings: Settings) -> None:
    """Write settings into the page's address, so that the address is a link to them."""
    params, wanted = mo.query_params(), settings.query()
    for name in list(params.to_dict()):
        if name not in wanted:
            params.remove(name)
    for name, value in wanted.items():
        if params.get(name) != value:
            params.set(name, value)


def complaints(sentences: list[str]) -> mo.Html | None:
    """What of a link was not taken."""
    if not sentences:
        return None
    return mo.callout(mo.md("\n".join(f"- {one}" for one in sentences)), kind="warn")
