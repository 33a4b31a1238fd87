"""Which claims see a wrong formula: a campaign over the table `mutants.txt`.

    python benchmarks/mutants.py                # every mutant, claims at smoke
    python benchmarks/mutants.py --scale desk   # every mutant, claims at desk
    python benchmarks/mutants.py --scale desk --tests    # the rest, to unit tests

First the claims run as they are, for their verdicts and for what each costs. Then each
mutant runs in a fresh process, in which one line of one function says something else.
The claims that can reach the function by calls and imports run until one has another
verdict than without the mutant: then the mutant is seen. The one that saw it at the
other scale comes first, then those that saw other mutants of the function, then the
rest by what they cost, dearer the more calls lie between claim and function.

What is known is kept in `records/mutants.csv` as it comes, the claims as they are in
`records/mutants-claims.csv`, and the numbers in `records/mutants.md`: the same command
continues. A mutant that was seen is shown again when its function has changed, one that
was not seen also when a claim, or anything that a claim reaches, has. What it was when
it was shown for the first time stays in the record beside what it is now.

No source is touched: the loader of the child process reads one file with a difference.
Compiled programs are shared by all processes under the hash of what was compiled, so a
mutant never runs what was compiled without it.
"""

import argparse
import ast
import concurrent.futures
import csv
import functools
import hashlib
import importlib
import importlib.machinery
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "iclab"
TABLE = Path(__file__).with_suffix(".txt")
RECORD = ROOT / "records" / "mutants.csv"
CLAIMS = RECORD.with_name("mutants-claims.csv")
SUMMARY = RECORD.with_suffix(".md")

# Share of mutants that claims should see, by scale.
GOALS = {"smoke": 0.85, "desk": 0.95}

# What every process needs and no mutant changes: imported once, then forked.
LIBRARIES = ["jax.numpy", "equinox", "diffrax", "optimistix", "optax", "mpmath"]

# Most programs run once: compiling them is what costs.
QUICK_TO_COMPILE = (
    "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=0"
)

# A claim that takes ten times its usual processor time, and a minute more, does not
# end, and that is seen too. By the clock nothing is seen, since others use the machine:
# after this many times the usual time, and ten minutes, there is no answer.
PATIENCE = 60


@dataclass(frozen=True)
class Mutant:
    """A change in a function of a file, paths relative to the package.

    `equivalent` says why nothing that is returned can differ, where that is so.
    """

    file: str
    function: str
    before: str
    after: str
    equivalent: str = ""

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

    @functools.cache  # noqa: B019 - a few hundred, for as long as the program runs
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
            parts = [part.strip() for part in line.split(" | ")]
            found.append(Mutant(file, *parts))
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


@functools.cache
def reached(id: str) -> Mapping[tuple[str, str], int]:
    """Every definition that a claim's file leads to, and in how many steps."""
    from iclab.papers import definitions_behind, module_name, select

    (entry,) = select([id])
    module = module_name(entry)
    tree = ast.parse(_file(module).read_text(encoding="utf-8"))
    nodes = [one for one in tree.body if isinstance(one, ast.FunctionDef)]
    names = [*(node.name for node in nodes), "CLAIM"]
    return definitions_behind(*((module, name) for name in names))


def _file(module: str) -> Path:
    path = PACKAGE.parent / Path(*module.split("."))
    file = path.with_suffix(".py")
    return file if file.exists() else path / "__init__.py"


@functools.cache
def claims_that_reach(mutant: Mutant) -> Mapping[str, int]:
    """Ids of claims, in the order of their papers, and how many steps they are away."""
    from iclab.papers import select

    node = mutant.module, mutant.function.split(".")[0]
    return {
        entry.id: reached(entry.id)[node]
        for entry in select([])
        if entry.kind == "claim" and node in reached(entry.id)
    }


