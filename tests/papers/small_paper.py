"""A paper of one claim and one figure, neither of which needs JAX, as a folder."""

from pathlib import Path

CONTENTS = '''"""Contents."""

from iclab.evidence import Entry, Paper

PAPER = Paper(
    key="{key}", title="A small paper", authors=("A. Person",), year=2026,
    venue_or_note="Nowhere", arxiv="", bibtex="@misc{{{key},}}",
)
ENTRIES = (
    Entry("{key}/theorem-1.2", "claim", "Theorem 1.2", "Two and two are four here."),
    Entry("{key}/figure-1", "figure", "Figure 1", "Three numbers rise in a line."),
)
'''
CLAIM = '''"""Theorem 1.2."""

from iclab.evidence import Measured
from ._numbers import TWO


def cases(scale):
    return {"only": None}


def predict(case):
    """Four."""
    return 4.0


def measure(case):
    """Two and two."""
    return Measured(float(TWO + TWO), 1e-9, "round-off")


def decoy(case):
    """Five."""
    return 5.0
'''
FIGURE = '''"""Figure 1."""

import numpy as np

from iclab.evidence import Evidence


def jobs(scale):
    return {"line": {"count": 3}}


def compute(settings, key):
    """Numbers."""
    return {"x": np.arange(settings["count"])}


def draw(tables):
    """A line."""
    from matplotlib.figure import Figure as Page

    page = Page()
    page.subplots().plot(tables["line"]["x"])
    return page


def expect(tables):
    """It rises."""
    rise = float(np.diff(tables["line"]["x"]).min())
    return [Evidence("The line rises", rise, ">=", 1.0, "whole numbers")]
'''
FILES = {
    "__init__.py": '"""A paper."""\n',
    "contents.py": CONTENTS,
    "theorem_1_2.py": CLAIM,
    "figure_1.py": FIGURE,
    "_numbers.py": "TWO = 2\n",
}


def edit(folder: Path, file: str, old: str, new: str) -> None:
    """Put `new` in the place of `old` in a file of a paper."""
    path = folder / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def write_paper(parent: Path, key: str, name: str = "") -> Path:
    """Write the paper `key` as the package `name` into `parent`; gives its folder."""
    folder = parent / (name or key)
    folder.mkdir(parents=True)
    for file, text in FILES.items():
        plain = text if "{key}" not in text else text.format(key=key)
        (folder / file).write_text(plain, encoding="utf-8")
    return folder
