"""The standard transformer encoder, asked for one number per token."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, DTypeLike, Float, Int, PRNGKeyArray

from iclab.core import (
    Prompt,
    Size,
    checked,
    enough_memory,
    require,
)
from iclab.models._description import Savable
from iclab.models._transformer_parts import Affine, Block, Norm, mask_bias


@checked
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

    embedding: Affine
    blocks: Block  # stacked
    final_norm: Norm | None
    readout: Affine
    heads: Size = eqx.field(static=True)
    pre_norm: bool = eqx.field(static=True)

    def __check_init__(self):
        blocks = self.blocks
        L, (F, D) = len(blocks.attention.weight), blocks.network_in.weight.shape[-2:]
        norm = [] if self.final_norm is None else [self.final_norm.scale]
        # Biases and shifts fit these, as their own classes see.
        for name, array, shape in (
            ("embedding", self.embedding.weight, (D, self.dimension + 1)),
            ("blocks", blocks.attention_norm.scale, (L, D)),
            ("blocks", blocks.attention.weight, (L, 3 * D, D)),
            ("blocks", blocks.attention_out.weight, (L, D, D)),
            ("blocks", blocks.network_norm.scale, (L, D)),
            ("blocks", blocks.network_in.weight, (L, F, D)),
            ("blocks", blocks.network_out.weight, (L, D, F)),
            ("readout", self.readout.weight, (1, D)),
            *(("final_norm", array, (D,)) for array in norm),
        ):
            rule = f"made of arrays that fit the others, of shape {shape}"
            require(array.shape == shape, name, rule, f"shape {array.shape}")
        H = self.heads
        require(D % H == 0, "heads", f"a divisor of the width {D}", H)

    @classmethod
    def random(
        cls,
        key: PRNGKeyArray,
        *,
        input_dim: Size,
        layers: Size = 4,
        heads: Size = 8,
        width: Size = 256,
        hidden: Size = 512,
        pre_norm: bool = False,
        dtype: DTypeLike = jnp.float32,
    ) -> "Encoder":
        """Matrices uniform with variance 2/(inputs + outputs), biases zero.

        `width` is d_model and `hidden` d_ff.
        """
        d, L, D, F, H = input_dim, layers, width, hidden, heads
        require(D % H == 0, "width", f"a multiple of `heads` = {H}", D)
        product = "layers × width × (4 width + 2 hidden)"
        enough_memory(L * D * (4 * D + 2 * F), "layers", product)
        keys = jax.random.split(key, 6)

        def uniform(key, *shape):
            # Of a stack (queries, keys, values) each matrix counts for itself.
            limit = math.sqrt(6 / (shape[-1] + shape[-2]))
            return jax.random.uniform(key, shape, dtype, -limit, limit)

        def affine(key, outputs, inputs, *stack):
            weight = uniform(key, *stack, outputs, inputs)
            return Affine(weight, jnp.zeros((*stack, outputs), dtype))

        def norm(*stack):
            return Norm(jnp.ones((*stack, D), dtype), jnp.zeros((*stack, D), dtype))

        projections = uniform(keys[0], L, 3, D, D).reshape(L, 3 * D, D)
        blocks = Block(
            norm(L),
            Affine(projections, jnp.zeros((L, 3 * D), dtype)),
            affine(keys[1], D, D, L),
            norm(L),
            affine(keys[2], F, D, L),
            affine(keys[3], D, F, L),
        )
        return cls(
            affine(keys[4], D, d + 1),
            blocks,
            norm() if pre_norm else None,
            affine(keys[5], 1, D),
            H,
            pre_norm,
        )

    @property
    def dimension(self) -> int:
        """Dimension d of the tokens."""
        return self.embedding.weight.shape[-1] - 1

    @property
    def depth(self) -> int:
        """Number of blocks."""
        return len(self.blocks.attention.weight)

    def __call__(
        self, tokens: Float[Array, "K d"], labels: Float[Array, " N"]
    ) -> Float[Array, " K"]:
        """Predicted labels of all tokens, from those of the first N."""
        dtype = self.embedding.weight.dtype
        K, N = len(tokens), len(labels)
        require(N <= K, "labels", f"at most {K}, one per token", N)
        entries = jnp.concatenate([labels.astype(dtype), jnp.zeros(K - N, dtype)])
        E = jnp.column_stack([tokens.astype(dtype), entries])
        x, _ = jax.lax.scan(
            lambda x, block: (self._block(x, block), None),
            self.embedding(E),
            self.blocks,
        )
        return self._read_streams(x)

    def _query_streams(
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
        n, dtype = len(prompt.labels), self.embedding.weight.dtype
        shown = jnp.arange(n) < prompt.count
        labels = jnp.where(shown, prompt.labels, 0)
        if tokens is None:
            inputs = jnp.concatenate([prompt.examples, prompt.query[None]])
            row, others = n, 1
            # The rows of a padded prompt that are no examples are seen by nobody.
            bias = mask_bias(jnp.append(shown, True)[None], dtype)
        else:
            examples = jnp.where(shown[:, None], prompt.examples, tokens[:n])
            inputs = jnp.concatenate([examples, tokens[n:]])
            inputs = inputs.at[index].set(prompt.query)
            row, others, bias = index, len(tokens) - n, None
        E = jnp.column_stack([inputs, jnp.append(labels, jnp.zeros(others))])
        x = self.embedding(E.astype(dtype))

        def block(x, weights):
            x = self._block(x, weights, bias)
            return x, x[row]

        _, states = jax.lax.scan(block, x, self.blocks)
        return jnp.concatenate([x[row][None], states])

    def _read_streams(self, streams: Float[Array, "K width"]) -> Float[Array, " K"]:
        """What is read out of every row, after the final norm if there is one."""
        if self.final_norm is not None:
            streams = self.final_norm(streams)
        return self.readout(streams)[:, 0]

    def _block(
        self,
        x: Float[Array, "K width"],
        block: Block,
        bias: Float[Array, "1 K"] | None = None,
    ) -> Float[Array, "K width"]:
        first, second = block.attention_norm, block.network_norm
        if self.pre_norm:
            asking = first(x)
            x = x + block.attend(asking, asking, self.heads, bias)
            return x + block.network(second(x), jax.nn.relu)
        x = first(x + block.attend(x, x, self.heads, bias))
        return second(x + block.network(x, jax.nn.relu))
