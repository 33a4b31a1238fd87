"""Trained models on sampled prompts: several models and lengths in one pass."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from iclab.core import Prompt
from iclab.evaluation import prompt_average
from iclab.evidence import STANDARD_ERRORS, Measured, averaged
from iclab.models import LinearSelfAttention
from iclab.papers.zhang2023._fixed_covariance import Setting, settings, trajectory
from iclab.tasks import (
    AbstractTask,
    CovariateShift,
    LinearRegression,
    QueryShift,
    TaskShift,
)


@functools.cache
def distribution(spectrum: str, context_length: int) -> Setting:
    """Training in three dimensions: one covariance a spectrum, whatever the length.

    The start is that of N = 2, which is small enough for every longer prompt too.
    """
    base = settings("smoke")[f"d=3, {spectrum} spectrum, N=2"]
    return dataclasses.replace(base, context_length=context_length)


def trained_model(setting: Setting) -> LinearSelfAttention:
    """The model at the end of its gradient flow, which never heard of Γ."""
    return LinearSelfAttention.from_blocks(*trajectory(setting).flow.model)


def preconditioner_error(setting: Setting) -> float:
    """How far u₋₁U₁₁ of `trained_model` may be from its limit, in operator norm."""
    found = trajectory(setting)
    # u₋₁ = ‖U₁₁‖_F, each known up to the resting error.
    return found.resting_error * 2 * float(found.flow.model[1])


def shifted_task(
    covariance: Float[Array, "d d"],
    *,
    weight: Float[Array, " d"] | None = None,
    noise_std: float = 0.0,
    transform: Float[Array, "d d"] | None = None,
    query_covariance: Float[Array, "d d"] | None = None,
) -> AbstractTask:
    """Linear prompts with x ~ N(0, Λ), but for what is given.

    All wrappers are always there, with nothing to do by default, so that one compiled
    simulation serves every shift.
    """
    T = jnp.eye(len(covariance)) if transform is None else transform
    inputs = CovariateShift(LinearRegression(covariance), T)
    # As an array, so that another σ is not another program.
    sigma = np.float64(noise_std)
    labelling = LinearRegression(covariance, weight=weight, noise_std=sigma)
    Q = T @ covariance @ T.T if query_covariance is None else query_covariance
    return QueryShift(TaskShift(inputs, labelling), Q)


def simulated_risk(
    task: AbstractTask,
    pairs: list[tuple[LinearSelfAttention, int]],
    *,
    prompts: int,
    key: PRNGKeyArray,
) -> Measured:
    """Mean squared error of each model on its number of examples, on common prompts."""
    models, lengths = zip(*pairs, strict=True)
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *models)
    estimate = prompt_average(
        _squared_errors,
        task,
        stacked,
        jnp.asarray(lengths),
        examples=max(lengths),
        prompts=prompts,
        key=key,
    )
    value, error = np.asarray(estimate.mean), np.asarray(estimate.standard_error)
    return averaged(value, error, estimate.draws, "prompts")


def _squared_errors(
    prompt: Prompt, models: LinearSelfAttention, lengths: Int[Array, " pairs"]
) -> Float[Array, " pairs"]:
    predict = jax.vmap(lambda model, M: model(prompt.prefix(M)))
    return (predict(models, lengths) - prompt.target) ** 2


def risk_on_moments(
    model: LinearSelfAttention,
    covariance: Float[Array, "d d"],
    examples: int,
    *,
    key: PRNGKeyArray,
    weight: Float[Array, " d"] | None = None,
    noise_std: float = 0.0,
    query_covariance: Float[Array, "d d"] | None = None,
    draws: int = 1 << 16,
) -> Measured:
    """Mean squared error on prompts of any length M ≥ d, through their moments.

    (1/M)Σxxᵀ is Wishart, drawn by its triangular factor, and the mean of noise times
    inputs is Gaussian given it: a prompt costs as much for M = 10¹² as for M = d.
    """
    random = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    d, M = len(covariance), examples
    factor = np.tril(random.standard_normal((draws, d, d)), -1)
    index = np.arange(d)
    factor[:, index, index] = np.sqrt(random.chisquare(M - index, (draws, d)))
    root = np.linalg.cholesky(np.asarray(covariance)) @ factor / np.sqrt(M)
    gram = root @ np.swapaxes(root, 1, 2)
    w = random.standard_normal((draws, d)) if weight is None else np.asarray(weight)
    w = np.broadcast_to(w, (draws, d))
    noise = root @ random.standard_normal((draws, d, 1)) / np.sqrt(M)
    cross = np.einsum("nij,nj->ni", gram, w) + noise_std * noise[..., 0]
    Q = covariance if query_covariance is None else query_covariance
    values, vectors = np.linalg.eigh(np.asarray(Q))  # which may be singular
    query = random.standard_normal((draws, d)) * np.sqrt(np.maximum(values, 0))
    query = query @ vectors.T
    power = np.sum(cross * w, axis=1) + noise_std**2
    answer = _from_moments(model, gram, cross, power, query, np.int64(M))
    errors = (np.asarray(answer) - np.sum(query * w, axis=1)) ** 2
    return averaged(
        errors.mean(), errors.std(ddof=1) / np.sqrt(draws), draws, "prompts"
    )


def power_law(lengths: np.ndarray, risks: list[Measured]) -> Measured:
    """Exponent of a risk in a length: the last slope of its logarithm.

    How much it may be off: what it moved since the first, and the sampling errors.
    """
    x, y = np.log(lengths), np.log([float(one.value) for one in risks])
    slopes = np.diff(y) / np.diff(x)
    shares = [float(one.error) / float(one.value) for one in risks]
    sampling = 2 * max(shares) / np.diff(x)[-1]
    reason = (
        f"change of the slope over the lengths, and {STANDARD_ERRORS:g} standard errors"
    )
    return Measured(slopes[-1], abs(slopes[-1] - slopes[0]) + sampling, reason)


@jax.jit
def _from_moments(model: LinearSelfAttention, *moments: Array) -> Array:
    return jax.vmap(model.from_moments, in_axes=(0, 0, 0, 0, None))(*moments)
