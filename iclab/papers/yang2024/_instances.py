"""Problems in two sizes, with two sets of parameters each, for identities and bounds.

Some are random; the others are built so that bounds of the paper are met as closely as
they can be.
"""

import dataclasses
import functools
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Sizes:
    """Numbers of tokens K, of shown ones N, of features m, of inputs d, of heads H."""

    dictionary: int
    shown: int
    features: int
    inputs: int
    heads: int

    def __str__(self) -> str:
        letters = zip("KNmdH", vars(self).values(), strict=True)
        return ", ".join(f"{letter}={number}" for letter, number in letters)


GENERAL = Sizes(6, 3, 2, 3, 4)
# With m = N, where formulas that take one for the other can be evaluated at all.
SQUARE = Sizes(4, 2, 2, 2, 3)


@dataclass(frozen=True, eq=False)
class Instances:
    """Problems along the first axis: V, f(V), τ, γ, parameters (Q, α) and (Q', α').

    The weights are w = γα.
    """

    context_length: int
    tokens: np.ndarray
    features: np.ndarray
    noise_variance: np.ndarray
    gamma: np.ndarray
    key_query: np.ndarray
    value: np.ndarray
    other_key_query: np.ndarray
    other_value: np.ndarray

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def heads(self) -> int:
        """Number H of heads."""
        return self.value.shape[1]

    @property
    def weights(self) -> np.ndarray:
        """w = γα."""
        return self.gamma[:, None, None] * self.value

    @property
    def other_weights(self) -> np.ndarray:
        """w' = γα'."""
        return self.gamma[:, None, None] * self.other_value

    @property
    def alpha(self) -> np.ndarray:
        """The largest |α_{h,k}| and |α'_{h,k}|."""
        sizes = np.abs(self.value), np.abs(self.other_value)
        return np.max(np.maximum(*sizes), axis=(1, 2))


def number(scale: str) -> int:
    """How many problems of a kind."""
    return {"smoke": 60, "desk": 1500, "paper": 10000}[scale]


@functools.cache
def random_instances(sizes: Sizes, count: int) -> Instances:
    """Features, noise, attention and weights of all magnitudes, tokens of norm 1.

    Of the pairs of parameters a third differ in Q alone, and a third in α alone.
    """
    random, s = np.random.default_rng([11, *vars(sizes).values()]), sizes
    heads = (count, s.heads, s.inputs, s.inputs), (count, s.heads, s.dictionary)
    Q, alpha = (
        _magnitude(random, count, -1, 1, shape) * random.standard_normal(shape)
        for shape in heads
    )
    other_Q, other_alpha = (
        one
        + _magnitude(random, count, -3, 1, one.shape)
        * random.standard_normal(one.shape)
        for one in (Q, alpha)
    )
    other_alpha[::3], other_Q[1::3] = alpha[::3], Q[1::3]
    features = (count, s.dictionary, s.features)
    return Instances(
        s.shown,
        _unit(random.standard_normal((count, s.dictionary, s.inputs))),
        _magnitude(random, count, -1, 1, features) * random.standard_normal(features),
        _magnitude(random, count, -2, 0.5),
        _magnitude(random, count, -1, 1),
        Q,
        alpha,
        other_Q,
        other_alpha,
    )


@functools.cache
def opposed_instances(count: int) -> Instances:
    """Even attention on two opposite tokens with opposite features, and little noise.

    Attention then reacts most to Q, and the loss to attention. Parameters differ in Q.
    """
    random = np.random.default_rng(12)
    small = _magnitude(random, count, -4, -2, (count, 2)) * random.uniform(
        -1, 1, (count, 2)
    )
    angles = np.stack([0 * small[:, 0], 0 * small[:, 0] + np.pi, *small.T], axis=1)
    angles[:, 3] += np.pi
    size = _magnitude(random, count, -1, 1, (count, 4, 2))
    features = size * np.array([[1.0, 0], [-1, 0], [1, 0], [-1, 0]])
    Q = 1e-3 * random.standard_normal((count, SQUARE.heads, 2, 2))
    alpha = _magnitude(random, count, -2, -1, (count, SQUARE.heads, 4))
    along = np.array([[1.0, 0], [0, 0]])
    return Instances(
        SQUARE.shown,
        np.stack([np.cos(angles), np.sin(angles)], axis=2),
        features,
        size[:, 0, 0] ** 2 * _magnitude(random, count, -5, -3),
        _magnitude(random, count, -1, 0),
        Q,
        alpha,
        Q + _magnitude(random, count, -3, -1, Q.shape) * along,
        alpha,
    )


@functools.cache
def unweighted_instances(count: int) -> Instances:
    """The same with w = 0, and a token beyond the shown ones whose feature is far.

    ‖A‖ is then the length of that token's column, and all that weights do not hide.
    """
    base, random = opposed_instances(count), np.random.default_rng(16)
    scale = np.array([1.0, 1.0, 1.0, 1e-3])[None, :, None]
    far = _magnitude(random, count, 2, 3)
    features = base.features * scale
    features[:, 2] *= far[:, None]
    nothing = np.zeros_like(base.value)
    return dataclasses.replace(
        base, features=features, value=nothing, other_value=nothing
    )


