"""GPT-2 on prompts: inputs and labels as tokens of their own."""

import functools
import math
import os
from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Float, Int, PRNGKeyArray

from iclab.core import (
    AbstractPredictor,
    Lengths,
    Natural,
    Prompt,
    Size,
    checked,
    context_lengths,
    enough_memory,
    refuse,
    require,
    same_dimension,
)
from iclab.models import _gpt2_files
from iclab.models._description import instance
from iclab.models._gpt2_files import PARTS
from iclab.models._transformer_parts import (
    Affine,
    Block,
    Norm,
    gelu,
    mask_bias,
    standardise,
)

# Layers, heads, width.
GPT2_SIZES = {"tiny": (3, 2, 64), "small": (6, 4, 128), "standard": (12, 8, 256)}

_MOST_LAYERS = 1000

# Of the weights at the start, as GPT-2 has it.
_DEVIATION = 0.02

MethodT = TypeVar("MethodT", bound=Callable[..., Any])


def _whole(method: MethodT) -> MethodT:
    """One program in place of a hundred small ones where nobody else compiles.

    Inside of other programs nothing changes.
    """
    jit: Any = eqx.filter_jit
    return jit(method, inline=True)


@checked
class GPT2(AbstractPredictor):
    r"""GPT-2 that reads a prompt as the tokens x₁, y₁, x₂, y₂, …, x_q.

    A label is padded with zeros to a vector of the inputs' dimension d, (y, 0, …, 0);
    one linear map takes all tokens to the model's width and one takes what leaves the
    last block to a number. The prediction for an input is read at its own token, which
    sees only what stands before it, so one pass predicts at every context length.

    ```python
    model = GPT2.of_size("tiny", dimension=5, max_examples=40, key=key)
    model(prompt)                       # prediction at the query
    model.predictions(prompt.examples, prompt.labels)   # of all, from those before
    ```

    `max_examples` is how many the table of positions is made for; `positional=False`
    leaves the table out, and prompts may be of any length.

    Computes in the precision of its weights, float32 unless `dtype` says otherwise.

    Source: zhang2023, Section 4.3 and Appendix E.
    Differs from the paper: no embedding table for words, which its code carries along.
    """

    read_in: Affine
    positions: Float[Array, "tokens w"] | None
    blocks: tuple[Block, ...]
    final_norm: Norm
    read_out: Affine
    heads: Size = eqx.field(static=True)

    def __init__(
        self,
        dimension: Size,
        max_examples: Size,
        *,
        layers: Size,
        heads: Size,
        width: Size,
        positional: bool = True,
        dtype: DTypeLike = jnp.float32,
        key: PRNGKeyArray,
    ):
        d, n, w = dimension, max_examples, width
        rule = f"at most {_MOST_LAYERS:,}, each of which is compiled by itself"
        require(layers <= _MOST_LAYERS, "layers", rule, layers)
        enough_memory(12 * layers * w**2, "width", "12 layers × width²")
        self.heads = heads
        keys = iter(jax.random.split(key, 4 * layers + 5))
        affine = functools.partial(_affine, dtype=dtype)
        norm = lambda: Norm(jnp.ones(w, dtype), jnp.zeros(w, dtype))  # noqa: E731
        # What a block adds to the stream starts smaller the more blocks there are.
        small = _DEVIATION / math.sqrt(2 * layers)
        self.read_in = _outer_affine(next(keys), next(keys), w, d, dtype)
        table = _DEVIATION * jax.random.normal(next(keys), (2 * n + 1, w), dtype)
        self.positions = table if positional else None
        self.blocks = tuple(
            Block(
                norm(),
                affine(next(keys), 3 * w, w, _DEVIATION),
                affine(next(keys), w, w, small),
                norm(),
                affine(next(keys), 4 * w, w, _DEVIATION),
                affine(next(keys), w, 4 * w, small),
            )
            for _ in range(layers)
        )
        self.final_norm = norm()
        self.read_out = _outer_affine(next(keys), next(keys), 1, w, dtype)

    def __check_init__(self):
        width, H = len(self.read_in.weight), self.heads
        require(width % H == 0, "width", f"divisible by `heads` = {H}", width)

    @classmethod
    def of_size(
        cls,
        size: str,
        dimension: int,
        max_examples: int,
        *,
        positional: bool = True,
        dtype: DTypeLike = jnp.float32,
        key: PRNGKeyArray,
    ) -> "GPT2":
        """A model of size `tiny` (3 layers, 2 heads, width 64), `small` or `standard`.

        `small` has 6 layers, 4 heads, width 128; `standard` has 12, 8 and 256, and is
        the model of Garg et al. and of zhang2023.
        """
        rule = f"one of {', '.join(GPT2_SIZES)}"
        require(size in GPT2_SIZES, "size", rule, repr(size))
        layers, heads, width = GPT2_SIZES[size]
        return cls(
            dimension,
            max_examples,
            layers=layers,
            heads=heads,
            width=width,
            positional=positional,
            dtype=dtype,
            key=key,
        )

    @property
    def dimension(self) -> int:
        """Dimension d of the inputs."""
        return self.read_in.weight.shape[1]

    @property
    def depth(self) -> int:
        """Number of blocks."""
        return len(self.blocks)

    @property
    def max_examples(self) -> int | None:
        """Longest context that the table of positions is made for; None: any."""
        return None if self.positions is None else (len(self.positions) - 1) // 2

    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        return self._at_lengths(prompt, prompt.count[None])[0]

    @_whole
    def predictions_by_depth(self, prompt: Prompt) -> Float[Array, " states"]:
        """What the last norm and the read-out say after 0, 1, … blocks."""
        return self._read(self.streams(prompt)).astype(prompt.labels.dtype)

    @_whole
    def streams(self, prompt: Prompt) -> Float[Array, "states w"]:
        """The residual stream at the query's token after 0, 1, … blocks."""
        states = self._states(*self._with_queries(prompt, prompt.count[None]))
        return jnp.concatenate(states)

    def at_lengths(self, prompt: Prompt, lengths: Lengths) -> Float[Array, " m"]:
        """Predictions from the first `lengths[j]` examples, for every j, in one pass.

        The query enters as m tokens; the j-th stands where it would after `lengths[j]`
        examples, sees those and itself, and is seen by nobody.
        """
        wanted = context_lengths(lengths)
        return self._at_lengths(prompt, jnp.minimum(wanted, prompt.count))

    def predictions(
        self, inputs: Float[Array, "n d"], labels: Float[Array, " n"]
    ) -> Float[Array, " n"]:
        """Predicted label of every input from the pairs before it, in one pass.

        Entry i sees x₁, y₁, …, x_i, y_i, x_{i+1}: it is the prediction at context
        length i. The last label is not looked at.
        """
        return self._predictions(inputs, labels)

    def batch_predictions(
        self, inputs: Float[Array, "prompts n d"], labels: Float[Array, "prompts n"]
    ) -> Float[Array, "prompts n"]:
        """`predictions` of many prompts; its gradient is faster than that of a `vmap`.

        All tokens of all prompts are then rows of one matrix.
        """
        return self._predictions(inputs, labels)

    @_whole
    def _predictions(
        self, inputs: Float[Array, "*prompts n d"], labels: Float[Array, "*prompts n"]
    ) -> Float[Array, "*prompts n"]:
        n = inputs.shape[-2]
        self._fits(n - 1)
        tokens = self._context(inputs, labels)[..., : 2 * n - 1, :]
        if self.positions is not None:
            table = self.positions[: 2 * n - 1]
            tokens = tokens + jnp.expand_dims(table, range(tokens.ndim - 2))
        seen = jnp.tri(2 * n - 1, dtype=bool)
        states = self._states(tokens, seen, slice(None, None, 2))
        return self._read(states[-1]).astype(labels.dtype)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the weights to a safetensors file with names as Hugging Face has them.

        Layouts too; read-in and read-out are `read_in` and `read_out`.
        """
        _gpt2_files.write_file(path, self._state(), self.heads)

    def to_huggingface(self, path: str | os.PathLike[str]) -> None:
        """Write a folder that Hugging Face's GPT-2 reads as its backbone.

        It holds `config.json` and `model.safetensors`; tokens go in as `inputs_embeds`.
        """
        _gpt2_files.write_folder(path, self._state(), self.heads)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "GPT2":
        """The model in a file that `save` wrote."""
        return cls.from_huggingface(path)

    @classmethod
    def from_huggingface(
        cls,
        path: str | os.PathLike[str],
        *,
        heads: Natural | None = None,
        dimension: Size | None = None,
        key: PRNGKeyArray | None = None,
    ) -> "GPT2":
        """A model from a state dict of GPT-2: a safetensors file, or a folder with one.

        A folder may hold its model in several files. `heads` is needed where no
        `config.json` beside the file and no header tells it, and must not contradict
        them; a backbone without read-in and read-out gets new ones for inputs of
        `dimension`, from `key`. Names may begin with `transformer.`, or be those of
        Garg et al. (`_read_in`, `_backbone.…`, `_read_out`); masks and word embeddings
        are ignored. See docs/weights.md.
        """
        state, layers, heads = _gpt2_files.read_state(path, heads)
        if heads is None:
            refuse(f"{path} does not say how many heads there are; give `heads`")
        if "read_in.weight" not in state:
            state |= _new_ends(state, dimension, key)
        _gpt2_files.check(state, layers)
        model = cls._from_state(state, layers, heads)
        rule = f"{model.dimension}, as the file has it"
        same = dimension in (None, model.dimension)
        require(same, "dimension", rule, dimension)
        return model

    def _fits(self, examples: int) -> None:
        most = self.max_examples
        rule = f"of at most {most} examples, as many as the table of positions is for"
        fits = most is None or examples <= most
        require(fits, "prompt", rule, f"{examples} examples")

    def _context(
        self, inputs: Float[Array, "*prompts n d"], labels: Float[Array, "*prompts n"]
    ) -> Float[Array, "*prompts t w"]:
        """x₁, y₁, x₂, y₂, … after the read-in."""
        dtype, d = self.read_in.weight.dtype, inputs.shape[-1]
        pads = [(0, 0)] * labels.ndim + [(0, d - 1)]
        padded = jnp.pad(labels[..., None].astype(dtype), pads)
        tokens = jnp.stack([inputs.astype(dtype), padded], axis=-2)
        return self.read_in(tokens.reshape(*labels.shape[:-1], -1, d))

    @_whole
    def _at_lengths(
        self, prompt: Prompt, lengths: Int[Array, " m"]
    ) -> Float[Array, " m"]:
        states = self._states(*self._with_queries(prompt, lengths))
        return self._read(states[-1]).astype(prompt.labels.dtype)

    def _with_queries(
        self, prompt: Prompt, lengths: Int[Array, " m"]
    ) -> tuple[Float[Array, "t w"], Bool[Array, "t t"], slice]:
        """The prompt's tokens and m queries, what each sees, and the queries' rows."""
        same_dimension(self.dimension, prompt)
        n, m = len(prompt.labels), len(lengths)
        self._fits(n)
        context = self._context(prompt.examples, prompt.labels)
        query = self.read_in(prompt.query[None].astype(context.dtype))
        queries = jnp.broadcast_to(query, (m, query.shape[1]))
        if self.positions is not None:
            context = context + self.positions[: 2 * n]
            queries = queries + self.positions[2 * lengths]
        of_context = jnp.tri(2 * n, 2 * n + m, dtype=bool)
        before = jnp.arange(2 * n)[None] < 2 * lengths[:, None]
        of_queries = jnp.concatenate([before, jnp.eye(m, dtype=bool)], axis=1)
        tokens = jnp.concatenate([context, queries])
        seen = jnp.concatenate([of_context, of_queries])
        return tokens, seen, slice(2 * n, None)

    def _states(
        self, stream: Float[Array, "*batch t w"], seen: Bool[Array, "t t"], rows: slice
    ) -> list[Float[Array, "*batch r w"]]:
        """The stream at `rows` by depth; token i attends to the tokens in `seen[i]`."""
        bias = mask_bias(seen, stream.dtype)
        *others, last = self.blocks
        states = [stream[..., rows, :]]
        for block in others:
            stream = self._through(block, stream, bias, None)
            states.append(stream[..., rows, :])
        # Nobody looks at the last block's other rows.
        return [*states, self._through(last, stream, bias[rows], rows)]

    def _through(
        self,
        block: Block,
        stream: Float[Array, "*batch t w"],
        bias: Float[Array, "rows t"],
        rows: slice | None,
    ) -> Float[Array, "*batch rows w"]:
        """The stream after a block, at `rows`; `bias` says what they attend to."""
        block = block.standardised()
        asked = asking = standardise(stream)
        if rows is not None:
            stream, asking = stream[..., rows, :], asked[..., rows, :]
        stream = stream + block.attend(asking, asked, self.heads, bias)
        return stream + block.network(standardise(stream), gelu)

    def _read(self, rows: Float[Array, "*batch r w"]) -> Float[Array, "*batch r"]:
        return self.read_out.after(self.final_norm)(standardise(rows))[..., 0]

    def _state(self) -> dict[str, np.ndarray]:
        """Arrays by Hugging Face's names."""
        parts: dict[str, Affine | Norm] = {
            "read_in": self.read_in,
            "ln_f": self.final_norm,
            "read_out": self.read_out,
        }
        for i, block in enumerate(self.blocks):
            parts |= {f"h.{i}.{name}": getattr(block, PARTS[name]) for name in PARTS}
        table = self.positions
        state = {} if table is None else {"wpe.weight": np.asarray(table)}
        for name, part in parts.items():
            weight, bias = map(np.asarray, jax.tree.leaves(part))
            # In its blocks a matrix is (in, out).
            state[f"{name}.weight"] = weight.T if name.startswith("h.") else weight
            state[f"{name}.bias"] = bias
        return state

    @classmethod
    def _from_state(
        cls, state: dict[str, np.ndarray], layers: int, heads: int
    ) -> "GPT2":
        arrays = {name: jnp.asarray(array) for name, array in state.items()}

        def part(name: str) -> Affine | Norm:
            weight, bias = arrays[f"{name}.weight"], arrays[f"{name}.bias"]
            if weight.ndim == 1:
                return Norm(weight, bias)
            return Affine(weight.T if name.startswith("h.") else weight, bias)

        def block(i: int) -> Block:
            parts: Any = {PARTS[name]: part(f"h.{i}.{name}") for name in PARTS}
            return Block(**parts)

        fields = {
            "read_in": part("read_in"),
            "positions": arrays.get("wpe.weight"),
            "blocks": tuple(map(block, range(layers))),
            "final_norm": part("ln_f"),
            "read_out": part("read_out"),
            "heads": heads,
        }
        return instance(cls, fields)


