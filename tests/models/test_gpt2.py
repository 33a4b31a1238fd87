"""GPT-2 against a forward pass written anew in NumPy; files; refusals."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

from iclab.core import DamagedFile, Prompt
from iclab.models import GPT2, GPT2_SIZES
from tests.assertions import assert_close
from tests.refusals import refused

D, ROOM = 3, 6

# For draws of no special kind: XLA's own generator compiles in no time.
KEY = jax.random.key(7, impl="rbg")


def _model(seed, dtype=jnp.float32, positional=True):
    """Random numbers everywhere, so that no zero or one hides anything."""
    make = lambda: GPT2(  # noqa: E731
        D,
        ROOM,
        layers=2,
        heads=2,
        width=8,
        positional=positional,
        dtype=dtype,
        key=jax.random.key(0),
    )
    rng = np.random.default_rng(seed)
    return jax.tree.map(
        lambda leaf: jnp.asarray(0.4 * rng.normal(size=leaf.shape), leaf.dtype),
        eqx.filter_eval_shape(make),
    )


def _same(one, other):
    """Whether two models are the same to the bit."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in pairs)


def _data(seed, n=ROOM + 1):
    rng = np.random.default_rng(seed)
    return jnp.asarray(rng.normal(size=(n, D))), jnp.asarray(rng.normal(size=n))


