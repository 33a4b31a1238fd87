"""Figures with settings of one's own: `--set NAME=VALUE`, `--weights NAME=FILE`."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from iclab import papers
from iclab.cli._mistake import UserMistake
from iclab.evidence import Entry


def asked_changes(options: argparse.Namespace) -> dict[str, Any]:
    """Settings that the command line changes, by name, as they were typed."""
    changes: dict[str, Any] = _pairs("--set", "NAME=VALUE", options.set)
    files = _pairs("--weights", "NAME=FILE", options.weights)
    if files:
        changes["weights"] = tuple(
            f"{name}={Path(file).absolute()}" for name, file in files.items()
        )
    return changes


def variants(
    entries: Sequence[Entry], options: argparse.Namespace, changes: Mapping[str, Any]
) -> list[Entry]:
    """The figures that `changes` make of these; one that is as ever stays itself.

    Every entry must be a figure that has all of these settings.
    """
    return [_variant(entry, options, changes) for entry in entries]


def _variant(
    entry: Entry, options: argparse.Namespace, changes: Mapping[str, Any]
) -> Entry:
    if entry.kind != "figure":
        raise UserMistake(f"--set is for figures, and {entry.id} is a claim")
    figure = papers.load_figure(entry)
    try:
        own = figure.own_changes(options.scale, changes)
        figure.jobs(figure.settings_at(options.scale, changes))
    except ValueError as refusal:
        raise UserMistake(str(refusal)) from None
    return entry.variant(own) if own else entry


def _pairs(flag: str, form: str, words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise UserMistake(f"{flag} takes {form}, got {word!r}")
        if name in found:
            raise UserMistake(f"{flag} has {name} twice")
        found[name] = value
    return found
