"""Who wrote a paper, and how to cite it."""

import re
from dataclasses import dataclass

from iclab._reader import checked

_KEY = re.compile(r"[a-z][a-z0-9_-]*")


# What the key of a paper must be, in words.
KEY_RULE = "must be small letters, digits, - or _, a letter first"


@checked
def is_key(word: str) -> bool:
    """Whether a word can be the key of a paper."""
    return _KEY.fullmatch(word) is not None


@checked
@dataclass(frozen=True)
class Paper:
    """One paper: what a reader needs to find it and to cite it."""

    key: str
    """Name of the paper in iclab: the first half of every ID."""

    title: str
    """Title as printed."""

    authors: tuple[str, ...]
    """Authors in printed order, first name first."""

    year: int
    """Year of the publication that `bibtex` cites; `key` has that of the preprint."""

    venue_or_note: str
    """Where it appeared, and which version our locators were read from."""

    arxiv: str
    """arXiv identifier, without prefix or version; empty if it has none."""

    bibtex: str
    """A complete BibTeX entry, under `key`, that ends with its closing brace."""

    def __post_init__(self):
        if not is_key(self.key):
            raise ValueError(f"Paper: `key` {KEY_RULE}, got {self.key!r}")
