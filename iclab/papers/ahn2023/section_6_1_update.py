"""Section 6.1, first observation: what a layer with B makes of the inputs."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.core import Prompt
from iclab.evidence import Measured, Printed, rounded
from iclab.models import LinearTransformer
from iclab.papers.ahn2023._multi_layer import AXES, Setting, setting
from iclab.papers.ahn2023._multiples import LAYERS, trained


@dataclass(frozen=True, eq=False)
class Case:
    """Weights where training multiples ends, and a prompt X with its query last."""

    setting: Setting
    a: np.ndarray
    b: np.ndarray
    X: np.ndarray

    def columns(self, inverse: np.ndarray, over: float, masked: bool) -> np.ndarray:
        """X_{k+1} = X_k(I − |a_kb_k| M X_kᵀΣ⁻¹X_k/n), the query's column, k < 2."""
        M = np.diag(np.append(np.ones(self.setting.samples), 0.0 if masked else 1.0))
        X, found = self.X, []
        for size in np.abs(self.a * self.b)[: LAYERS - 1]:
            X = X - size / over * X @ M @ X.T @ inverse @ X
            found.append(X[:, -1])
        return np.array(found)


def cases(scale) -> dict[str, Case]:
    """The experiment's law of inputs, n = 10 and n = 20."""
    found = {}
    for n in {"smoke": (10,), "desk": (10, 20), "paper": (5, 10, 20)}[scale]:
        law, ended = setting(np.square(AXES), n), trained(len(AXES), n)
        random = np.random.default_rng([n, 61])
        X = law.root @ random.standard_normal((len(AXES), n + 1))
        found[f"d=5, n={n}, a random prompt"] = Case(law, ended.a, ended.b, X)
    return found


def predict(case: Case):
    """With Σ⁻¹ and the 1/n of (4), exactly."""
    return case.columns(case.setting.inverse, case.setting.samples, masked=True)


def as_printed(case: Case):
    """Without Σ⁻¹, the 1/n kept."""
    identity = np.eye(len(case.X))
    return case.columns(identity, case.setting.samples, masked=True)


printed = Printed(predict=as_printed, nearby=True)


def decoy(case: Case):
    """No mask: the query moves itself."""
    return case.columns(case.setting.inverse, case.setting.samples, masked=False)


def measure(case: Case) -> Measured:
    """The query's column of Z_1 and Z_2, by the model's forward pass (4)."""
    A = case.setting.multiples(case.a)
    B = case.b[:, None, None] * np.eye(len(case.X))
    model = LinearTransformer.sparse(jnp.asarray(A), jnp.asarray(B))
    X = jnp.asarray(case.X)
    prompt = Prompt(X[:, :-1].T, X[0, :-1], X[:, -1], X[0, -1])
    value = np.asarray(model.streams_in_token_space(prompt))[1:LAYERS, :-1]
    operations = 10.0 * case.X.size * np.linalg.cond(case.setting.covariance)
    return rounded(value, operations, max(1.0, float(np.max(np.abs(value)))))
