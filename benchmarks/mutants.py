"""Which claims see a wrong formula: a campaign over the table `mutants.txt`.

    python benchmarks/mutants.py --scale desk

Each mutant runs in a fresh process, in which one line of one function says something
else. Of the claims that can reach the function by calls and imports the cheapest run
first, until one has another verdict than it should: then the mutant is seen. With
`--tests` those that no claim sees are shown to the unit tests of their file. What is
known is kept in `records/mutants.json` as it comes, with a table in
`records/mutants.md`: the same command continues, two mutants at a time.

No source is touched: the loader of the child process reads one file with a difference.
"""

import argparse
import ast
import concurrent.futures
import functools
import hashlib
import importlib
import importlib.machinery
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "iclab"
TABLE = Path(__file__).with_suffix(".txt")
RECORD = ROOT / "records" / "mutants.json"

# Share of mutants that claims should see, by scale.
GOALS = {"smoke": 0.85, "desk": 0.95, "paper": 0.95}


@dataclass(frozen=True)
class Mutant:
    """A change in a function of a file, paths relative to the package."""

    file: str
    function: str
    before: str
    after: str

    @property
    def key(self) -> str:
        """The line of the table that it stands for."""
        return f"{self.file} {self.function}: {self.before} => {self.after}"

    @property
    def module(self) -> str:
        """The name under which the file is imported."""
        return "iclab." + self.file.removesuffix(".py").replace("/", ".")

    def source(self) -> str:
        """The file as the mutant has it."""
        text = (PACKAGE / self.file).read_text(encoding="utf-8")
        start, end = self._span(text)
        body = text[start:end]
        if body.count(self.before) != 1:
            found = body.count(self.before)
            raise ValueError(f"{self.key}: found {found} times, must be once")
        return text[:start] + body.replace(self.before, self.after) + text[end:]

    def digest(self) -> str:
        """What the function said when the mutant was made of it."""
        text = (PACKAGE / self.file).read_text(encoding="utf-8")
        start, end = self._span(text)
        return hashlib.sha256(text[start:end].encode()).hexdigest()[:12]

    def _span(self, text: str) -> tuple[int, int]:
        """Where the function's body is, without its docstring."""
        nodes = ast.parse(text).body
        for name in self.function.split("."):
            found = [node for node in nodes if getattr(node, "name", None) == name]
            if not found:
                raise ValueError(f"{self.key}: no such function")
            (node,) = found
            assert isinstance(node, ast.FunctionDef | ast.ClassDef)
            nodes = node.body
        first = nodes[1] if _is_docstring(nodes[0]) and len(nodes) > 1 else nodes[0]
        lines = text.splitlines(keepends=True)
        last = nodes[-1].end_lineno
        start = sum(map(len, lines[: first.lineno - 1]))
        return start, sum(map(len, lines[:last]))


def table() -> list[Mutant]:
    """Every mutant of `mutants.txt`."""
    file, found = "", []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            file = line.strip("[]")
        elif line.strip() and not line.startswith("#"):
            function, before, after = (part.strip() for part in line.split(" | "))
            found.append(Mutant(file, function, before, after))
    return found


def install(mutant: Mutant) -> None:
    """Make imports of this process read the mutant in place of its file."""
    loader = importlib.machinery.SourceFileLoader
    changed, data = str(PACKAGE / mutant.file), mutant.source().encode()
    read, stat = loader.get_data, loader.path_stats

    def get_data(self, path: str) -> bytes:
        return data if path == changed else read(self, path)

    def path_stats(self, path: str) -> Mapping[str, Any]:
        if path == changed:
            raise OSError("no compiled file stands for a mutant")
        return stat(self, path)

    loader.get_data, loader.path_stats = get_data, path_stats


# Which claims reach a function: a graph of the names that each definition mentions.

Node = tuple[str, str]


@functools.cache
def _tree(module: str) -> ast.Module | None:
    path = PACKAGE.parent / Path(*module.split("."))
    for one in (path.with_suffix(".py"), path / "__init__.py"):
        if one.exists():
            return ast.parse(one.read_text(encoding="utf-8"))
    return None


