"""`iclab new`: a folder for a paper of one's own, and claims and figures in it."""

import argparse
import ast
import datetime
import importlib.util
import json
import keyword
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iclab import papers
from iclab._files import write_whole
from iclab.lab import Mistake, mistakes

_TEMPLATES = Path(__file__).with_name("templates")
_ARXIV = re.compile(r"(?:arxiv:)?(\d{4}\.\d{4,5}|[a-z.-]+/\d{7})(?:v\d+)?", re.I)
_INSTALLED = {"site-packages", "dist-packages"}
# What a paper begins with.
_FIRST = {"claim": "theorem-1", "figure": "figure-1"}


def add_new(commands: Any) -> argparse.ArgumentParser:
    """Add the command to the parser."""
    text = "Start a folder for a paper of your own, or add a claim or a figure to it."
    parser = commands.add_parser("new", help=text, description=text)
    add = parser.add_argument
    kinds = ["paper", "claim", "figure"]
    add("what", choices=kinds, metavar="WHAT", help="paper, claim or figure")
    text = "key of a paper (me2026), or id of a claim or figure (me2026/lemma-2)"
    add("id", metavar="NAME", help=text)
    add = parser.add_argument_group("for a paper").add_argument
    add("--title", help="its title")
    text = "an author, first name first (may be repeated)"
    add("--author", action="append", default=[], metavar="NAME", help=text)
    add("--year", type=int, help="its year (default: as in the key)")
    add("--arxiv", metavar="ID", help="as in 2307.03576")
    add("--out", metavar="DIR", help="folder to write (default: the key, here)")
    parser.set_defaults(run=new)
    return parser


def new(options: argparse.Namespace) -> int:
    """Write what is asked for, and say what to do next."""
    if options.what == "paper":
        return _new_paper(options)
    of_paper = ("title", "author", "year", "arxiv", "out")
    given = [name for name in of_paper if getattr(options, name)]
    if given:
        raise Mistake(f"--{given[0]} is for `iclab new paper`")
    return _new_entry(options.what, options.id)


def _new_paper(options: argparse.Namespace) -> int:
    key, package = options.id, papers.package_name(options.id)
    facts = _facts(options) | {"key": key, "package": package}
    _check_key(key, package)
    root = Path(options.out or key)
    if os.path.lexists(root) and (not root.is_dir() or any(root.iterdir())):
        raise Mistake(f"{root} is there already: choose another folder with --out")
    ids = {kind: f"{key}/{tail}" for kind, tail in _FIRST.items()}
    entries = "".join(_entry(kind, id) for kind, id in ids.items())
    source = Path("src", package)
    files = {
        Path("pyproject.toml"): _rendered("pyproject.toml", facts),
        Path("README.md"): _rendered("README.md", facts),
        source / "__init__.py": f'"""Claims of a paper for iclab: {key}."""\n',
        source / "contents.py": _rendered("contents.py", facts | {"entries": entries}),
        source / _file(ids["claim"]): _body("claim", ids["claim"]),
        source / _file(ids["figure"]): _body("figure", ids["figure"]),
        Path("tests", f"test_{package}.py"): _rendered("tests.py", facts),
    }
    with mistakes(root):
        for name, text in files.items():
            write_whole(root / name, text)
    print(f"wrote {root}:")
    for name in files:
        print(f"  {name.as_posix()}")
    flag = "" if root == Path(key) else f" --paper {root}"
    place = root.resolve()
    print(f"here:          iclab check {key}{flag}")
    print(f"from anywhere: pip install -e {place}, or --paper {place}")
    print(f"its tests:     pytest {root}")
    return 0


def _new_entry(kind: str, id: str) -> int:
    """Add a claim or a figure to the paper that its id names."""
    if not papers.is_id(id):
        raise Mistake(f"an id must look like me2026/theorem-1.2, got {id!r}")
    opened = papers.find_paper(id)
    if _INSTALLED & set(opened.folder.parts):
        raise Mistake(
            f"the paper {opened.key} is installed in {opened.folder}: name the"
            " folder of its source with --paper"
        )
    if any(entry.id == id for entry in opened.entries):
        raise Mistake(f"{id} is there already, in {opened.folder}")
    path = opened.folder / _file(id)
    if os.path.lexists(path):
        raise Mistake(f"{path} is there already, and belongs to another id")
    contents = _with_entry(opened.folder, _entry(kind, id))
    with mistakes(opened.folder):
        write_whole(path, _body(kind, id))
        write_whole(opened.folder / "contents.py", contents)
    verb = "check" if kind == "claim" else "reproduce"
    print(f"wrote {path}, and its entry in contents.py: an example, to be written over")
    print(f"run it: iclab {verb} {id} {opened.flag}".rstrip())
    return 0


