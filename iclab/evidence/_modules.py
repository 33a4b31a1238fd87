"""A file as a claim or as a figure: what it is made of is found by name."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, get_args

from iclab._reader import checked
from iclab.evidence._claim import Claim, Measured, Printed, Relation, Scale, Value
from iclab.evidence._figure import Evidence, Figure, Tables


class ClaimModule(Protocol):
    """What the file of a claim must have; it may have more of what a `Claim` takes.

    `relation` is "=" unless the file says otherwise. `printed` is a function that
    predicts what is printed, or a `Printed` where more than the prediction differs.
    `labels` may be the names themselves where they are those of every case.
    """

    def cases(self, scale: Scale, /) -> Mapping[str, Any]:
        """Where the statement is checked, by name."""
        ...

    def predict(self, case: Any, /) -> Value:
        """What it says."""
        ...

    @property
    def measure(self) -> Callable[..., Measured]:
        """The real thing: takes the case, and `key` and `scale` if it names them."""
        ...

    def decoy(self, case: Any, /) -> Value | None:
        """Something plausible and wrong."""
        ...


class FigureModule(Protocol):
    """What the file of a figure must have; it may have more of what a `Figure` takes.

    `Settings` are its settings, `trains` may be True or False, and the first line of
    its docstring is the title.
    """

    def jobs(self, settings: Any, /) -> Mapping[str, Mapping[str, Any]]:
        """Independent units of work and their settings, by name."""
        ...

    def compute(self, settings: Mapping[str, Any], key: Any, /) -> Mapping[str, Any]:
        """The columns of one unit."""
        ...

    def draw(self, tables: Tables, /) -> Any:
        """The picture, which is a figure of matplotlib."""
        ...

    def expect(self, tables: Tables, /) -> Sequence[Evidence]:
        """What we find in the tables."""
        ...


@checked
def claim_of(module: ModuleType, id: str) -> Claim:
    """The claim that a file is, or that it has written out as `CLAIM`."""
    if hasattr(module, "CLAIM"):
        return _written_out(module, "CLAIM", Claim, id)
    needed = _functions(module, id, "claim", ("cases", "predict", "measure", "decoy"))
    extra = _extra(module, ("relation", "printed", "numbers", "labels", "shares"))
    printed = extra.get("printed")
    if callable(printed):
        extra["printed"] = Printed(printed)
    elif not isinstance(printed, Printed | None):
        raise _wrong(module, id, "printed", "a function of a case, or a Printed")
    _see_arguments(module, id, needed["measure"])
    labels = extra.get("labels")
    if labels is not None and not callable(labels):
        extra["labels"] = lambda case: labels
    if extra.get("relation", "=") not in get_args(Relation):
        raise _wrong(module, id, "relation", "one of =, <= and >=")
    return Claim(id, **needed, **extra)


@checked
def figure_of(module: ModuleType, id: str) -> Figure:
    """The figure that a file is, or that it has written out as `FIGURE`."""
    if hasattr(module, "FIGURE"):
        return _written_out(module, "FIGURE", Figure, id)
    if hasattr(module, "said"):
        file = _file(module)
        raise ValueError(f"{id}: `said` in {file} is called `paper_statements` now")
    needed = _functions(module, id, "figure", ("jobs", "compute", "draw", "expect"))
    extra = _extra(module, ("paper_statements", "seeded", "trains"))
    trains = extra.get("trains")
    if isinstance(trains, bool):
        extra["trains"] = lambda settings: trains
    title = (module.__doc__ or id).strip().splitlines()[0]
    settings = getattr(module, "Settings", None)
    return Figure(id, title, **needed, **extra, settings=settings)


def _functions(
    module: ModuleType, id: str, kind: str, names: Sequence[str]
) -> dict[str, Any]:
    """The functions of these names, all of which must be there."""
    for name in names:
        if not callable(getattr(module, name, None)):
            raise _wrong(module, id, name, f"a function: a {kind} needs it")
    return {name: getattr(module, name) for name in names}


def _see_arguments(module: ModuleType, id: str, measure: Callable[..., Any]) -> None:
    """See that `measure` asks for nothing but a case, a key and a scale."""
    taken = inspect.signature(measure)
    _, *rest = [one for one in taken.parameters.values() if one.default is one.empty]
    if not {one.name for one in rest} <= {"key", "scale"}:
        rule = "take a case, and `key` and `scale` if it needs them"
        file = _file(module)
        raise ValueError(f"{id}: `measure` in {file} must {rule}, got {taken}")


def _extra(module: ModuleType, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(module, name) for name in names if hasattr(module, name)}


def _written_out(module: ModuleType, name: str, kind: type, id: str) -> Any:
    found = getattr(module, name)
    if not isinstance(found, kind):
        raise _wrong(module, id, name, f"a {kind.__name__}")
    if found.id != id:
        raise ValueError(f"{id}: {name} in {_file(module)} has the id {found.id!r}")
    return found


def _wrong(module: ModuleType, id: str, name: str, rule: str) -> ValueError:
    there = getattr(module, name, None)
    found = "nothing" if there is None else f"{there!r:.80}"
    return ValueError(f"{id}: `{name}` in {_file(module)} must be {rule}, got {found}")


def _file(module: ModuleType) -> str:
    return Path(module.__file__ or module.__name__).name