@functools.cache
def _imports(module: str) -> dict[str, Node]:
    """Names that a module imports from the package, and where they come from."""
    found, tree = {}, _tree(module)
    if tree is None:
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("iclab"):
            for alias in node.names:
                found[alias.asname or alias.name] = (node.module, alias.name)
    return found


@functools.cache
def _definitions(module: str) -> dict[str, frozenset[str]]:
    """Top-level names of a module, and the names that each of them mentions."""
    found: dict[str, frozenset[str]] = {}
    tree = _tree(module)
    for node in () if tree is None else tree.body:
        names = frozenset(
            one.id if isinstance(one, ast.Name) else one.attr
            for one in ast.walk(node)
            if isinstance(one, ast.Name | ast.Attribute)
        )
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = names
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for one in ast.walk(target):
                    if isinstance(one, ast.Name):
                        found[one.id] = found.get(one.id, frozenset()) | names
    return found


def _mentioned(node: Node) -> Iterator[Node]:
    module, name = node
    definitions = _definitions(module)
    for other in definitions.get(name, ()):
        if other in definitions and other != name:
            yield module, other
        elif other in _imports(module):
            yield _imports(module)[other]
    if name not in definitions and name in _imports(module):
        yield _imports(module)[name]


@functools.cache
def reached(module: str) -> frozenset[Node]:
    """Every definition that the definitions of a module lead to."""
    seen: set[Node] = set()
    open_ = [(module, name) for name in _definitions(module)]
    while open_:
        node = open_.pop()
        if node not in seen:
            seen.add(node)
            open_.extend(_mentioned(node))
    return frozenset(seen)


def claims_that_reach(mutant: Mutant) -> list[str]:
    """Ids of claims, in the order of their rooms."""
    from iclab.papers import module_name, select

    node = mutant.module, mutant.function.split(".")[0]
    return [
        entry.id
        for entry in select([])
        if entry.kind == "claim" and node in reached(module_name(entry))
    ]


# The child: one mutant, some claims.


def try_claims(mutant: Mutant, ids: list[str], scale: str, seed: int) -> None:
    """Run claims until one sees the mutant; a line of JSON for each."""
    install(mutant)
    from iclab.evidence import run_claim
    from iclab.papers import load_claim, select

    entries = {entry.id: entry for entry in select([])}
    for id in ids:
        start = time.perf_counter()
        try:
            claim = load_claim(entries[id])
            verdict = run_claim(claim, scale, seed).verdict  # pyright: ignore[reportArgumentType]
            stands = claim.printed is None or claim.printed.beside
            seen = verdict != ("holds" if stands else "corrected")
        except Exception as error:
            verdict, seen = f"{type(error).__name__}: {error}"[:200], True
        seconds = time.perf_counter() - start
        row = {"claim": id, "verdict": verdict, "seen": seen, "seconds": seconds}
        print(json.dumps(row), flush=True)
        if seen:
            return


def try_tests(mutant: Mutant) -> int:
    """Run the unit tests of the mutant's file; 1 if they see it."""
    install(mutant)
    import pytest

    stem = Path(mutant.file).stem.lstrip("_")
    folder = ROOT / "tests" / Path(mutant.file).parent
    files = [folder / f"test_{stem}.py", folder / "test_label_noise.py"]
    known = [str(file) for file in files if file.exists()]
    return int(pytest.main(["-q", "-x", "-n0", "-p", "no:cacheprovider", *known]))


# The campaign.


