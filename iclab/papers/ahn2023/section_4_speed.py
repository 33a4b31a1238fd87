"""First remark after Theorem 1, second sentence: A makes gradient descent faster."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.algorithms import PreconditionedGradientDescent
from iclab.core import Prompt
from iclab.evidence import Measured, averaged
from iclab.papers.ahn2023._single_layer import rotated
from iclab.theory import linear_transformer_loss

_STEPS = 2
_SIZES = np.geomspace(0.1, 10, 101)

labels = "risk after two plain steps", "after two with A"


@dataclass(frozen=True)
class Case:
    """Eigenvalues of Σ, examples, prompts to be drawn, and the size of plain steps."""

    eigenvalues: tuple[float, ...]
    samples: int
    prompts: int
    plain: float

    @property
    def preconditioners(self) -> list[np.ndarray]:
        """Plain steps of this size, and Γ⁻¹ of (8)."""
        Sigma, n = rotated(self.eigenvalues), self.samples
        d = len(Sigma)
        Gamma = (n + 1) / n * Sigma + np.trace(Sigma) / n * np.eye(d)
        return [self.plain * np.eye(d), np.linalg.inv(Gamma)]


def cases(scale) -> dict[str, Case]:
    """Spectra of condition numbers 100 and 10,000."""
    prompts = {"smoke": 1 << 12, "desk": 1 << 14, "paper": 1 << 17}[scale]
    spectra = {"100": (1.0, 0.1, 0.01), "10,000": (1.0, 0.01, 0.0001)}
    return {
        f"condition number {name}, n=50": Case(values, 50, prompts, _best(values, 50))
        for name, values in spectra.items()
    }


def predict(case: Case):
    """The exact risks: the second is far below the first."""
    return np.array([_risk(case, one) for one in case.preconditioners])


def decoy(case: Case):
    """Only the diagonal of Σ inverted, which does nothing for turned axes."""
    plain, _ = case.preconditioners
    diagonal = np.diag(1 / np.diag(rotated(case.eigenvalues)))
    return np.array([_risk(case, plain), _risk(case, diagonal)])


def measure(case: Case, key) -> Measured:
    """Run both on random prompts."""
    prompts = _prompts(case, np.asarray(jax.random.key_data(key)))
    errors = np.array(
        [np.asarray(_errors(jnp.asarray(one), prompts)) for one in case.preconditioners]
    )
    error = np.std(errors, axis=1) / np.sqrt(case.prompts)
    return averaged(np.mean(errors, axis=1), error, case.prompts, "prompts")


def _best(eigenvalues: tuple[float, ...], samples: int) -> float:
    """The best size of two equal plain steps, on a grid."""
    sizes = _SIZES / max(eigenvalues)
    identity = np.eye(len(eigenvalues))
    cases = [Case(eigenvalues, samples, 0, size) for size in sizes]
    risks = [_risk(one, one.plain * identity) for one in cases]
    return float(sizes[np.argmin(risks)])


def _risk(case: Case, preconditioner: np.ndarray) -> float:
    """E(ŷ − y)² after two steps, exactly."""
    Sigma = rotated(case.eigenvalues)
    risk = linear_transformer_loss(
        jnp.asarray(-np.stack([preconditioner] * _STEPS)),
        covariance=jnp.asarray(Sigma),
        weight_covariance=jnp.eye(len(Sigma)),
        samples=case.samples,
    )
    return float(risk)


def _prompts(case: Case, seed: np.ndarray) -> Prompt:
    """x ~ N(0, Σ), w ~ N(0, I)."""
    random, d = np.random.default_rng(seed), len(case.eigenvalues)
    root = np.linalg.cholesky(rotated(case.eigenvalues)).T
    x = random.standard_normal((case.prompts, case.samples + 1, d)) @ root
    w = random.standard_normal((case.prompts, d))
    y = np.einsum("bni,bi->bn", x, w)
    parts = (x[:, :-1], y[:, :-1], x[:, -1], y[:, -1])
    return jax.vmap(Prompt)(*map(jnp.asarray, parts))


@jax.jit
def _errors(preconditioner, prompts: Prompt):
    walk = PreconditionedGradientDescent(preconditioner, jnp.ones(_STEPS))
    return jax.vmap(lambda one: (walk(one) - one.target) ** 2)(prompts)


def numbers(results):
    """Risks of both at the larger condition number, over that of predicting 0."""
    *_, last = results.values()
    plain, ours = last.measured
    return {"plain": float(plain), "ours": float(ours)}
