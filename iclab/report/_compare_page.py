"""The page of a comparison: verdicts, numbers that moved, pictures side by side."""

import base64
import os
from pathlib import Path

from iclab._files import read_inside
from iclab._reader import checked
from iclab.report._build import see_page, write_page
from iclab.report._items import sound_files
from iclab.results import Comparison, Pair, Record, Run

# Kinds of pictures that pages can show; as the source of an image none can do more.
_TYPES = {"svg": "image/svg+xml", "png": "image/png"}
# By this a page is known to be ours.
_MARK = '<meta name="generator" content="iclab compare">'


@checked
def write_compare_page(
    comparison: Comparison, names: tuple[str, str], path: str | os.PathLike[str]
) -> Path:
    """Write a comparison as one file that needs no other; returns it.

    Pictures of figures whose numbers are not the same stand side by side. An earlier
    page is replaced, and no other file.
    """
    see_page(Path(path), _MARK)
    pictures = {
        pair.id: sides
        for pair in comparison.pairs
        if pair.both and not pair.identical and (sides := _sides(comparison, pair))
    }
    values = {"comparison": comparison, "names": names, "pictures": pictures}
    return write_page(Path(path), _MARK, "compare.html", **values)


def _sides(comparison: Comparison, pair: Pair) -> tuple[str, str] | None:
    """Both pictures of a figure as addresses that hold the pictures themselves."""
    found = [
        _picture(run, record)
        for run, record in (
            (comparison.before, pair.before),
            (comparison.after, pair.after),
        )
    ]
    first, second = found
    return None if first is None or second is None else (first, second)


def _picture(run: Run, record: Record | None) -> str | None:
    files = {} if record is None else sound_files(run.folder, record)[0]
    for kind, type_ in _TYPES.items():
        if kind in files:
            data = base64.b64encode(read_inside(run.folder, files[kind])).decode()
            return f"data:{type_};base64,{data}"
    return None
