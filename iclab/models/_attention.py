"""Attention as the papers define it, in layers or in a loop."""

import abc
import math
from typing import Literal, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, DTypeLike, Float, PRNGKeyArray

from iclab.core import (
    AbstractPredictor,
    Count,
    NonNegative,
    PositiveFloat,
    Prompt,
    Size,
    checked,
    enough_memory,
    nan_unless_finite,
    require,
    same_dimension,
)
from iclab.models._attention_weights import (
    MergedWeights,
    SeparateWeights,
    SparseWeights,
)
from iclab.models._description import Savable
from iclab.models._gram_space import (
    Moments,
    query_past_fixed_inputs,
    query_through_layers,
)
from iclab.models._transformer_parts import Affine, attention, gelu, mask_bias

# What scores may go through beside `softmax`, which takes all keys of a token at once.
POINTWISE = {
    "identity": lambda scores: scores,
    "relu": jax.nn.relu,
    "gelu": gelu,
    "tanh": jnp.tanh,
    "sigmoid": jax.nn.sigmoid,
    "exp": jnp.exp,
}

ACTIVATIONS = ("softmax", *POINTWISE)

TreeT = TypeVar("TreeT")


@checked
class Network(eqx.Module):
    """Two affine maps with an activation between them, for every token by itself."""

    into: Affine
    out: Affine
    activation: str = eqx.field(static=True, default="relu")

    def __check_init__(self):
        _known(self.activation, tuple(POINTWISE))

    def __call__(self, rows: Float[Array, "t k"]) -> Float[Array, "t k"]:
        return self.out(POINTWISE[self.activation](self.into(rows)))


@checked
class AbstractLayers(AbstractPredictor, Savable):
    """A model that is layers of attention: all but its weights is said here."""

    @abc.abstractmethod
    def _layers(self, loops: int | None) -> "Attention":
        """What `to_attention` promises."""

    @property
    @abc.abstractmethod
    def dimension(self) -> int:
        """Dimension d of the inputs."""

    @property
    @abc.abstractmethod
    def depth(self) -> int:
        """Number of layers, or of loops of a call that does not say otherwise."""

    def to_attention(self, loops: Size | None = None) -> "Attention":
        """The same model in the terms of `Attention`, a looped one `loops` times."""
        return self._layers(loops)

    def __call__(self, prompt: Prompt, loops: Size | None = None) -> Float[Array, ""]:
        """Predict, in Gram space if attention is linear and there is no network."""
        self._for(prompt, loops)
        return self.predictions_by_depth(prompt, loops)[-1]

    @nan_unless_finite
    def predictions_by_depth(
        self, prompt: Prompt, loops: Size | None = None
    ) -> Float[Array, " states"]:
        """0, then the prediction after one layer, two, …, in one pass."""
        found = self._for(prompt, loops)._read(self.streams(prompt, loops))
        return found.astype(prompt.labels.dtype)

    def streams(
        self, prompt: Prompt, loops: Size | None = None
    ) -> Float[Array, "states k"]:
        """The query's token before the first layer and after every one."""
        return self._for(prompt, loops)._streams(prompt)

    def in_token_space(
        self, prompt: Prompt, loops: Size | None = None
    ) -> Float[Array, ""]:
        """Predict by the forward pass as written, O(n²d) a layer."""
        model = self._for(prompt, loops)
        return model._read(model._token_streams(prompt))[-1]

    def streams_in_token_space(
        self, prompt: Prompt, loops: Size | None = None
    ) -> Float[Array, "states k"]:
        """`streams` by the forward pass as written."""
        return self._for(prompt, loops)._token_streams(prompt)

    def _for(self, prompt: Prompt, loops: int | None) -> "Attention":
        """`to_attention`, for a prompt that is of its dimension."""
        same_dimension(self.dimension, prompt)
        return self._layers(loops)


