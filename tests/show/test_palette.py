"""Colours have one home."""

import re
from pathlib import Path

from iclab.show import palette

PACKAGE = Path(palette.__file__).parents[1]
COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")


def test_no_other_file_has_colours_of_its_own():
    """Papers may have some: their figures' families of curves."""
    files = [
        path
        for ending in ("py", "css", "js", "html")
        for path in PACKAGE.rglob(f"*.{ending}")
        if path != Path(palette.__file__)
        and not re.match(r"papers/[a-z]", str(path.relative_to(PACKAGE)))
    ]
    assert len(files) > 100
    found = {
        str(path): COLOUR.findall(path.read_text(encoding="utf-8")) for path in files
    }
    assert {name: colours for name, colours in found.items() if colours} == {}


def test_style_sheets_read_them():
    css = palette.css(".page")
    assert css.startswith(".page {\n  --ground: light-dark(#fbfaf8, #14171a);\n")
    for name, colour in palette.VERDICTS.items():
        assert f"--{name}: light-dark({colour.light}, {colour.dark});" in css
