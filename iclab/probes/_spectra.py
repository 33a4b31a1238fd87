"""What a method sees of prompts: the arrays, and what a filter sees of them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from iclab.core import Prompt

# Eigenvalues below this share of the largest count as zero: labels say nothing there.
_NULL = 1e-12


@dataclass(frozen=True)
class Moments:
    """Of every prompt S = (1/n) Σ xxᵀ, c = (1/n) Σ yx and the query, in NumPy."""

    gram: Float[np.ndarray, "prompts d d"]
    correlation: Float[np.ndarray, "prompts d"]
    query: Float[np.ndarray, "prompts d"]
    count: int

    @classmethod
    def of(cls, prompts: Prompt, count: int) -> "Moments":
        """Moments of the first `count` examples of every prompt."""
        return Sample.of(prompts, count).moments

    def under(self, root: Float[np.ndarray, "d d"]) -> "Moments":
        """The same of inputs Rᵀx, with R = `root`."""
        gram = root.T @ self.gram @ root
        return Moments(gram, self.correlation @ root, self.query @ root, self.count)

    def spectra(self) -> "Spectra":
        """Eigenvalues of S, and the parts of least squares that belong to them."""
        values, vectors = np.linalg.eigh(self.gram)
        onto = lambda v: np.einsum("pij,pi->pj", vectors, v)  # noqa: E731
        present = values > _NULL * values[:, -1:]
        product = onto(self.query) * onto(self.correlation)
        parts = np.where(present, product / np.where(present, values, 1), 0.0)
        return Spectra(np.where(present, values, 0.0), parts)


@dataclass(frozen=True)
class Spectra:
    """Eigenvalues λ and parts ⟨u, x_q⟩⟨u, c⟩/λ of least squares, prompt by prompt.

    A method with filter h(λ) = λg(λ) predicts the sum of h(λ) times the parts.
    """

    eigenvalues: Float[np.ndarray, "prompts d"]
    parts: Float[np.ndarray, "prompts d"]

    @property
    def trace(self) -> Float[np.ndarray, " prompts"]:
        """tr S."""
        return self.eigenvalues.sum(axis=1)

    @property
    def present(self) -> Float[np.ndarray, " all"]:
        """All eigenvalues that are not zero, sorted."""
        return np.sort(self.eigenvalues[self.eigenvalues > 0])

    def predictions(
        self, filter: Float[np.ndarray, "prompts d"]
    ) -> Float[np.ndarray, " prompts"]:
        """What the method with these values h(λ) predicts."""
        return np.sum(filter * self.parts, axis=1)

    def least_squares(self) -> Float[np.ndarray, " prompts"]:
        """Predictions of least squares, of minimum norm where there are many."""
        return np.sum(self.parts, axis=1)

    def scaled(self, sizes: Float[np.ndarray, " prompts"]) -> "Spectra":
        """Every prompt's predictions multiplied by a number."""
        return Spectra(self.eigenvalues, self.parts * sizes[:, None])


@dataclass(frozen=True)
class Sample:
    """Prompts of one length as arrays; what methods share is computed once."""

    examples: Float[np.ndarray, "prompts n d"]
    labels: Float[np.ndarray, "prompts n"]
    query: Float[np.ndarray, "prompts d"]

    @classmethod
    def of(cls, prompts: Prompt, count: int) -> "Sample":
        """The first `count` examples of every prompt."""
        X = np.asarray(prompts.examples, float)[:, :count]
        y = np.asarray(prompts.labels, float)[:, :count]
        return cls(X, y, np.asarray(prompts.query, float))

    def __getitem__(self, rows: slice) -> "Sample":
        return self._kept(
            (rows.start, rows.stop),
            lambda: Sample(self.examples[rows], self.labels[rows], self.query[rows]),
        )

    def under(self, root: Float[np.ndarray, "d d"]) -> "Sample":
        """The same with inputs Rᵀx, R = `root`."""
        return self._kept(
            root.tobytes(),
            lambda: Sample(self.examples @ root, self.labels, self.query @ root),
        )

    def _kept(self, name: Any, make: Callable[[], "Sample"]) -> "Sample":
        kept = self.__dict__.setdefault("_others", {})
        if name not in kept:
            kept[name] = make()
        return kept[name]

    @cached_property
    def moments(self) -> Moments:
        """S, c and the query."""
        X, y = self.examples, self.labels
        n = X.shape[1]
        gram = np.matmul(np.swapaxes(X, 1, 2), X) / n
        return Moments(gram, np.einsum("pn,pni->pi", y, X) / n, self.query, n)

    @cached_property
    def spectra(self) -> Spectra:
        """Eigenvalues of S and the parts of least squares."""
        return self.moments.spectra()

    @cached_property
    def products(self) -> Float[np.ndarray, "prompts n"]:
        """⟨xᵢ, x_q⟩."""
        return np.einsum("pni,pi->pn", self.examples, self.query)

    @cached_property
    def squares(self) -> Float[np.ndarray, "prompts n"]:
        """|xᵢ|²."""
        return np.sum(self.examples**2, axis=2)

    @cached_property
    def distances(self) -> Float[np.ndarray, "prompts n"]:
        """|xᵢ − x_q|²."""
        own = np.sum(self.query**2, axis=1)[:, None]
        return np.maximum(self.squares - 2 * self.products + own, 0.0)

    @cached_property
    def pairs(self) -> Float[np.ndarray, "prompts n n"]:
        """|xᵢ − xⱼ|²."""
        X = self.examples
        inner = np.matmul(X, np.swapaxes(X, 1, 2))
        square = self.squares
        return np.maximum(square[:, :, None] + square[:, None, :] - 2 * inner, 0.0)
