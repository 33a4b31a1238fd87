"""Sample covariances drawn so that rare prompts are frequent, with their weights."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree, UInt32

from iclab.core import (
    FEWEST_EFFECTIVE,
    Covariance,
    Estimate,
    Mixture,
    Natural,
    Size,
    Sums,
    checked,
    is_traced,
    require,
)
from iclab.theory._wishart_samples import wishart_samples


@checked
class WeightedCovariances(eqx.Module):
    """Draws of S = (1/n)Σxᵢxᵢᵀ and the weights with which they are averaged.

    A fixed set is a smooth loss to train on: the weighted mean of a loss given S has,
    up to its error, the minimum of the population loss. Judge by a fresh set.
    """

    covariances: Float[Array, "draws d d"]
    weights: Float[Array, " draws"]
    # Laws that took turns in drawing.
    laws: Natural = eqx.field(static=True, default=1)

    def mean(self, losses: Float[Array, " draws"]) -> Float[Array, ""]:
        """Mean under the law of S of what has these values at the draws."""
        return jnp.mean(self.weights * losses)

    def estimate(self, losses: Float[Array, " draws"]) -> Estimate:
        """The same with its error, refused where too few draws carry it."""
        found = Sums.of(self.weights * losses, self.laws).estimate(len(self.weights))
        if self.laws > 1 and not is_traced(found.effective):
            effective, draws = float(found.effective), found.draws
            rule = f"enough for {FEWEST_EFFECTIVE} effective draws"
            what = f"{draws:,}, of which {effective:.0f} carry the mean"
            require(effective >= FEWEST_EFFECTIVE, "draws", rule, what)
        return found


@checked
class LossOnDraws(eqx.Module):
    """The mean of `given(S, weights)` over a fixed set of draws of S.

    A smooth function of the weights, to train on where no exact loss is known: by
    L-BFGS, by Adam or by a flow. What was trained on these draws looks better on them
    than it is. `estimate` on other draws says how good it is.
    """

    drawn: WeightedCovariances
    given: Callable[[Float[Array, "d d"], PyTree], Float[Array, ""]]

    def __call__(self, weights: PyTree) -> Float[Array, ""]:
        return self.drawn.mean(self._values(weights))

    def estimate(self, weights: PyTree) -> Estimate:
        """The loss with its error, refused where too few draws carry it."""
        return self.drawn.estimate(self._values(weights))

    def _values(self, weights: PyTree) -> Float[Array, " draws"]:
        return jax.vmap(lambda S: self.given(S, weights))(self.drawn.covariances)


@checked
def weighted_covariances(
    key: Key[Array, ""] | UInt32[Array, "2"],
    covariance: Covariance,
    samples: Natural,
    draws: Size,
    *,
    degree: Natural,
    mixture: Mixture | bool = True,
) -> WeightedCovariances:
    r"""Draws of the sample covariance from a mixture that has many rare ones.

    $$S=\tfrac1n\sum_ix_ix_i^\top,\qquad
      x_i=\Sigma^{1/2}\big(I+(s-1)uu^\top\big)z_i,\quad z_i\sim N(0,I)$$

    with Σ = `covariance` and n = `samples`; scales s and directions u are those of
    `mixture`. True chooses them for means of what has this `degree` in S (2k for a loss
    of k layers or loops); False draws from the plain law, with weights 1. There are at
    least `draws`, as many from each scale. Fit for `jit` with sizes static;
    differentiable in Σ.

    ```python
    drawn = weighted_covariances(key, jnp.eye(5), 20, 10_000, degree=20)
    loss = drawn.estimate(jnp.trace(drawn.covariances, axis1=1, axis2=2) ** 10)
    ```

    Source: iclab; see `core.Mixture`.
    Assumes: Gaussian inputs, positive definite Σ.
    Differs from the paper: no paper states it.
    """
    n, d = samples, len(covariance)
    if mixture is False:
        S = wishart_samples(key, covariance, n, (draws,))
        return WeightedCovariances(S, jnp.ones(draws))
    law = Mixture.of_degree(degree, n, d) if mixture is True else mixture
    count = -(-draws // law.laws) * law.laws
    plain_key, stretch_key = jax.random.split(key)
    T = law.stretches(stretch_key, count, d)
    white = T @ wishart_samples(plain_key, jnp.eye(d), n, (count,)) @ T
    root = jnp.linalg.cholesky(covariance)
    S = jnp.einsum("ij,bjk,lk->bil", root, white, root)
    return WeightedCovariances(S, law.weights(white, n), law.laws)
