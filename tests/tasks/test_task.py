"""The pieces that a task may leave to the base class."""

import jax
import jax.numpy as jnp

from iclab.tasks import AbstractTask
from tests.assertions import assert_close


class Constant(AbstractTask):
    """Inputs that count upwards, labels that add them up."""

    dimension: int = 2

    def latent(self, key):
        return jnp.asarray(10.0)

    def inputs(self, latent, count, key):
        return jnp.arange(2.0 * count).reshape(count, 2)

    def labels(self, latent, inputs):
        return latent * inputs.sum(axis=1)

    def noise(self, latent, count, key):
        return 0.5 * jnp.ones(count)


def test_pieces_are_put_together():
    prompt = Constant().sample(jax.random.key(0), 3)
    assert_close(prompt.examples, [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    assert_close(prompt.labels, [10.5, 50.5, 90.5])
    # By default the query is one more input, and its label has no noise.
    assert_close(prompt.query, [0.0, 1.0])
    assert_close(prompt.target, 10.0)


def test_streams_differ():
    class Keys(Constant):
        def latent(self, key):
            return jax.random.uniform(key)

        def inputs(self, latent, count, key):
            return jnp.full((count, 2), jax.random.uniform(key))

        def noise(self, latent, count, key):
            return jnp.full(count, jax.random.uniform(key))

        def labels(self, latent, inputs):
            return jnp.full(len(inputs), latent)

        def target_noise(self, latent, key):
            return jax.random.uniform(key)

    prompt = Keys().sample(jax.random.key(0), 1)
    example, query = float(prompt.examples[0, 0]), float(prompt.query[0])
    both = {float(prompt.labels[0]), float(prompt.target)}
    assert len({example, query} | both) == 4