@functools.cache
def _digest_of(modules: frozenset[str]) -> str:
    found = hashlib.sha256()
    for module in sorted(modules):
        tree = ast.parse(_file(module).read_text(encoding="utf-8"))
        found.update(ast.dump(tree).encode())
    return found.hexdigest()[:12]


@functools.cache
def _claim_code(id: str) -> str:
    """What a claim, and all that it reaches, say."""
    return _digest_of(frozenset(module for module, _ in reached(id)))


@functools.cache
def code_in_reach(mutant: Mutant) -> str:
    """What a mutant's function and the claims that reach it, with all theirs, say."""
    codes = [mutant.digest(), *map(_claim_code, claims_that_reach(mutant))]
    return hashlib.sha256(" ".join(codes).encode()).hexdigest()[:12]


# The child: one mutant or none, some claims.


def try_claims(
    mutant: Mutant | None,
    usual: Mapping[str, float],
    scale: str,
    seed: int,
    answers: Connection,
) -> None:
    """Run claims, until one has another verdict if there is a mutant.

    Their ids are sent back one by one, each with its verdict and processor seconds.
    """
    if mutant is not None:
        install(mutant)
    from iclab.evidence import run_claim
    from iclab.papers import load_claim, select

    entries = {entry.id: entry for entry in select([])}
    signal.signal(signal.SIGPROF, _no_end)
    for id in usual:
        start = time.process_time()
        if mutant is not None:
            signal.setitimer(signal.ITIMER_PROF, 60 + 10 * usual[id])
        each = iter if mutant is None else _until_red
        try:
            claim = load_claim(entries[id])
            verdict = run_claim(claim, scale, seed, each=each).verdict  # pyright: ignore[reportArgumentType]
        except _Red as red:
            verdict = str(red)
        except Exception as error:
            verdict = f"{type(error).__name__}: {error}".splitlines()[0][:120]
        try:
            answers.send((id, verdict, round(time.process_time() - start, 3)))
        except BrokenPipeError:  # seen, and nobody listens any more
            return


class _Red(Exception):
    """A case of ours that does not hold: no other case can change the verdict."""


def _no_end(*_: object) -> None:
    raise _Red("no end")


def _until_red(steps: Iterable[Callable[[], Any]]) -> Iterator[Callable[[], Any]]:
    """The cases of a claim that is good without the mutant, up to the first red one."""

    def checked(step: Callable[[], Any]) -> Any:
        result = step()
        if not result.printed and result.verdict != "holds":
            raise _Red(result.verdict)
        return result

    for step in steps:
        yield functools.partial(checked, step)


def ask(
    mutant: Mutant | None, usual: Mapping[str, float], scale: str, seed: int
) -> Iterator[tuple[str, str, float]]:
    """Verdicts of claims in a fresh process; the caller stops when it has seen enough.

    `usual` are the claims in their order and what each of them takes. One that gives no
    answer in its time, or ends the process, has no verdict, and the next ones run in
    another process.
    """
    context, left = multiprocessing.get_context("forkserver"), list(usual)
    while left:
        here, there = context.Pipe(duplex=False)
        child = context.Process(
            target=try_claims,
            args=(mutant, {id: usual[id] for id in left}, scale, seed, there),
            daemon=True,
        )
        child.start()
        there.close()
        try:
            while left:
                if not here.poll(600 + PATIENCE * usual[left[0]]):
                    raise EOFError
                answer = here.recv()
                left = left[1:]
                yield answer
        except EOFError:
            yield left[0], "no answer", 0.0
            left = left[1:]
        finally:
            child.kill()
            child.join()


def try_tests(mutant: Mutant) -> int:
    """Run the unit tests of the mutant's file; 1 if they see it."""
    install(mutant)
    import pytest

    stem = Path(mutant.file).stem.lstrip("_")
    folder = ROOT / "tests" / Path(mutant.file).parent
    files = [folder / f"test_{stem}.py", folder / "test_label_noise.py"]
    known = [str(file) for file in files if file.exists()]
    return int(pytest.main(["-q", "-x", "-n0", "-p", "no:cacheprovider", *known]))


