"""Arguments, exit codes and one-line errors."""

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import iclab
from iclab.cli._explore import add_explore
from iclab.cli._new import add_new
from iclab.cli._numbers import seed, whole_number
from iclab.cli._probe import add_probe
from iclab.cli._train import add_train
from iclab.evidence import SCALES
from iclab.show import CannotWrite, flush, open_streams, say_of_writing, tell

if TYPE_CHECKING:
    from iclab.runs import Engine
    from iclab.show import Display

_EXIT_MISTAKE, _EXIT_INTERRUPTED = 2, 130


def main(
    arguments: Sequence[str] | None,
    *,
    engine: "Engine | None",
    display: "Display | None",
) -> int:
    """Run the command line and return its exit code."""
    open_streams()
    command = "iclab"
    try:
        try:
            options = parser().parse_args(arguments)
            options.engine, options.display = engine, display
            if options.command is not None:
                command = f"iclab {options.command}"
            return _run(options, command)
        except OSError as error:
            flush()  # names what could not be written, if it was this
            say_of_writing(error)
            raise
        finally:
            flush()
    except CannotWrite as reason:
        tell(f"{command}: {reason}")
        return _EXIT_MISTAKE
    except BrokenPipeError:
        flush()
        return 0  # the reader has left (`iclab list | head`)
    except KeyboardInterrupt:
        tell(f"{command}: interrupted")
        return _EXIT_INTERRUPTED


def _run(options: argparse.Namespace, command: str) -> int:
    if options.command is None:
        parser().print_help()
        return 0
    from iclab import papers
    from iclab.lab import Mistake, mistakes

    try:
        with mistakes():
            _open_papers(options)
            return options.run(options)
    except (papers.UnknownId, papers.PaperProblem, Mistake) as mistake:
        # What the library calls as the command does need not say it twice.
        text = str(mistake).removeprefix(f"{options.command}: ")
        tell(f"{command}: {text}")
        return _EXIT_MISTAKE


def _later(module: str, name: str) -> Callable[[argparse.Namespace], int]:
    """A command whose file is loaded when it runs: `iclab --help` needs none."""

    def run(options: argparse.Namespace) -> int:
        command: Any = getattr(importlib.import_module(f"iclab.cli.{module}"), name)
        return command(options)

    return run


def _open_papers(options: argparse.Namespace) -> None:
    """Open the papers that a command names; say which are here, and which cannot be."""
    from iclab import papers

    if options.room:
        tell(f"iclab {options.command}: --room is now --paper, and will be removed")
    papers.open_papers([*options.paper, *options.room])
    named = [*getattr(options, "ids", ()), getattr(options, "id", "")]
    named = [] if getattr(options, "what", "") == "paper" else named  # not yet there
    for folder in papers.open_papers_here(named):
        place = os.path.normpath(os.path.join(os.getcwd(), folder))
        text = f"loading the paper in {place} (this runs its code)"
        tell(f"iclab {options.command}: {text}")
    # Of what is asked for, the command itself will say why it is not there.
    asked = [papers.why_closed(word) for word in named]
    for problem in papers.paper_problems():
        if problem not in asked:
            tell(f"iclab {options.command}: {problem}")


