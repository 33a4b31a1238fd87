"""Appendix B.1: the loss of two layers as a trace, which needs the projector I − M."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.core import Prompt
from iclab.evidence import Measured, Printed, rounded
from iclab.models import LinearTransformer

# Prompts that are shown one by one, before the mean over all.
_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Case:
    """Two symmetric matrices and isotropic prompts X₀ with the query last."""

    A: np.ndarray
    X: np.ndarray

    def trace(self, *, projected: bool, reverse: bool = False) -> np.ndarray:
        """tr Π(I + X₀ᵀAᵢX₀M) X₀ᵀX₀ Π(I + M X₀ᵀAᵢX₀), with (I − M) around it or not."""
        n = self.X.shape[2] - 1
        M = np.diag(np.append(np.ones(n), 0.0))
        G = self.X
        for A in self.A[::-1] if reverse else self.A:
            G = G + G @ M @ self.X.swapaxes(1, 2) @ A @ self.X / n
        if projected:
            G = G @ (np.eye(n + 1) - M)
        return _summary(np.sum(G**2, axis=(1, 2)))


def cases(scale) -> dict[str, Case]:
    """Matrices that commute, and matrices that do not."""
    prompts = {"smoke": 1 << 10, "desk": 1 << 12, "paper": 1 << 15}[scale]
    random = np.random.default_rng([2, 8])
    X = random.standard_normal((prompts, 2, 9))
    turned = np.array([[-0.8, 0.4], [0.4, -0.5]])
    diagonal = np.array([np.diag([-0.9, -0.2]), np.diag([-0.3, -1.2])])
    return {
        "d=2, n=8, diagonal": Case(diagonal, X),
        "d=2, n=8, not commuting": Case(np.array([diagonal[0], turned]), X),
    }


def predict(case: Case):
    """The trace with I − M on both sides, 1/n kept."""
    return case.trace(projected=True)


def as_printed(case: Case):
    """The trace without I − M: errors on the examples are counted too."""
    return case.trace(projected=False)


printed = Printed(predict=as_printed, nearby=True)


def measure(case: Case) -> Measured:
    """Squared errors of the model on the query, added up over w = e₁, …, e_d.

    The error is linear in w, so that the sum is the mean over w ~ N(0, I).
    """
    errors = np.asarray(_errors(jnp.asarray(case.A), jnp.asarray(case.X)))
    value = _summary(np.sum(errors**2, axis=1))
    return rounded(value, 10.0 * case.X[0].size, case.trace(projected=False))


def decoy(case: Case):
    """The layers in the other order."""
    return case.trace(projected=True, reverse=True)


def _summary(losses: np.ndarray) -> np.ndarray:
    """The first few prompts, and the mean over all."""
    return np.append(losses[:_SHOWN], np.mean(losses))


@jax.jit
def _errors(A, X):
    model = LinearTransformer.sparse(A)

    def error(X, labels):
        prompt = Prompt(X[:, :-1].T, labels[:-1], X[:, -1], labels[-1])
        return model.in_token_space(prompt) - prompt.target

    return jax.vmap(lambda X: jax.vmap(lambda labels: error(X, labels))(X))(X)


def numbers(results, printed):
    """The printed trace over the loss, on average."""
    one = printed["d=2, n=8, diagonal"]
    return {"times": one.predicted[-1] / one.measured[-1]}
