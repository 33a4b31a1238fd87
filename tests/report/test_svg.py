"""Pictures in SVG: those that show, and those that do more."""

from pathlib import Path

import pytest

from iclab.report._svg import does_more

_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg"'
    ' xmlns:xlink="http://www.w3.org/1999/xlink">{}</svg>'
)
_HTML = 'xmlns="http://www.w3.org/1999/xhtml"'
_RECORDS = Path(__file__).parents[2] / "records"


@pytest.mark.parametrize(
    ("inside", "what"),
    [
        ("<script>alert(1)</script>", "an element <script>"),
        ("<SCRIPT/>", "an element <SCRIPT>"),
        (f"<script {_HTML}/>", "an element <script>"),
        (f"<g {_HTML}/>", "an element <g>"),
        ("<foreignObject/>", "an element <foreignObject>"),
        ("<animate/>", "an element <animate>"),
        ('<a xlink:href="https://example.org"/>', "an element <a>"),
        ('<g onload="alert(1)"/>', "a program in `onload`"),
        ('<g ONCLICK="alert(1)"/>', "a program in `onclick`"),
        ('<image href="https://example.org/a.png"/>', "an address of something else"),
        ('<image xlink:href="a.png"/>', "an address of something else"),
        ('<image href="data:image/svg+xml;base64,AA"/>', "an address of something"),
        ('<use href="other.svg#a"/>', "an address of something else"),
        ('<g xml:base="https://example.org/"/>', "an address of something else"),
        ("<style>@import 'a.css'</style>", "a style that may load something"),
        ("<style><![CDATA[@import 'a.css']]></style>", "a style that may load"),
        ("<style>g{fill:url(https://example.org)}</style>", "a style that may load"),
        ("<style>g{fill:u\\72l(https://example.org)}</style>", "a style that may load"),
        ("<g style=\"fill: URL( 'a.svg#b')\"/>", "a style that may load something"),
        ("<g fill=\"image-set('a.png')\"/>", "a style that may load something"),
        ('<?xml-stylesheet href="a.css"?>', "an instruction to programs"),
        ("<g>", "a mistake in its XML"),
        ("&unknown;", "a mistake in its XML"),
        ("<\x1b/>", "a mistake in its XML"),
    ],
)
def test_what_does_more(inside, what):
    assert does_more(_SVG.format(inside).encode()).startswith(what)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "a mistake in its XML"),
        ("<html/>", "an element <html>"),
        ("<svg/>", "an element <svg>"),  # of no namespace: what it does is unknown
        (f'<!DOCTYPE svg [<!ENTITY a "b">]>{_SVG}', "definitions of its own"),
        (f'<?xml version="1.0" encoding="utf-7"?>{_SVG}', "the encoding utf-7"),
    ],
)
def test_what_is_no_picture(text, what):
    assert does_more(text.format("").encode()) == what


def test_entities_that_grow_are_not_read():
    grows = "".join(f'<!ENTITY a{i + 1} "{f"&a{i};" * 9}">' for i in range(60))
    text = f'<!DOCTYPE svg [<!ENTITY a0 "ha">{grows}]>{_SVG.format("&a60;")}'
    assert does_more(text.encode()) == "definitions of its own"


@pytest.mark.parametrize(
    "inside",
    [
        '<g style="fill: url(#hatch); stroke: rgb(1, 2, 3)"/>',
        '<use xlink:href="#a" transform="translate(1 2) scale(3)"/>',
        '<image href="data:image/png;base64,AA"/>',
        "<text>E(x) @ home, url(https://example.org)</text>",
        '<g id="curve (a)"/>',
    ],
)
def test_what_only_shows(inside):
    assert does_more(_SVG.format(inside).encode()) == ""


def test_the_pictures_that_we_draw_only_show():
    pictures = sorted(_RECORDS.glob("desk/figures/*/*.svg"))
    assert len(pictures) > 10
    assert [path.name for path in pictures if does_more(path.read_bytes())] == []
