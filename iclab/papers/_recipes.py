"""Models that `iclab train` trains, by id; reading this runs nothing."""

import difflib
import importlib
from types import ModuleType

from iclab._reader import checked
from iclab.papers._catalog import UnknownId
from iclab.papers._opening import every_paper, why_closed


@checked
def recipe(id: str) -> ModuleType:
    """The module that builds what `id` trains; this imports what it needs.

    It has `Settings`, a dataclass of plain values, and
    `build(settings) -> (problem, model, plan)`.
    """
    modules = {"attention": "iclab.papers._attention_training"} | {
        name: f"{opened.package}.{module}"
        for opened in every_paper()
        for name, module in opened.recipes.items()
    }
    if id not in modules:
        close = difflib.get_close_matches(id, modules, n=1, cutoff=0.4)
        names = ", ".join(modules)
        hint = f"did you mean {close[0]}?" if close else f"there is {names}"
        hint = why_closed(id) or hint
        raise UnknownId(f"unknown model {id!r}: {hint}")
    return importlib.import_module(modules[id])