def campaign(scale: str, seed: int, jobs: int, match: str, tests: bool) -> int:
    """Try what the record does not know yet; 0 if the goal of the scale is met."""
    record = _read()
    mutants = [mutant for mutant in table() if match in mutant.key]
    lock = threading.Lock()

    def work(mutant: Mutant) -> None:
        with lock:
            row = dict(record["mutants"].get(f"{scale} {mutant.key}", {}))
            seconds = dict(record["seconds"].get(scale, {}))
        if row.get("function") != mutant.digest():
            row = {"function": mutant.digest()} | _shown_to_claims(
                mutant, scale, seed, seconds
            )
        if tests and row["seen by"] is None and "tests" not in row:
            row["tests"] = _child(mutant, "--with-tests").returncode != 0
        with lock:
            record["mutants"][f"{scale} {mutant.key}"] = row
            record["seconds"].setdefault(scale, {}).update(row.pop("seconds", {}))
            _write(record)
            print(f"{_word(row):<44} {mutant.key}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(work, mutants))
    return _summary(record, scale, mutants)


def _shown_to_claims(
    mutant: Mutant, scale: str, seed: int, seconds: dict[str, float]
) -> dict:
    ids = claims_that_reach(mutant)
    usual = sorted(seconds.values())[len(seconds) // 2] if seconds else 0.0
    ids = sorted(ids, key=lambda id: seconds.get(id, usual))
    row = {"claims": len(ids), "seen by": None, "verdict": None, "seconds": {}}
    if not ids:
        return row
    found = _child(mutant, "--scale", scale, "--seed", str(seed), "--claims", *ids)
    lines = [line for line in found.stdout.splitlines() if line.startswith("{")]
    for one in map(json.loads, lines):
        if one["seen"]:
            row["seen by"], row["verdict"] = one["claim"], one["verdict"]
        else:
            row["seconds"][one["claim"]] = one["seconds"]
    if found.returncode:  # the mutant does not even let the package be imported
        row["seen by"], row["verdict"] = ids[0], found.stderr[-200:]
    return row


def _child(mutant: Mutant, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, __file__, "--one", mutant.key, *arguments]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False
    )


def _word(row: dict) -> str:
    if row["seen by"] is not None:
        return f"seen by {row['seen by']}"
    if row.get("tests"):
        return "seen by tests alone"
    return f"not seen by {row['claims']} claims"


def _summary(record: dict, scale: str, mutants: list[Mutant]) -> int:
    rows = [record["mutants"][f"{scale} {mutant.key}"] for mutant in mutants]
    by_claims = sum(row["seen by"] is not None for row in rows)
    by_tests = sum(row["seen by"] is None and bool(row.get("tests")) for row in rows)
    print(
        f"{len(rows)} mutants at {scale}: {by_claims} seen by a claim"
        f" ({by_claims / len(rows):.0%}), {by_tests} by tests alone,"
        f" {len(rows) - by_claims - by_tests} by neither"
    )
    return int(by_claims < GOALS[scale] * len(rows))


def _read() -> dict:
    if RECORD.exists():
        return json.loads(RECORD.read_text(encoding="utf-8"))
    return {"seconds": {}, "mutants": {}}


def _write(record: dict) -> None:
    RECORD.parent.mkdir(exist_ok=True)
    text = json.dumps(record, indent=1, ensure_ascii=False, sort_keys=True)
    draft = RECORD.with_suffix(".draft")
    draft.write_text(text + "\n", encoding="utf-8")
    draft.replace(RECORD)
    lines = ["| scale | mutant | seen by | verdict |", "|---|---|---|---|"]
    for key, row in sorted(record["mutants"].items()):
        scale, _, mutant = key.partition(" ")
        cells = scale, f"`{mutant}`", _word(row), row["verdict"] or ""
        lines.append("| " + " | ".join(one.replace("|", "∣") for one in cells) + " |")
    RECORD.with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def main() -> int:
    """The campaign, or the work of one of its children."""
    parser = argparse.ArgumentParser(description="Which claims see a wrong formula.")
    parser.add_argument("--scale", choices=sorted(GOALS), default="smoke")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--match", default="", help="only keys with this text")
    parser.add_argument("--tests", action="store_true", help="tests see the rest")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--claims", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--with-tests", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is None:
        return campaign(
            options.scale, options.seed, options.jobs, options.match, options.tests
        )
    (mutant,) = (one for one in table() if one.key == options.one)
    if options.with_tests:
        return try_tests(mutant)
    try_claims(mutant, options.claims, options.scale, options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
