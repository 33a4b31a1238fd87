"""What the site does beyond Sphinx: pages from the source, names as links, checks."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from docs._ext import (
    commands,
    drawing,
    gallery,
    links,
    maps,
    public,
    reference,
    theory,
)
from iclab.report._text import MARK

_LOGGER = logging.getLogger(__name__)
# A comment in a page that a part made from the source takes the place of.
_MARK = re.compile(r"^<!-- (\w+)(?: ([\w./-]+))? -->$", re.MULTILINE)

_OUT = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)]+)\)")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the parts."""
    app.setup_extension("docs._ext.mathml")
    app.connect("builder-inited", gallery.prepare)
    app.connect("env-get-outdated", _made)
    app.connect("source-read", _fill)
    app.connect("build-finished", _check)
    app.add_post_transform(Types)
    app.add_post_transform(Links)
    app.add_post_transform(Raised)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _made(
    app: Sphinx,
    env: BuildEnvironment,
    added: set[str],
    changed: set[str],
    gone: set[str],
) -> list[str]:
    """Pages with parts that are made: they may change when their files do not."""
    known = env.found_docs - gone
    return [
        page for page in known if _MARK.search(env.doc2path(page).read_text("utf-8"))
    ]


def _fill(app: Sphinx, page: str, source: list[str]) -> None:
    """Put what is made from the source in the place of its comment."""
    makers = {
        "reference": reference.page,
        "theory": theory.page,
        "commands": commands.page,
        "gallery": gallery.page,
        "errata": gallery.errata,
        "figure": gallery.figure,
        "map": maps.page,
        "sentences": gallery.sentences,
        "seeds": gallery.seeds,
        "layers": drawing.layers_page,
        "way": drawing.way_page,
        "preamble": lambda: f"```python\n{public.PREAMBLE}```",
    }

    def made(mark: re.Match[str]) -> str:
        if mark[1] not in makers:
            return mark[0]
        return makers[mark[1]](*([mark[2]] if mark[2] else []))

    def inside(link: re.Match[str]) -> str:
        """A link that leaves the site, to a file of the repository, as its words."""
        goal = (app.srcdir / page).parent.joinpath(link[2].partition("#")[0]).resolve()
        return link[0] if goal.is_relative_to(app.srcdir.resolve()) else link[1]

    source[0] = _OUT.sub(inside, _MARK.sub(made, source[0]))


# Names as links


def _public() -> dict[str, list[str]]:
    """Full names by what a text may call them: `Ridge`, `algorithms.Ridge`, …"""
    found: dict[str, list[str]] = defaultdict(list)
    for module in public.modules():
        for name in public.names(module):
            words = name.full.split(".")
            for start in range(len(words)):
                found[".".join(words[start:])].append(name.full)
    return found


_NAMES = _public()


def full_name(word: str, module: str | None) -> str | None:
    """The public name that `word` means on a page about `module`, if it is clear."""
    if module and f"{module}.{word}" in _NAMES:
        return f"{module}.{word}"
    named = _NAMES.get(word, [])
    # `load` or `names` may be anything; `LoopedTransformer` and `error_curve` may not.
    telling = "." in word or "_" in word.strip("_") or not word.islower()
    return named[0] if len(named) == 1 and telling else None


class Links(SphinxPostTransform):
    """Makes links of `code` that is a public name."""

    default_priority = 500

    def run(self, **options: Any) -> None:
        """Wrap every such literal, unless it is a link already."""
        domain = self.env.domains.python_domain
        for literal in list(self.document.findall(nodes.literal)):
            text = literal.astext()
            word = text.removesuffix("()")
            if isinstance(literal.parent, (nodes.reference, nodes.title)):
                continue
            if not re.fullmatch(r"[A-Za-z_][\w.]*", word):
                continue
            full = full_name(word, _module_of(literal, self.document))
            if full is None or full not in domain.objects:
                # The changes name what is gone, too.
                unknown = word.startswith("iclab.") and full is None
                if unknown and not _module(word) and self.env.docname != "changes":
                    words = f"`{text}` is no public name of iclab"
                    _LOGGER.warning(words, location=literal)
                continue
            if _inside(literal, full):
                continue
            entry = domain.objects[full]
            uri = self.app.builder.get_relative_uri(self.env.docname, entry.docname)
            link = nodes.reference(
                "", "", internal=True, refuri=f"{uri}#{entry.node_id}"
            )
            literal.replace_self(link)
            link += literal


def _module(word: str) -> bool:
    """Whether it is a module, a file or a member that is not listed by itself."""
    known = public.modules()
    if word in known or word.startswith("iclab.cli"):
        return True
    owner, _, last = word.rpartition(".")
    return owner in _NAMES or (owner == "iclab" and last in ("papers",))


def _module_of(node: nodes.Node, document: nodes.document) -> str | None:
    """The module that a page of the reference is about."""
    for description in document.findall(addnodes.desc_signature):
        return description.get("module")
    return None


def _inside(node: nodes.Node, full: str) -> bool:
    """Whether a name is mentioned in its own description."""
    parent = node.parent
    while parent is not None:
        if isinstance(parent, addnodes.desc):
            for signature in parent.findall(addnodes.desc_signature):
                if full in signature.get("ids", ()):
                    return True
        parent = parent.parent
    return False


class Types(SphinxPostTransform):
    """Makes links of the types in signatures that are public names, and of no others.

    Before references are looked up: a shape `[steps]` is no link to something of that
    name.
    """

    default_priority = 5

    def run(self, **options: Any) -> None:
        """Give every name in a signature its module, or take the link away."""
        for signature in self.document.findall(addnodes.desc_signature):
            for link in list(signature.findall(addnodes.pending_xref)):
                word = link["reftarget"].rpartition(".")[2]
                full = full_name(word, link.get("py:module"))
                if full is None:
                    link.replace_self(link.children)
                else:
                    link["reftarget"] = full


# Texts of the source


_OF_WORDS = (nodes.paragraph, nodes.caption, nodes.emphasis, nodes.strong)


class Raised(SphinxPostTransform):
    """Raises and lowers what `A_i` and `x^{2k}` mean, as the report does."""

    default_priority = 600

    def run(self, **options: Any) -> None:
        """Go through the texts of pages that speak in formulas."""
        pages = ("reference/", "notation", "theory", "gallery", "errata", "checked/",
                 "log")  # fmt: skip
        in_formulas = self.env.docname.startswith(pages)
        if not in_formulas or self.env.docname == "reference/commands":
            return
        for text in list(self.document.findall(nodes.Text)):
            if isinstance(text.parent, _OF_WORDS):
                pieces = list(_pieces(str(text)))
                if len(pieces) > 1:
                    text.parent.replace(text, pieces)


def _pieces(text: str) -> Iterator[nodes.Node]:
    place = 0
    for found in MARK.finditer(text):
        if found.start() > place:
            yield nodes.Text(text[place : found.start()])
        inside = (found[2] or found[3] or found[4] or "").replace("-", "−")
        kind = nodes.subscript if found[1] == "_" else nodes.superscript
        yield kind("", inside)
        place = found.end()
    if place < len(text):
        yield nodes.Text(text[place:])


# Checks


def _check(app: Sphinx, error: Exception | None) -> None:
    """Every link inside the site leads somewhere; nothing is fetched from elsewhere."""
    if error is not None or app.builder.format != "html":
        return
    for problem in links.problems(Path(app.outdir)):
        _LOGGER.warning(problem)