# The record: rows by scale and mutant, and by scale and claim.

FIELDS = [
    "scale",
    "file",
    "function",
    "before",
    "after",
    "code",
    "claims",
    "seen by",
    "verdict",
    "tests",
    "first",
    "seconds",
]
CLAIM_FIELDS = ["scale", "claim", "code", "verdict", "seconds"]


class Record:
    """What is known, on disk whenever it changes."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.mutants = {(row["scale"], _key(row)): row for row in _rows(RECORD)}
        self.claims = {(row["scale"], row["claim"]): row for row in _rows(CLAIMS)}

    def keep(self, row: dict[str, Any]) -> None:
        """A row of a mutant or, if it has no file, of a claim."""
        row = {name: str(value) for name, value in row.items()}
        with self.lock:
            if "file" in row:
                at = row["scale"], _key(row)
                found = "seen" if row["seen by"] else "not seen"
                row["first"] = self.mutants.get(at, {"first": found}).get("first", "")
                self.mutants[at] = row
                order = {mutant.key: i for i, mutant in enumerate(table())}
                known = [one for one in self.mutants.values() if _key(one) in order]
                known.sort(key=lambda one: (one["scale"] != "smoke", order[_key(one)]))
                _save(RECORD, FIELDS, known)
                write_summary(self)
            else:
                self.claims[row["scale"], row["claim"]] = row
                rows = sorted(
                    self.claims.values(), key=lambda one: (one["scale"], one["claim"])
                )
                _save(CLAIMS, CLAIM_FIELDS, rows)

    def told(self, scale: str, mutant: Mutant) -> dict[str, str]:
        """What is known of a mutant at a scale, of whatever code it was known."""
        return self.mutants.get((scale, mutant.key), {})

    def row(self, scale: str, mutant: Mutant) -> dict[str, str]:
        """What is known of a mutant at a scale, if its function is still the same."""
        row = self.mutants.get((scale, mutant.key), {})
        if row.get("seen by"):
            return row if row["code"] == mutant.digest() else {}
        return row if row.get("code") == code_in_reach(mutant) else {}

    def saw(self, mutant: Mutant) -> Mapping[str, int]:
        """Claims that saw this mutant (2), or another of its function (1)."""
        found: dict[str, int] = {}
        with self.lock:
            rows = list(self.mutants.values())
        for row in rows:
            if (row["file"], row["function"]) == (mutant.file, mutant.function):
                weight = 2 if _key(row) == mutant.key else 1
                found[row["seen by"]] = max(found.get(row["seen by"], 0), weight)
        return found

    def seen(self, scale: str, mutant: Mutant) -> bool:
        """Whether a claim at this scale has seen the mutant."""
        return bool(self.row(scale, mutant).get("seen by"))


NOTES = "## How it was run\n"


def write_summary(record: Record) -> None:
    """The numbers anew; what stands by hand under `NOTES` stays."""
    known = SUMMARY.read_text(encoding="utf-8") if SUMMARY.exists() else ""
    _, title, notes = known.partition(NOTES)
    text = summary(record) + (f"\n{title}{notes}" if title else "")
    SUMMARY.write_text(text, encoding="utf-8")


def summary(record: Record) -> str:
    """How many mutants were seen at each scale, at first and now; the others."""
    every = table()
    smoke, desk = (
        {one: record.told(scale, one) for one in every if record.told(scale, one)}
        for scale in GOALS
    )
    either = [
        one
        for one in every
        if any(told.get(one, {}).get("seen by") for told in (smoke, desk))
    ]
    rest = [one for one in every if one not in either]
    tests = [one for one in rest if desk.get(one, {}).get("tests") == "seen"]
    lines = [
        "# Wrong formulas, and who sees them",
        "",
        f"{len(every)} mutants, in an order as good as random; {len(smoke)} were shown"
        f" to the claims at `smoke`, {len(desk)} to those at `desk`.",
        "",
        "| seen by | seen | of | share | goal |",
        "|---|---|---|---|---|",
        _line("a claim at `smoke`", _seen(smoke), len(smoke), GOALS["smoke"]),
        _line("a claim at `desk`", _seen(desk), len(desk), GOALS["desk"]),
        _line("a claim at either", len(either), len(every), GOALS["desk"]),
        _line("a claim or a unit test", len(either + tests), len(every), 1.0),
        "",
        "When they were shown for the first time, before any claim was made sharper"
        " because of them, where the record has kept that:",
        "",
        "| seen by | seen | of | share |",
        "|---|---|---|---|",
    ]
    for scale, told in ("smoke", smoke), ("desk", desk):
        first = [row["first"] for row in told.values() if row.get("first")]
        seen = first.count("seen")
        share = seen / max(1, len(first))
        lines.append(f"| a claim at `{scale}` | {seen} | {len(first)} | {share:.1%} |")
    for scale, told in ("smoke", smoke), ("desk", desk):
        unseen = [one for one, row in told.items() if not row["seen by"]]
        if unseen:
            lines += ["", f"Not seen by a claim at `{scale}`:", ""]
        for one in unseen:
            found = [f"no claim of {told[one]['claims']}"]
            if scale == "smoke" and desk.get(one, {}).get("seen by"):
                found.append(f"at `desk` {desk[one]['seen by']}")
            if desk.get(one, {}).get("tests"):
                found.append(f"unit tests: {desk[one]['tests']}")
            lines.append(f"- `{one.key}` ({'; '.join(found)})")
    alike = [one for one in every if one.equivalent]
    if alike:
        lines += [
            "",
            "Argued to be equivalent, so that nobody can see them; they count as not"
            " seen above:",
            "",
        ]
        lines += [f"- `{one.key}`: {one.equivalent}" for one in alike]
    odd = [row for row in record.claims.values() if row["verdict"] not in GOOD]
    if odd:
        lines += ["", "Claims that cannot tell, red without any mutant:", ""]
        lines += [
            f"- {one['claim']} at {one['scale']}: {one['verdict']}" for one in odd
        ]
    return "\n".join(lines).rstrip() + "\n"


GOOD = ("holds", "corrected")


def _seen(told: Mapping[Mutant, Mapping[str, str]]) -> int:
    return sum(bool(row["seen by"]) for row in told.values())


def _line(who: str, seen: int, shown: int, goal: float) -> str:
    share = seen / max(1, shown)
    return f"| {who} | {seen} | {shown} | {share:.1%} | {goal:.0%} |"


def _key(row: Mapping[str, str]) -> str:
    return Mutant(row["file"], row["function"], row["before"], row["after"]).key


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _save(path: Path, fields: list[str], rows: Iterable[Mapping[str, str]]) -> None:
    path.parent.mkdir(exist_ok=True)
    draft = path.with_suffix(".draft")
    with draft.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    draft.replace(path)


# The campaign.


def campaign(scale: str, seed: int, jobs: int, match: str, tests: bool) -> int:
    """Try what the record does not know yet; 0 if the goal of the scale is met."""
    record = Record()

    def for_tests(mutant: Mutant, row: Mapping[str, str]) -> bool:
        unknown = not row["seen by"] and not row["tests"]
        return tests and unknown and not record.seen("smoke", mutant)

    def is_known(mutant: Mutant) -> bool:
        row = record.row(scale, mutant)
        return bool(row) and not for_tests(mutant, row)

    todo = [one for one in table() if match in one.key and not is_known(one)]
    # As good as at random, so that a part of a campaign speaks for the whole table.
    todo.sort(key=lambda mutant: hashlib.sha256(mutant.key.encode()).digest())
    reach = {mutant.key: claims_that_reach(mutant) for mutant in todo}
    needed = sorted({id for ids in reach.values() for id in ids})
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(
            pool.map(
                lambda i: _claims_as_they_are(record, needed[i::jobs], scale, seed),
                range(jobs),
            )
        )

    def work(mutant: Mutant) -> None:
        row = dict(record.row(scale, mutant)) or _shown(
            record, mutant, reach[mutant.key], scale, seed
        )
        if for_tests(mutant, row):
            row["tests"] = "seen" if _tests_see(mutant) else "not seen"
        record.keep(row)
        print(f"{_word(row):<44} {mutant.key}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(work, todo))
    text = summary(record)
    print(text)
    seen = sum(record.seen(scale, one) for one in table())
    return int(seen < GOALS[scale] * len(table()))


def _claims_as_they_are(record: Record, ids: list[str], scale: str, seed: int) -> None:
    """Verdicts and seconds without a mutant, where they are not known."""
    stale = {}
    for id in ids:
        row = record.claims.get((scale, id), {})
        if row.get("code") != _claim_code(id):
            stale[id] = float(row.get("seconds", 60))
    for id, verdict, seconds in ask(None, stale, scale, seed):
        record.keep(
            {
                "scale": scale,
                "claim": id,
                "code": _claim_code(id),
                "verdict": verdict,
                "seconds": seconds,
            }
        )
        print(f"{verdict:<44} {id}", flush=True)


def _shown(
    record: Record, mutant: Mutant, away: Mapping[str, int], scale: str, seed: int
) -> dict[str, Any]:
    alone = {id: record.claims[scale, id] for id in away}
    usual = {
        id: float(row["seconds"]) for id, row in alone.items() if row["verdict"] in GOOD
    }
    likely = record.saw(mutant)
    usual = dict(
        sorted(
            usual.items(),
            key=lambda one: (-likely.get(one[0], 0), one[1] * away[one[0]]),
        )
    )
    row = {
        "scale": scale,
        "file": mutant.file,
        "function": mutant.function,
        "before": mutant.before,
        "after": mutant.after,
        "code": code_in_reach(mutant),
        "claims": len(usual),
        "seen by": "",
        "verdict": "",
        "tests": "",
    }
    start = time.monotonic()
    for id, verdict, _ in ask(mutant, usual, scale, seed):
        if verdict == "no answer":
            row["verdict"] = f"no answer from {id}"
        elif verdict != alone[id]["verdict"]:
            row |= {"code": mutant.digest(), "seen by": id, "verdict": verdict}
            break
    return row | {"seconds": round(time.monotonic() - start, 1)}


def _tests_see(mutant: Mutant) -> bool:
    command = [sys.executable, __file__, "--tests-of", mutant.key]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    found = subprocess.run(
        command, capture_output=True, cwd=ROOT, env=environment, check=False
    )
    return found.returncode != 0


def _word(row: Mapping[str, Any]) -> str:
    if row["seen by"]:
        return f"seen by {row['seen by']}"
    if row["tests"] == "seen":
        return "seen by tests alone"
    return f"not seen by {row['claims']} claims"


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def main() -> int:
    """The campaign, or unit tests with a mutant in place."""
    parser = argparse.ArgumentParser(description="Which claims see a wrong formula.")
    parser.add_argument("--scale", choices=sorted(GOALS), default="smoke")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--match", default="", help="only keys with this text")
    parser.add_argument("--tests", action="store_true", help="tests see the rest")
    parser.add_argument("--tests-of", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tests_of is not None:
        (mutant,) = (one for one in table() if one.key == options.tests_of)
        return try_tests(mutant)
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as compiled:
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", compiled)
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        os.environ.setdefault("XLA_FLAGS", QUICK_TO_COMPILE)
        multiprocessing.get_context("forkserver").set_forkserver_preload(LIBRARIES)
        return campaign(
            options.scale, options.seed, options.jobs, options.match, options.tests
        )


if __name__ == "__main__":
    sys.exit(main())
