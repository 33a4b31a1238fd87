"""Section 5.3: the loss of three trained layers converges, but not to 0."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.core import Prompt
from iclab.evidence import Measured, Printed, averaged
from iclab.models import LinearTransformer
from iclab.papers.ahn2023._multi_layer import (
    LAYERS,
    Setting,
    round_off,
    settings,
    trained,
)
from iclab.papers.ahn2023.theorem_4 import STARTS
from iclab.theory import marchenko_pastur_optimal_steps, optimal_steps


@dataclass(frozen=True)
class Case:
    """The experiment's distribution; its exact loss, or errors on fresh prompts."""

    setting: Setting
    starts: int
    prompts: int = 0


def cases(scale) -> dict[str, Case]:
    """The experiment of Section 5.3: d = 5, n = 20."""
    prompts = {"smoke": 1 << 15, "desk": 1 << 16, "paper": 1 << 18}[scale]
    name, setting = next(iter(settings(scale).items()))
    exact, run = Case(setting, STARTS[scale]), Case(setting, STARTS[scale], prompts)
    return {f"{name}, end of training": exact, f"{name}, fresh prompts": run}


def predict(case: Case):
    """The least loss of three steps along Σ⁻¹∇R, d times a Christoffel number."""
    return optimal_steps(case.setting.dimension, case.setting.samples, LAYERS)[1]


def as_printed(case: Case):
    """Training reaches 0."""
    return 0.0


printed = Printed(predict=as_printed, nearby=True)


def measure(case: Case, key) -> Measured:
    """Descend on the exact loss from Gaussian matrices; run the layers that result."""
    found = trained(case.setting, LAYERS, case.starts)
    if case.prompts:
        prompts = _prompts(case, np.asarray(jax.random.key_data(key)))
        errors = np.asarray(_squared_errors(jnp.asarray(found.A), prompts))
        error = np.std(errors) / np.sqrt(case.prompts)
        return averaged(np.mean(errors), error, case.prompts, "prompts")
    rounding, _ = round_off(found.A, case.setting)
    error = rounding + found.slope**2 / found.curvature
    reason = "gradient left, squared over the smallest curvature, and rounding"
    return Measured(found.loss, error, reason)


def decoy(case: Case):
    """The limit of many inputs and examples at the same ratio."""
    d, n = case.setting.dimension, case.setting.samples
    return d * marchenko_pastur_optimal_steps(d / n, LAYERS)[1]


def _prompts(case: Case, seed: np.ndarray) -> Prompt:
    """A batch with x ~ N(0, Σ) and w ~ N(0, Σ⁻¹)."""
    random, root = np.random.default_rng(seed), case.setting.root
    d, n = case.setting.dimension, case.setting.samples
    x = random.standard_normal((case.prompts, n + 1, d)) @ root
    w = random.standard_normal((case.prompts, d)) @ np.linalg.inv(root)
    y = np.einsum("bni,bi->bn", x, w)
    parts = (x[:, :-1], y[:, :-1], x[:, -1], y[:, -1])
    return jax.vmap(Prompt)(*map(jnp.asarray, parts))


@jax.jit
def _squared_errors(A, prompts: Prompt):
    model = LinearTransformer.sparse(A)
    return jax.vmap(lambda prompt: (model(prompt) - prompt.target) ** 2)(prompts)


def numbers(results):
    """Where training ends, and its share of predicting 0, whose loss is d = 5."""
    (loss,) = (
        one.measured
        for name, one in results.items()
        if name.endswith("end of training")
    )
    return {"loss": loss, "share": loss / 5}