class _Parser(argparse.ArgumentParser):
    """Says a mistake in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        tell(f"{self.prog}: {message} (see `{self.prog} --help`)")
        raise SystemExit(_EXIT_MISTAKE)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse's own keeps to itself that nothing could be written.
        if message:
            (file or sys.stderr).write(message)


def parser() -> argparse.ArgumentParser:
    """What reads the words of every command."""
    parser = _Parser(
        prog="iclab",
        description="A laboratory for the theory of in-context learning.",
        epilog="IDs look like zhang2023/theorem-4.1; a paper's key means all of it.",
    )
    parser.add_argument("--version", action="version", version=iclab.__version__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    usual = f"(default: {iclab.DEFAULT_FOLDER})"

    def command(
        name: str, place: tuple[str, str], text: str, ids: str = "", json: bool = True
    ) -> Callable[..., Any]:
        """A new command; gives what adds its arguments."""
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(run=_later(*place))
        if ids:
            sub.add_argument("ids", nargs=ids, metavar="ID", help="what to work on")
        if json:
            sub.add_argument("--json", action="store_true", help="print one JSON array")
        return sub.add_argument

    text = "Name every claim and figure."
    add = command("list", ("_commands", "list_entries"), text, "*")
    text = "say how long each takes on one core of this machine, by scale"
    add("--times", action="store_true", help=text)
    text = "name the trained models that come with iclab"
    add("--weights", action="store_true", help=text)

    text = "Say what a result states, how it is checked, and what the last run found."
    add = command("show", ("_commands", "show"), text, "+")
    add("--out", metavar="DIR", help=f"folder of the last run {usual}")

    text = "Run claims and say which hold (all, without an ID)."
    command("check", ("_runs", "run"), text, "*")
    text = "keep results in this folder and reuse those that are there"
    _run_options(commands.choices["check"], text)

    text = "Run claims and draw figures (all, without an ID) and write a report. What"
    text += " the folder has is not run again: a run that was stopped continues."
    add = command("reproduce", ("_runs", "run"), text, "*")
    text = f"folder for results {usual}"
    _run_options(commands.choices["reproduce"], text, iclab.DEFAULT_FOLDER)
    text = "draw a figure with another setting, kept beside the standard one"
    text += " (`iclab show FIGURE` names them; may be repeated)"
    many: Any = {"action": "append", "default": []}
    add("--set", dest="settings", **many, metavar="NAME=VALUE", help=text)
    text = "draw a figure of trained models with one's own: zhang2023/figure-1"
    text += " --weights fixed-18=FILE (may be repeated)"
    add("--weights", **many, metavar="NAME=FILE", help=text)
    text = "what trains: the CPU, or every GPU of this machine with a process alone on"
    text += " it; all else is computed on the CPU (default: cpu)"
    add("--device", choices=["cpu", "gpu"], default="cpu", help=text)
    text = "what trains computes with this (default: what each figure asks for)"
    add("--precision", choices=["float32", "float64", "bfloat16"], help=text)
    text = "retrain the models that come trained with iclab"
    add("--retrain", action="store_true", help=text)

    text = "Compare two folders of results: verdicts that differ, numbers that moved by"
    text += " more than their error bars. Ends with 1 if a verdict differs."
    add = command("compare", ("_compare", "compare_folders"), text)
    add("before", metavar="A", help="a folder of results, or a record")
    default: Any = {"nargs": "?", "default": iclab.DEFAULT_FOLDER}
    add("after", **default, metavar="B", help=f"another one {usual}")
    text = "write it as a page, with pictures side by side"
    add("--page", metavar="FILE", help=text)

    text = "Run some items of a folder of results anew, drawn at random, and compare"
    text += " every number with the stored one. Checksums find damage and careless"
    text += " edits, not forgery: this looks again. Ends with 1 if an item differs."
    add = command("verify", ("_runs", "verify"), text)
    add("folder", metavar="FOLDER", help="a folder of results, or a record")
    text = "how many items to draw (default: 10)"
    add("--items", type=whole_number(1), metavar="N", default=10, help=text)
    text = "what draws them (default: one that nobody can know beforehand)"
    add("--seed", type=seed, help=text)
    _jobs(add)
    _cache(add)

    text = "Make a record of a folder of results: numbers, tables and pictures, small"
    text += " enough for a repository, and a manifest; this runs nothing."
    add = command("record", ("_commands", "record"), text, json=False)
    add("folder", metavar="DIR", help="folder of results")
    add("record", metavar="RECORD", help="folder of the record")

    text = "Write what is wrong in a paper as a page for its authors, in Markdown and"
    text += " HTML: where, what, a counterexample by hand, what holds. Runs nothing."
    add = command("errata", ("_commands", "errata"), text, "+", json=False)
    add("--out", metavar="DIR", help=f"folder of the last run {usual}")
    add("--to", metavar="DIR", default=".", help="folder for the pages (default: here)")

    text = "Write the report of a folder of results again; this runs nothing."
    add = command("report", ("_commands", "report"), text, json=False)
    text = f"folder that `iclab reproduce` or `iclab check --out` wrote {usual}"
    add("folder", **default, metavar="DIR", help=text)

    text = "Say where compiled programs are kept and how large they are, or clear them."
    add = command("cache", ("_commands", "cache"), text, json=False)
    add("action", nargs="?", metavar="clear", choices=["clear"], help="remove them all")
    _cache(add)

    add_train(commands)
    _cache(commands.choices["train"].add_argument)
    add_probe(commands)
    add_explore(commands)
    add_new(commands)
    text = "Print the BibTeX entry of a paper."
    command("cite", ("_commands", "cite"), text, "+", json=False)
    for one in commands.choices.values():
        text = "a folder with a paper of your own; may be given again, and ICLAB_PAPERS"
        text += " names folders for every command (this runs the code in them)"
        one.add_argument("--paper", **many, metavar="DIR", help=text)
        one.add_argument("--room", **many, help=argparse.SUPPRESS)
    return parser


def _run_options(
    parser: argparse.ArgumentParser, out: str, folder: str | None = None
) -> None:
    add = parser.add_argument
    text = "how much work: seconds, minutes, or as in the papers (default: desk)"
    add("--scale", type=_scale, default="desk", metavar="|".join(SCALES), help=text)
    add("--seed", type=seed, default=0, help="random seed (default: 0)")
    text = "run everything with so many seeds, from --seed on, and say how the verdict"
    text += " and the numbers depend on it (default: 1)"
    add("--seeds", type=whole_number(1), metavar="N", default=1, help=text)
    add("--out", metavar="DIR", type=Path, help=out, default=folder)
    text = "say what would be run, what it would cost and where; run nothing"
    add("--dry-run", action="store_true", help=text)
    text = "run again what the folder has already"
    add("--force", action="store_true", help=text)
    _cache(add)
    where = parser.add_mutually_exclusive_group()
    _jobs(where.add_argument)
    text = "run on a Dask cluster instead: tcp://HOST:PORT or a scheduler file (needs"
    text += " iclab[cluster])"
    where.add_argument("--cluster", metavar="ADDRESS", type=_address, help=text)


def _jobs(add: Callable[..., Any]) -> None:
    text = "processes to use on this machine (default: one per core)"
    add("--jobs", type=whole_number(1), metavar="N", help=text)


def _cache(add: Callable[..., Any]) -> None:
    text = "folder of your own for compiled programs, which are run as they are"
    text += " (default: $ICLAB_CACHE, or where the system keeps caches)"
    add("--cache", metavar="DIR", type=Path, help=text)


def _address(word: str) -> str:
    if not word:
        raise argparse.ArgumentTypeError("must be an address or a file, got ''")
    return word


def _scale(word: str) -> str:
    if word in SCALES:
        return word
    import difflib

    close = difflib.get_close_matches(word, SCALES, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise argparse.ArgumentTypeError(
        f"must be {', '.join(SCALES[:-1])} or {SCALES[-1]}, got {word!r}{hint}"
    )
