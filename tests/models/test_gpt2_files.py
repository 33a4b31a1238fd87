"""GPT-2's files, as strangers, other programs and vandals leave them."""

import json
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import jax
import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

from iclab.core import DamagedFile
from iclab.models import GPT2, load
from tests.refusals import refused

D, W, ROWS = 3, 8, 13
DOCS = Path(__file__).parents[2] / "docs"


def _state(layers=2, rows=ROWS, dtype=np.float32):
    """A state dict of GPT-2 by its plain names, every number random."""
    sizes = {
        "read_in.weight": (W, D),
        "read_in.bias": (W,),
        "wpe.weight": (rows, W),
        "ln_f.weight": (W,),
        "ln_f.bias": (W,),
        "read_out.weight": (1, W),
        "read_out.bias": (1,),
    }
    for i in range(layers):
        for name, shape in {
            "ln_1": (W,),
            "attn.c_attn": (W, 3 * W),
            "attn.c_proj": (W, W),
            "ln_2": (W,),
            "mlp.c_fc": (W, 4 * W),
            "mlp.c_proj": (4 * W, W),
        }.items():
            sizes[f"h.{i}.{name}.weight"] = shape
            sizes[f"h.{i}.{name}.bias"] = shape[-1:]
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=shape).astype(dtype) for name, shape in sizes.items()}


def _folder(folder, state=None, **config):
    """A folder as Hugging Face writes it."""
    folder.mkdir(exist_ok=True)
    state = _state() if state is None else state
    safetensors.numpy.save_file(state, folder / "model.safetensors")
    known = {"model_type": "gpt2", "n_head": 2, **config}
    (folder / "config.json").write_text(json.dumps(known))
    return folder


def _same(one, other):
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    same = [np.array_equal(np.asarray(a), np.asarray(b)) for a, b in pairs]
    return one.heads == other.heads and all(same)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return load(_folder(tmp_path_factory.mktemp("whole")))


def _refused_with(words):
    return refused(f"GPT2.from_huggingface: `path` must be {words}")


def test_the_configuration_beside_a_file_is_about_it(tmp_path, whole):
    folder = _folder(tmp_path / "a")
    assert _same(load(folder / "model.safetensors"), whole)
    folder = _folder(tmp_path / "b", activation_function="relu")
    for place in (folder, folder / "model.safetensors"):
        with _refused_with("a GPT-2 with `activation_function` = gelu_new, got relu"):
            load(place)


def test_two_names_of_one_activation(tmp_path, whole):
    folder = _folder(tmp_path / "a", activation_function="gelu_pytorch_tanh")
    assert _same(load(folder), whole)
    # The exact one is another function.
    folder = _folder(tmp_path / "b", activation_function="gelu")
    with _refused_with("a GPT-2 with `activation_function` = gelu_new, got gelu"):
        load(folder)


def test_heads_must_not_contradict(tmp_path, whole):
    folder = _folder(tmp_path / "a")
    assert _same(GPT2.from_huggingface(folder, heads=2), whole)
    for place in (folder, folder / "model.safetensors"):
        with refused(
            "GPT2.from_huggingface: `heads` must be 2, as config.json has it, got 4"
        ):
            GPT2.from_huggingface(place, heads=4)
    whole.save(tmp_path / "own.safetensors")
    with refused(
        "GPT2.from_huggingface: `heads` must be 2, as the header has it, got 4"
    ):
        GPT2.from_huggingface(tmp_path / "own.safetensors", heads=4)
    (tmp_path / "config.json").write_text('{"n_head": 4}')
    with refused(
        "GPT2.from_huggingface: `heads` must be 2, as the header has it, got 4 in"
        " config.json"
    ):
        load(tmp_path / "own.safetensors")


@pytest.mark.parametrize("heads", [0, -1, 2.0, "2", True, [2], {}])
def test_heads_of_a_configuration_are_a_number(tmp_path, heads):
    folder = _folder(tmp_path / "a", n_head=heads)
    with refused(
        "GPT2.from_huggingface: `heads` of `config.json` must be an integer ≥ 1, got"
        f" {heads!r}"
    ):
        load(folder)


@pytest.mark.parametrize(
    ("name", "value"), [("n_layer", 3), ("n_embd", 16), ("n_layer", 10**30)]
)
def test_a_configuration_of_another_model(tmp_path, name, value):
    folder = _folder(tmp_path / "a", **{name: value})
    own = {"n_layer": 2, "n_embd": W}[name]
    with _refused_with(
        f"a GPT-2 with `{name}` = {own}, as its arrays are, got {value} in config.json"
    ):
        load(folder)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "\0", '"gpt2"'])