@checked
class Attention(AbstractLayers):
    r"""Layers of attention on the tokens (xᵢ, yᵢ) of the examples and (x_q, 0).

    $$Z_{\ell+1}=Z_\ell+\sum_{h=1}^HP_{\ell h}Z_\ell\,
      \varphi\big(Z_\ell^\top Q_{\ell h}Z_\ell\big),\qquad
      Z_0=\begin{pmatrix}x_1&\cdots&x_n&x_q\\y_1&\cdots&y_n&0\end{pmatrix},\qquad
      \hat y=[Z_L]_{d+1,n+1}$$

    What a layer is:

    - `weights`: P and Q themselves (`MergedWeights`), P = W^P W^V and Q = (W^K)ᵀW^Q
      (`SeparateWeights`), or their sparse forms (`SparseWeights`).
    - `activation` φ: `softmax` of every column, or one of `identity`, `relu`, `gelu`,
      `tanh`, `sigmoid` and `exp` of every entry.
    - `divisor` ρ: the number of examples (`"n"`), the root of the size of keys
      (`"root"`) or a number. Softmax divides the scores by it, softmax(·/ρ), and others
      what they make of them, φ(·)/ρ. Without it ρ is 1 for softmax and n for others.
    - `query`: as a key the query is `"absent"`, `"masked"` after the activation, where
      a softmax has counted it, or a `"key"` like any other.
    - `residual`: without it Z_ℓ is not added.
    - `network`: what each token goes through after attention, with a residual too.

    Every layer has weights of its own, or there is one that is applied `loops` times;
    `model(prompt, loops=50)` loops it more often. A `negated` model predicts minus the
    label entry.

    ```python
    model = Attention.random(key, dimension=5, heads=2, layers=3)
    model = Attention.random(key, dimension=5, activation="relu", loops=4)
    ```

    Linear attention with nothing but residuals is computed in Gram space, from moments
    of the prompt; `in_token_space` is always the forward pass as written. All others
    are computed as written, in the last layer for the query alone.

    Source: zhang2023, Section 3.2 (softmax: f_Attn; linear: (3.3)); ahn2023, (1)–(5);
        gatmiry2024, (2)–(4).
    Differs from the paper: a head's output has a matrix P of its own, whose sum over
        heads is that of W^P with heads beside each other.
    """

    weights: MergedWeights | SeparateWeights | SparseWeights
    network: Network | None
    activation: str = eqx.field(static=True)
    divisor: Literal["n", "root"] | PositiveFloat = eqx.field(static=True)
    query: Literal["absent", "masked", "key"] = eqx.field(static=True)
    residual: bool = eqx.field(static=True)
    negated: bool = eqx.field(static=True)
    loops: Size | None = eqx.field(static=True)

    def __init__(
        self,
        weights: MergedWeights | SeparateWeights | SparseWeights,
        activation: str = "softmax",
        *,
        divisor: Literal["n", "root"] | PositiveFloat | None = None,
        query: Literal["absent", "masked", "key"] = "absent",
        residual: bool = True,
        network: Network | None = None,
        negated: bool = False,
        loops: Size | None = None,
    ):
        self.weights, self.activation, self.network = weights, activation, network
        plain = 1.0 if activation == "softmax" else "n"
        self.divisor = plain if divisor is None else divisor
        self.query, self.residual, self.negated = query, residual, negated
        self.loops = loops

    def __check_init__(self):
        _known(self.activation, ACTIVATIONS)
        L, k = self.weights.layers, self.weights.width
        rule = "of tokens (x, y), of two entries at least"
        require(k >= 2, "weights", rule, f"tokens of size {k}")
        if L > 1:
            own_weights(self.loops)
        if self.network is not None:
            into, out = self.network.into.weight.shape, self.network.out.weight.shape
            rule = f"made of {L} maps from tokens of size {k} and back"
            fits = into == (L, into[-2], k) and out == (L, k, into[-2])
            require(fits, "network", rule, f"shapes {into} and {out}")

    @classmethod
    def random(
        cls,
        key: PRNGKeyArray,
        *,
        dimension: Size,
        layers: Size = 1,
        heads: Size = 1,
        activation: str = "softmax",
        weights: Literal["separate", "merged", "sparse"] = "separate",
        key_width: Size | None = None,
        hidden: Size | None = None,
        divisor: Literal["n", "root"] | PositiveFloat | None = None,
        query: Literal["absent", "masked", "key"] = "absent",
        residual: bool = True,
        loops: Size | None = None,
        scale: NonNegative = 1.0,
        dtype: DTypeLike = float,
    ) -> "Attention":
        """Gaussian weights, of variance `scale`²/k in a matrix with k columns.

        Separate keys, queries and values have `key_width` entries, as many as a token
        if it is not given. With `hidden` there is a network with so many units, with
        biases 0. The query predicts with the sign of its label entry.
        """
        d, k, L, H = dimension, dimension + 1, layers, heads
        e = k if key_width is None else key_width
        enough_memory(4 * L * H * max(e, k) * k, "heads", "4 layers × heads × key × d")
        keys = iter(jax.random.split(key, 6))

        def drawn(*shape: int) -> Array:
            drawn = jax.random.normal(next(keys), shape)
            return (scale / math.sqrt(shape[-1]) * drawn).astype(dtype)

        if weights == "separate":
            two = drawn(L, H, e, k), drawn(L, H, e, k)
            parts = SeparateWeights(*two, drawn(L, H, e, k), drawn(L, H, k, e))
        elif weights == "merged":
            parts = MergedWeights(drawn(L, H, k, k), drawn(L, H, k, k))
        else:
            parts = SparseWeights(drawn(L, H, d, d))
        network = None
        if hidden is not None:
            enough_memory(2 * L * hidden * k, "hidden", "2 layers × hidden × d")
            zeros = lambda size: jnp.zeros((L, size), dtype)  # noqa: E731
            into = Affine(drawn(L, hidden, k), zeros(hidden))
            network = Network(into, Affine(drawn(L, k, hidden), zeros(k)))
        return cls(
            parts,
            activation,
            divisor=divisor,
            query=query,
            residual=residual,
            network=network,
            loops=loops,
        )

    @property
    def dimension(self) -> int:
        """Dimension d of the inputs."""
        return self.weights.width - 1

    @property
    def depth(self) -> int:
        """Number of layers, or of loops of a call that does not say otherwise."""
        return self.weights.layers if self.loops is None else self.loops

    def _layers(self, loops: int | None) -> "Attention":
        if loops is None:
            return self
        if self.loops is None:
            own_weights(loops)
        return Attention(
            self.weights,
            self.activation,
            divisor=self.divisor,
            query=self.query,
            residual=self.residual,
            network=self.network,
            negated=self.negated,
            loops=loops,
        )

    def _read(self, streams: Float[Array, "states k"]) -> Float[Array, " states"]:
        return -streams[:, -1] if self.negated else streams[:, -1]

    def _streams(self, prompt: Prompt) -> Float[Array, "states k"]:
        linear = self.activation == "identity" and self.network is None
        if linear and self.divisor == "n":
            return self._from_moments(prompt.moments(), prompt.query, prompt.count)
        return self._token_streams(prompt)

    def _from_moments(
        self, moments: Moments, query: Float[Array, " d"], count: Count
    ) -> Float[Array, "states k"]:
        weights, masked = self.weights, self.query != "key"
        fixed = masked and self.residual and weights.heads == 1
        if fixed and isinstance(weights, SparseWeights) and weights.B is None:
            A, u = weights.A, weights.u
            u = jnp.zeros(A.shape[:-1], A.dtype) if u is None else u
            A, u = self._unrolled((A[:, 0], u[:, 0]))
            return query_past_fixed_inputs(A, u, moments, query)
        P, Q = self._unrolled(weights.merged())
        form = {"masked": masked, "residual": self.residual}
        return query_through_layers(P, Q, moments, query, count, **form)

    def _unrolled(self, layers: TreeT) -> TreeT:
        """Arrays of layers, a looped one as often as it is applied."""
        if self.loops is None:
            return layers
        L = self.loops
        repeat = lambda one: jnp.broadcast_to(one, (L, *one.shape[1:]))  # noqa: E731
        return jax.tree.map(repeat, layers)

    def _token_streams(self, prompt: Prompt) -> Float[Array, "states k"]:
        layers = self._unrolled((*self.weights.merged(), self.network))
        examples = jnp.column_stack([prompt.examples, prompt.labels])
        Z = jnp.vstack([examples, jnp.append(prompt.query, 0.0)])
        Z = Z.astype(jnp.result_type(Z, layers[0]))
        shown = jnp.arange(len(examples)) < prompt.count

        def layer(Z, weights):
            Z = self._layer(weights, Z, Z, shown, prompt.count)
            return Z, Z[-1]

        before, tokens = Z[-1:], []
        if self.depth > 1:
            first = jax.tree.map(lambda one: one[:-1], layers)
            Z, between = jax.lax.scan(layer, Z, first)
            tokens = [between]
        # Nobody looks at the other rows of the last layer.
        last = jax.tree.map(lambda one: one[-1], layers)
        after = self._layer(last, Z[-1:], Z, shown, prompt.count)
        return jnp.concatenate([before, *tokens, after])

    def _layer(
        self,
        weights: tuple[Array, Array, Network | None],
        asking: Float[Array, "r k"],
        tokens: Float[Array, "t k"],
        shown: Bool[Array, " n"],
        count: Count,
    ) -> Float[Array, "r k"]:
        """What a layer makes of the rows `asking`, with the tokens as keys."""
        P, Q, network = weights
        match self.divisor:
            case "n":
                rho = count
            case "root":
                rho = math.sqrt(self.weights.key_width)
            case rho:
                pass
        keys = tokens[:-1] if self.query == "absent" else tokens
        values = keys.at[-1].set(0) if self.query == "masked" else keys
        shown = jnp.append(shown, True)[None, : len(keys)]
        # Rows of all heads as one matrix, which meets the keys at once.
        queries = jnp.einsum("hde,re->hrd", Q, asking)
        rows = queries.reshape(-1, queries.shape[-1])
        if self.activation == "softmax":
            bias = mask_bias(shown, rows.dtype)
            mixed = attention(rows / rho, keys, values, bias)
        else:
            weighted = POINTWISE[self.activation](rows @ keys.T) / rho
            mixed = jnp.where(shown, weighted, 0) @ values
        mixed = mixed.reshape(queries.shape)
        found = jnp.einsum("hde,hre->rd", P, mixed)
        found = found + asking if self.residual else found
        if network is None:
            return found
        return network(found) + found if self.residual else network(found)


def own_weights(loops: int | None) -> None:
    """Refuse a number of loops where every layer has weights of its own."""
    rule = "None, as every layer has weights of its own"
    require(loops is None, "loops", rule, loops)


def _known(activation: str, names: tuple[str, ...]) -> None:
    rule = f"one of {', '.join(names)}"
    require(activation in names, "activation", rule, repr(activation))
