"""Lemma 8: multiples of Σ⁻¹ may change places among the layers; other matrices not."""

import itertools

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured
from iclab.papers.ahn2023._multi_layer import (
    LAYERS,
    Multiples,
    Setting,
    loss_and_gradient,
    round_off,
    settings,
)
from iclab.theory import scalar_transformer_loss

labels = [f"layers {o}" for o in itertools.permutations(range(1, LAYERS + 1))]

shares = {"absent": "whether an argument asks for noise, which there is not"}


def cases(scale) -> dict[str, Multiples]:
    """A random point of S for every covariance."""
    found = {}
    for name, setting in settings(scale).items():
        random = np.random.default_rng(list(name.encode()))
        found[name] = Multiples(setting, tuple(-random.uniform(0.2, 1.2, LAYERS)))
    return found


def predict(case: Multiples):
    """One number for all six orders: an integral in which the a_i are symmetric."""
    setting = case.setting
    loss = scalar_transformer_loss(
        jnp.asarray(case.a), None, setting.dimension, setting.samples
    )
    return np.full(6, float(loss))


def measure(case: Multiples) -> Measured:
    """The exact loss with the layers in each order."""
    A = case.setting.multiples(np.array(case.a))
    rounding, _ = round_off(A, case.setting)
    return Measured(_losses(A, case.setting), rounding, "float64 round-off")


def decoy(case: Multiples):
    """The six losses when the first layer steps along I and not along Σ⁻¹."""
    setting = case.setting
    A = setting.multiples(np.array(case.a))
    A[0] = case.a[0] * setting.dimension / np.trace(setting.covariance)
    A[0] *= np.eye(setting.dimension)
    return _losses(A, setting)


def _losses(A: np.ndarray, setting: Setting) -> np.ndarray:
    orders = itertools.permutations(range(LAYERS))
    return np.array([loss_and_gradient(A[list(o)], setting)[0] for o in orders])
