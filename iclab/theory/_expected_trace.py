"""Exact expectations of traces of words in a Wishart matrix and fixed matrices.

Write S = (1/n) Σ_a x_a x_aᵀ and expand tr(S M₁ ⋯ S M_k) = n^{−k} Σ Π_i x_{a_i}ᵀ M_i
x_{a_{i+1}}. By Isserlis' theorem the expectation is a sum over the (2k−1)!! pairings of
the 2k vectors. A pairing joins the matrices into closed loops, each the trace of a word
in ΣM_i and ΣM_iᵀ, and leaves c of the k sample indices free: it contributes n^{c−k}
times the product of its loops.

There are far fewer loops than pairings, and fewer halves of loops still. So halves
(words of up to three letters) come first, then every loop as the inner product of a
front half and a back half, a matrix product per block, then the pairings as products of
loops. At k = 6 that is 960 words of three letters, 7,060 loops and 10,395 pairings.
"""

import functools
import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.core import Natural, SecondMoment, checked, require

LARGEST_DEGREE = 6


@checked
def expected_trace(
    words: Float[Array, "*batch k d d"],
    covariance: SecondMoment,
    samples: Natural,
) -> Float[Array, "*batch"]:
    r"""Exact mean of the trace of a word in a sample covariance and fixed matrices.

    $$\mathbb E\operatorname{tr}(SM_1SM_2\cdots SM_k),\qquad
      S=\tfrac1n\sum_{i=1}^nx_ix_i^\top,\quad x_i\sim N(0,\Sigma)$$

    with M₁ … M_k the matrices of `words` along its third axis from the end, Σ =
    `covariance` and n = `samples`; axes before that one are words of their own. The
    matrices are arbitrary. Differentiable in the words and in Σ, to any order.

    Source: iclab; Isserlis' theorem, grouped by loops.
    Assumes: Gaussian inputs, k ≤ 6.
    Differs from the paper: no paper states it.
    """
    *batch, k, d, _ = words.shape
    rule = f"of 1 to {LARGEST_DEGREE} matrices, the longest that are exact here"
    require(k <= LARGEST_DEGREE, "words", rule, f"{k} matrices")
    n = jnp.asarray(samples, covariance.dtype)
    values = expected_traces(words.reshape(-1, k, d, d), covariance, n)
    return values.reshape(batch)


