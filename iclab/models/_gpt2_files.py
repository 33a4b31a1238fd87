"""GPT-2's weights on disk, with the names and layouts of Hugging Face."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Array

from iclab.core import read_tensors, require, write_tensors

_OWNER = "GPT2.from_huggingface"
_CONFIG, _WEIGHTS = "config.json", "model.safetensors"

# What a backbone may be called inside a larger model.
_PREFIXES = ("transformer.", "_backbone.", "backbone.")

# What GPT-2's configuration must say (or not say) for the forward pass to be this one.
_REQUIRED = {
    "model_type": "gpt2",
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "add_cross_attention": False,
}

# Shapes of a block's weights, (in, out) in multiples of the width.
_BLOCK = {
    "ln_1": (1,),
    "attn.c_attn": (1, 3),
    "attn.c_proj": (1, 1),
    "ln_2": (1,),
    "mlp.c_fc": (1, 4),
    "mlp.c_proj": (4, 1),
}


def write_file(
    path: str | os.PathLike[str],
    state: Mapping[str, Array | np.ndarray | None],
    heads: int,
) -> None:
    """Weights in one file whose header tells the number of heads."""
    arrays = {name: np.asarray(a) for name, a in state.items() if a is not None}
    names = {name: f"transformer.{name}" for name in arrays if "read_" not in name}
    renamed = {names.get(name, name): array for name, array in arrays.items()}
    # Hugging Face refuses files that do not name their framework's conventions.
    write_tensors(path, renamed, {"heads": heads}, header={"format": "pt"})


def write_folder(
    path: str | os.PathLike[str], state: Mapping[str, Array | None], heads: int
) -> None:
    """Weights and configuration; a missing table of positions becomes one of zeros."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {name: np.asarray(a) for name, a in state.items() if a is not None}
    width, dtype = len(arrays["ln_f.weight"]), arrays["ln_f.weight"].dtype
    arrays.setdefault("wpe.weight", np.zeros((1024, width), dtype))
    # Its GPT-2 always has an embedding table; one row keeps it content.
    arrays["wte.weight"] = np.zeros((1, width), dtype)
    write_file(folder / _WEIGHTS, arrays, heads)
    config = _REQUIRED | {
        "architectures": ["GPT2Model"],
        "n_layer": 1 + max(int(n.split(".")[1]) for n in state if n.startswith("h.")),
        "n_head": heads,
        "n_embd": width,
        "n_positions": len(arrays["wpe.weight"]),
        "n_inner": None,
        "vocab_size": 1,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "resid_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "attn_pdrop": 0.0,
    }
    (folder / _CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


def read(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], int | None]:
    """Weights by their plain names, and the number of heads if anything tells it."""
    place, heads = Path(path), None
    if place.is_dir():
        heads = _heads_in_config(place / _CONFIG)
        place = place / _WEIGHTS
    require(place.is_file(), _OWNER, "path", "a safetensors file or its folder", path)
    tensors, description = read_tensors(place)
    if heads is None and description is not None:
        heads = description.get("heads")
    return _plain_names(tensors), heads


def check(state: Mapping[str, np.ndarray], layers: int) -> None:
    """Refuse a state dict that lacks an array or has one of another shape."""
    w = len(state["ln_f.weight"])
    wanted: dict[str, tuple[int, ...]] = {
        "read_in.weight": (w, state["read_in.weight"].shape[1]),
        "read_in.bias": (w,),
        "ln_f.bias": (w,),
        "read_out.weight": (1, w),
        "read_out.bias": (1,),
    }
    if "wpe.weight" in state:
        wanted["wpe.weight"] = (len(state["wpe.weight"]), w)
    for i in range(layers):
        for name, shape in _BLOCK.items():
            sizes = tuple(factor * w for factor in shape)
            wanted |= {f"h.{i}.{name}.weight": sizes, f"h.{i}.{name}.bias": sizes[-1:]}
    for name, shape in wanted.items():
        present = name in state
        require(present, _OWNER, "path", f"a GPT-2 with `{name}`", "none")
        found = state[name].shape
        rule = f"a GPT-2 whose `{name}` has shape {shape}"
        require(found == shape, _OWNER, "path", rule, f"shape {found}")


def _heads_in_config(path: Path) -> int | None:
    if not path.is_file():
        return None
    config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for name, value in _REQUIRED.items():
        found = config.get(name, value)
        rule = f"a GPT-2 with `{name}` = {value}"
        require(found == value, _OWNER, "path", rule, found)
    return config.get("n_head")


def _plain_names(tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    state = {}
    for name, array in tensors.items():
        plain = name.removeprefix("_") if "read_" in name else name
        for prefix in _PREFIXES:
            plain = plain.removeprefix(prefix)
        state[plain] = array
    rule = "a file with GPT-2's `ln_f.weight` and `h.0`"
    whole = "ln_f.weight" in state and any(name.startswith("h.0.") for name in state)
    require(whole, _OWNER, "path", rule, f"names such as {sorted(tensors)[:1]}")
    return state
