"""Models on disk: save one, load one, and those that come with the package."""

import json
import os
from importlib import resources
from pathlib import Path
from typing import Any

import equinox as eqx

from iclab._files import sha256
from iclab.core import DamagedFile, checked, read_tensors, require
from iclab.models import _description
from iclab.models._attention import Attention
from iclab.models._encoder import Encoder
from iclab.models._gpt2 import GPT2
from iclab.models._gpt2_files import WEIGHTS
from iclab.models._linear_self_attention import LinearSelfAttention
from iclab.models._linear_transformer import LinearTransformer
from iclab.models._looped_transformer import LoopedTransformer, UntiedTransformer
from iclab.models._multi_head_softmax import MultiHeadSoftmax
from iclab.models._on_prompts import OnPrompts

# All that a file may name, unless `load` is given more.
_LIBRARY = (
    Attention,
    Encoder,
    GPT2,
    LinearSelfAttention,
    LinearTransformer,
    LoopedTransformer,
    MultiHeadSoftmax,
    OnPrompts,
    UntiedTransformer,
)

_WEIGHTS = resources.files("iclab.models") / "weights"


@checked(finite=False)
def save(model: eqx.Module, path: str | os.PathLike[str]) -> None:
    """Write any Equinox module to a safetensors file, for `load`.

    Its arrays are the file's; its other fields, which may be plain values, lists,
    modules and the usual functions of `jax.nn`, are described in the header.
    """
    if isinstance(model, GPT2):
        model.save(path)  # with Hugging Face's names
    else:
        _description.write(model, path)


@checked(finite=False)
def load(path: str | os.PathLike[str], *classes: type[eqx.Module]) -> Any:
    """The model in a file that `save` wrote, or a GPT-2 of Hugging Face's, or a folder.

    A model of one's own needs its class, and those of its parts that the types of its
    fields do not tell: `load("mine.safetensors", Mine)`. Files say nothing else about
    what is called.
    """
    place = Path(path)
    if (place / WEIGHTS).is_file():
        place = place / WEIGHTS
    if place.is_dir():
        return GPT2.load(place)
    require(place.is_file(), "path", "a file that is there", path)
    tensors, description = read_tensors(place)
    if description is None or "model" not in description:
        return GPT2.load(place)
    own = (*classes, *_parts_of_equinox()) if classes else ()
    try:
        return _description.rebuilt(description["model"], tensors, (*own, *_LIBRARY))
    except RecursionError:
        raise DamagedFile(
            f"{place} describes a model in a model in a model …"
        ) from None


@checked(finite=False)
def shipped(name: str) -> GPT2:
    """A trained model that comes with the package; `shipped_manifests` names them."""
    names = sorted(shipped_manifests())
    require(name in names, "name", f"one of {', '.join(names)}", repr(name))
    with resources.as_file(_WEIGHTS / f"{name}.safetensors") as path:
        if sha256(path.read_bytes()) != shipped_manifests()[name].get("sha256"):
            raise DamagedFile(f"{path} was altered: its checksum does not match")
        return load(path)


def shipped_manifests() -> dict[str, dict[str, Any]]:
    """Where shipped weights come from, by name: command, settings, checksum."""
    return {
        file.name.removesuffix(".json"): json.loads(file.read_text(encoding="utf-8"))
        for file in sorted(_WEIGHTS.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".json")
    }


def _parts_of_equinox() -> list[type]:
    found = [one for one in vars(eqx.nn).values() if isinstance(one, type)]
    return [one for one in found if issubclass(one, eqx.Module)]
