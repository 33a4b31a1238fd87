"""`iclab compare A B`: what two folders of results have in common, and what not."""

import argparse
from collections.abc import Sequence

from iclab import lab
from iclab.cli._commands import print_json, read_folder
from iclab.results import Comparison, Moved, Pair, Run, compare
from iclab.show import number

# How many items, and numbers of an item, are named before the rest is counted.
_MOST, _MOST_NUMBERS = 20, 3


def compare_folders(options: argparse.Namespace) -> int:
    """Say what differs; 1 if a verdict does."""
    names = options.before, options.after
    found = compare(*(read_folder(options, name) for name in names))
    if options.json:
        print_json([pair.json() for pair in found.pairs])
    else:
        print("\n".join(_lines(found, names)))
    if options.page is not None:
        from iclab.report import write_compare_page

        with lab.mistakes(f"the page {options.page}"):
            page = write_compare_page(found, names, options.page)
        if not options.json:
            print(f"page: {page}")
    return 1 if found.differing else 0


def _lines(found: Comparison, names: tuple[str, str]) -> list[str]:
    lines = [
        _head(letter, name, run)
        for letter, name, run in zip(
            "AB", names, (found.before, found.after), strict=True
        )
    ]
    both = [pair for pair in found.pairs if pair.both]
    if not both:
        return [*lines, "they have no item in common"]
    lines.append(f"verdicts that differ: {len(found.differing)} of {len(both)}")
    lines += _some(
        [
            f"  {pair.id}: {pair.before.verdict} → {pair.after.verdict}"
            f"{_settings(pair)}"
            for pair in found.differing
            if pair.before is not None and pair.after is not None
        ]
    )
    lines.append(
        "items with numbers that moved by more than their error bars:"
        f" {len(found.moved)}"
    )
    for pair in found.moved[:_MOST]:
        lines.append(f"  {pair.id}{_settings(pair)}")
        lines += [f"    {_number(one)}" for one in pair.moved[:_MOST_NUMBERS]]
        if len(pair.moved) > _MOST_NUMBERS:
            lines.append(f"    and {len(pair.moved) - _MOST_NUMBERS} more")
    if len(found.moved) > _MOST:
        lines.append(f"  and {len(found.moved) - _MOST} more items")
    identical = sum(pair.identical for pair in both)
    lines.append(f"the same to the last digit: {identical} of {len(both)}")
    for letter, only in (("A", found.only("before")), ("B", found.only("after"))):
        if only:
            lines.append(f"only in {letter}: {len(only)}")
            lines += _some([f"  {id}" for id in only], 5)
    return lines


def _head(letter: str, name: str, run: Run) -> str:
    facts = [run.scale, f"seed {run.seed}"]
    facts += [f"commit {run.facts.commit[:9]}"] if run.facts.commit else []
    facts += [run.facts.platform] if run.facts.platform else []
    return f"{letter} = {name}: {len(run.records)} items ({', '.join(facts)})"


def _settings(pair: Pair) -> str:
    """What the two runs of an item did otherwise, if they did."""
    assert pair.before is not None
    assert pair.after is not None
    words = [
        f"{name} {one} → {other}"
        for name, one, other in (
            ("scale", pair.before.scale, pair.after.scale),
            ("seed", pair.before.seed, pair.after.seed),
        )
        if one != other
    ]
    return f" ({', '.join(words)})" if words else ""


def _number(one: Moved) -> str:
    bars = "no error bar" if one.bars is None else f"{number(one.bars, 2)} error bars"
    return f"{one.name}: {number(one.before)} → {number(one.after)} ({bars})"


def _some(lines: Sequence[str], most: int = _MOST) -> list[str]:
    rest = len(lines) - most
    return [*lines[:most], *([f"  and {rest} more"] if rest > 0 else [])]
