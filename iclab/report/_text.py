"""Plain text and numbers of the catalogue and the results, as HTML."""

import functools
import re

from markupsafe import Markup, escape

# `_{…}`, `^{…}` and `^(…)`, or a mark with a single sign, a number or a word of two or
# more letters of one case that ends there: W_PV, ℓ_rdm, x_q, but the j alone in R_jU.
MARK = re.compile(
    r"([_^])(?:\{([^{}]*)\}|(?<=\^)\(([^()]*)\)"
    r"|([A-Z]{2,}(?![A-Za-z])|[a-z]{2,}(?![A-Za-z])|[0-9]+|[^\W_]|⋆))"
)
_TAGS = {"_": "sub", "^": "sup"}
# A single letter is slanted in MathML; capital Greek stands upright in mathematics.
_CAPITAL_GREEK = re.compile(r"<mi>(?=&#x0*(?:39[1-9A-F]|3A[0-9]);)")
# Names of functions have a thin space around them, but none before a bracket.
_FUNCTION = re.compile(r"<mo>([A-Za-z]{2,})</mo>(<mo[^>]*>(?:&#x0*28;|\(|\[))?")


def rich(text: str) -> Markup:
    """Text with its sub- and superscripts raised and lowered, and `code` as code."""
    pieces = str(text).split("`")
    if len(pieces) % 2 == 0:
        return _raised(text)
    marked = [
        Markup("<code>{}</code>").format(piece) if place % 2 else _raised(piece)
        for place, piece in enumerate(pieces)
    ]
    return Markup("").join(marked)


def _raised(text: str) -> Markup:
    return Markup(MARK.sub(_tag, str(escape(text))))


def _tag(mark: re.Match[str]) -> str:
    name = _TAGS[mark[1]]
    inside = (mark[2] or mark[3] or mark[4] or "").replace("-", "−")
    return f"<{name}>{inside}</{name}>"


def markdown(text: str) -> str:
    """Text as Markdown: its stars, brackets and signs are no markup, `code` is."""
    pieces = " ".join(text.split()).split("`")
    for place in range(0, len(pieces), 2):
        for sign in "\\*[]<$|":
            pieces[place] = pieces[place].replace(sign, "\\" + sign)
    return "`".join(pieces)


def without_braces(text: str) -> str:
    """Text without the marks that a reader cannot see, for alt texts and tables."""
    return re.sub(r"([_^])\{([^{}]*)\}", r"\1\2", text)


@functools.cache
def mathml(formula: str) -> Markup:
    """A LaTeX display as MathML, which browsers draw themselves."""
    from latex2mathml.converter import convert

    text = convert(formula, display="block")
    text = _CAPITAL_GREEK.sub('<mi mathvariant="normal">', text)
    text = _FUNCTION.sub(_spaced, text)
    return Markup(text.replace("<math ", f'<math alttext="{escape(formula)}" ', 1))


def _spaced(function: re.Match[str]) -> str:
    name, bracket = function[1], function[2] or ""
    after = "0" if bracket else "0.167em"
    return f'<mo lspace="0.167em" rspace="{after}">{name}</mo>{bracket}'
