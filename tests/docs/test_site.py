"""The site's pages agree with the source; building it is a job of CI."""

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest

from docs._ext import drawing, links, public, reference, theory

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MODULES = public.modules()
NAMES = [name for module in MODULES for name in public.names(module)]
EXAMPLES = list(public.examples())


def _page(module: str) -> Path:
    return DOCS / "reference" / f"{module.rpartition('.')[2]}.md"


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_page(module):
    text = _page(module).read_text(encoding="utf-8")
    assert f"<!-- reference {module} -->" in text
    index = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    assert f"\n{_page(module).stem}\n" in index


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_on_its_page(module):
    loaded = importlib.import_module(module)
    page = reference.page(module)
    listed = {name.name for name in public.names(module)}
    # What a program can reach is what the source lists.
    offered = {
        name
        for name in dir(loaded)
        if not name.startswith("_") and _ours(getattr(loaded, name), module)
    }
    assert offered <= listed
    for name in listed:
        assert hasattr(loaded, name)
        assert re.search(rf"^:+\{{py:\w+\}} {name}\b", page, re.MULTILINE), name


def _ours(value: object, module: str) -> bool:
    """A class or function of this module that was not just imported to be used."""
    home = getattr(value, "__module__", None)
    return isinstance(home, str) and home.startswith(module) and callable(value)


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name.full)
def test_every_public_name_says_what_it_is(name):
    if name.kind != "data":
        assert name.docstring, f"{name.full} has no docstring"


def test_types_are_readable():
    for name in NAMES:
        page = reference.described(name)
        head = page.splitlines()[0]
        assert not re.search(r"\b(Float|Int|Bool|UInt32|jaxtyping)\b\[", head), head
        assert '"' not in head.replace('"""', "") or "Literal" in head, head


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ('Float[Array, "d d"]', "Array[d, d]"),
        ('Float[Array, ""]', "Scalar"),
        ('float | int | Float[Array, ""]', "float | int | Scalar"),
        ('tuple[Float[Array, " k"], float]', "tuple[Array[k], float]"),
        ('Int[np.ndarray, "*batch m"] | None', "IntArray[*batch, m] | None"),
        ('Key[Array, ""] | UInt32[Array, "2"]', "Key | IntArray[2]"),
        ("Callable[[PRNGKeyArray], AbstractTask]", "Callable[[Key], AbstractTask]"),
        ('"Prompt"', "Prompt"),
        ('Literal["a", "b"]', "Literal['a', 'b']"),
    ],
)
def test_readable_type(source, shown):
    assert public.readable(ast.parse(source, mode="eval").body) == shown


def test_there_are_examples():
    assert len(EXAMPLES) >= 15


@pytest.mark.everything
@pytest.mark.parametrize(
    ("where", "code"), EXAMPLES, ids=[where for where, _ in EXAMPLES]
)
def test_example_runs(where, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = next(
        module for module in sorted(MODULES, reverse=True) if where.startswith(module)
    )
    loaded = importlib.import_module(module)
    names = {name.name: getattr(loaded, name.name) for name in public.names(module)}
    exec(public.PREAMBLE, names)
    exec(compile(code, where, "exec"), names)


def test_theory_by_question_has_every_function_once():
    listed = [
        function
        for asked in theory.answers().values()
        for answer in asked
        for function in answer.costs
    ]
    assert sorted(listed) == sorted(n.name for n in public.names("iclab.theory"))


def test_theory_by_question_says_formula_assumptions_source_cost():
    page = theory.page()
    for name in public.names("iclab.theory"):
        assert f"`iclab.theory.{name.name}`" in page
        if name.kind != "function":
            continue
        parts = reference.parts(name.docstring)
        assert parts.get("Source"), name.name
        assert parts.get("Assumes"), name.name
    for asked in theory.answers().values():
        assert all(cost for answer in asked for cost in answer.costs.values())


def _cells(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return re.findall(r"^```\{code-cell\} python3\n(.*?)^```", text, re.M | re.S)


TUTORIALS = sorted(
    path for path in (DOCS / "tutorials").glob("*.md") if path.stem != "index"
)


def test_every_tutorial_is_in_the_index():
    index = (DOCS / "tutorials" / "index.md").read_text(encoding="utf-8")
    assert len(TUTORIALS) >= 9
    assert all(f"\n{path.stem}\n" in index for path in TUTORIALS)


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorials_name_what_exists(path):
    cells = _cells(path)
    assert len(cells) >= 3
    # Commands of a shell are IPython's.
    code = re.sub(r"^[!%]", "#", "\n".join(cells), flags=re.MULTILINE)
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("iclab"):
            module = importlib.import_module(node.module or "")
            for alias in node.names:
                assert hasattr(module, alias.name), f"{path.stem}: {alias.name}"


def test_layers_are_those_of_the_test():
    test = sys.modules.get("tests.test_layers")
    folders = {name for row in drawing.layers() for name in row}
    there = {p.parent.name for p in public.PACKAGE.glob("[a-z]*/__init__.py")}
    assert folders == there
    assert test is None or [list(row) for row in test.LAYERS] == drawing.layers()
    page = drawing.layers_page()
    assert all(f">{name}</text>" in page for name in folders)


def test_links_of_a_site(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "index.html").write_text(
        '<a href="a/one.html#here">x</a><a href="https://example.org">x</a>'
        '<img src="data:image/png;base64,AA=="><a href="#top" id="top">x</a>'
    )
    (tmp_path / "a" / "one.html").write_text('<p id="here"></p><a href="../">x</a>')
    assert list(links.problems(tmp_path)) == []
    (tmp_path / "b.html").write_text(
        '<a href="a/two.html">x</a><a href="a/one.html#there">x</a>'
        '<script src="https://cdn.example.org/m.js"></script>'
        '<link rel="stylesheet" href="//fonts.example.org/f.css">'
    )
    (tmp_path / "s.css").write_text("@font-face{src:url(https://example.org/f)}")
    assert sorted(links.problems(tmp_path)) == [
        "b.html: a link to a/one.html#there, a place that is not there",
        "b.html: a link to a/two.html, which is not there",
        "b.html: a style sheet from elsewhere",
        "b.html: fetches https://cdn.example.org/m.js",
        "s.css: fetches from elsewhere",
    ]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_files_that_pages_on_top_name_are_there(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#]+)\)", text)
    targets += re.findall(r"`((?:docs|tests|iclab)/[\w./-]+\w)`", text)
    for target in targets:
        # What is built is not there before it is built.
        if "://" not in target and "/_build/" not in target:
            assert (ROOT / target).exists(), f"{name} names {target}"
