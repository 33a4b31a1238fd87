"""The rooms of the playground, and how a word or a link names one."""

import difflib
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from iclab._reader import checked

_HERE = Path(__file__).parent


class PlayRoom(NamedTuple):
    """A room: its name in addresses, its title, what one does there."""

    name: str
    title: str
    text: str

    @property
    def file(self) -> Path:
        """The marimo file: `marimo edit` opens it."""
        return _HERE / f"{self.name.replace('-', '_')}.py"


ROOMS = (
    PlayRoom(
        "one-layer",
        "One layer",
        "Drag the spectra of training and test, and see the exact risk bend.",
    ),
    PlayRoom(
        "depth",
        "Depth and loops",
        "The best k steps, one step looped, and what more loops at test time do.",
    ),
    PlayRoom(
        "representation",
        "Attention over a representation",
        "Watch softmax attention become ridge regression while it trains.",
    ),
    PlayRoom(
        "gpt2",
        "GPT-2",
        "Drag, add and mislabel points: trained transformers answer, and the classics.",
    ),
    PlayRoom(
        "claims",
        "Claims",
        "Pick a theorem: prediction, measurement and decoy move with its parameters.",
    ),
)


class UnknownRoom(ValueError):
    """A word that names no room."""


@checked
def find_room(word: str) -> tuple[PlayRoom | None, str]:
    """The room and the settings that a word or a link means; no room for the start.

    `gpt2`, `gpt2?model=gpt2-fixed-10` and an address of an earlier session all do.
    """
    parts = urlsplit(word)
    name, settings = parts.path.strip("/"), parts.query
    if not name:
        return None, settings
    for room in ROOMS:
        if room.name == name.replace("_", "-"):
            return room, settings
    names = [room.name for room in ROOMS]
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
    raise UnknownRoom(f"unknown room {name!r}: {hint}")