def test_a_configuration_that_is_none(tmp_path, text):
    folder = _folder(tmp_path / "a")
    (folder / "config.json").write_text(text)
    with _refused_with(
        "a folder whose config.json is a JSON object, got something else"
    ):
        load(folder)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_weights_that_are_no_numbers(tmp_path, bad, dtype):
    state = _state(dtype=dtype)
    state["h.1.mlp.c_fc.weight"][2, 3] = bad
    folder = _folder(tmp_path / "a", state)
    with _refused_with(
        "a GPT-2 whose `h.1.mlp.c_fc.weight` is finite, got 1 entries that are not"
    ):
        load(folder)


def _write_pickle(path, kind):
    """As `torch.save` writes it: a pickle, and in newer versions one in an archive."""
    content = pickle.dumps({"model_state_dict": {}}, protocol=2)
    if kind == "archive":
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("archive/data.pkl", content)
    else:
        path.write_bytes(content)


@pytest.mark.parametrize("kind", ["archive", "pickle"])
@pytest.mark.parametrize("reader", [load, GPT2.load, GPT2.from_huggingface])
def test_pickles_are_not_opened(tmp_path, monkeypatch, kind, reader):
    path = tmp_path / "state.pt"
    _write_pickle(path, kind)
    monkeypatch.setattr(pickle, "load", lambda *_: pytest.fail("opened"))
    for place in (path, tmp_path):
        with pytest.raises(DamagedFile) as error:
            reader(place)
        assert str(error.value) == (
            f"{path} is a pickle, which may run programs and is never opened here; turn"
            " it into safetensors where you trust it: `torch.load(…,"
            " weights_only=True)`, then `safetensors.torch.save_file` (docs/weights.md"
            " has the script)"
        )


def _shards(folder, state, **changes):
    """A folder with a model in two files, as Hugging Face writes large ones."""
    folder.mkdir()
    names = sorted(state)
    files = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    parts = dict(zip(files, (names[::2], names[1::2]), strict=True))
    for file, part in parts.items():
        safetensors.numpy.save_file({n: state[n] for n in part}, folder / file)
    index = {name: file for file, part in parts.items() for name in part} | changes
    text = json.dumps({"metadata": {}, "weight_map": index})
    (folder / "model.safetensors.index.json").write_text(text)
    (folder / "config.json").write_text('{"model_type": "gpt2", "n_head": 2}')
    return folder


def test_a_model_in_several_files(tmp_path, whole):
    folder = _shards(tmp_path / "a", _state())
    assert _same(load(folder), whole)
    part = folder / "model-00002-of-00002.safetensors"
    with _refused_with(
        f"the folder of {part.name}, which holds a part of the model, got {part}"
    ):
        load(part)
    part.unlink()
    with _refused_with(f"a folder with {part.name}, got none"):
        load(folder)


@pytest.mark.parametrize(
    "name", ["../a.safetensors", "/tmp/a.safetensors", "b/a.safetensors", "a.pt", ""]
)
def test_an_index_names_files_beside_it(tmp_path, name):
    safetensors.numpy.save_file(_state(), tmp_path / "a.safetensors")
    folder = _shards(tmp_path / "a", _state(), **{"ln_f.weight": name})
    with _refused_with(
        "a folder whose model.safetensors.index.json has a `weight_map` of files"
        f" beside it, got {name!r}"
    ):
        load(folder)


def test_an_index_that_is_none(tmp_path):
    folder = _shards(tmp_path / "a", _state())
    for text in ('{"weight_map": {"a": 1}}', '{"weight_map": []}', "{}"):
        (folder / "model.safetensors.index.json").write_text(text)
        with pytest.raises(ValueError, match="a `weight_map` of files beside it"):
            load(folder)
    folder = _shards(tmp_path / "b", _state(), more="model-00001-of-00002.safetensors")
    with _refused_with(
        "a folder that holds all that model.safetensors.index.json names, got no `more`"
    ):
        load(folder)


@pytest.mark.parametrize("rows", [ROWS, ROWS + 1, 1024])
def test_positions_survive_the_round_trip(tmp_path, rows):
    first = load(_folder(tmp_path / "a", _state(rows=rows)))
    assert first.positions.shape == (rows, W)
    assert first.max_examples == (rows - 1) // 2
    first.to_huggingface(tmp_path / "b")
    first.save(tmp_path / "c.safetensors")
    assert _same(load(tmp_path / "b"), first)
    assert _same(load(tmp_path / "c.safetensors"), first)


def test_no_positions_survive_the_round_trip(tmp_path):
    state = _state()
    del state["wpe.weight"]
    first = load(_folder(tmp_path / "a", state))
    assert first.positions is None
    first.to_huggingface(tmp_path / "b")
    written = safetensors.numpy.load_file(tmp_path / "b" / "model.safetensors")
    assert not np.any(written["transformer.wpe.weight"])  # others need a table
    assert _same(load(tmp_path / "b"), first)


