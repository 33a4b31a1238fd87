"""A request: which items to run, how, and where to keep what they come to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from iclab import papers
from iclab._reader import Natural, Seed, checked
from iclab.evidence import Entry, Scale
from iclab.lab._mistake import Mistake
from iclab.runs import Device

Precision = Literal["float32", "float64", "bfloat16"]


@checked
@dataclass(frozen=True, kw_only=True)
class Request:
    """What to run: `check` runs claims, `reproduce` claims and figures.

    `ids` name items or whole papers; without any, all are run, with `seeds` seeds from
    `seed` on. With a folder `out` everything is kept there, and what it has is not run
    again, unless by `force`. `settings` are a figure's, by name, as values or as text,
    and `weights` are files of models in place of those that a figure trains. Jobs run
    in so many processes (`jobs`), or on the Dask `cluster` at an address; what trains,
    on a `device` and with a `precision`. `cache` is the folder of compiled programs.
    """

    command: Literal["check", "reproduce"]
    ids: tuple[str, ...] = ()
    scale: Scale = "desk"
    seed: Seed = 0
    seeds: Natural = 1
    out: Path | None = None
    force: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    weights: Mapping[str, Path] = field(default_factory=dict)
    retrain: bool = False
    device: Device = "cpu"
    precision: Precision | None = None
    jobs: Natural | None = None
    cluster: str | None = None
    cache: Path | None = None

    @property
    def every_seed(self) -> range:
        """All seeds, the one that decides first."""
        return range(self.seed, self.seed + self.seeds)

    @property
    def changes(self) -> dict[str, Any]:
        """All settings that are not a figure's own, weights among them."""
        files = {name: file.absolute() for name, file in self.weights.items()}
        own = tuple(f"{name}={file}" for name, file in files.items())
        return {**self.settings, **({"weights": own} if own else {})}

    def entries(self) -> list[Entry]:
        """The items that are asked for; figures with other settings are variants."""
        found = papers.select(self.ids)
        if self.command == "check":
            found = [entry for entry in found if entry.kind == "claim"]
            if not found:
                named = ", ".join(self.ids)
                raise Mistake(f"{named} is a figure: use `iclab reproduce {named}`")
        return [self._variant(entry) for entry in found] if self.changes else [*found]

    def _variant(self, entry: Entry) -> Entry:
        """The figure that the settings make of this one, or itself if none is new."""
        if entry.kind != "figure":
            raise Mistake(f"`settings` are for figures, and {entry.id} is a claim")
        figure = papers.load_figure(entry)
        try:
            own = figure.own_changes(self.scale, self.changes)
            figure.jobs(figure.settings_at(self.scale, self.changes))
        except ValueError as refusal:
            raise Mistake(str(refusal)) from None
        return entry.variant(own) if own else entry
