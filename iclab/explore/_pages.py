"""The pages of the playground, and how a word or a link names one."""

import difflib
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from iclab._reader import checked

_HERE = Path(__file__).parent


class Page(NamedTuple):
    """A page: its name in addresses, its title, what one does there."""

    name: str
    title: str
    text: str

    @property
    def file(self) -> Path:
        """The marimo file: `marimo edit` opens it."""
        return _HERE / f"{self.name.replace('-', '_')}.py"


PAGES = (
    Page(
        "one-layer",
        "One layer",
        "Drag the spectra of training and test, and see the exact risk bend.",
    ),
    Page(
        "depth",
        "Depth and loops",
        "The best k steps, one step looped, and what more loops at test time do.",
    ),
    Page(
        "representation",
        "Attention over a representation",
        "Watch softmax attention become ridge regression while it trains.",
    ),
    Page(
        "gpt2",
        "GPT-2",
        "Drag, add and mislabel points: trained transformers answer, and the classics.",
    ),
    Page(
        "claims",
        "Claims",
        "Pick a theorem: prediction, measurement and decoy move with its parameters.",
    ),
)


class UnknownPage(ValueError):
    """A word that names no page."""


@checked
def find_page(word: str) -> tuple[Page | None, str]:
    """The page and the settings that a word or a link means; no page for the start.

    `gpt2`, `gpt2?model=gpt2-fixed-10` and an address of an earlier session all do.
    """
    parts = urlsplit(word)
    name, settings = parts.path.strip("/"), parts.query
    if not name:
        return None, settings
    for page in PAGES:
        if page.name == name.replace("_", "-"):
            return page, settings
    names = [page.name for page in PAGES]
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
    raise UnknownPage(f"unknown page {name!r}: {hint}")
