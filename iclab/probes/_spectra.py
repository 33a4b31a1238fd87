"""What a filter sees of a prompt: eigenvalues, and least squares in pieces."""

from dataclasses import dataclass

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
        X = np.asarray(prompts.examples, float)[:, :count]
        y = np.asarray(prompts.labels, float)[:, :count]
        gram = np.einsum("pni,pnj->pij", X, X) / count
        correlation = np.einsum("pn,pni->pi", y, X) / count
        return cls(gram, correlation, np.asarray(prompts.query, float), count)

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
