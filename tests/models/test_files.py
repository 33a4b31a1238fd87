"""Models come back from their files as they were; files of strangers are refused."""

import json
from importlib import resources

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors

from iclab.core import DamagedFile, write_tensors
from iclab.models import (
    GPT2,
    Attention,
    Encoder,
    LinearSelfAttention,
    LinearTransformer,
    LoopedTransformer,
    MultiHeadSoftmax,
    OnPrompts,
    SparseWeights,
    UntiedTransformer,
    load,
    save,
    shipped,
)
from iclab.models._files import _LIBRARY
from tests.refusals import refused

A = jnp.arange(8.0).reshape(2, 2, 2)


def _drawn(make, *arguments, **options):
    """What `make` makes, with other numbers: nothing is compiled for it."""
    rng = np.random.default_rng(0)
    options = {"layers": 2, "heads": 2, "width": 4, "key": jax.random.key(0)} | options
    return jax.tree.map(
        lambda leaf: jnp.asarray(rng.normal(size=leaf.shape), leaf.dtype),
        eqx.filter_eval_shape(make, *arguments, **options),
    )


MODELS = (
    Attention.random(jax.random.key(0), dimension=2, heads=2, hidden=3, loops=4),
    Attention(SparseWeights(A[None], u=A[:1]), "relu", divisor="root", query="key"),
    Attention(SparseWeights(A[None]), divisor=2.5, residual=False, negated=True),
    _drawn(Encoder.random, input_dim=3, hidden=8),
    _drawn(Encoder.random, input_dim=3, hidden=8, pre_norm=True),
    _drawn(GPT2, 3, 4),
    _drawn(GPT2, 3, 4, positional=False, dtype=jnp.float64),
    LinearSelfAttention.from_blocks(A[0], 2.0),
    LinearTransformer(A, -A, masked=False),
    LoopedTransformer(A[1], loops=7),
    OnPrompts(_drawn(Encoder.random, input_dim=3, hidden=8), jnp.ones((2, 3)), 1),
    MultiHeadSoftmax(A, jnp.arange(6.0).reshape(2, 3).astype(jnp.float32)),
    UntiedTransformer(A, A[0]),
)


def _same(one, other):
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert getattr(a, "dtype", None) == getattr(b, "dtype", None)
        assert np.array_equal(a, b)


def test_every_model_of_the_library_is_here():
    assert {type(model) for model in MODELS} == set(_LIBRARY)
    public = vars(__import__("iclab.models", fromlist=["models"])).values()
    assert set(_LIBRARY) == {
        one for one in public if isinstance(one, type) and hasattr(one, "save")
    }


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_models_come_back(tmp_path, model):
    path = tmp_path / "model.safetensors"
    model.save(path)
    _same(load(path), model)
    before = path.read_bytes()
    save(model, path)  # the function does what the method does
    assert path.read_bytes() == before


class Mine(eqx.Module):
    """A user's model, with parts of Equinox, of its own and of iclab."""

    layers: list
    readout: eqx.nn.MLP
    inner: LoopedTransformer
    table: dict[str, jax.Array]
    counts: jax.Array
    name: str = eqx.field(static=True)
    scale: float = 0.5
    limit: float = float("inf")


def _mine(key) -> Mine:
    return Mine(
        [eqx.nn.Linear(2, 4, key=key), eqx.nn.Linear(4, 3, key=key)],
        eqx.nn.MLP(3, 1, 4, 1, activation=jax.nn.gelu, key=key),
        LoopedTransformer(A[0], loops=2),
        {"a": jnp.ones(2)},
        jnp.arange(3),
        "mine",
    )


def _shaped(leaf):
    return isinstance(leaf, jax.ShapeDtypeStruct)


def test_models_of_ones_own_need_their_class(tmp_path):
    path = tmp_path / "mine.safetensors"
    model = eqx.filter_eval_shape(_mine, jax.random.key(0))
    model = jax.tree.map(
        lambda leaf: jnp.ones(leaf.shape, leaf.dtype) if _shaped(leaf) else leaf, model
    )
    save(model, path)
    again = load(path, Mine)
    _same(again, model)
    assert again.readout.activation is jax.nn.gelu
    sentence = (
        r"^load: `classes` must be given Mine, which the file holds and iclab\.models"
        r" does not have: load\(path, Mine\)$"
    )
    with pytest.raises(ValueError, match=sentence):
        load(path)


def test_what_no_file_can_describe_is_refused(tmp_path):
    class Odd(eqx.Module):
        """Something else in a field."""

        part: object

    for part, words in (
        (lambda x: x, "`part` = <function"),
        (jax.random.key(0), "`part` of type key<fry>"),
        (jnp.ones(2, jnp.bfloat16), "`part` of type bfloat16"),
        (jnp.ones(2, complex), "`part` of type complex128"),
        (10**11, "`part` = 100000000000"),
    ):
        with pytest.raises(ValueError, match=f"save: `model` must be .*{words}"):
            save(Odd(part), tmp_path / "odd.safetensors")