def _reference(state, heads, X, y):
    """GPT-2 in NumPy, from a state dict: token by token, head by head, in float64."""
    state = {name.removeprefix("transformer."): a.astype(float) for name, a in state}

    def norm(row, name):
        centred = row - np.mean(row)
        unit = centred / np.sqrt(np.mean(centred**2) + 1e-5)
        return unit * state[f"{name}.weight"] + state[f"{name}.bias"]

    def conv(row, name):
        return row @ state[f"{name}.weight"] + state[f"{name}.bias"]

    def gelu_new(v):
        return v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3))) / 2

    tokens = []
    for x, label in zip(X, y, strict=True):
        tokens += [x, np.array([label] + [0.0] * (D - 1))]
    tokens.pop()  # nobody sees the last label
    stream = [
        state["read_in.weight"] @ token + state["read_in.bias"] for token in tokens
    ]
    if "wpe.weight" in state:
        stream = [v + state["wpe.weight"][i] for i, v in enumerate(stream)]
    layers = 1 + max(int(n.split(".")[1]) for n in state if n.startswith("h."))
    w = len(stream[0])
    e = w // heads
    for i in range(layers):
        qkv = [conv(norm(v, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn") for v in stream]
        after = []
        for t, v in enumerate(stream):
            parts = []
            for h in range(heads):
                q = qkv[t][h * e : (h + 1) * e]
                keys = [r[w + h * e : w + (h + 1) * e] for r in qkv[: t + 1]]
                values = [r[2 * w + h * e : 2 * w + (h + 1) * e] for r in qkv[: t + 1]]
                score = np.exp([q @ k / np.sqrt(e) for k in keys])
                parts.append(score @ values / score.sum())
            v = v + conv(np.concatenate(parts), f"h.{i}.attn.c_proj")
            inner = gelu_new(conv(norm(v, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"))
            after.append(v + conv(inner, f"h.{i}.mlp.c_proj"))
        stream = after
    out = [norm(v, "ln_f") for v in stream[::2]]
    return [(state["read_out.weight"] @ v + state["read_out.bias"])[0] for v in out]


@pytest.mark.parametrize(
    ("dtype", "positional"), [(jnp.float32, False), (jnp.float64, True)]
)
def test_forward_pass_is_gpt2(tmp_path, positional, dtype):
    model = _model(0, dtype, positional)
    model.save(tmp_path / "model.safetensors")
    state = safetensors.numpy.load_file(tmp_path / "model.safetensors")
    X, y = _data(0)
    expected = _reference(state.items(), 2, np.asarray(X), np.asarray(y))
    tolerance = 1e-5 if dtype == jnp.float32 else 1e-12
    found = _along(model, X, y)
    assert found.dtype == y.dtype
    assert_close(found, expected, rtol=tolerance, atol=tolerance)


@eqx.filter_jit
def _along(model, X, y):
    return model.predictions(X, y)


@eqx.filter_jit
def _at(model, prompt, lengths):
    return model.at_lengths(prompt, lengths)


def test_one_pass_is_many_prompts():
    model = _model(1, jnp.float64)
    X, y = _data(1)
    along = _along(model, X, y)
    prompt, lengths = Prompt(X[:ROOM], y[:ROOM], X[ROOM]), jnp.array([4, 1, ROOM])
    call = eqx.filter_jit(model)
    for n in (1, 4, ROOM):
        query = eqx.tree_at(lambda prompt: prompt.query, prompt, X[n])
        assert_close(call(query.prefix(n)), along[n])
    # The same query after fewer examples is the last input after fewer examples.
    found = _at(model, prompt, lengths)
    assert_close(found[2], along[ROOM])
    for j, n in enumerate((4, 1)):
        moved = _along(model, X.at[n].set(X[ROOM]), y)
        assert_close(found[j], moved[n])
    # A prefix has no more examples than it has, however many are asked for.
    assert_close(_at(model, prompt.prefix(4), lengths)[2], found[0])


def test_labels_ahead_are_not_seen():
    model = _model(1, jnp.float64)
    X, y = _data(2)
    changed = y.at[2].set(7.0)
    before, after = _along(model, X, y), _along(model, X, changed)
    assert_close(after[:3], before[:3], rtol=0, atol=0)
    assert np.all(np.asarray(after)[3:] != np.asarray(before)[3:])


def test_gradient_of_the_written_out_derivatives():
    from iclab.models._transformer_parts import gelu, standardise

    x = jax.random.normal(KEY, (4, 6))
    pairs = (
        (gelu, lambda x: jax.nn.gelu(x, approximate=True)),
        (standardise, lambda x: jax.nn.standardize(x, axis=-1, epsilon=1e-5)),
    )
    for both in pairs:
        gradients = [jax.grad(lambda x, f=f: jnp.sum(jnp.sin(f(x)))) for f in both]
        found = jax.jit(lambda x, fs=(*both, *gradients): [f(x) for f in fs])(x)
        assert_close(found[0], found[1])
        assert_close(found[2], found[3])


def _plain(model, X, y):
    """GPT-2 as one writes it down first, a prompt at a time, for autodiff as it is."""

    def norm(rows, part):
        return jax.nn.standardize(rows, axis=-1, epsilon=1e-5) * part.scale + part.shift

    def affine(rows, part):
        return jnp.einsum("ti,oi->to", rows, part.weight) + part.bias

    t, w = 2 * len(y) - 1, model.read_in.weight.shape[0]
    tokens = jnp.zeros((t + 1, D)).at[::2].set(X).at[1::2, 0].set(y)[:t]
    stream = affine(tokens, model.read_in) + model.positions[:t]
    for block in model.blocks:
        qkv = affine(norm(stream, block.attention_norm), block.attention)
        q, k, v = jnp.moveaxis(qkv.reshape(t, 3, model.heads, -1), 1, 0)
        scores = jnp.einsum("qhe,khe->hqk", q, k) / jnp.sqrt(w / model.heads)
        weights = jax.nn.softmax(scores, where=jnp.tri(t, dtype=bool), axis=-1)
        mixed = jnp.einsum("hqk,khe->qhe", weights, v).reshape(t, w)
        stream = stream + affine(mixed, block.attention_out)
        inner = affine(norm(stream, block.network_norm), block.network_in)
        stream = stream + affine(jax.nn.gelu(inner), block.network_out)
    return affine(norm(stream[::2], model.final_norm), model.read_out)[:, 0]


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_loss_and_gradient_are_those_of_the_plain_model(dtype):
    model = _model(3, dtype)
    X, y = (
        jnp.stack(one).astype(dtype) for one in zip(*map(_data, range(4)), strict=True)
    )
    ways = {
        "batch": lambda model: model.batch_predictions(X, y),
        "one by one": lambda model: jax.vmap(model.predictions)(X, y),
        "plain": lambda model: jax.vmap(lambda *one: _plain(model, *one))(X, y),
    }
    loss = lambda model, way: jnp.mean((ways[way](model) - y) ** 2)  # noqa: E731
    with jax.numpy_rank_promotion("allow"):
        found = eqx.filter_jit(
            lambda model: {
                way: eqx.filter_value_and_grad(loss)(model, way) for way in ways
            }
        )(model)
    # Sums over tokens are taken in another order, in the model's own precision.
    size = max(float(jnp.max(jnp.abs(leaf))) for leaf in jax.tree.leaves(found))
    tolerance = 50 * size * float(jnp.finfo(dtype).eps)
    for way in ("batch", "one by one"):
        pairs = zip(
            jax.tree.leaves(found[way]), jax.tree.leaves(found["plain"]), strict=True
        )
        for one, other in pairs:
            assert_close(one, other, rtol=0, atol=tolerance)


def test_attention_forwards_and_backwards():
    from iclab.models._transformer_parts import attention

    Q, K, V, *moves = jax.random.normal(KEY, (6, 2, 4, 3))
    bias = jnp.where(jnp.tri(4, dtype=bool), 0, -jnp.inf)

    def plain(Q, K, V):
        return jax.nn.softmax(jnp.einsum("hqe,hke->hqk", Q, K) + bias[None]) @ V

    both = (lambda *QKV: attention(*QKV, bias), plain)
    found = jax.jit(
        lambda *QKV: [
            (jax.jvp(f, QKV, tuple(moves)), jax.vjp(f, *QKV)[1](moves[0])) for f in both
        ]
    )(Q, K, V)
    for one, other in zip(*map(jax.tree.leaves, found), strict=True):
        assert_close(one, other)


@pytest.mark.parametrize("size", GPT2_SIZES)
def test_sizes(size):
    model = eqx.filter_eval_shape(GPT2.of_size, size, 20, 40, key=KEY)
    layers, heads, w = GPT2_SIZES[size]
    found = len(model.blocks), model.heads, len(model.read_in.bias)
    assert found == (layers, heads, w)
    numbers = sum(leaf.size for leaf in jax.tree.leaves(model))
    backbone = layers * (12 * w * w + 13 * w) + 2 * w
    assert numbers == backbone + 81 * w + 21 * w + w + 1


def test_initialisation():
    model = GPT2.of_size("tiny", 20, 40, key=KEY)
    layers, _, _ = GPT2_SIZES["tiny"]
    # Deviations over all layers: 0.02, and 0.02/√(2·layers) where a block ends.
    for name, deviation in (
        ("attention", 0.02),
        ("network_in", 0.02),
        ("attention_out", 0.02 / np.sqrt(2 * layers)),
        ("network_out", 0.02 / np.sqrt(2 * layers)),
    ):
        weights = np.stack([getattr(b, name).weight for b in model.blocks])
        count = weights.size
        assert abs(np.std(weights) / deviation - 1) < 5 / np.sqrt(2 * count)
        assert all(np.all(getattr(b, name).bias == 0) for b in model.blocks)
    assert np.all(model.final_norm.scale == 1)
    assert np.max(np.abs(model.read_in.weight)) <= 1 / np.sqrt(20)


def test_labels_before_the_first_layer_are_padded():
    # x = (y, 0, 0) and y are the same token, but for their positions.
    model = _model(2, jnp.float64, positional=False)
    context = model._context(jnp.array([[0.7, 0.0, 0.0]]), jnp.array([0.7]))
    assert_close(context[0], context[1])


def test_files_keep_every_bit(tmp_path):
    for positional in (True, False):
        model = _model(3, positional=positional)
        model.save(tmp_path / "one.safetensors")
        again = GPT2.load(tmp_path / "one.safetensors")
        assert _same(model, again)
        assert again.max_examples == model.max_examples


def test_huggingface_folder(tmp_path):
    model = _model(5)
    model.to_huggingface(tmp_path / "hf")
    config = json.loads((tmp_path / "hf" / "config.json").read_text())
    assert (config["n_layer"], config["n_head"], config["n_embd"]) == (2, 2, 8)
    state = safetensors.numpy.load_file(tmp_path / "hf" / "model.safetensors")
    assert state["transformer.h.0.attn.c_attn.weight"].shape == (8, 24)
    assert state["transformer.h.1.mlp.c_fc.weight"].shape == (8, 32)
    again = GPT2.from_huggingface(tmp_path / "hf")
    assert _same(model, again)
    # Without positions, zeros stand in for them: the same predictions.
    blind = _model(4, positional=False)
    blind.to_huggingface(tmp_path / "blind")
    X, y = _data(3)
    found = _along(GPT2.from_huggingface(tmp_path / "blind"), X, y)
    assert_close(found, _along(blind, X, y), rtol=1e-6)


def test_a_backbone_from_elsewhere(tmp_path):
    """No prefix, no read-in, no header, masks and word embeddings inside."""
    model = _model(5)
    model.save(tmp_path / "m.safetensors")
    state = safetensors.numpy.load_file(tmp_path / "m.safetensors")
    plain = {
        name.removeprefix("transformer."): array
        for name, array in state.items()
        if "read_" not in name
    }
    plain["h.0.attn.bias"] = np.tril(np.ones((1, 1, 13, 13), np.float32))
    plain["h.0.attn.masked_bias"] = np.array(-1e4, np.float32)
    plain["wte.weight"] = np.zeros((50, 8), np.float32)
    plain["wpe.weight"] = np.concatenate([plain["wpe.weight"], np.zeros((1, 8), "f4")])
    path = tmp_path / "backbone.safetensors"
    safetensors.numpy.save_file(plain, path)
    with refused(
        f"GPT2.from_huggingface: {path} does not say how many heads there are;"
        " give `heads`"
    ):
        GPT2.from_huggingface(path)
    with refused(
        "GPT2.from_huggingface: the file has no read-in and read-out; give"
        " `dimension` and `key` for new ones"
    ):
        GPT2.from_huggingface(path, heads=2)
    again = GPT2.from_huggingface(path, heads=2, dimension=D, key=KEY)
    assert _same(model.blocks, again.blocks)
    assert again.max_examples == ROOM
    del plain["h.1.ln_2.bias"]
    safetensors.numpy.save_file(plain, path)
    with refused(
        "GPT2.from_huggingface: `path` must be a GPT-2 with `h.1.ln_2.bias`, got none"
    ):
        GPT2.from_huggingface(path, heads=2, dimension=D, key=KEY)


def test_other_activations_are_refused(tmp_path):
    _model(6).to_huggingface(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["activation_function"] = "relu"
    (tmp_path / "config.json").write_text(json.dumps(config))
    with refused(
        "GPT2.from_huggingface: `path` must be a GPT-2 with `activation_function` ="
        " gelu_new, got relu"
    ):
        GPT2.from_huggingface(tmp_path)


def test_damaged_weights_are_noticed(tmp_path):
    path = tmp_path / "m.safetensors"
    _model(6).save(path)
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedFile, match="its checksum does not match"):
        GPT2.load(path)


def test_refusals():
    with refused("GPT2: `width` must be divisible by `heads` = 3, got 8"):
        GPT2(D, ROOM, layers=1, heads=3, width=8, key=KEY)
    with refused(
        "GPT2.of_size: `size` must be one of tiny, small, standard, got 'huge'"
    ):
        GPT2.of_size("huge", D, ROOM, key=KEY)
    model = _model(6)
    X, y = _data(0, ROOM + 2)
    message = (
        "GPT2: `prompt` must be of at most 6 examples, as many as the table of"
        " positions is for, got 7 examples"
    )
    with refused(message.replace("GPT2", "GPT2.predictions")):
        model.predictions(X, y)
    with refused(message):
        model(Prompt(X[:-1], y[:-1], X[-1]))
    with refused(
        "GPT2.predictions: `inputs` must be an n×3 matrix like its `dimension`, got"
        " shape (3, 2)"
    ):
        model.predictions(X[:3, :2], y[:3])
    # No table, no limit.
    blind = _model(6, positional=False)
    found = eqx.filter_eval_shape(blind.predictions, X, y)
    assert found.shape == (ROOM + 2,)
