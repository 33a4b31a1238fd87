"""GPT-2's weights on disk, with the names and layouts of Hugging Face.

Files come from strangers: every number in them is compared with the arrays themselves
before anything is built, and a folder names no file outside it.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from iclab.core import (
    DamagedFile,
    Natural,
    pickle_sentence,
    read,
    read_tensors,
    refuse,
    require,
    write_tensors,
    write_whole,
)

_CONFIG, WEIGHTS = "config.json", "model.safetensors"
_INDEX = f"{WEIGHTS}.index.json"
# One of several files that hold a model together, as Hugging Face numbers them.
_SHARD = re.compile(r".*-\d+-of-\d+\.safetensors")
# What other programs write, and iclab never opens.
_PICKLES = ("*.pt", "*.pth", "*.bin", "*.ckpt", "*.pkl")

# What a backbone, or the whole model, may be called inside a larger one.
_PREFIXES = ("module.", "_orig_mod.", "transformer.", "_backbone.", "backbone.")

# What GPT-2's configuration must say (or not say) for the forward pass to be this one.
_REQUIRED = {
    "model_type": "gpt2",
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "add_cross_attention": False,
}
# Other words for the same thing.
_SAME = {"gelu_pytorch_tanh": "gelu_new"}

# Arrays of a state dict that the forward pass does not need: words, and masks.
_IDLE = re.compile(r"wte\.weight|lm_head\.weight|h\.\d+\.attn\.(masked_)?bias")
_LAYER = re.compile(r"h\.(\d+)\.")

# Parts of a block as Hugging Face names them, and as `Block` does.
PARTS = {
    "ln_1": "attention_norm",
    "attn.c_attn": "attention",
    "attn.c_proj": "attention_out",
    "ln_2": "network_norm",
    "mlp.c_fc": "network_in",
    "mlp.c_proj": "network_out",
}
# Shapes of their weights, (in, out) in multiples of the width.
_SHAPES = {
    "ln_1": (1,),
    "attn.c_attn": (1, 3),
    "attn.c_proj": (1, 1),
    "ln_2": (1,),
    "mlp.c_fc": (1, 4),
    "mlp.c_proj": (4, 1),
}


def write_file(
    path: str | os.PathLike[str],
    state: Mapping[str, np.ndarray],
    heads: int,
    **facts: Any,
) -> None:
    """Weights in one file whose header tells the number of heads."""
    renamed = {
        name if "read_" in name else f"transformer.{name}": array
        for name, array in state.items()
    }
    # Hugging Face refuses files that do not name their framework's conventions.
    write_tensors(path, renamed, {"heads": heads, **facts}, header={"format": "pt"})


def write_folder(
    path: str | os.PathLike[str], state: Mapping[str, np.ndarray], heads: int
) -> None:
    """Weights and configuration; a missing table of positions becomes one of zeros.

    The header says that it is missing, for those who read it here.
    """
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    width, dtype = len(state["ln_f.weight"]), state["ln_f.weight"].dtype
    facts = {} if "wpe.weight" in state else {"positions": False}
    # Its GPT-2 always has both tables; of embeddings one row keeps it content.
    positions = state.get("wpe.weight", np.zeros((1024, width), dtype))
    tables = {"wpe.weight": positions, "wte.weight": np.zeros((1, width), dtype)}
    write_file(folder / WEIGHTS, {**state, **tables}, heads, **facts)
    config = _REQUIRED | {
        "architectures": ["GPT2Model"],
        "n_layer": _layers(state),
        "n_head": heads,
        "n_embd": width,
        "n_positions": len(positions),
        "n_inner": None,
        "vocab_size": 1,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "resid_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "attn_pdrop": 0.0,
    }
    write_whole(folder / _CONFIG, json.dumps(config, indent=1) + "\n")


def read_state(
    path: str | os.PathLike[str], heads: int | None
) -> tuple[dict[str, np.ndarray], int, int | None]:
    """Arrays by their plain names, how many layers, and heads if anything tells it.

    From a file, from a folder with one, or from a folder with several. A `config.json`
    beside a file is about that file. `heads` is what the caller knows.
    """
    place = Path(path)
    config = _config((place if place.is_dir() else place.parent) / _CONFIG)
    tensors, description = _tensors(place)
    arrays = _plain_names(tensors)
    if description.get("positions") is False:
        arrays.pop("wpe.weight", None)
    layers = _layers(arrays)
    _agree(config, arrays, layers)
    said = {"the header": description.get("heads"), _CONFIG: config.get("n_head")}
    known = {
        who: read(number, Natural, f"heads` of `{who}" if who else "heads")
        for who, number in (said | {"": heads}).items()
        if number is not None
    }
    if not known:
        return arrays, layers, None
    (says, number), *others = known.items()
    for who, other in others:
        found = f"{other} in {who}" if who else other
        require(other == number, "heads", f"{number}, as {says} has it", found)
    return arrays, layers, number


def check(state: Mapping[str, np.ndarray], layers: int) -> None:
    """Refuse a state dict that lacks an array or has one of another shape."""
    w = _length(state, "ln_f.weight", 1)
    wanted: dict[str, tuple[int, ...]] = {
        "read_in.weight": (w, _length(state, "read_in.weight", 2)),
        "read_in.bias": (w,),
        "ln_f.weight": (w,),
        "ln_f.bias": (w,),
        "read_out.weight": (1, w),
        "read_out.bias": (1,),
    }
    if "wpe.weight" in state:
        wanted["wpe.weight"] = (len(np.atleast_1d(state["wpe.weight"])), w)
    for i in range(layers):
        for name, shape in _SHAPES.items():
            sizes = tuple(factor * w for factor in shape)
            wanted |= {f"h.{i}.{name}.weight": sizes, f"h.{i}.{name}.bias": sizes[-1:]}
    dtype = state["ln_f.weight"].dtype
    for name, shape in wanted.items():
        require(name in state, "path", f"a GPT-2 with `{name}`", "none")
        array = state[name]
        rule = f"a GPT-2 whose `{name}` has shape {shape}"
        require(array.shape == shape, "path", rule, f"shape {array.shape}")
        rule = f"a GPT-2 whose `{name}` has numbers of one kind, as `ln_f.weight` has"
        same = array.dtype == dtype and array.dtype.kind not in "iubc"
        require(same, "path", rule, array.dtype)
        bad = int(np.sum(~np.isfinite(array)))
        rule = f"a GPT-2 whose `{name}` is finite"
        require(bad == 0, "path", rule, f"{bad} entries that are not")
    for name in sorted(set(state) - set(wanted)):
        idle = _IDLE.fullmatch(name) is not None
        require(idle, "path", "a GPT-2 and nothing else", f"`{name}` too")


def _length(state: Mapping[str, np.ndarray], name: str, axes: int) -> int:
    """Length of an array's last axis, which must be there."""
    require(name in state, "path", f"a GPT-2 with `{name}`", "none")
    shape = state[name].shape
    rule = f"a GPT-2 whose `{name}` has {axes} ax{'i' if axes == 1 else 'e'}s"
    fits = len(shape) == axes and all(shape)
    require(fits, "path", rule, f"shape {shape}")
    return shape[-1]


