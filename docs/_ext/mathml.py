"""Formulas as MathML, which browsers draw themselves: no script, no fonts to fetch."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util import logging

from iclab.report._text import mathml

_LOGGER = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer `mathml`."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(self: Any, node: nodes.math) -> None:
    formula = _converted(node).replace('display="block"', 'display="inline"', 1)
    self.body.append(f'<span class="math">{formula}</span>')
    raise nodes.SkipNode


def _display(self: Any, node: nodes.math_block) -> None:
    # Wide ones scroll by themselves on a phone.
    self.body.append(f'<div class="math" tabindex="0">{_converted(node)}</div>')
    raise nodes.SkipNode


def _converted(node: nodes.Element) -> str:
    formula = node.astext()
    try:
        return str(mathml(formula))
    except Exception as error:
        words = f"a formula that cannot be drawn: {formula!r} ({error})"
        _LOGGER.warning(words, location=node)
        raise SphinxError(words) from error