def _with_entry(folder: Path, entry: str) -> str:
    """Contents of a paper with one more entry, behind those that are there."""
    path = folder / "contents.py"
    text = path.read_text(encoding="utf-8")
    by_hand = f"cannot add to ENTRIES in {path}: it is no plain list; add it by hand"
    tree = ast.parse(text)
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else ()
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        if any(isinstance(one, ast.Name) and one.id == "ENTRIES" for one in targets):
            break
    else:
        raise Mistake(by_hand)
    assert isinstance(node, (ast.Assign, ast.AnnAssign))
    value = node.value
    if not isinstance(value, (ast.Tuple, ast.List)):
        raise Mistake(by_hand)
    # In bytes: that is how Python counts columns.
    lines = text.encode().splitlines(keepends=True)
    last = value.elts[-1] if value.elts else None
    if last is None:
        line, column = value.end_lineno, (value.end_col_offset or 1) - 1
        added = f"\n{entry}"
    else:
        line, column = last.end_lineno, last.end_col_offset
        # The comma behind the last entry, if there is one, goes behind the new one.
        added = f",\n{entry.rstrip().removesuffix(',')}"
    place = sum(map(len, lines[: (line or 1) - 1])) + (column or 0)
    whole = text.encode()
    changed = (whole[:place] + added.encode() + whole[place:]).decode()
    try:
        compile(changed, str(path), "exec")
    except SyntaxError:
        raise Mistake(by_hand) from None
    return changed


def _facts(options: argparse.Namespace) -> dict[str, Any]:
    """What is known of the paper, for the templates."""
    title = " ".join((options.title or "").split())
    if not title:
        raise Mistake("a paper needs its title: --title 'What it is called'")
    authors = [" ".join(one.split()) for one in options.author] or ["Unknown Author"]
    in_key = re.search(r"(19|20)\d\d", options.id)
    this = datetime.date.today().year
    year = options.year or (int(in_key[0]) if in_key else this)
    arxiv = ""
    if options.arxiv:
        found = _ARXIV.fullmatch(options.arxiv.strip())
        if found is None:
            rule = "--arxiv must look like 2307.03576"
            raise Mistake(f"{rule}, got {options.arxiv!r}")
        arxiv = found[1]
    lines = {"title": title, "author": " and ".join(authors), "year": str(year)}
    lines |= {"eprint": arxiv, "archiveprefix": "arXiv"} if arxiv else {}
    fields = ",\n".join(f"  {name} = {{{text}}}" for name, text in lines.items())
    bibtex = f"@misc{{{options.id},\n{fields}\n}}"
    return {
        "title": title,
        "authors": authors,
        "year": year,
        "venue": f"arXiv {arxiv}" if arxiv else "where it appeared",
        "arxiv": arxiv,
        "bibtex": bibtex.splitlines(keepends=True),
    }


def _check_key(key: str, package: str) -> None:
    from iclab.evidence import KEY_RULE, is_key

    if not is_key(key):
        raise Mistake(f"the key of a paper {KEY_RULE}, got {key!r}")
    for opened in papers.every_paper():
        if opened.key == key:
            raise Mistake(f"{key} is the key of a paper already: {opened.origin}")
    if key in papers.TAKEN:
        raise Mistake(f"the key of a paper cannot be {key}")
    taken = keyword.iskeyword(package) or _is_module(package)
    if taken:
        raise Mistake(f"{package} is a name of Python's own: choose another key")


def _is_module(package: str) -> bool:
    """Whether there is a module of this name; a mere folder is none."""
    spec = importlib.util.find_spec(package)
    return spec is not None and spec.origin is not None


def _entry(kind: str, id: str) -> str:
    return _rendered(f"{kind}_entry.py", {"id": id, "locator": _locator(id)})


def _body(kind: str, id: str) -> str:
    return _rendered(f"{kind}.py", {"id": id, "locator": _locator(id)})


def _file(id: str) -> str:
    return papers.file_name(id)


def _locator(id: str) -> str:
    """`lemma-a.3` as a paper would have it: Lemma A.3."""
    words = id.partition("/")[2].split("-")
    return " ".join(word[:1].upper() + word[1:] for word in words)


def _rendered(name: str, facts: Mapping[str, Any]) -> str:
    """A template with its gaps filled."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )
    # JSON's strings are Python's and TOML's too.
    environment.filters["quoted"] = lambda word: json.dumps(word, ensure_ascii=False)
    return environment.get_template(f"{name}.jinja").render(facts)
