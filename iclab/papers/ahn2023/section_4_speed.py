"""First remark after Theorem 1, second sentence: A makes gradient descent faster."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.algorithms import PreconditionedGradientDescent
from iclab.core import Prompt
from iclab.evidence import Measured, averaged
from iclab.papers.ahn2023._single_layer import rotated
from iclab.theory import gamma_matrix, linear_transformer_loss

_STEPS = 2
_SIZES = np.geomspace(0.1, 10, 201)

labels = "risk after two plain steps", "after two with A"


@dataclass(frozen=True)
class Case:
    """Eigenvalues of Σ, examples, and how many prompts are drawn."""

    eigenvalues: tuple[float, ...]
    samples: int
    prompts: int

    @property
    def preconditioners(self) -> list[np.ndarray]:
        """The best multiple of I for two equal steps, and Γ⁻¹ of (8)."""
        Sigma = jnp.asarray(rotated(self.eigenvalues))
        d = len(self.eigenvalues)
        sizes = _SIZES / np.max(self.eigenvalues)
        plain = sizes[np.argmin([self.risk(size * np.eye(d)) for size in sizes])]
        Gamma = np.asarray(gamma_matrix(Sigma, self.samples))
        return [plain * np.eye(d), np.linalg.inv(Gamma)]

    def risk(self, preconditioner: np.ndarray) -> float:
        """E(ŷ − y)² after two steps, exactly."""
        steps = -np.stack([preconditioner] * _STEPS)
        Sigma = rotated(self.eigenvalues)
        d = len(Sigma)
        return float(
            linear_transformer_loss(
                jnp.asarray(steps),
                covariance=jnp.asarray(Sigma),
                weight_covariance=jnp.eye(d),
                samples=self.samples,
            )
        )


def cases(scale) -> dict[str, Case]:
    """Spectra of condition numbers 100 and 10,000."""
    prompts = {"smoke": 1 << 12, "desk": 1 << 14, "paper": 1 << 17}[scale]
    spectra = {"100": (1.0, 0.1, 0.01), "10,000": (1.0, 0.01, 0.0001)}
    return {
        f"condition number {name}, n=50": Case(values, 50, prompts)
        for name, values in spectra.items()
    }


def predict(case: Case):
    """The exact risks: the second is far below the first."""
    return np.array([case.risk(one) for one in case.preconditioners])


def decoy(case: Case):
    """Only the diagonal of Σ inverted, which does nothing for turned axes."""
    plain, _ = case.preconditioners
    diagonal = np.diag(1 / np.diag(rotated(case.eigenvalues)))
    return np.array([case.risk(plain), case.risk(diagonal)])


def measure(case: Case, key) -> Measured:
    """Run both on random prompts."""
    prompts = _prompts(case, np.asarray(jax.random.key_data(key)))
    errors = np.array(
        [np.asarray(_errors(jnp.asarray(one), prompts)) for one in case.preconditioners]
    )
    error = np.std(errors, axis=1) / np.sqrt(case.prompts)
    return averaged(np.mean(errors, axis=1), error, case.prompts, "prompts")


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