@pytest.mark.parametrize("number", ["99999999999", "7", "9" * 5000, "01"])
def test_layers_without_end(tmp_path, number):
    state = _state()
    state[f"h.{number}.ln_1.bias"] = np.zeros(W, np.float32)
    with _refused_with(
        f"a GPT-2 with layers 0 to 2, of which it has 3, got layer {number[:20]}"
    ):
        load(_folder(tmp_path / "a", state))


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("ln_f.weight", np.float32(1), "whose `ln_f.weight` has 1 axis, got shape ()"),
        ("ln_f.weight", np.ones((0,), "f4"), "has 1 axis, got shape (0,)"),
        ("read_in.weight", np.ones(W, "f4"), "has 2 axes, got shape (8,)"),
        ("read_in.weight", np.ones((W, 0), "f4"), "has 2 axes, got shape (8, 0)"),
        ("wpe.weight", np.float32(1), "has shape (1, 8), got shape ()"),
        ("wpe.weight", np.ones((5, 4), "f4"), "has shape (5, 8), got shape (5, 4)"),
        ("h.0.ln_1.bias", np.ones(9, "f4"), "has shape (8,), got shape (9,)"),
        ("h.0.ln_1.bias", np.ones(W, "i4"), "numbers of one kind"),
        ("h.0.ln_1.bias", np.ones(W), "numbers of one kind"),
        ("h.0.gate.weight", np.ones(W, "f4"), "nothing else, got `h.0.gate.weight`"),
        ("extra", np.ones(W, "f4"), "a GPT-2 and nothing else, got `extra` too"),
        ("transformer.ln_f.bias", np.ones(W, "f4"), "with one `ln_f.bias`, got two"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path, name, array, words):
    state = {**_state(), name: np.asarray(array)}
    with pytest.raises(ValueError, match=r"GPT2.from_huggingface: `path` must be") as e:
        load(_folder(tmp_path / "a", state))
    assert words in str(e.value)


def test_a_dimension_that_the_file_contradicts(tmp_path):
    folder = _folder(tmp_path / "a")
    with refused(
        "GPT2.from_huggingface: `dimension` must be 3, as the file has it, got 4"
    ):
        GPT2.from_huggingface(folder, dimension=4, key=jax.random.key(0))


def _of_garg():
    """A state dict with the names that the code of Garg et al. saves, masks and all."""
    found = {}
    for name, array in _state(rows=202).items():
        found[f"_{name}" if "read_" in name else f"_backbone.{name}"] = array
    for i in range(2):
        mask = np.tril(np.ones((1, 1, 202, 202), np.uint8))
        found[f"_backbone.h.{i}.attn.bias"] = mask
        found[f"_backbone.h.{i}.attn.masked_bias"] = np.float32(-1e4)
    found["_backbone.wte.weight"] = np.zeros((50257, W), np.float32)
    return found


@pytest.mark.parametrize("prefix", ["", "module.", "_orig_mod."])
def test_checkpoints_of_garg_et_al(tmp_path, prefix):
    path = tmp_path / "model.safetensors"
    state = {f"{prefix}{name}": np.asarray(a) for name, a in _of_garg().items()}
    safetensors.numpy.save_file(state, path)
    expected = load(_folder(tmp_path / "plain", _state(rows=202)))
    found = GPT2.from_huggingface(path, heads=2)
    assert _same(found, expected)
    assert found.max_examples == 100


def test_the_script_that_converts(tmp_path, monkeypatch):
    """The script of the docs, with a stand-in for PyTorch's two functions."""
    text = (DOCS / "weights.md").read_text(encoding="utf-8")
    script = text.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "convert.py").write_text(script)
    (tmp_path / "torch.py").write_text(
        "import pickle\n"
        "def load(path, map_location, weights_only):\n"
        "    assert weights_only and map_location == 'cpu'\n"
        "    return pickle.load(open(path, 'rb'))\n"
    )
    (tmp_path / "safetensors").mkdir()
    (tmp_path / "safetensors" / "__init__.py").write_text("")
    (tmp_path / "safetensors" / "torch.py").write_text(
        "import pickle\n"
        "def save_file(state, path):\n"
        "    pickle.dump({k: v.array for k, v in state.items()}, open(path, 'wb'))\n"
    )
    (tmp_path / "tensors.py").write_text(
        "class Tensor:\n"
        "    def __init__(self, array): self.array = array\n"
        "    def clone(self): return self\n"
        "    def contiguous(self): return self\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from tensors import Tensor  # pyright: ignore[reportMissingImports]

    state = {name: Tensor(array) for name, array in _of_garg().items()}
    for name, saved in (
        ("state.pt", {"model_state_dict": state, "optimizer_state_dict": {}}),
        ("model_1000.pt", state),
    ):
        (tmp_path / name).write_bytes(pickle.dumps(saved))
        out = tmp_path / f"from-{name}"
        command = [sys.executable, "convert.py", name, str(out), "--heads", "2"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        weights = out / "model.safetensors"
        arrays = pickle.loads(weights.read_bytes())
        safetensors.numpy.save_file(
            {name: np.asarray(a) for name, a in arrays.items()}, weights
        )
        assert _same(load(out), load(_folder(tmp_path / "plain", _state(rows=202))))
