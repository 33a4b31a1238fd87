"""Draws from a mixture against plain ones: how many for one error, and their time.

Run: python -m benchmarks.rare_prompts
"""

import functools

import jax
import jax.numpy as jnp

from benchmarks.timing import fastest
from iclab.theory import (
    looped_loss,
    looped_loss_given,
    looped_optimum,
    sampled_looped_loss,
    weighted_covariances,
)

_DIMENSION, _SAMPLES, _DEPTHS = 10, 20, (1, 2, 3, 5, 10, 20)
_DRAWS, _TIMED = 100_000, 10_000
_IDENTITY = jnp.eye(_DIMENSION)


def second_moment(A: jax.Array, loops: int) -> tuple[float, float]:
    """E f² of the loss f given S, and its error, from a mixture for twice the degree.

    Plain draws could not say it: rarer prompts still carry it.
    """
    drawn = weighted_covariances(
        jax.random.key(1), _IDENTITY, _SAMPLES, _DRAWS, degree=4 * loops
    )
    loss = functools.partial(
        looped_loss_given,
        A=A,
        u=jnp.zeros(_DIMENSION),
        covariance=_IDENTITY,
        loops=loops,
    )
    mean, error = drawn.estimate(jax.vmap(loss)(drawn.covariances) ** 2)
    return float(mean), float(error)


def draws_for_one_error() -> None:
    """Variance of a plain draw over that of a draw from the mixture, by depth."""
    print(
        f"\nthe best multiple of I, d={_DIMENSION}, n={_SAMPLES}: the loss, from"
        f" {_DRAWS:,} draws of the mixture too,\nand how many times as many plain draws"
        " would have the same error"
    )
    print(f"{'loops':>5} {'exact':>12} {'mixture':>12} {'±':>9} {'plain draws':>20}")
    for loops in _DEPTHS:
        step, _ = looped_optimum(_DIMENSION, _SAMPLES, loops)
        A = step * _IDENTITY
        exact = float(
            looped_loss(A, covariance=_IDENTITY, samples=_SAMPLES, loops=loops)
        )
        found = sampled_looped_loss(
            A,
            covariance=_IDENTITY,
            samples=_SAMPLES,
            loops=loops,
            key=jax.random.key(0),
            draws=_DRAWS,
        )
        mean, error = float(found.mean), float(found.standard_error)
        square, margin = second_moment(A, loops)
        own = _DRAWS * error**2
        ratio, spread = (square - exact**2) / own, margin / own
        times = f"{ratio:,.3g} ± {spread:.2g}"
        print(f"{loops:5} {exact:12.5g} {mean:12.5g} {error:9.2g} {times:>20}")


def time_of_a_draw() -> None:
    """Loss included; both compiled, in turns."""
    print(f"\n{'time of a draw':<20} {'mixture':>10} {'plain':>10} {'ratio':>8}")
    for dimension in (2, 5, _DIMENSION, 20):
        A, samples = 0.4 * jnp.eye(dimension), 2 * dimension

        def losses(key, mixture, A=A, samples=samples):
            found = sampled_looped_loss(
                A,
                covariance=jnp.eye(len(A)),
                samples=samples,
                loops=10,
                key=key,
                draws=_TIMED,
                mixture=mixture,
            )
            return tuple(found)

        program = jax.jit(losses, static_argnums=1)
        times = fastest(
            {
                name: lambda f=program, m=name == "mixture": f(jax.random.key(0), m)
                for name in ("mixture", "plain")
            }
        )
        mixture, plain = (times[name] / _TIMED * 1e6 for name in ("mixture", "plain"))
        setting = f"d={dimension}, n={samples}"
        print(f"{setting:<20} {mixture:7.2f} µs {plain:7.2f} µs {mixture / plain:8.2f}")


if __name__ == "__main__":
    time_of_a_draw()
    draws_for_one_error()