def _file(path, description, **arrays):
    write_tensors(path, arrays, {"model": description})
    return path


def _looped(**changes):
    fields = {"A": {"array": "A"}, "u": {"array": "u"}, "loops": 2} | changes
    return {"class": "LoopedTransformer", "fields": fields}


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ({"class": "Popen", "fields": {}}, "must be given Popen, which the file holds"),
        ({"class": "builtins.eval", "fields": {}}, "got 'builtins.eval'"),
        ({"function": "os.system"}, "describes a model, got another at ``"),
        ([1], "describes a model, got another at ``"),
        (5, "a file that describes a model, got a int"),
        ("GPT2", "a file that describes a model, got a str"),
        ({"list": []}, "a file that describes a model, got a list"),
        ({"function": "jax.nn.relu"}, "describes a model, got a"),
        (_looped(loops=float("nan")), "a file whose `loops` is a number, got nan"),
        (_looped(loops=99_999_999_999), "at most 1048576, got `loops` = 99999999999"),
        (_looped(loops=0), "`loops` must be an integer ≥ 1, got 0"),
        (_looped(loops=True), "load: `loops` must be an integer ≥ 1, got True"),
        (_looped(loops="2"), "load: `loops` must be an integer ≥ 1, got '2'"),
        (_looped(loops=float("inf")), "load: `loops` must be an integer ≥ 1, got inf"),
        (_looped(more=1), "has the fields A, u, loops, got A, loops, more, u"),
        (_looped(u={"array": "A"}), "with the array `u`, once, got 'A'"),
        (_looped(u={"array": "v"}), "with the array `u`, once, got 'v'"),
        (_looped(u=_looped()), "with the array `u.A`, once, got 'A'"),
    ],
)
def test_files_of_strangers(tmp_path, description, words):
    path = _file(tmp_path / "m", description, A=np.eye(2), u=np.zeros(2))
    with pytest.raises(ValueError, match=r"must be") as error:
        load(path)
    assert words in str(error.value)


def test_shapes_must_fit(tmp_path):
    path = _file(tmp_path / "m", _looped(), A=np.eye(2), u=np.zeros(3))
    with refused(
        "load: `u` must be an array that fits the other fields of LoopedTransformer,"
        " got float64 of shape (3,)"
    ):
        load(path)
    path = _file(tmp_path / "m", _looped(), A=np.eye(2), u=np.zeros(2, int))
    with refused(
        "load: `u` must be an array that fits the other fields of LoopedTransformer,"
        " got int64 of shape (2,)"
    ):
        load(path)
    path = _file(tmp_path / "m", _looped(), A=np.eye(2), u=np.zeros((2, 1)))
    with refused("load: `u` must be a vector of numbers, got shape (2, 1)"):
        load(path)
    path = _file(tmp_path / "m", _looped(), A=np.eye(2), u=np.zeros(2), v=np.ones(1))
    with refused(
        "load: `path` must be a file without arrays that belong nowhere, got ['v']"
    ):
        load(path)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_weights_are_finite(tmp_path, bad):
    model = LoopedTransformer(A[1], loops=7)
    broken = eqx.tree_at(lambda m: m.A, model, A[1].at[0, 1].set(bad))
    broken.save(tmp_path / "m")
    with refused(
        "load: `path` must be a file whose `A` is finite, got 1 entries that are not"
    ):
        load(tmp_path / "m")


def test_descriptions_without_end(tmp_path):
    # Deeper than a program can follow.
    path = tmp_path / "m"
    text = '{"sha256": "", "model": ' + '{"tuple": [' * 100_000
    header = json.dumps({"__metadata__": {"iclab": text}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    assert safetensors.safe_open(path, framework="numpy").metadata()
    with pytest.raises(DamagedFile):
        load(path)
    deep = {"tuple": []}
    for _ in range(400):
        deep = {"tuple": [deep]}
    with pytest.raises(DamagedFile, match="in a model"):
        load(_file(path, deep))


def test_shipped_weights_have_names():
    assert shipped("gpt2-fixed-18").max_examples == 40
    assert shipped("gpt2-random-18-blind").max_examples is None
    with pytest.raises(ValueError, match=r"shipped: `name` must be one of gpt2-fixed"):
        shipped("gpt2-fixed-19")
    with refused("load: `path` must be a file that is there, got none.safetensors"):
        load("none.safetensors")


def test_shipped_weights_have_checksums(tmp_path, monkeypatch):
    for path in resources.files("iclab.models").joinpath("weights").iterdir():
        if path.name.startswith("gpt2-fixed-18."):
            (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr("iclab.models._files._WEIGHTS", tmp_path)
    assert shipped("gpt2-fixed-18")
    manifest = json.loads((tmp_path / "gpt2-fixed-18.json").read_text())
    del manifest["sha256"]
    (tmp_path / "gpt2-fixed-18.json").write_text(json.dumps(manifest))
    with pytest.raises(DamagedFile, match="its checksum does not match"):
        shipped("gpt2-fixed-18")
