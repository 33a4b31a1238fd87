"""Equation (1) and Appendix D.3: is τ the variance of the noise, or its root?"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.evidence import Measured, Printed, averaged
from iclab.models import MultiHeadSoftmax
from iclab.papers.yang2024._instances import GENERAL, Instances
from iclab.papers.yang2024._single import simple, single
from iclab.tasks import Representation


def cases(scale) -> dict[str, Instances]:
    """A random problem, and one of simple numbers."""
    found = {f"{GENERAL}, τ=1/2, random": single(GENERAL)}
    return found if scale == "smoke" else found | simple(scale)


def predict(case: Instances):
    """‖Zâ_k − z_k‖² and (77), mτ(‖â_k‖² + 1) − 2mτâ_kk 1{k ≤ N}: E(ŷ_k − y_k)²."""
    return _errors(case, case.features.shape[2] * case.noise_variance[0])


def decoy(case: Instances):
    """τ in the place of mτ: noise that enters the label, not every feature."""
    return _errors(case, case.noise_variance[0])


def labels(case: Instances):
    """Tokens."""
    return [f"token {k + 1}" for k in range(case.tokens.shape[1])]


def measure(case: Instances, key, scale) -> Measured:
    """The model's squared error at every token on sampled tasks, noise N(0, τI)."""
    return _sampled(case, case.noise_variance[0], key, scale)


def measure_printed(case: Instances, key, scale) -> Measured:
    """The same with noise N(0, τ²I), as Appendix D.3 has it where it derives (77)."""
    return _sampled(case, case.noise_variance[0] ** 2, key, scale)


printed = Printed(predict=predict, measure=measure_printed, nearby=True)


def _errors(case: Instances, power: float) -> np.ndarray:
    """By the paper's formulas, in NumPy; `power` is that of a label's noise."""
    V, N = case.tokens[0], case.context_length
    scores = np.exp(V[:N] @ case.key_query[0] @ V.T)
    attention = scores / np.sum(scores, axis=1, keepdims=True)
    A = np.einsum("hk,hnk->nk", case.weights[0], attention)
    Z_hat = case.features[0].T
    copied = np.concatenate([np.diag(A[:, :N]), np.zeros(len(V) - N)])
    noise = power * (np.sum(A**2, axis=0) + 1 - 2 * copied)
    return np.sum((Z_hat[:, :N] @ A - Z_hat) ** 2, axis=0) + noise


def _sampled(case: Instances, variance: float, key, scale) -> Measured:
    draws = {"smoke": 50_000, "desk": 1_000_000, "paper": 10_000_000}[scale]
    Q, w, tokens, features = (
        jnp.asarray(one[0])
        for one in (case.key_query, case.weights, case.tokens, case.features)
    )
    N = case.context_length
    task = Representation(
        tokens, features, context_length=N, noise_variance=jnp.asarray(variance)
    )
    mean, error = map(
        np.asarray, _averages(MultiHeadSoftmax(Q, w), task, key, draws=draws)
    )
    return averaged(mean, error, draws, "tasks")


@functools.partial(jax.jit, static_argnames="draws")
def _averages(
    model: MultiHeadSoftmax, task: Representation, key: Array, *, draws: int
) -> tuple[Float[Array, " K"], Float[Array, " K"]]:
    labels = task.sample_labels_batch(key, draws)
    shown = labels[:, : task.context_length]
    predicted = jax.vmap(lambda y: model(task.tokens, y))(shown)
    squares = (predicted - labels) ** 2
    return jnp.mean(squares, axis=0), jnp.std(squares, axis=0) / jnp.sqrt(draws)


def numbers(results, printed):
    """By which parts of (77) errors with the variance τ² fall short of it."""
    short = np.concatenate(
        [1 - one.measured / one.predicted for one in printed.values()]
    )
    return {"least": short.min(), "most": short.max()}
