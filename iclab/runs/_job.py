"""A job: a pure function of its configuration and seed, and the hash that names it."""

import dataclasses
import functools
import hashlib
import importlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np

from iclab._reader import Rule, Seed, checked, is_json, require, short
from iclab.runs._code import Modules, code_digest

Device = Literal["cpu", "gpu"]

_FUNCTION = Rule(
    "package.module:name",
    lambda name: re.fullmatch(r"\w+(\.\w+)*:\w+", name) is not None,
)

# What a job returns: arrays and plain JSON values, by name.
Result = Mapping[str, Any]


@checked
@dataclass(frozen=True)
class Job:
    """A unit of work that any process or machine can do.

    `function` is "package.module:name" of a function `(config, seed) -> Result`, and
    `config` holds plain JSON values only. `code` names modules that decide the result
    and that `function` does not import by their names. The source of all that these
    reach is part of the job's own name. What is `packed` goes with the job to where it
    is run, as a third argument, and to no disk; `config` has to name it. In `folder`
    it may keep what it wants to find again if it is killed and run once more. `device`
    is what it wants to compute on, and `precision` what its trainings compute with;
    both decide bits, so where they are unusual `config` has to say so too. One whose
    programs run for less time than it takes to compile them is `quick`.
    """

    function: Annotated[str, _FUNCTION]
    config: Mapping[str, Any]
    seed: Seed = 0
    code: Modules = ()
    label: str = field(default="", compare=False)
    packed: bytes | None = field(default=None, compare=False, repr=False)
    folder: str | None = field(default=None, compare=False, repr=False)
    device: Device = field(default="cpu", compare=False, repr=False)
    precision: str | None = field(default=None, compare=False, repr=False)
    quick: bool = field(default=False, compare=False, repr=False)

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules from which all that the job runs can be reached."""
        return self.function.partition(":")[0], *self.code

    @functools.cached_property
    def digest(self) -> str:
        """Hash of configuration, seed and code: the name of the job's result."""
        rule, found = "plain JSON values", short(self.config)
        require(is_json(self.config), "config", rule, found)
        facts = {
            "function": self.function,
            "config": self.config,
            "seed": self.seed,
            "code": code_digest(self.modules),
        }
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def kept_in(self, folder: str | os.PathLike[str] | None) -> "Job":
        """The same job with this folder, or with none."""
        there = None if folder is None else os.fspath(folder)
        same = dataclasses.replace(self, folder=there)
        # Under the name that it was planned with, whatever is edited meanwhile.
        vars(same)["digest"] = self.digest
        return same

    def run(self) -> Result:
        """Do the work here and now."""
        module, _, name = self.function.partition(":")
        function: Callable[..., Result]
        function = getattr(importlib.import_module(module), name)
        packed = () if self.packed is None else (self.packed,)
        return function(self.config, self.seed, *packed)


def plain_result(result: Result) -> dict[str, Any]:
    """A result as the store gives it back: NumPy arrays and plain JSON values."""
    found: dict[str, Any] = {}
    for name, value in result.items():
        if isinstance(value, Mapping) or not hasattr(value, "__array__"):
            found[name] = json.loads(json.dumps(value))
            continue
        found[name] = np.asarray(value)
        if found[name].dtype.hasobject:
            raise TypeError(
                f"job result `{name}` must hold numbers, got Python objects"
            )
    return found
