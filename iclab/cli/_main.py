"""Arguments, exit codes and one-line errors."""

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import iclab
from iclab.cli._explore import add_explore
from iclab.cli._mistake import UserMistake
from iclab.cli._new import add_new
from iclab.cli._numbers import seed, whole_number
from iclab.cli._probe import add_probe
from iclab.cli._train import add_train
from iclab.evidence import SCALES
from iclab.show import CannotWrite, flush, open_streams, say_of_writing, tell

_EXIT_MISTAKE, _EXIT_INTERRUPTED = 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    open_streams()
    command = "iclab"
    try:
        try:
            options = _parser().parse_args(arguments)
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
        _parser().print_help()
        return 0
    from iclab import papers

    try:
        _open_papers(options)
        return options.run(options)
    except (papers.UnknownId, papers.PaperProblem, UserMistake) as mistake:
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


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="iclab",
        description="A laboratory for the theory of in-context learning.",
        epilog="IDs look like zhang2023/theorem-4.1; a paper's key means all of it.",
    )
    parser.add_argument("--version", action="version", version=iclab.__version__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def command(name: str, run, text: str, ids: str = "*") -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.add_argument("ids", nargs=ids, metavar="ID", help="what to work on")
        sub.set_defaults(run=run)
        return sub

    listing = command(
        "list", _later("_commands", "list_entries"), "Name every claim and figure."
    )
    _json(listing)
    text = "say how long each takes on one core of this machine, by scale"
    listing.add_argument("--times", action="store_true", help=text)
    text = "name the trained models that come with iclab"
    listing.add_argument("--weights", action="store_true", help=text)
    show = command(
        "show",
        _later("_commands", "show"),
        "Say what a result states, how it is checked, and what the last run found.",
        "+",
    )
    _json(show)
    show.add_argument(
        "--out",
        metavar="DIR",
        help=f"folder of the last run (default: {iclab.DEFAULT_FOLDER})",
    )
    check = command(
        "check",
        _later("_reproduce", "check"),
        "Run claims and say which hold (all, without an ID).",
    )
    _run_options(check, "keep results in this folder and reuse those that are there")
    reproduce = command(
        "reproduce",
        _later("_reproduce", "reproduce"),
        "Run claims and draw figures (all, without an ID) and write a report."
        " What the folder has is not run again: a run that was stopped continues.",
    )
    _run_options(
        reproduce,
        f"folder for results (default: {iclab.DEFAULT_FOLDER})",
        iclab.DEFAULT_FOLDER,
    )
    reproduce.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="draw a figure with another setting, kept beside the standard one"
        " (`iclab show FIGURE` names them; may be repeated)",
    )
    reproduce.add_argument(
        "--weights",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="draw a figure of trained models with one's own: zhang2023/figure-1"
        " --weights fixed-18=FILE (may be repeated)",
    )
    reproduce.add_argument(
        "--device",
        choices=["cpu", "gpu"],
        default="cpu",
        help="what trains: the CPU, or every GPU of this machine with a process alone"
        " on it; all else is computed on the CPU (default: cpu)",
    )
    reproduce.add_argument(
        "--precision",
        choices=["float32", "float64", "bfloat16"],
        help="what trains computes with this (default: what each figure asks for)",
    )
    reproduce.add_argument(
        "--retrain",
        action="store_true",
        help="train anew what comes trained with iclab",
    )
    text = (
        "Hold two folders of results against each other: verdicts that differ, numbers"
        " that moved by more than their error bars. Ends with 1 if a verdict differs."
    )
    comparing = commands.add_parser("compare", help=text, description=text)
    comparing.add_argument(
        "before", metavar="A", help="a folder of results, or a record"
    )
    comparing.add_argument(
        "after",
        nargs="?",
        metavar="B",
        default=iclab.DEFAULT_FOLDER,
        help=f"another one (default: {iclab.DEFAULT_FOLDER})",
    )
    comparing.add_argument(
        "--page", metavar="FILE", help="write it as a page, with pictures side by side"
    )
    _json(comparing)
    comparing.set_defaults(run=_later("_compare", "compare_folders"))
    text = (
        "Run some items of a folder of results anew, drawn at random, and compare every"
        " number with the stored one. Checksums find damage and careless edits, not"
        " forgery: this looks again. Ends with 1 if an item differs."
    )
    verifying = commands.add_parser("verify", help=text, description=text)
    verifying.add_argument(
        "folder", metavar="FOLDER", help="a folder of results, or a record"
    )
    verifying.add_argument(
        "--items",
        type=whole_number(1),
        metavar="N",
        default=10,
        help="how many items to draw (default: 10)",
    )
    verifying.add_argument(
        "--seed",
        type=seed,
        help="what draws them (default: one that nobody can know beforehand)",
    )
    verifying.add_argument(
        "--jobs",
        type=whole_number(1),
        metavar="N",
        help="processes to use on this machine (default: one per core)",
    )
    _json(verifying)
    _cache(verifying)
    verifying.set_defaults(run=_later("_verify", "verify_folder"))
    text = (
        "Make a record of a folder of results: numbers, tables and pictures, small"
        " enough for a repository, and a manifest; this runs nothing."
    )
    keeping = commands.add_parser("record", help=text, description=text)
    keeping.add_argument("folder", metavar="DIR", help="folder of results")
    keeping.add_argument("record", metavar="RECORD", help="folder of the record")
    keeping.set_defaults(run=_later("_record", "record"))
    text = "Write the report of a folder of results again; this runs nothing."
    report = commands.add_parser("report", help=text, description=text)
    report.add_argument(
        "folder",
        nargs="?",
        metavar="DIR",
        default=iclab.DEFAULT_FOLDER,
        help=f"folder that `iclab reproduce` wrote (default: {iclab.DEFAULT_FOLDER})",
    )
    report.set_defaults(run=_later("_commands", "report"))
    text = "Say where compiled programs are kept and how large they are, or clear them."
    cache = commands.add_parser("cache", help=text, description=text)
    cache.add_argument(
        "action", nargs="?", metavar="clear", choices=["clear"], help="remove them all"
    )
    _cache(cache)
    cache.set_defaults(run=_later("_commands", "cache"))
    add_train(commands)
    _cache(commands.choices["train"])
    add_probe(commands)
    add_explore(commands)
    add_new(commands)
    command(
        "cite", _later("_commands", "cite"), "Print the BibTeX entry of a paper.", "+"
    )
    for one in commands.choices.values():
        _paper(one)
    return parser


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON array")


