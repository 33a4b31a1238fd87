"""Pictures in SVG that only show something: no programs, nothing from elsewhere."""

import re
from xml.parsers import expat

from iclab.show import visible

_SVG = "http://www.w3.org/2000/svg"
# What may stand in a picture. Links, scripts, animations and HTML may not.
_ELEMENTS = {
    "svg", "g", "defs", "path", "rect", "circle", "ellipse", "line", "polyline",
    "polygon", "text", "tspan", "textPath", "use", "symbol", "marker", "clipPath",
    "mask", "pattern", "image", "linearGradient", "radialGradient", "stop", "title",
    "desc", "metadata", "style",
}  # fmt: skip
# Words about the picture, which nothing shows.
_ABOUT = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://purl.org/dc/elements/1.1/",
    "http://creativecommons.org/ns#",
)
_ADDRESSES = ("href", "src", "base")
_NO_STYLES = ("id", "class", "d", "points")
_INSIDE = re.compile(r"#|data:image/(png|jpeg);base64,")
# Functions that styles use; the rest (`image-set`, `src`) may load something.
_FUNCTION = re.compile(r"([\w-]+)\s*\(\s*[\"']?(#?)")
_PLAIN_FUNCTIONS = {
    "rgb", "rgba", "hsl", "hsla", "translate", "translatex", "translatey", "scale",
    "scalex", "scaley", "rotate", "skewx", "skewy", "matrix", "calc",
}  # fmt: skip


class _More(Exception):
    """What a picture has that it may not have."""


def does_more(data: bytes) -> str:
    """What a file in SVG has that does more than show a picture; "" if it has none."""
    reader = _Reader()
    parser = expat.ParserCreate("utf-8", namespace_separator=" ")
    parser.XmlDeclHandler = reader.declaration
    parser.StartDoctypeDeclHandler = reader.doctype
    parser.ProcessingInstructionHandler = reader.instruction
    parser.StartElementHandler = reader.begin
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    try:
        parser.Parse(data, True)
    except expat.ExpatError:
        return "a mistake in its XML"
    except _More as more:
        return visible(str(more))
    return ""


class _Reader:
    """Goes through a picture, and raises `_More` where it does more than show."""

    def __init__(self):
        self._style: list[str] | None = None

    def declaration(self, version: str, encoding: str | None, alone: int) -> None:
        if encoding is not None and encoding.lower() != "utf-8":
            raise _More(f"the encoding {encoding[:20]}")

    def doctype(
        self, name: str, system: str | None, public: str | None, inside: int
    ) -> None:
        if inside:
            raise _More("definitions of its own")

    def instruction(self, target: str, data: str) -> None:
        raise _More("an instruction to programs")

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        space, _, local = name.rpartition(" ")
        if space not in _ABOUT and (space != _SVG or local not in _ELEMENTS):
            raise _More(f"an element <{local[:40]}>")
        for full, value in attributes.items():
            attribute = full.rpartition(" ")[2].lower()
            if attribute.startswith("on"):
                raise _More(f"a program in `{attribute[:40]}`")
            if attribute in _ADDRESSES:
                if _INSIDE.match(value) is None:
                    raise _More("an address of something else")
            elif attribute not in _NO_STYLES:
                _see_style(value)
        if local == "style":
            self._style = []

    def text(self, text: str) -> None:
        if self._style is not None:
            self._style.append(text)

    def end(self, name: str) -> None:
        if self._style is not None:
            _see_style("".join(self._style))
            self._style = None


def _see_style(text: str) -> None:
    """See that a style, or an attribute that may hold one, loads nothing."""
    for name, inside in _FUNCTION.findall(text):
        own = name.lower() == "url" and inside
        if not own and name.lower() not in _PLAIN_FUNCTIONS:
            raise _More("a style that may load something")
    if "\\" in text or "@" in text:  # names that are spelt otherwise, and @import
        raise _More("a style that may load something")
