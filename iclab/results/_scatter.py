"""One item with several seeds: its verdicts, and how far its numbers are apart."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from iclab._reader import Seed, checked, require
from iclab.evidence import GOOD_VERDICTS, Verdict


@checked
@dataclass(frozen=True)
class Scatter:
    """Verdicts by seed, and numbers by name with a value for every seed.

    Of a case with many numbers there is how far the farthest is from its prediction, in
    error bars. None is a number that a seed does not have.
    """

    seeds: tuple[Seed, ...]
    verdicts: tuple[Verdict, ...]
    numbers: Mapping[str, tuple[float | None, ...]]

    def __post_init__(self):
        count = len(self.seeds)
        rule = f"one for every seed, {count}"
        found = len(self.verdicts)
        require(found == count >= 1, "verdicts", rule, found)
        sizes = {len(values) for values in self.numbers.values()}
        require(sizes <= {count}, "numbers", rule, sizes)

    @property
    def good(self) -> int:
        """With how many seeds the verdict counts as success."""
        return sum(verdict in GOOD_VERDICTS for verdict in self.verdicts)

    @property
    def agree(self) -> bool:
        """Whether the verdict is the same with every seed."""
        return len(set(self.verdicts)) == 1

    @property
    def words(self) -> str:
        """The verdicts in a few words: all alike, or which seed has another."""
        if self.agree:
            return f"{self.verdicts[0]} with all of {len(self.seeds)} seeds"
        seeds: dict[str, list[str]] = {}
        for seed, verdict in zip(self.seeds, self.verdicts, strict=True):
            seeds.setdefault(verdict, []).append(str(seed))
        return "; ".join(
            f"{verdict} with seed{'s' * (len(own) > 1)} {', '.join(own)}"
            for verdict, own in seeds.items()
        )

    def spread(self, name: str) -> tuple[float, float, float] | None:
        """Least, mean and largest of a number; None if fewer than two have one."""
        known = f"one of {', '.join(map(repr, self.numbers)) or 'none'}"
        require(name in self.numbers, "name", known, repr(name))
        values = [one for one in self.numbers[name] if one is not None]
        if len(values) < 2:
            return None
        return min(values), float(np.mean(values)), max(values)

    def json(self) -> dict[str, Any]:
        """As results.json has it."""
        return {
            "seeds": list(self.seeds),
            "verdicts": list(self.verdicts),
            "numbers": {name: list(values) for name, values in self.numbers.items()},
        }
