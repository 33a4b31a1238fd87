"""How many layers the Bayes rule is worth: the best k layers tend to ridge regression.

The best polynomial of degree k − 1 in S leaves a loss that falls with k towards that of
ridge regression with σ²/n, which no method beats. What is left after k layers is the
prediction; ridge regression is run on prompts.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from iclab.algorithms import Ridge
from iclab.evaluation import sampled_risk
from iclab.evidence import STANDARD_ERRORS, Measured
from iclab.tasks import LinearRegression
from iclab.theory import optimal_filter

# Depths whose difference bounds what deeper networks still gain.
_DEEP, _DEEPER = 14, 16


@dataclass(frozen=True)
class Case:
    """d inputs, n examples, noise of variance σ² on the labels, w ~ N(0, vI).

    `times` as many prompts as usual, where noise hides what three layers lack.
    """

    dimension: int
    samples: int
    noise: float
    signal: float = 1.0
    times: int = 1

    def loss(self, layers: int) -> float:
        """That of the best k layers."""
        _, loss = optimal_filter(
            self.dimension,
            self.samples,
            layers,
            noise_variance=self.noise,
            signal_variance=self.signal,
        )
        return loss


def cases(scale) -> dict[str, Case]:
    """Enough examples, hardly enough of them, and weights of another size."""
    found = [Case(5, 20, 0.25), Case(5, 10, 2.0, 3.0)]
    if scale != "smoke":
        found += [Case(5, 20, 4.0, times=4), Case(8, 12, 1.0)]
    return {
        f"d={c.dimension}, n={c.samples}, σ²={c.noise:g}, v={c.signal:g}": c
        for c in found
    }


def predict(case: Case):
    """The loss of the best sixteen layers."""
    return case.loss(_DEEPER)


def decoy(case: Case):
    """The loss of the best three."""
    return case.loss(3)


def measure(case: Case, key, scale) -> Measured:
    """Ridge regression on prompts, its penalty σ²/v: the posterior mean."""
    d = case.dimension
    task = LinearRegression(
        jnp.eye(d),
        weight_covariance=case.signal * jnp.eye(d),
        noise_std=case.noise**0.5,
    )
    usual = {"smoke": 1 << 13, "desk": 1 << 16, "paper": 1 << 20}[scale]
    prompts = case.times * usual
    bayes = {"ridge": Ridge(case.noise / case.signal)}
    found = sampled_risk(bayes, task, examples=case.samples, prompts=prompts, key=key)
    mean, error = map(float, found["ridge"])
    # Losses fall geometrically or faster: two layers more bound all that follow.
    rest = 2 * (case.loss(_DEEP) - case.loss(_DEEPER))
    reason = (
        f"{STANDARD_ERRORS:g} standard errors over {prompts:,} prompts, and {rest:.2g}"
        f" for what layers beyond {_DEEPER} may gain"
    )
    return Measured(mean, STANDARD_ERRORS * error + rest, reason)
