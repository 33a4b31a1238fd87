"""Labels that are linear in an unknown representation of tokens from a dictionary."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from iclab.core import (
    Natural,
    NonNegative,
    Prompt,
    Size,
    checked,
    is_traced,
    refuse,
    require,
)
from iclab.tasks._coefficient_laws import AbstractCoefficientLaw, GaussianCoefficients
from iclab.tasks._feature_maps import AbstractFeatureMap
from iclab.tasks._task import (
    _LATENT,
    _NOISE,
    _QUERY,
    AbstractTask,
    Input,
    Inputs,
    Labels,
)


@checked
class Representation(AbstractTask):
    r"""A dictionary of K tokens, the first N of them labelled in every prompt.

    $$y_k=\lambda^\top(f(v_k)+\epsilon_k),\qquad\epsilon_k\sim N(0,\tau I_m),
      \qquad k=1,\dots,K$$

    with v_k = `tokens[k]`, f(v_k) = `features[k]` (any table, or `from_map`), λ from
    `law`, τ = `noise_variance` and N = `context_length`.

    A draw of the task is the vector of all K labels (`sample_labels`): the first N are
    shown, all K are to be predicted, and the noise of a token is drawn once. `sample`
    makes a `Prompt` of it by asking for one token, uniformly chosen among all K; if the
    token is among the shown ones its target is the very label that is shown. Inputs are
    the same in every prompt: only λ, the noise and the query are random.
    `in_feature_space` shows f(v_k) instead of v_k, so that `Ridge` can be asked.

    Shifts replace the query or the inputs by vectors outside the dictionary, which have
    no label: they refuse to run. `with_law` is the shift that this task knows.

    Source: yang2024, (1)–(4).
    Assumes: nothing of the law of λ; results of the paper need E λ = 0, E λλᵀ = I.
    Differs from the paper: tokens and features are rows. Given λ, the noise λᵀε_k is
        drawn as √τ‖λ‖·N(0, 1), which has the same law. Tokens need not have norm 1.
    """

    tokens: Float[Array, "K d"]
    features: Float[Array, "K m"]
    context_length: int = eqx.field(static=True)
    noise_variance: float | Float[Array, ""]
    law: AbstractCoefficientLaw
    dimension: int

    def __init__(
        self,
        tokens: Float[Array, "K d"],
        features: Float[Array, "K m"],
        *,
        context_length: Natural,
        noise_variance: NonNegative = 0.0,
        law: AbstractCoefficientLaw | None = None,
        distinct: bool = True,
    ):
        """`distinct=False` admits a dictionary with equal tokens, which Assumption 3
        of the paper forbids.
        """
        N = context_length
        rule = f"at most the dictionary's size {len(tokens)}"
        require(len(tokens) >= N, "context_length", rule, N)
        if distinct:
            _refuse_twins(tokens)
        self.tokens, self.features = tokens, features
        self.dimension = tokens.shape[1]
        self.context_length, self.noise_variance = N, noise_variance
        self.law = GaussianCoefficients() if law is None else law

    @classmethod
    def from_map(
        cls,
        tokens: Float[Array, "K d"],
        function: AbstractFeatureMap,
        *,
        context_length: int,
        noise_variance: float | Float[Array, ""] = 0.0,
        law: AbstractCoefficientLaw | None = None,
    ) -> "Representation":
        """The task whose table is `function` of every token."""
        rule = f"of dimension {function.input_dim}, that of `function`"
        found = f"shape {tokens.shape}"
        require(tokens.shape[1] == function.input_dim, "tokens", rule, found)
        return cls(
            tokens,
            jax.vmap(function)(tokens),
            context_length=context_length,
            noise_variance=noise_variance,
            law=law,
        )

    @classmethod
    def random(
        cls,
        key: PRNGKeyArray,
        *,
        dictionary_size: Size,
        input_dim: Size,
        feature_dim: Size,
        context_length: int,
        noise_variance: float | Float[Array, ""] = 0.0,
        law: AbstractCoefficientLaw | None = None,
        unit_norm: bool = True,
    ) -> "Representation":
        """Random tokens, and a table of standard Gaussians for their features.

        `unit_norm=True` draws tokens uniformly from the sphere, as the theory of
        yang2024 assumes; `False` leaves them standard Gaussian, as its experiments do.
        """
        token_key, table_key = jax.random.split(key)
        draw = unit_tokens if unit_norm else gaussian_tokens
        tokens = draw(token_key, dictionary_size, input_dim)
        return cls(
            tokens,
            jax.random.normal(table_key, (len(tokens), feature_dim)),
            context_length=context_length,
            noise_variance=noise_variance,
            law=law,
        )

    @property
    def feature_dim(self) -> int:
        """Dimension m of the representation."""
        return self.features.shape[1]

    @property
    def dictionary_size(self) -> int:
        """Number K of tokens."""
        return self.tokens.shape[0]

    def with_law(self, law: AbstractCoefficientLaw) -> "Representation":
        """The same dictionary and table, other coefficients λ."""
        return self._replaced(self.tokens, law)

    def in_feature_space(self) -> "Representation":
        """The same labels from the same keys, with f(v_k) in the place of v_k."""
        return self._replaced(self.features, self.law)

    def _replaced(
        self, tokens: Float[Array, "K d"], law: AbstractCoefficientLaw
    ) -> "Representation":
        return Representation(
            tokens,
            self.features,
            context_length=self.context_length,
            noise_variance=self.noise_variance,
            law=law,
            distinct=False,
        )

    def latent(self, key: PRNGKeyArray) -> Float[Array, " m"]:
        return self.law.sample(key, self.feature_dim)

    def inputs(
        self, latent: Float[Array, " m"], count: Size, key: PRNGKeyArray
    ) -> Inputs:
        return self._shown(count, "count")

    def labels(self, latent: Float[Array, " m"], inputs: Inputs) -> Labels:
        equal = jnp.all(inputs[:, None] == self.tokens[None], axis=2)
        index = eqx.error_if(
            jnp.argmax(equal, axis=1),
            ~jnp.all(jnp.any(equal, axis=1)),
            "Representation: `inputs` must be tokens of the dictionary",
        )
        return self.features[index] @ latent

    def noise(
        self, latent: Float[Array, " m"], count: Size, key: PRNGKeyArray
    ) -> Labels:
        std = jnp.sqrt(self.noise_variance) * jnp.linalg.norm(latent)
        return std * jax.random.normal(key, (count,))

    def query(self, latent: Float[Array, " m"], examples: Inputs, key: Array) -> Input:
        return self.tokens[self._query_index(key)]

    def target_noise(
        self, latent: Float[Array, " m"], key: PRNGKeyArray
    ) -> Float[Array, ""]:
        return self.noise(latent, 1, key)[0]

    def labels_given(
        self, latent: Float[Array, " m"], key: PRNGKeyArray
    ) -> Float[Array, " K"]:
        """Noisy labels of all K tokens for the given λ = `latent`."""
        return self.features @ latent + self.noise(latent, self.dictionary_size, key)

    def sample_labels(self, key: PRNGKeyArray) -> Float[Array, " K"]:
        """Draw λ and the noise: labels of all K tokens, those to be shown first."""
        latent = self.latent(jax.random.fold_in(key, _LATENT))
        return self.labels_given(latent, jax.random.fold_in(key, _NOISE))

    def sample_labels_batch(
        self, key: PRNGKeyArray, prompts: Size
    ) -> Float[Array, "prompts K"]:
        """Labels of `prompts` independent draws of the task."""
        return jax.vmap(self.sample_labels)(jax.random.split(key, prompts))

    def sample(self, key: PRNGKeyArray, examples: Size | None = None) -> Prompt:
        """A prompt that asks for one token; N examples unless told otherwise."""
        n = self.context_length if examples is None else examples
        labels = self.sample_labels(key)
        index = self._query_index(jax.random.fold_in(key, _QUERY))
        return Prompt(
            self._shown(n, "examples"), labels[:n], self.tokens[index], labels[index]
        )

    def _shown(self, count: int, name: str) -> Float[Array, "count d"]:
        rule = f"at most the dictionary's size {self.dictionary_size}"
        require(count <= self.dictionary_size, name, rule, count)
        return self.tokens[:count]

    def _query_index(self, key: PRNGKeyArray) -> Int[Array, ""]:
        return jax.random.randint(key, (), 0, self.dictionary_size)


@checked
def gaussian_tokens(
    key: PRNGKeyArray, dictionary_size: Size, input_dim: Size
) -> Float[Array, "K d"]:
    """Tokens with standard Gaussian entries: the experiments of yang2024."""
    return jax.random.normal(key, (dictionary_size, input_dim))


@checked
def unit_tokens(
    key: PRNGKeyArray, dictionary_size: Size, input_dim: Size
) -> Float[Array, "K d"]:
    """Tokens uniform on the unit sphere: the theory of yang2024."""
    tokens = gaussian_tokens(key, dictionary_size, input_dim)
    return tokens / jnp.linalg.norm(tokens, axis=1, keepdims=True)


def _refuse_twins(tokens: Float[Array, "K d"]) -> None:
    """Name two tokens that are equal; traced tokens pass."""
    if is_traced(tokens):
        return
    _, first, inverse = np.unique(
        np.asarray(tokens), axis=0, return_index=True, return_inverse=True
    )
    original = first[np.ravel(inverse)]
    repeats = np.flatnonzero(original != np.arange(len(original)))
    if len(repeats):
        pair = f"{original[repeats[0]]} and {repeats[0]}"
        refuse(f"`tokens` must be distinct (Assumption 3), got tokens {pair} alike")
