"""Pictures of the architecture, in the colours of the page that they stand on.

The layers are read from the test that enforces them.
"""

import ast
from html import escape
from pathlib import Path

from docs._ext import public

_TEST = Path(__file__).parents[2] / "tests" / "test_layers.py"
_WIDTH, _LINE = 760, 22
_ROLES = {
    "cli": "words to requests",
    "report": "shows what is stored",
    "lab": "requests to records",
    "papers": "papers: claims, figures",
    "probes": "names the algorithm",
    "training": "combine the four below",
    "tasks": "never import each other",
    "results": "what a run left",
    "core": "what all others use",
    "show": "how it is shown",
}


def layers() -> list[list[str]]:
    """Folders from the top down, as the test has them."""
    for node in ast.parse(_TEST.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LAYERS":
            return [list(layer) for layer in ast.literal_eval(node.value)]
    raise LookupError("tests/test_layers.py has no LAYERS")


def layers_page() -> str:
    """The picture of the layers, and a line about each folder."""
    rows = layers()
    height = 56 * len(rows) + 10
    parts = []
    for i, row in enumerate(rows):
        y, left = 8 + 56 * i, 215
        role = next((_ROLES[name] for name in row if name in _ROLES), "")
        parts.append(_text(left - 16, y + 25, role, "end", "role"))
        width = (_WIDTH - 2 - left - 10 * (len(row) - 1)) / len(row)
        for j, name in enumerate(row):
            parts.append(_box(left + j * (width + 10), y, width, 38, [name]))
        if i + 1 < len(rows):
            parts.append(_arrow(left + 20, y + 40, left + 20, y + 53))
    drawing = _svg(height, "Layers of iclab: imports point down", parts)
    lines = [
        f"| [`{name}`](reference/{name}.md) | {_first_line(name)} |"
        if f"iclab.{name}" in public.modules()
        else f"| `{name}` | {_first_line(name)} |"
        for row in rows
        for name in row
    ]
    table = "\n".join(["| folder | |", "|---|---|", *lines])
    return f"{drawing}\n\n{table}\n"


def _first_line(name: str) -> str:
    return public.opening(f"iclab.{name}").splitlines()[0]


def way_page() -> str:
    """A job's way from the command to the report."""
    left, right, w, h = 8, 400, 345, 50
    stations = [
        (left, 8, ["iclab reproduce ID", "words become a request: which items, how"]),
        (left, 90, ["jobs", "configuration + seed + code = a name"]),
        (left, 172, ["store", "is there a result of that name?"]),
        (right, 172, ["engine", "here · processes · Dask"]),
        (right, 254, ["compute", "a pure function: arrays"]),
        (left, 254, ["store", "arrays first, manifest last, by rename"]),
        (left, 336, ["evidence", "predicted, measured, decoy: a verdict"]),
        (right, 336, ["results.json", "records of every item"]),
        (right, 418, ["report", "reads, computes nothing"]),
    ]
    parts = [_box(x, y, w, h, words) for x, y, words in stations]
    middle = left + w / 2, right + w / 2
    parts += [
        _arrow(middle[0], 60, middle[0], 88),
        _arrow(middle[0], 142, middle[0], 170),
        _arrow(left + w + 2, 197, right - 2, 197),
        _text((left + w + right) / 2, 190, "no", "middle", "role"),
        _arrow(middle[1], 224, middle[1], 252),
        _arrow(right - 2, 279, left + w + 2, 279),
        _arrow(middle[0], 306, middle[0], 334),
        _arrow(middle[0] - 120, 224, middle[0] - 120, 334, dashed=True),
        _text(middle[0] - 112, 243, "yes", "start", "role"),
        _arrow(left + w + 2, 361, right - 2, 361),
        _arrow(middle[1], 388, middle[1], 416),
    ]
    return _svg(480, "The path of a job from the command to the report", parts)


def _svg(height: float, title: str, parts: list[str]) -> str:
    inside = "\n".join(parts)
    return (
        '```{raw} html\n<div class="drawing">\n'
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img"'
        f' aria-label="{escape(title)}">\n'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>\n'
        f"{inside}\n</svg>\n</div>\n```"
    )


def _box(x: float, y: float, w: float, h: float, words: list[str]) -> str:
    parts = [f'<rect x="{x:.0f}" y="{y:.0f}" width="{w:.0f}" height="{h}" rx="6"/>']
    first = y + h / 2 + 5 - (_LINE - 2) / 2 * (len(words) - 1)
    for i, word in enumerate(words):
        kind = "name" if i == 0 else "role"
        parts.append(_text(x + w / 2, first + i * (_LINE - 2), word, "middle", kind))
    return "".join(parts)


def _text(x: float, y: float, words: str, anchor: str, kind: str) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" class="{kind}">'
        f"{escape(words)}</text>"
    )


def _arrow(x1: float, y1: float, x2: float, y2: float, *, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="4 4"' if dashed else ""
    return (
        f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}"{dash}'
        ' marker-end="url(#tip)"/>'
    )
