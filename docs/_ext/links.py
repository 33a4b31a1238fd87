"""Links of a built site: each leads somewhere, nothing is fetched from elsewhere."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

_ATTRIBUTE = re.compile(r"""\s(href|src|srcset|poster)=["']([^"']*)["']""")
_ID = re.compile(r"""\s(?:id|name)=["']([^"']*)["']""")
_STYLE = re.compile(r"<link[^>]*stylesheet[^>]*>")
_REMOTE = re.compile(r"""(?:url\(\s*["']?|@import\s+["']|href=["'])(?:https?:)?//""")


def problems(site: Path) -> Iterator[str]:
    """What is wrong with the links of a built site, in sentences."""
    site = site.resolve()
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    places = {path: set(_ID.findall(text)) for path, text in pages.items()}
    for path, text in pages.items():
        where = path.relative_to(site)
        for kind, target in _ATTRIBUTE.findall(text):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if kind != "href" and parts.scheme != "data":
                    yield f"{where}: fetches {target}"
            elif wrong := _wrong(path, unquote(parts.path), parts.fragment, places):
                yield f"{where}: a link to {target}, {wrong}"
        if any(_REMOTE.search(link) for link in _STYLE.findall(text)):
            yield f"{where}: a style sheet from elsewhere"
    for style in site.rglob("*.css"):
        if _REMOTE.search(style.read_text(encoding="utf-8")):
            yield f"{style.relative_to(site)}: fetches from elsewhere"


def _wrong(
    page: Path, target: str, fragment: str, places: dict[Path, set[str]]
) -> str | None:
    goal = (page.parent / target).resolve() if target else page
    if goal.is_dir():
        goal = goal / "index.html"
    if not goal.exists():
        return "which is not there"
    if fragment and goal in places and unquote(fragment) not in places[goal]:
        return "a place that is not there"
    return None
