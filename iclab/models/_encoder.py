"""The standard transformer encoder, asked for one number per token."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, DTypeLike, Float, Int, PRNGKeyArray

from iclab.core import Prompt, positive_integer, require
from iclab.models._description import Savable

# Added to a variance before its root is taken.
_EPSILON = 1e-5


class _Block(eqx.Module):
    """Weights of one block; stacked over blocks by a leading axis."""

    attention_in: Float[Array, "*layers three_width width"]
    attention_in_bias: Float[Array, "*layers three_width"]
    attention_out: Float[Array, "*layers width width"]
    attention_out_bias: Float[Array, "*layers width"]
    hidden: Float[Array, "*layers hidden width"]
    hidden_bias: Float[Array, "*layers hidden"]
    output: Float[Array, "*layers width hidden"]
    output_bias: Float[Array, "*layers width"]
    norms: Float[Array, "*layers 2 2 width"]


class Encoder(Savable):
    r"""Blocks of self-attention and a two-layer ReLU network, residuals around both.

    Token k is (v_k, y_k) if its label is shown and (v_k, 0) if not. It is embedded in
    ℝ^`width`, passes `layers` blocks in which all tokens attend to all, and leaves one
    number, its predicted label. Post-norm, x ← norm(x + block(x)), is the original;
    `pre_norm` is x ← x + block(norm(x)) with one norm more at the end. There are no
    positions: predictions turn with the order of the tokens. `OnPrompts` makes a
    predictor of single prompts of it.

    Parameters are float32 unless `dtype` says otherwise, and so is what it computes.

    Source: yang2024, Section 4, "standard transformer".
    Differs from the paper: it names only the widths; the embedding, the readout, the
        missing dropout and the absent positions are choices made here.
    """

    embedding: Float[Array, "width d1"]
    embedding_bias: Float[Array, " width"]
    blocks: _Block
    final_norm: Float[Array, "2 width"] | None
    readout: Float[Array, " width"]
    readout_bias: Float[Array, ""]
    heads: int = eqx.field(static=True)
    pre_norm: bool = eqx.field(static=True)

    @classmethod
    def random(
        cls,
        key: PRNGKeyArray,
        *,
        input_dim: int,
        layers: int = 4,
        heads: int = 8,
        width: int = 256,
        hidden: int = 512,
        pre_norm: bool = False,
        dtype: DTypeLike = jnp.float32,
    ) -> "Encoder":
        """Matrices uniform with variance 2/(inputs + outputs), biases zero.

        `width` is d_model and `hidden` d_ff.
        """
        owner = "Encoder.random"
        d = positive_integer(input_dim, owner, "input_dim")
        L = positive_integer(layers, owner, "layers")
        D = positive_integer(width, owner, "width")
        F = positive_integer(hidden, owner, "hidden")
        H = positive_integer(heads, owner, "heads")
        require(D % H == 0, owner, "width", f"a multiple of `heads` = {H}", D)
        keys = jax.random.split(key, 6)

        def uniform(key, *shape):
            # Of a stack (queries, keys, values) each matrix counts for itself.
            limit = math.sqrt(6 / (shape[-1] + shape[-2]))
            return jax.random.uniform(key, shape, dtype, -limit, limit)

        attention_in = uniform(keys[0], L, 3, D, D).reshape(L, 3 * D, D)
        identity = jnp.stack([jnp.ones(D, dtype), jnp.zeros(D, dtype)])
        blocks = _Block(
            attention_in,
            jnp.zeros((L, 3 * D), dtype),
            uniform(keys[1], L, D, D),
            jnp.zeros((L, D), dtype),
            uniform(keys[2], L, F, D),
            jnp.zeros((L, F), dtype),
            uniform(keys[3], L, D, F),
            jnp.zeros((L, D), dtype),
            jnp.broadcast_to(identity, (L, 2, 2, D)),
        )
        return cls(
            uniform(keys[4], D, d + 1),
            jnp.zeros(D, dtype),
            blocks,
            identity if pre_norm else None,
            uniform(keys[5], 1, D)[0],
            jnp.zeros((), dtype),
            H,
            pre_norm,
        )

    @property
    def dimension(self) -> int:
        """Dimension d of the tokens."""
        return self.embedding.shape[1] - 1

    @property
    def depth(self) -> int:
        """Number of blocks."""
        return len(self.blocks.norms)

    def __call__(
        self, tokens: Float[Array, "K d"], labels: Float[Array, " N"]
    ) -> Float[Array, " K"]:
        """Predicted labels of all tokens, from those of the first N."""
        owner, dtype = "Encoder", self.embedding.dtype
        rule = f"a K×{self.dimension} matrix, a row per token"
        holds = tokens.ndim == 2 and tokens.shape[1] == self.dimension
        require(holds, owner, "tokens", rule, f"shape {tokens.shape}")
        K, N = len(tokens), len(labels)
        require(N <= K, owner, "labels", f"at most {K}, one per token", N)
        entries = jnp.concatenate([labels.astype(dtype), jnp.zeros(K - N, dtype)])
        E = jnp.column_stack([tokens.astype(dtype), entries])
        x, _ = jax.lax.scan(
            lambda x, block: (self._block(x, block), None), self._embed(E), self.blocks
        )
        return self.read_streams(x)

    def query_streams(
        self,
        prompt: Prompt,
        tokens: Float[Array, "K d"] | None,
        index: Int[Array, ""] | None,
    ) -> Float[Array, "states width"]:
        """The state at the query before the first block and after every one.

        Without `tokens` the model reads the examples and the query; with a dictionary,
        all of it, the examples in the place of its first tokens and the query in that
        of token `index`.
        """
        n, dtype = len(prompt.labels), self.embedding.dtype
        shown = jnp.arange(n) < prompt.count
        labels = jnp.where(shown, prompt.labels, 0)
        if tokens is None:
            inputs = jnp.concatenate([prompt.examples, prompt.query[None]])
            row, others = n, 1
            # The rows of a padded prompt that are no examples are seen by nobody.
            bias = jnp.where(jnp.append(shown, True), 0, -jnp.inf).astype(dtype)
        else:
            examples = jnp.where(shown[:, None], prompt.examples, tokens[:n])
            inputs = jnp.concatenate([examples, tokens[n:]])
            inputs = inputs.at[index].set(prompt.query)
            row, others, bias = index, len(tokens) - n, None
        E = jnp.column_stack([inputs, jnp.append(labels, jnp.zeros(others))])
        x = self._embed(E.astype(dtype))

        def block(x, weights):
            x = self._block(x, weights, bias)
            return x, x[row]

        _, states = jax.lax.scan(block, x, self.blocks)
        return jnp.concatenate([x[row][None], states])

    def read_streams(self, streams: Float[Array, "K width"]) -> Float[Array, " K"]:
        """What is read out of every row, after the final norm if there is one."""
        if self.final_norm is not None:
            streams = _normalised(streams, self.final_norm)
        return streams @ self.readout + self.readout_bias

    def _embed(self, E: Float[Array, "K d1"]) -> Float[Array, "K width"]:
        return E @ self.embedding.T + self.embedding_bias[None]

    def _block(
        self,
        x: Float[Array, "K width"],
        block: _Block,
        bias: Float[Array, " K"] | None = None,
    ) -> Float[Array, "K width"]:
        first, second = block.norms
        if self.pre_norm:
            x = x + self._attention(_normalised(x, first), block, bias)
            return x + _network(_normalised(x, second), block)
        x = _normalised(x + self._attention(x, block, bias), first)
        return _normalised(x + _network(x, block), second)

    def _attention(
        self,
        x: Float[Array, "K width"],
        block: _Block,
        bias: Float[Array, " K"] | None,
    ) -> Float[Array, "K width"]:
        K, D = x.shape
        projected = x @ block.attention_in.T + block.attention_in_bias[None]
        split = projected.reshape(K, 3, self.heads, D // self.heads)

        def head(parts):
            query, key, value = parts
            scores = query @ key.T / math.sqrt(D // self.heads)
            if bias is not None:
                scores = scores + bias[None]
            return jax.nn.softmax(scores, axis=1) @ value

        # One head after the other: a batch of prompts is then the only batch axis of
        # every product, and no slower.
        mixed = jax.lax.map(head, split.transpose(2, 1, 0, 3))
        joined = mixed.transpose(1, 0, 2).reshape(K, D)
        return joined @ block.attention_out.T + block.attention_out_bias[None]


def _network(x: Float[Array, "K width"], block: _Block) -> Float[Array, "K width"]:
    hidden = jax.nn.relu(x @ block.hidden.T + block.hidden_bias[None])
    return hidden @ block.output.T + block.output_bias[None]


def _normalised(
    x: Float[Array, "K width"], norm: Float[Array, "2 width"]
) -> Float[Array, "K width"]:
    """Rows of mean 0 and variance 1, then scaled and shifted by the rows of `norm`."""
    centred = x - jnp.mean(x, axis=1, keepdims=True)
    variance = jnp.mean(centred**2, axis=1, keepdims=True)
    return centred / jnp.sqrt(variance + _EPSILON) * norm[0][None] + norm[1][None]