@jax.jit
def expected_traces(
    words: Float[Array, "b k d d"], Sigma: Float[Array, "d d"], n: Float[Array, ""]
) -> Float[Array, " b"]:
    """`expected_trace` of arguments that have been read."""
    count, k, d, _ = words.shape
    plan = _plan(k)

    # One batch axis for all products: with several, under `vmap`, XLA for CPUs rejects
    # its own rewriting of the dot ("Expected instruction to have shape equal to …").
    def multiply(left: Array, right: Array) -> Array:
        return (left.reshape(-1, d, d) @ right.reshape(-1, d, d)).reshape(left.shape)

    # Letter 2i is ΣM_i and letter 2i+1 is ΣM_iᵀ.
    both = jnp.stack([words, words.mT], axis=2).reshape(count, 2 * k, d, d)
    U = jnp.einsum("ij,bljm->blim", Sigma, both)
    halves = [U]  # words of one, two and three letters
    for prefixes, letters in plan.extensions:
        halves.append(multiply(halves[-1][:, prefixes], U[:, letters]))
    loops = [jnp.trace(U[:, ::2], axis1=2, axis2=3)]  # of one matrix each
    for size, (front, back) in plan.halves.items():
        fronts = halves[(size + 1) // 2 - 1][:, front]
        fronts = fronts.reshape(-1, front.shape[1], d * d)
        backs = halves[size // 2 - 1][:, back].mT.reshape(-1, back.shape[1], d * d)
        loops.append((fronts @ backs.mT).reshape(count, -1))
    # The 1 pads pairings that make fewer than k loops.
    table = jnp.concatenate([*loops, jnp.ones((count, 1), U.dtype)], axis=1)
    factors = table[:, plan.pairings]
    product = factors[:, 0]
    for i in range(1, k):
        product = product * factors[:, i]
    weights = (n ** jnp.arange(-k, 1))[plan.free_samples]  # n^{c−k} stands at place c
    return product @ weights


class _Plan(NamedTuple):
    """Everything about words of k matrices that does not depend on the matrices."""

    # How words of two and three letters extend shorter ones: (shorter word, letter).
    extensions: list[tuple[np.ndarray, np.ndarray]]
    # For loops of two and more matrices: front words and back words, split by split.
    halves: dict[int, tuple[np.ndarray, np.ndarray]]
    # (k, pairings): the loops of each pairing, padded.
    pairings: np.ndarray
    # (pairings,): how many sample indices each pairing leaves free.
    free_samples: np.ndarray


@functools.cache
def _plan(k: int) -> _Plan:
    # Where a word of one, two or three letters stands in its array.
    place: list[dict[tuple[int, ...], int]] = [
        {(letter,): letter for letter in range(2 * k)}
    ]
    extensions = []
    for _ in range(1, (k + 1) // 2):
        longer = [
            (word, letter)
            for word in place[-1]
            for letter in range(2 * k)
            if letter // 2 not in {used // 2 for used in word}
        ]
        prefixes = np.array([place[-1][word] for word, _ in longer])
        extensions.append((prefixes, np.array([letter for _, letter in longer])))
        place.append({(*word, letter): i for i, (word, letter) in enumerate(longer)})

    halves = {}
    loops: list[tuple[int, ...]] = []
    loops_of = {}  # the places of a block's loops
    for size in range(1, k + 1):
        splits = []
        for block in itertools.combinations(range(k), size):
            first = len(loops)
            for fronts, backs in _splits(block):
                splits.append((fronts, backs))
                loops += [front + back for front in fronts for back in backs]
            loops_of[block] = np.arange(first, len(loops))
        if size > 1:
            front, back = (
                np.array([[place[len(w) - 1][w] for w in side] for side in sides])
                for sides in zip(*splits, strict=True)
            )
            halves[size] = front, back

    pairings = []
    for partition in _set_partitions(list(range(k))):
        chosen = np.meshgrid(*(loops_of[tuple(block)] for block in partition))
        padding = [np.full(chosen[0].size, len(loops))] * (k - len(partition))
        pairings.append(np.stack([*(loop.ravel() for loop in chosen), *padding]))
    pairings = np.concatenate(pairings, axis=1)
    links = np.array([*(_links(loop, k) for loop in loops), np.eye(k, dtype=bool)])
    return _Plan(
        extensions, halves, pairings, _components(np.any(links[pairings], axis=0))
    )


def _splits(block: tuple[int, ...]) -> list[tuple[list, list]]:
    """Every loop through a block once: front words times back words, split by split.

    Rotation lets a loop begin at its first matrix, reflection makes that one
    untransposed; ⌈m/2⌉ matrices go to the front.
    """
    first, rest = block[0], block[1:]
    result = []
    for inside in itertools.combinations(rest, (len(block) + 1) // 2 - 1):
        outside = tuple(i for i in rest if i not in inside)
        fronts = [(2 * first, *word) for word in _arrangements(inside)]
        result.append((fronts, _arrangements(outside)))
    return result


def _arrangements(matrices: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Words with each of the matrices once, in any order, transposed or not."""
    return [
        tuple(2 * i + s for i, s in zip(order, signs, strict=True))
        for order in itertools.permutations(matrices)
        for signs in itertools.product((0, 1), repeat=len(matrices))
    ]


def _links(loop: tuple[int, ...], k: int) -> np.ndarray:
    """Which of the k factors S the pairs along a loop force to share a sample.

    M_i stands between factor i and factor i+1 (mod k); a transposed M_i is walked
    through backwards. Consecutive letters pair the exit of one with the entry of the
    next.
    """
    graph = np.eye(k, dtype=bool)
    for here, there in zip(loop, (*loop[1:], loop[0]), strict=True):
        leave = (here // 2 + 1 - here % 2) % k
        enter = (there // 2 + there % 2) % k
        graph[leave, enter] = graph[enter, leave] = True
    return graph


def _components(graphs: np.ndarray) -> np.ndarray:
    """Number of connected components of graphs given as (…, k, k) adjacency."""
    reach = graphs.astype(np.int32)
    for _ in range(3):  # paths of up to 8 links
        reach = ((reach @ reach) > 0).astype(np.int32)
    return np.rint(np.sum(1 / np.sum(reach, axis=-1), axis=-1)).astype(np.int32)


def _set_partitions(items: list[int]) -> list[list[list[int]]]:
    if not items:
        return [[]]
    first, *rest = items
    result = []
    for partition in _set_partitions(rest):
        result.append([[first], *partition])
        for i, block in enumerate(partition):
            result.append([*partition[:i], [first, *block], *partition[i + 1 :]])
    return result
