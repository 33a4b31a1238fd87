"""Colours, as data: style sheets, pictures and terminals read them here."""

from typing import NamedTuple

# Colours decide nothing that a job computes.
__computes__ = False

# Okabe and Ito's, which survive every common colour blindness.
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
SKY, PURPLE, BLACK, GREY = "#56B4E9", "#CC79A7", "#000000", "#7F7F7F"
# Seen on black as well as on white.
BRIGHT_BLUE, BRIGHT_GREY = "#2A7FBF", "#8A8A8A"
# Of grids, of what stands behind curves, and of captions.
FAINT, BACKDROP, CAPTION = "#DDDDDD", "#E3E1DB", "#444444"


class Colour(NamedTuple):
    """A colour on a light page, on a dark one, and on a terminal."""

    light: str
    dark: str
    terminal: str = "dim"


# Verdicts, in the order in which they are counted.
VERDICTS = {
    "holds": Colour("#1c6842", "#84cfa3", "green"),
    "corrected": Colour("#5b46a8", "#bdb0f7", "cyan"),
    "fails": Colour("#ae2a20", "#ff9f95", "bold red"),
    "undecided": Colour("#805300", "#ecc069", "yellow"),
    "exploratory": Colour("#0d6675", "#7cc7d6", "cyan"),
}
_PAGE = {
    "ground": Colour("#fbfaf8", "#14171a"),
    "raised": Colour("#ffffff", "#1b1f23"),
    "ink": Colour("#1e2328", "#e4e2dd"),
    "quiet": Colour("#59626d", "#a4acb5"),
    "line": Colour("#e2e0da", "#31363c"),
    "link": Colour("#1f5c99", "#8fbcf0"),
    "missing": Colour("#59626d", "#a4acb5"),
    "decoy": Colour("#a8470f", "#f2a572"),
    "paper": Colour("#ffffff", "#f4f3f0"),
}


def css(selector: str = ":root") -> str:
    """The colours of pages and verdicts as variables of a style sheet."""
    lines = [
        f"  --{name}: light-dark({one.light}, {one.dark});"
        for name, one in (_PAGE | VERDICTS).items()
    ]
    return "\n".join([f"{selector} {{", *lines, "}", ""])
