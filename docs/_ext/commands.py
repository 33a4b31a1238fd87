"""The page of the command line, from the parser that reads it."""

import argparse
from collections.abc import Iterator

from iclab.cli import parser


def page() -> str:
    """Every command with its arguments and options."""
    return "\n".join(_commands(parser(), "##"))


def _commands(parser: argparse.ArgumentParser, level: str) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in dict.fromkeys(action.choices.values()):
                yield from _command(command, level)


def _command(parser: argparse.ArgumentParser, level: str) -> Iterator[str]:
    name = parser.prog.partition(" ")[2]
    # Anchors that do not change with the words of a heading.
    yield f"(command-{name.replace(' ', '-')})=\n{level} iclab {name}\n"
    yield f"{_text(parser.description or '')}\n"
    rows = [row for action in parser._actions for row in _row(action)]
    if rows:
        yield "| | |\n|---|---|\n" + "\n".join(rows) + "\n"
    if parser.epilog:
        yield f"{_text(parser.epilog)}\n"
    yield from _commands(parser, level + "#")


def _row(action: argparse.Action) -> Iterator[str]:
    if isinstance(action, (argparse._SubParsersAction, argparse._HelpAction)):
        return
    text = action.help or ""
    if text == argparse.SUPPRESS:
        return
    value = action.metavar or (action.dest if action.nargs != 0 else "")
    words = action.option_strings or [str(value)]
    if action.option_strings and action.nargs != 0:
        words = [f"{words[0]} {_value(action)}", *words[1:]]
    default = "" if action.default in (None, argparse.SUPPRESS) else action.default
    filled = text % {"default": default} if "%(default)" in text else text
    names = ", ".join(f"`{word}`" for word in words)
    yield "| {} | {} |".format(
        *(one.replace("|", r"\|") for one in (names, _text(filled)))
    )


def _value(action: argparse.Action) -> str:
    if action.metavar:
        return str(action.metavar)
    if action.choices:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper()


def _text(text: str) -> str:
    return " ".join(text.replace("%%", "%").split())
