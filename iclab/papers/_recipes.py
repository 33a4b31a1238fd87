"""Models that `iclab train` trains, by id; reading this runs nothing."""

import difflib
import importlib
from types import ModuleType

from iclab.papers._catalog import UnknownId

# The module has `Settings`, a dataclass of plain values, and
# `build(settings) -> (problem, model, plan)`.
RECIPES = {"zhang2023/gpt2": "iclab.papers.zhang2023._gpt2_training"}


def recipe(id: str) -> ModuleType:
    """The module that builds what `id` trains; this imports what it needs."""
    if id not in RECIPES:
        close = difflib.get_close_matches(id, RECIPES, n=1, cutoff=0.4)
        names = ", ".join(RECIPES)
        hint = f"did you mean {close[0]}?" if close else f"there is {names}"
        raise UnknownId(f"unknown model {id!r}: {hint}")
    return importlib.import_module(RECIPES[id])