def _tensors(place: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays of a file or of a folder's files, and what their header says."""
    if not place.is_dir():
        require(place.is_file(), "path", "a safetensors file or its folder", place)
        part = _SHARD.fullmatch(place.name) and (place.parent / _INDEX).is_file()
        rule = f"the folder of {place.name}, which holds a part of the model"
        require(not part, "path", rule, place)
        tensors, description = read_tensors(place)
        return tensors, description or {}
    if (place / WEIGHTS).is_file():
        return _tensors(place / WEIGHTS)
    if (place / _INDEX).is_file():
        return _shards(place), {}
    for pattern in _PICKLES:
        for found in sorted(place.glob(pattern)):
            raise DamagedFile(pickle_sentence(found))
    rule = f"a folder with {WEIGHTS} (`iclab train` writes it when it is done)"
    return refuse(f"`path` must be {rule}, got {place}")


def _shards(folder: Path) -> dict[str, np.ndarray]:
    """Arrays of all files that a folder's index names, which lie in the folder."""
    index: Any = _json(folder / _INDEX).get("weight_map")
    rule = f"a folder whose {_INDEX} has a `weight_map` of files beside it"
    require(isinstance(index, dict) and bool(index), "path", rule, folder)
    files = set(map(str, index.values()))
    found: dict[str, np.ndarray] = {}
    for name in sorted(files):
        inside = Path(name).name == name and name.endswith(".safetensors")
        require(inside, "path", rule, repr(name))
        require((folder / name).is_file(), "path", f"a folder with {name}", "none")
        found |= read_tensors(folder / name)[0]
    missing = sorted(set(index) - set(found))
    rule = f"a folder that holds all that {_INDEX} names"
    require(not missing, "path", rule, f"no `{missing[0]}`" if missing else "")
    return found


def _config(path: Path) -> dict[str, Any]:
    """What the configuration says, where there is one and it is one of this model."""
    if not path.is_file():
        return {}
    config = _json(path)
    for name, value in _REQUIRED.items():
        found = config.get(name, value)
        rule = f"a GPT-2 with `{name}` = {value}"
        same = _SAME.get(found, found) if isinstance(found, str) else found
        require(same == value, "path", rule, found)
    return config


def _agree(
    config: Mapping[str, Any], arrays: Mapping[str, np.ndarray], layers: int
) -> None:
    """Refuse a configuration that is about another model."""
    shape = arrays["ln_f.weight"].shape
    sizes = {"n_layer": layers, "n_embd": shape[0] if shape else 0}
    for name, value in sizes.items():
        rule = f"a GPT-2 with `{name}` = {value}, as its arrays are"
        found = config.get(name, value)
        require(found == value, "path", rule, f"{found} in {_CONFIG}")


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        return found
    rule = f"a folder whose {path.name} is a JSON object"
    return refuse(f"`path` must be {rule}, got something else")


def _plain_names(tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    state: dict[str, np.ndarray] = {}
    for name, array in tensors.items():
        plain = name
        while (prefix := next(filter(plain.startswith, _PREFIXES), None)) is not None:
            plain = plain.removeprefix(prefix)
        plain = plain.removeprefix("_") if plain.startswith("_read_") else plain
        require(plain not in state, "path", f"a file with one `{plain}`", "two")
        state[plain] = array
    rule = "a file with GPT-2's `ln_f.weight` and `h.0`"
    whole = "ln_f.weight" in state and any(name.startswith("h.0.") for name in state)
    require(whole, "path", rule, f"names such as {sorted(tensors)[:1]}")
    return state


def _layers(state: Mapping[str, np.ndarray]) -> int:
    """How many layers there are: 0, 1, 2, … and no other."""
    found = {match[1] for match in map(_LAYER.match, state) if match is not None}
    rule = f"a GPT-2 with layers 0 to {len(found) - 1}, of which it has {len(found)}"
    odd = min(found - set(map(str, range(len(found)))), default="")
    require(not odd, "path", rule, f"layer {odd[:20]}")
    return len(found)