def _new_ends(
    state: dict[str, np.ndarray], dimension: int | None, key: PRNGKeyArray | None
) -> dict[str, np.ndarray]:
    """Read-in and read-out for a backbone that came without."""
    if dimension is None or key is None:
        refuse(
            "the file has no read-in and read-out; give `dimension` and `key` for new"
            " ones"
        )
    scale = state["ln_f.weight"]
    w, keys = len(scale), jax.random.split(key, 4)
    ends = {
        "read_in": _outer_affine(keys[0], keys[1], w, dimension, scale.dtype),
        "read_out": _outer_affine(keys[2], keys[3], 1, w, scale.dtype),
    }
    return {
        f"{name}.{field}": np.asarray(getattr(end, field))
        for name, end in ends.items()
        for field in ("weight", "bias")
    }


def _affine(
    key: PRNGKeyArray, out: int, inner: int, deviation: float, dtype: DTypeLike
) -> Affine:
    weight = deviation * jax.random.normal(key, (out, inner), dtype)
    return Affine(weight, jnp.zeros(out, dtype))


def _outer_affine(
    key: PRNGKeyArray, bias_key: PRNGKeyArray, out: int, inner: int, dtype: DTypeLike
) -> Affine:
    """Uniform on ±1/√inner, PyTorch's default: how read-in and read-out begin."""
    r = 1 / math.sqrt(inner)
    weight = jax.random.uniform(key, (out, inner), dtype, minval=-r, maxval=r)
    bias = jax.random.uniform(bias_key, (out,), dtype, minval=-r, maxval=r)
    return Affine(weight, bias)
