"""Checkpoints: a run's whole state in one file, the last good ones kept."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
from jaxtyping import PyTree

from iclab._reader import Json, Natural, Rule, Whole
from iclab.core import (
    DamagedFile,
    checked,
    description_of,
    read_tensors,
    remove_drafts,
    require,
    write_tensors,
)
from iclab.training._plan import differences

# How names of arrays begin that are the memory of hooks.
_HOOKS = "hooks/"

_NAME = re.compile(r"step-(\d{9,})\.safetensors")


def _is_state(value: Any) -> bool:
    return all(
        np.asarray(leaf).dtype.kind in "biufV" for leaf in jax.tree.leaves(value)
    )


State = Annotated[Any, Rule("a tree of arrays of numbers", _is_state)]
Like = Annotated[
    Mapping[str, Any],
    Rule(
        "a tree of arrays with a `history`",
        lambda tree: hasattr(tree.get("history"), "shape"),
    ),
]


class OtherConfiguration(ValueError):
    """A checkpoint of a run with other settings than this one's."""


@checked
class Checkpoints:
    """The checkpoints of one run, in a folder; the last `keep` of them stay.

    Two by default: if the last is damaged, the one before it serves.
    """

    def __init__(self, folder: str | os.PathLike[str], *, keep: Natural = 2):
        self.folder = Path(folder)
        self.keep = keep

    def steps(self) -> list[int]:
        """Steps of which there are checkpoints, newest first."""
        if not self.folder.is_dir():
            return []
        found = map(_NAME.fullmatch, os.listdir(self.folder))
        return sorted((int(match[1]) for match in found if match), reverse=True)

    def path(self, step: Whole) -> Path:
        """File of the checkpoint of a step."""
        return self.folder / f"step-{step:09d}.safetensors"

    def save(self, step: Whole, state: State, configuration: Json) -> None:
        """Write a checkpoint whole, then let go of what it replaces.

        These are the oldest ones, those of later steps, which `load` found damaged, and
        what a killed run left unfinished.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        description = {"step": step, "configuration": dict(configuration)}
        write_tensors(self.path(step), _named(state), description)
        kept = [s for s in self.steps() if s <= step][: self.keep]
        for other in set(self.steps()) - set(kept):
            self.path(other).unlink(missing_ok=True)
        remove_drafts(self.folder)

    def load(
        self, like: Like, configuration: Json, *, warn: Callable[[str], None]
    ) -> tuple[int, dict[str, Any]] | None:
        """Newest whole checkpoint, as a tree like `like`; None if there is none.

        Its `history` has a row for every step, and under `hooks` is what hooks left
        there, by their names. Damaged and unreadable files are named to `warn` and
        passed over; if all are, that is an error. So is a checkpoint of another
        configuration.
        """
        files = self._newest_first()
        for path in files:
            try:
                tensors, description = read_tensors(path)
                step, settings = _described(path, description or {})
            except DamagedFile as damage:
                warn(f"{damage}; trying the one before")
                continue
            except OSError as error:
                reason = error.strerror or error
                warn(f"cannot read {path}: {reason}; trying the one before")
                continue
            if found := "; ".join(differences(settings, configuration)):
                raise OtherConfiguration(f"{path} is of another run: {found}")
            if path != self.path(step):
                warn(f"{path} holds step {step}: that counts, not its name")
            return step, _filled(like, step, tensors, path)
        if files:
            raise DamagedFile(f"every checkpoint in {self.folder} is damaged")
        return None

    def _newest_first(self) -> list[Path]:
        """Files of checkpoints, by the steps that they say they hold."""

        def claimed(step: int) -> int:
            inside = (description_of(self.path(step)) or {}).get("step")
            return inside if type(inside) is int else step

        return [self.path(s) for s in sorted(self.steps(), key=claimed, reverse=True)]


def _described(path: Path, known: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
    """Step and settings of a checkpoint: what it says inside, whatever its name."""
    step, settings = known.get("step"), known.get("configuration")
    if type(step) is not int or step < 0:
        raise DamagedFile(f"{path} is not a checkpoint: it does not say its step")
    if not isinstance(settings, Mapping):
        raise DamagedFile(f"{path} is not a checkpoint: it has no configuration")
    return step, settings


def _named(state: PyTree[Any]) -> dict[str, np.ndarray]:
    """Arrays of a tree by their path in it."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(state)
    return {_name(path): np.asarray(leaf) for path, leaf in leaves}


def _filled(
    like: Mapping[str, Any], step: int, tensors: Mapping[str, np.ndarray], path: Path
) -> dict[str, Any]:
    wanted = {name: one for name, one in like.items() if name != "hooks"}
    leaves, tree = jax.tree_util.tree_flatten_with_path(wanted)
    own = {name: one for name, one in tensors.items() if not name.startswith(_HOOKS)}
    shapes = {_name(place): np.shape(leaf) for place, leaf in leaves}
    # No array is made of a step, which may be any number.
    shapes["history"] = (step, *like["history"].shape[1:])
    found = {name: array.shape for name, array in own.items()}
    odd = [
        f"{name} {_in_words(shapes.get(name))}, there {_in_words(found.get(name))}"
        for name in sorted({name for name, _ in shapes.items() ^ found.items()})
    ]
    rule = f"the one in {path}"
    require(not odd, "state", rule, f"other arrays: {'; '.join(odd)}")
    hooks: dict[str, dict[str, np.ndarray]] = {}
    for name in set(tensors) - set(own):
        hook, _, what = name.removeprefix(_HOOKS).partition("/")
        hooks.setdefault(hook, {})[what] = tensors[name]
    return {**jax.tree.unflatten(tree, [own[name] for name in shapes]), "hooks": hooks}


def _in_words(shape: tuple[int, ...] | None) -> str:
    return "none" if shape is None else f"of shape {shape}"


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")
