"""One layer of multi-head softmax attention over a dictionary of tokens."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, DTypeLike, Float, Int, PRNGKeyArray

from iclab.core import (
    Natural,
    NonNegative,
    Prompt,
    Size,
    checked,
    enough_memory,
    require,
)
from iclab.models._attention import Attention
from iclab.models._attention_weights import MergedWeights
from iclab.models._description import Savable


@checked
class MultiHeadSoftmax(Savable):
    r"""Predicts the labels of all K tokens from the labels of the first N.

    $$\hat y_k=\Big\langle y,\;\sum_{h=1}^Hw_{h,k}\,
      \mathrm{softmax}(V^\top Q_hv_k)\Big\rangle,\qquad k=1,\dots,K$$

    with Q_h = `key_query[h]` (d×d) and w_{h,k} = `value[h, k]`; V holds the first N
    tokens. The prediction is linear in the labels, ŷ = Âᵀy, with the N×K matrix Â of
    `weights`.

    It answers for a whole dictionary at once, and w belongs to the tokens of that
    dictionary: `OnPrompts` says which of them a prompt asks for. It computes in the
    precision of its parameters.

    Source: yang2024, (5)–(8).
    Differs from the paper: tokens are rows.
    """

    key_query: Float[Array, "heads d d"]
    value: Float[Array, "heads K"]

    @classmethod
    def random(
        cls,
        key: PRNGKeyArray,
        *,
        heads: Size,
        input_dim: Size,
        dictionary_size: Size,
        scale: NonNegative = 1.0,
        dtype: DTypeLike = float,
    ) -> "MultiHeadSoftmax":
        """The start of the paper: Q_h with entries N(0, β²), β = `scale`, and w = 0.

        Source: yang2024, Proposition 1 and Theorem 1.
        """
        H, d, K = heads, input_dim, dictionary_size
        enough_memory(H * d**2, "input_dim", "heads × input_dim²")
        enough_memory(H * K, "dictionary_size", "heads × dictionary_size")
        Q = scale * jax.random.normal(key, (H, d, d))
        return cls(Q.astype(dtype), jnp.zeros((H, K), dtype))

    @property
    def heads(self) -> int:
        """Number H of heads."""
        return self.key_query.shape[0]

    @property
    def dimension(self) -> int:
        """Dimension d of the tokens."""
        return self.key_query.shape[1]

    @property
    def dictionary_size(self) -> int:
        """Number K of tokens."""
        return self.value.shape[1]

    @property
    def depth(self) -> int:
        """One block."""
        return 1

    def attention(
        self, tokens: Float[Array, "K d"], context_length: Natural
    ) -> Float[Array, "heads N K"]:
        r"""Attention $s^h_k=\mathrm{softmax}(V^\top Q_hv_k)$ of token k on the first N.

        Source: yang2024, (28).
        """
        V, N = tokens.astype(self.key_query.dtype), context_length
        self._holds(N, "context_length")
        # Keys first: H·N·d numbers, where H·d·K would stand the other way round.
        # A copy of V for every head: a product over all at once transposes every Q_h.
        keys = jnp.broadcast_to(V[:N], (self.heads, *V[:N].shape)) @ self.key_query
        return jax.nn.softmax(keys @ V.T, axis=1)

    def weights(
        self, tokens: Float[Array, "K d"], context_length: Natural
    ) -> Float[Array, "N K"]:
        r"""$\hat A(\theta)=\big(\sum_hw_{h,k}s^h_k\big)_k$, with which $\hat y=\hat
        A^\top y$.

        Source: yang2024, (35).
        """
        attention = self.attention(tokens, context_length)
        return jnp.sum(self.value[:, None, :] * attention, axis=0)

    def __call__(
        self, tokens: Float[Array, "K d"], labels: Float[Array, " N"]
    ) -> Float[Array, " K"]:
        """Predicted labels of all tokens, from those of the first N."""
        self._holds(len(labels), "labels")
        return labels.astype(self.value.dtype) @ self.weights(tokens, len(labels))

    def _query_streams(
        self,
        prompt: Prompt,
        tokens: Float[Array, "K d"] | None,
        index: Int[Array, ""] | None,
    ) -> Float[Array, "2 d1"]:
        r"""(x_q, 0), and what the heads make of the examples for token k = `index`,

        $$\sum_hw_{h,k}\sum_i\mathrm{softmax}_i(x_i^\top Q_hx_q)\,(x_i,y_i)$$

        of which W_V keeps the last entry, the prediction. Nothing but the examples is
        looked at: `tokens` have no part in it.
        """
        k, dtype = self.dimension + 1, self.value.dtype
        P = jnp.einsum("h,de->hde", self.value[:, index], jnp.eye(k, dtype=dtype))
        Q = jnp.pad(self.key_query, ((0, 0), (0, 1), (0, 1)))
        heads = Attention(MergedWeights(P[None], Q[None]), residual=False)
        X, y = prompt.examples.astype(dtype), prompt.labels.astype(dtype)
        prompt = Prompt(X, y, prompt.query.astype(dtype), count=prompt.count)
        return heads._token_streams(prompt)

    def _read_streams(
        self, streams: Float[Array, "states d1"]
    ) -> Float[Array, " states"]:
        """Predictions: the label entries."""
        return streams[:, -1]

    def in_token_space(
        self, tokens: Float[Array, "K d"], labels: Float[Array, " N"]
    ) -> Float[Array, " K"]:
        """The same by (5)–(7) as written: the reference, for small sizes."""
        return jnp.diagonal(self.output(tokens, labels))

    def output(
        self, tokens: Float[Array, "K d"], labels: Float[Array, " N"]
    ) -> Float[Array, "K K"]:
        r"""The attention map T(E) of (6); its diagonal is the prediction.

        $$T(E)=W^O\begin{pmatrix}\mathrm{head}_1\\\vdots\\\mathrm{head}_H\end{pmatrix},
          \qquad\mathrm{head}_h=W^V_hE^P\,\mathrm{softmax}\big((E^P)^\top(W^K_h)^\top
          W^Q_hE\big)$$
        """
        V, N = tokens.astype(self.key_query.dtype), len(labels)
        self._holds(N, "labels")
        W_O, W_V, W_K, W_Q = self.projections()
        shown = jnp.column_stack([V[:N], labels]).T
        asked = jnp.column_stack([V[N:], jnp.zeros(len(V) - N)]).T
        E = jnp.concatenate([shown, asked], axis=1)

        def head(W_V, W_K, W_Q):
            scores = shown.T @ W_K.T @ W_Q @ E
            return W_V @ shown @ jax.nn.softmax(scores, axis=0)

        heads = jax.vmap(head)(W_V, W_K, W_Q)
        return W_O @ heads.reshape(-1, len(V))

    def projections(
        self,
    ) -> tuple[
        Float[Array, "K HK"],
        Float[Array, "heads K k"],
        Float[Array, "heads k k"],
        Float[Array, "heads k k"],
    ]:
        """W_O, W_V, W_K, W_Q of (7), k = d+1: W_O = (I, …, I), W_V = (0, w_h), and
        W_K = I beside W_Q = diag(Q_h, 0), one of many pairs with the product (7b).
        """
        H, d, K = self.heads, self.dimension, self.dictionary_size
        W_O = jnp.tile(jnp.eye(K), (1, H))
        W_V = jnp.zeros((H, K, d + 1)).at[:, :, d].set(self.value)
        W_Q = jnp.zeros((H, d + 1, d + 1)).at[:, :d, :d].set(self.key_query)
        W_K = jnp.broadcast_to(jnp.eye(d + 1), W_Q.shape)
        return W_O, W_V, W_K, W_Q

    def _holds(self, count: int, name: str) -> None:
        rule = f"at most the dictionary's size {self.dictionary_size}"
        require(count <= self.dictionary_size, name, rule, count)