@functools.cache
def tilted_instances(count: int) -> Instances:
    """The same with attention tilted to tanh q = 1/√3, and weights so large that A
    does not matter; all heads agree and move together.
    """
    base, random = opposed_instances(count), np.random.default_rng(17)
    along = np.array([[1.0, 0], [0, 0]])
    Q = np.broadcast_to(np.arctanh(3**-0.5) * along, base.key_query.shape)
    step = _magnitude(random, count, -6, -5, base.key_query.shape)
    alpha = np.full_like(base.value, 1e5)
    return dataclasses.replace(
        base,
        key_query=Q.copy(),
        other_key_query=Q + step * along,
        value=alpha,
        other_value=alpha,
    )


@functools.cache
def concentrated_instances(count: int) -> Instances:
    """All attention of all heads on the first token, whose feature is the largest.

    Weights of all heads agree, so that nothing cancels. Parameters differ in α.
    """
    random = np.random.default_rng(13)
    angles = random.uniform(-0.4, 0.4, (count, 4))
    angles[:, :2] = 0.5, -0.5
    tokens = np.stack([np.cos(angles), np.sin(angles)], axis=2)
    head = 200 * (tokens[:, 0] - tokens[:, 1])[:, :, None] * np.array([1.0, 0])
    Q = np.repeat(head[:, None], SQUARE.heads, axis=1)
    features = 1e-3 * random.standard_normal((count, 4, 2))
    features[:, 0], features[:, 1] = (1, 0), (0, 0.1)
    size = _magnitude(random, count, -1, 1, features.shape)
    alpha = -_magnitude(random, count, -1, 4, (count, SQUARE.heads, 4))
    return Instances(
        SQUARE.shown,
        tokens,
        size * features,
        size[:, 0, 0] ** 2 * _magnitude(random, count, -3, -1),
        _magnitude(random, count, -1, 1),
        Q,
        alpha,
        Q,
        alpha * (1 - _magnitude(random, count, -3, -0.1, alpha.shape)),
    )


@functools.cache
def large_instances(count: int) -> Instances:
    """Features near 10⁴ and α up to 10³, at γ = 1: a missing square shows there."""
    base, random = random_instances(SQUARE, count), np.random.default_rng(14)
    return dataclasses.replace(
        base,
        features=1e4 * random.standard_normal(base.features.shape),
        noise_variance=np.full(count, 0.1),
        gamma=np.ones(count),
        key_query=0.3 * random.standard_normal(base.key_query.shape),
        value=1e3 * random.uniform(-1, 1, base.value.shape),
        other_key_query=0.3 * random.standard_normal(base.key_query.shape),
        other_value=1e3 * random.uniform(-1, 1, base.value.shape),
    )


def families(scale: str) -> dict[str, Instances]:
    """Random problems of both sizes, and those that bounds are tight for."""
    count = number(scale)
    return {
        f"{GENERAL}, random": random_instances(GENERAL, count),
        f"{SQUARE}, random": random_instances(SQUARE, count),
        f"{SQUARE}, {OPPOSED}": opposed_instances(count),
        f"{SQUARE}, {CONCENTRATED}": concentrated_instances(count),
        f"{SQUARE}, {OPPOSED}, no weights": unweighted_instances(count),
        f"{SQUARE}, tilted attention on opposite tokens": tilted_instances(count),
    }


OPPOSED = "even attention on opposite tokens"
CONCENTRATED = "all attention on one token"


def is_random(case: Instances) -> bool:
    """Whether the problems are those of `random_instances`."""
    return any(case is random_instances(one, len(case)) for one in (GENERAL, SQUARE))


def is_opposed(case: Instances) -> bool:
    """Whether the problems are those of `opposed_instances`."""
    return case is opposed_instances(len(case))


def is_concentrated(case: Instances) -> bool:
    """Whether the problems are those of `concentrated_instances`."""
    return case is concentrated_instances(len(case))


def is_unweighted(case: Instances) -> bool:
    """Whether the problems are those of `unweighted_instances`."""
    return case is unweighted_instances(len(case))


def is_tilted(case: Instances) -> bool:
    """Whether the problems are those of `tilted_instances`."""
    return case is tilted_instances(len(case))


def is_large(case: Instances) -> bool:
    """Whether the problems are those of `large_instances`."""
    return case is large_instances(len(case))


@functools.cache
def reference() -> Instances:
    """One problem of simple numbers: tokens on the circle, f(v) = (v₁, v₁v₂)."""
    angle, h, k = np.arange(4.0), np.arange(3.0), np.arange(1.0, 5.0)
    tokens = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    features = np.stack([tokens[:, 0], tokens[:, 0] * tokens[:, 1]], axis=1)
    Q = np.array([[[one, 0.5], [-0.25, 1 - 0.5 * one]] for one in h])
    w = 0.1 * (h[:, None] + 1) * (-1) ** k * k
    arrays = tokens, features, np.array(0.25), np.array(1.0), Q, w, Q, w
    return Instances(SQUARE.shown, *(array[None] for array in arrays))


def _magnitude(
    random: np.random.Generator, count: int, low: float, high: float, shape=None
) -> np.ndarray:
    """10^u with u even between `low` and `high`, one a problem, as an array."""
    powers = 10 ** random.uniform(low, high, count)
    if shape is None:
        return powers
    return np.broadcast_to(powers.reshape(-1, *[1] * (len(shape) - 1)), shape).copy()


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
