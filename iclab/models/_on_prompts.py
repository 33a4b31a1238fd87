"""Models over a dictionary of tokens, asked for the query of a prompt."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from iclab.core import (
    AbstractPredictor,
    Prompt,
    checked,
    if_finite,
    is_traced,
    require,
    same_dimension,
)
from iclab.models._description import Savable
from iclab.models._encoder import Encoder
from iclab.models._multi_head_softmax import MultiHeadSoftmax


@checked
class OnPrompts(AbstractPredictor, Savable):
    """A model that answers for many tokens at once, as a predictor of one query.

    ```python
    encoder = Encoder.random(key, input_dim=5, layers=1, heads=2, width=8, hidden=8)
    softmax = MultiHeadSoftmax.random(key, heads=4, input_dim=5, dictionary_size=20)
    tokens = jax.random.normal(key, (20, 5))

    OnPrompts(encoder)                  # reads the examples and the query, nothing else
    OnPrompts(encoder, tokens)          # reads the dictionary, as in yang2024
    OnPrompts(softmax, tokens)          # finds the query among the tokens: whose w?
    OnPrompts(softmax, query=7)         # any prompt, answered with the w of token 7
    ```

    The prompt's examples stand in the place of the first `tokens`, its query in the
    place of token `query`; tokens behind the examples are read without a label. If
    `query` is not given it is the token that equals the prompt's query, and a query
    that is none of them is an error. Tokens are data: no gradient reaches them.
    """

    model: MultiHeadSoftmax | Encoder
    tokens: Float[Array, "K d"] | None
    query: Int[Array, ""] | None

    def __init__(
        self,
        model: MultiHeadSoftmax | Encoder,
        tokens: Float[Array, "K d"] | None = None,
        query: int | Int[Array, ""] | None = None,
    ):
        self.model = model
        self.tokens = None if tokens is None else jnp.asarray(tokens)
        self.query = None if query is None else jnp.asarray(query)

    def __check_init__(self):
        tokens, query = self.tokens, self.query
        d, K = self.dimension, 0 if tokens is None else len(tokens)
        if isinstance(self.model, MultiHeadSoftmax):
            K = self.model.dictionary_size
            rule = "given where `tokens` are not: every token has weights of its own"
            require(not (tokens is None and query is None), "query", rule, query)
        elif tokens is None:
            rule = "None where `tokens` are: it is a place among them"
            require(query is None, "query", rule, query)
        if tokens is not None:
            rule, found = f"a {K}×{d} matrix, a row per token", f"shape {tokens.shape}"
            require(tokens.shape == (K, d), "tokens", rule, found)
        if query is not None and not is_traced(query):
            rule = f"the number of a token, from 0 to {K - 1}"
            require(0 <= int(query) < K, "query", rule, query)

    @property
    def dimension(self) -> int:
        """Dimension d of the inputs."""
        return self.model.dimension

    @property
    def depth(self) -> int:
        """Number of blocks."""
        return self.model.depth

    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        answer = self.predictions_by_depth(prompt)[-1]
        # Examples and queries that are infinite end as NaN in a softmax; labels do not.
        return if_finite(lambda _: answer, prompt.labels)

    def predictions_by_depth(self, prompt: Prompt) -> Float[Array, " states"]:
        """What the model's readout says at the query after 0, 1, … blocks."""
        found = self.model._read_streams(self.streams(prompt))
        return found.astype(prompt.labels.dtype)

    def streams(self, prompt: Prompt) -> Float[Array, "states width"]:
        """The model's state at the query before the first block and after every one."""
        same_dimension(self.dimension, prompt)
        tokens, index = self.tokens, self.query
        if tokens is not None:
            n, K = len(prompt.labels), len(tokens)
            rule = f"of at most {K} examples, the size of the dictionary"
            require(n <= K, "prompt", rule, f"{n} examples")
            tokens = jax.lax.stop_gradient(tokens)
            index = _place(tokens, prompt.query) if index is None else index
        return self.model._query_streams(prompt, tokens, index)


def _place(tokens: Float[Array, "K d"], query: Float[Array, " d"]) -> Int[Array, ""]:
    equal = jnp.all(tokens == query[None], axis=1)
    return eqx.error_if(
        jnp.argmax(equal),
        ~jnp.any(equal),
        "OnPrompts: the prompt's query must be a token of the dictionary;"
        " `query` names the token in whose place another stands",
    )
