"""Encoders with several numbers of heads on one dictionary, many starts side by side.

Heads share the width, so that all numbers of heads begin with the same weights, and all
see the same fresh tasks: what differs is the number of heads alone.
"""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np
import optax

from iclab.models import Encoder
from iclab.tasks import Representation
from iclab.training import OverRepresentation, fit

# Losses of single batches are noisy: levels are met by means over so many steps.
BLOCK = 10


def losses_of(sizes: Mapping[str, Any], heads: int, seed: int = 0) -> np.ndarray:
    """Losses of all starts under Adam, steps × starts."""
    s = sizes
    task = Representation.random(
        jax.random.key(seed, impl="rbg"),
        dictionary_size=s["dictionary_size"],
        input_dim=s["input_dim"],
        feature_dim=s["feature_dim"],
        context_length=s["context_length"],
        noise_variance=s["noise_variance"],
        unit_norm=False,
    )

    def start(key):
        return Encoder.random(
            key,
            input_dim=s["input_dim"],
            layers=s["layers"],
            heads=heads,
            width=s["width"],
            hidden=s["hidden"],
        )

    keys = jax.random.split(jax.random.key(seed + 1, impl="rbg"), s["starts"])
    found = fit(
        OverRepresentation(task),
        eqx.filter_vmap(start)(keys),
        optax.adam(s["rate"]),
        steps=s["steps"],
        batch=s["batch"],
        key=jax.random.key(seed + 2, impl="rbg"),
        runs=(s["starts"],),
        precision="float32",
    )
    return np.asarray(found.losses)


def steps_until(losses: np.ndarray, part: float) -> np.ndarray:
    """When every start's running mean has come down to a part of its first one.

    NaN where it has not.
    """
    kernel = np.ones(BLOCK) / BLOCK
    means = np.stack([np.convolve(one, kernel, "valid") for one in losses.T], axis=1)
    below = means <= part * means[:1].mean()
    return np.where(below.any(axis=0), np.argmax(below, axis=0) + BLOCK, np.nan)


def interval(ratios: np.ndarray) -> tuple[float, float, float]:
    """Mean of the logarithms over starts, and its 95 % interval (Student's), back."""
    from scipy.stats import t

    logs = np.log(ratios)
    half = t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs))
    mean, low, high = np.exp(logs.mean() + np.array([0.0, -half, half]))
    return float(mean), float(low), float(high)
