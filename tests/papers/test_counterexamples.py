"""Counterexamples of the errata, checked in exact arithmetic without our code."""

import ast
import importlib.util
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest

from iclab import papers
from iclab.evidence import file_stem

FOLDER = Path(__file__).with_name("counterexamples")
# What a file of counterexamples may import: nothing that is ours.
EXACT = {"collections", "fractions", "functools", "itertools", "math"}
WITH = [entry for entry in papers.select() if entry.counterexample]


def _module(paper: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        f"counterexamples_{paper}", FOLDER / f"{paper}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _text(value: object) -> str:
    """A number as texts print it; what is text already stays as it is."""
    assert isinstance(value, (str, int, Fraction)), f"{value!r} is not exact"
    return str(value).replace("-", "−")


def test_what_is_false_is_shown_by_hand():
    wrong = (one for one in papers.select() if one.erratum is not None)
    without = {
        one.id
        for one in wrong
        if one.erratum_class == "false" and one.counterexample is None
    }
    assert not without


@pytest.mark.parametrize("entry", WITH, ids=lambda entry: entry.id)
def test_counterexample(entry):
    quoted = getattr(_module(entry.paper), file_stem(entry.id))()
    assert quoted
    for value in quoted:
        assert _text(value) in entry.counterexample


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda one: one.stem)
def test_files_are_exact_and_have_an_entry_for_each_function(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        assert not isinstance(getattr(node, "value", None), float)
        if isinstance(node, ast.ImportFrom):
            assert node.module in EXACT
        elif isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= EXACT
    functions = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name[0] != "_"
    }
    stems = {file_stem(entry.id) for entry in WITH if entry.paper == file.stem}
    assert functions == stems