def _paper(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--paper",
        metavar="DIR",
        action="append",
        default=[],
        help="a folder with a paper of your own; may be given again, and ICLAB_PAPERS"
        " names folders for every command (this runs the code in them)",
    )
    parser.add_argument(
        "--room", dest="room", action="append", default=[], help=argparse.SUPPRESS
    )


def _run_options(
    parser: argparse.ArgumentParser, out: str, folder: str | None = None
) -> None:
    _json(parser)
    parser.add_argument(
        "--scale",
        type=_scale,
        default="desk",
        metavar="|".join(SCALES),
        help="how much work: seconds, minutes, or as in the papers (default: desk)",
    )
    parser.add_argument("--seed", type=seed, default=0, help="random seed (default: 0)")
    parser.add_argument(
        "--seeds",
        type=whole_number(1),
        metavar="N",
        default=1,
        help="run everything with so many seeds, from --seed on, and say how the"
        " verdict and the numbers depend on it (default: 1)",
    )
    parser.add_argument("--out", metavar="DIR", help=out, default=folder)
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="say what would be run, what it would cost and where; run nothing",
    )
    parser.add_argument(
        "--force", action="store_true", help="run again what the folder has already"
    )
    _cache(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--jobs",
        type=whole_number(1),
        metavar="N",
        help="processes to use on this machine (default: one per core)",
    )
    where.add_argument(
        "--cluster",
        metavar="ADDRESS",
        type=_address,
        help="run on a Dask cluster instead: tcp://HOST:PORT or a scheduler file"
        " (needs iclab[cluster])",
    )


def _address(word: str) -> str:
    if not word:
        raise argparse.ArgumentTypeError("must be an address or a file, got ''")
    return word


def _cache(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cache",
        metavar="DIR",
        help="folder of your own for compiled programs, which are run as they are"
        " (default: $ICLAB_CACHE, or where the system keeps caches)",
    )


def _scale(word: str) -> str:
    if word in SCALES:
        return word
    import difflib

    close = difflib.get_close_matches(word, SCALES, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise argparse.ArgumentTypeError(
        f"must be {', '.join(SCALES[:-1])} or {SCALES[-1]}, got {word!r}{hint}"
    )
