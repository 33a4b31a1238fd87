"""Who may import whom."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "iclab"

# From the top down; folders of one layer never import each other.
LAYERS = (
    ("cli",),
    ("explore", "report", "testing"),
    ("lab",),
    ("papers",),
    ("probes",),
    ("training", "evaluation"),
    ("tasks", "models", "algorithms", "theory"),
    ("results",),
    ("core", "evidence", "runs"),
    ("show",),
)
DEPTH = {folder: depth for depth, layer in enumerate(LAYERS) for folder in layer}
FILES = sorted(PACKAGE.rglob("*.py"))


def _imports(path: Path) -> set[str]:
    """Names of iclab that a file imports, with `from a import b` as `a.b`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "iclab"}


def _violations(path: Path) -> list[str]:
    parts = path.relative_to(PACKAGE).parts
    if len(parts) == 1:
        return []
    own, wrong = parts[0], []
    for name in _imports(path):
        target = name.split(".")[1] if "." in name else None
        if own == "show" and target != own:  # not even our files of no folder
            wrong.append(f"show imports {name}")
        if target is None or target not in DEPTH or target == own:
            continue
        if DEPTH[target] <= DEPTH[own]:
            wrong.append(f"{own} imports {name}")
    return wrong


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path):
    assert _violations(path) == []


def test_nobody_needs_the_command_line():
    users = {p.name for p in FILES if any("iclab.cli" in one for one in _imports(p))}
    own = {path.name for path in (PACKAGE / "cli").glob("*.py")}
    assert users <= {*own, "__main__.py"}


def test_every_folder_has_a_layer():
    folders = {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name[0] != "_"}
    assert folders == set(DEPTH)


def test_papers_do_not_import_each_other():
    papers = [p for p in (PACKAGE / "papers").iterdir() if (p / "contents.py").exists()]
    for paper in papers:
        for path in paper.glob("*.py"):
            for name in _imports(path):
                if name.startswith("iclab.papers."):
                    other = name.split(".")[2]  # or a private module for all papers
                    own = other == paper.name or other.startswith("_")
                    assert own, f"{path}: {name}"


def test_a_violation_would_be_seen(tmp_path, monkeypatch):
    bad = tmp_path / "theory" / "_bad.py"
    bad.parent.mkdir()
    bad.write_text("from iclab.models import LinearSelfAttention\n")
    monkeypatch.setattr(f"{__name__}.PACKAGE", tmp_path)
    assert _violations(bad) == ["theory imports iclab.models.LinearSelfAttention"]


def test_files_are_reached_through_their_folder():
    """`iclab.theory._lsa_risk` is private to theory."""
    for path in FILES:
        parts = path.relative_to(PACKAGE).parts
        for name in _imports(path):
            words = name.split(".")[1:]
            private = [word for word in words[1:-1] if word.startswith("_")]
            assert not private or words[0] == parts[0], f"{path}: {name}"
