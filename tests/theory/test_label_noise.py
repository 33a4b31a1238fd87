"""Labels with noise: models on prompts, exact fractions, limits, the Bayes rule."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.evaluation import sampled_risk
from iclab.models import LinearTransformer, LoopedTransformer
from iclab.tasks import LinearRegression
from iclab.theory import (
    linear_transformer_loss,
    looped_loss,
    looped_optimum,
    lsa_risk,
    optimal_filter,
    optimal_preconditioner,
    optimal_steps,
    sampled_looped_loss,
    sampled_transformer_loss,
    scalar_transformer_loss,
    wishart_moments,
    wishart_quadrature,
)
from tests.assertions import assert_close, assert_estimated, assert_mean_close
from tests.refusals import refused

SIGMA = jnp.array([[1.0, 0.3], [0.3, 0.5]])
OMEGA = jnp.array([[0.7, -0.2], [-0.2, 1.1]])
A = jnp.array([[0.5, 0.2], [-0.1, 0.9]])
U = jnp.array([0.3, -0.4])
LAYERS = jnp.stack([-A, -A.T, -0.3 * A @ A])
N, NOISE = 6, 0.8
PRIOR = {"covariance": SIGMA, "weight_covariance": OMEGA}
SETTING = {**PRIOR, "samples": N, "noise_variance": NOISE}


def test_models_on_noisy_prompts_have_these_losses(getkey):
    """Forward passes on prompts; not one formula of the theory takes part."""
    zeros = jnp.zeros((3, 2, 2))
    models = {
        "three": LinearTransformer.sparse(LAYERS, zeros),
        "looped": LoopedTransformer(A, U, loops=2),
    }
    task = LinearRegression(SIGMA, weight_covariance=OMEGA, noise_std=NOISE**0.5)
    found = sampled_risk(models, task, examples=N, prompts=60_000, key=getkey())
    assert_mean_close(
        found["three"].mean,
        found["three"].standard_error,
        linear_transformer_loss(LAYERS, **SETTING),
    )
    assert_mean_close(
        found["looped"].mean,
        found["looped"].standard_error,
        looped_loss(A, U, **SETTING, loops=2),
    )


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_looped_words_are_those_of_equal_layers(layers):
    equal = jnp.broadcast_to(-A, (layers, 2, 2))
    expected = linear_transformer_loss(equal, **SETTING)
    assert_close(looped_loss(A, **SETTING, loops=layers), expected)


@pytest.mark.parametrize("layers", [1, 3])
def test_multiples_of_the_inverse_agree_with_words(layers):
    inverse = jnp.linalg.inv(SIGMA)
    a = jnp.linspace(-0.4, -0.9, layers)
    words = linear_transformer_loss(a[:, None, None] * inverse[None], **SETTING)
    signal = float(jnp.trace(OMEGA @ SIGMA)) / 2
    scalar = scalar_transformer_loss(
        a, None, 2, N, noise_variance=NOISE, signal_variance=signal
    )
    assert_close(words, scalar)
    looped = looped_loss(0.6 * inverse, U, **SETTING, loops=layers)
    traced = jax.jit(lambda s: looped_loss(s * inverse, U, **SETTING, loops=layers))
    assert_close(looped, traced(0.6))


@pytest.mark.everything
def test_sampled_losses_agree(getkey):
    found = sampled_transformer_loss(
        LAYERS, None, **SETTING, key=getkey(), draws=20_000
    )
    assert_mean_close(
        found.mean, found.standard_error, linear_transformer_loss(LAYERS, **SETTING)
    )
    found = sampled_looped_loss(A, U, **SETTING, loops=2, key=getkey(), draws=20_000)
    assert_mean_close(
        found.mean, found.standard_error, looped_loss(A, U, **SETTING, loops=2)
    )
    # With B nothing is exact but multiples of the inverse covariance.
    a, b = jnp.array([-0.4, -0.6]), jnp.array([-0.3, 0.0])
    inverse, identity = jnp.linalg.inv(SIGMA), jnp.eye(2)
    found = sampled_transformer_loss(
        a[:, None, None] * inverse[None],
        b[:, None, None] * identity[None],
        covariance=SIGMA,
        samples=N,
        noise_variance=NOISE,
        key=getkey(),
        draws=20_000,
    )
    exact = scalar_transformer_loss(a, b, 2, N, noise_variance=NOISE)
    assert_estimated(found, exact)


def _normal_equations(d: int, n: int, k: int, noise: Fraction):
    """Coefficients of the best g and its loss, solved in fractions."""
    m, s = wishart_moments(d, n, 2 * k), noise / n
    rows = [
        [m[j + l + 2] + s * m[j + l + 1] for l in range(k)] + [m[j + 1]]
        for j in range(k)
    ]
    for i in range(k):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(k):
            if j != i:
                rows[j] = [
                    x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)
                ]
    g = [row[-1] for row in rows]
    return g, d * (1 - sum(c * m[j + 1] for j, c in enumerate(g)))


@pytest.mark.parametrize(("d", "n"), [(5, 20), (5, 3), (1, 4)])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_best_filter_in_fractions(d, n, k):
    if k > min(d, n) and d > 1:
        k = min(d, n)
    for noise in (Fraction(1, 4), Fraction(7)):
        g, loss = _normal_equations(d, n, k, noise)
        found = optimal_filter(d, n, k, noise_variance=float(noise))
        assert_close(found[0], [float(c) for c in g])
        assert_close(found[1], float(loss))


def test_reference_values():
    setting = {"noise_variance": 0.25}
    references = {
        1: 25 / 21,
        2: 0.422439888760,
        3: 0.207413263137,
        4: 0.135057040417,
        6: 0.096917588000,
    }
    for k, reference in references.items():
        steps, loss = optimal_steps(5, 20, k, **setting)
        assert_close(loss, reference, rtol=1e-11)
        # The steps have the loss that they are said to have.
        assert_close(scalar_transformer_loss(-steps, None, 5, 20, **setting), loss)
    assert_close(optimal_steps(5, 20, 1, **setting)[0], [20 / (20 + 5 + 1 + 0.25)])
    shared = {1: 25 / 21, 2: 0.541925037061, 3: 0.324109574765, 5: 0.174503176212}
    for L, reference in shared.items():
        step, loss = looped_optimum(5, 20, L, **setting)
        assert_close(loss, reference, rtol=1e-11)
        a = jnp.full(L, -step)
        slope = jax.grad(lambda a: scalar_transformer_loss(a, None, 5, 20, **setting))
        assert_close(jnp.sum(slope(a)), 0.0)


@pytest.mark.parametrize("noise", [5.0, 30.0])
def test_steps_stay_real_and_meet(noise):
    """Much noise: the best residual has no real zeros, and the best steps are equal."""
    steps, loss = optimal_steps(5, 20, 3, noise_variance=noise)
    step, looped = looped_optimum(5, 20, 3, noise_variance=noise)
    assert_close(loss, looped)
    # A triple zero of the residual: steps are known to a third of the digits.
    assert_close(steps, np.full(3, step), rtol=1e-5)
    assert optimal_filter(5, 20, 3, noise_variance=noise)[1] < loss


def test_a_shared_step_is_the_best_of_all():
    """At high noise and an even number of loops the slope has several zeros."""
    for L, noise in ((2, 40.0), (4, 3.0), (3, 10.0)):
        step, loss = looped_optimum(3, 8, L, noise_variance=noise)
        grid = np.linspace(0, 2, 4001)
        losses = jax.jit(
            jax.vmap(
                lambda a, L=L, noise=noise: scalar_transformer_loss(
                    jnp.full(L, -a), None, 3, 8, noise_variance=noise
                )
            )
        )(grid)
        best = int(jnp.argmin(losses))
        assert loss <= float(losses[best]) + 1e-12
        assert abs(step - grid[best]) < 1e-3


def test_no_noise_changes_no_bit():
    zero = {"noise_variance": 0.0, "signal_variance": 1.0}
    for call in (optimal_steps, looped_optimum, optimal_filter):
        for one, other in zip(call(5, 20, 3), call(5, 20, 3, **zero), strict=True):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    assert_close(optimal_filter(5, 20, 3)[1], optimal_steps(5, 20, 3)[1])
    a = jnp.array([-0.4, -0.7])
    assert scalar_transformer_loss(a, None, 5, 20) == scalar_transformer_loss(
        a, None, 5, 20, **zero
    )
    noiseless = {**SETTING, "noise_variance": 0.0}
    bare = {**PRIOR, "samples": N}
    assert linear_transformer_loss(LAYERS, **noiseless) == linear_transformer_loss(
        LAYERS, **bare
    )
    # And the limit: what a little noise adds is of its order.
    for call in (optimal_steps, looped_optimum, optimal_filter):
        near, there = call(5, 20, 3, noise_variance=1e-9), call(5, 20, 3)
        assert 0 < near[1] - there[1] < 1e-8
        assert_close(near[0], there[0], rtol=1e-7)


def test_only_the_ratio_of_noise_and_signal_matters():
    for call in (optimal_steps, looped_optimum, optimal_filter):
        first = call(4, 9, 2, noise_variance=0.6, signal_variance=2.0)
        second = call(4, 9, 2, noise_variance=0.3)
        assert_close(first[0], second[0])
        assert_close(first[1], 2 * second[1])


def test_deep_methods_tend_to_the_bayes_rule():
    """Ridge with σ²/n leaves d∫τ/(λ + τ)dμ, and every polynomial leaves more."""
    tau, draws = 0.25 / 20, 100_000
    inputs = np.random.default_rng(3).standard_normal((draws, 20, 5))
    eigenvalues = np.linalg.eigvalsh(np.swapaxes(inputs, 1, 2) @ inputs / 20)
    sampled = np.sum(tau / (eigenvalues + tau), axis=1)
    h, weight = wishart_quadrature(5, 20, 255)
    bayes = float(5 * weight @ (tau / (h + tau)))
    assert_mean_close(sampled.mean(), sampled.std() / draws**0.5, bayes)
    losses = [optimal_filter(5, 20, k, noise_variance=0.25)[1] for k in range(1, 17)]
    assert np.all(np.diff(losses) < 0)
    assert bayes < losses[-1] < bayes + 1e-4
    # Between the smallest and largest eigenvalues that occur g is 1/(λ + τ).
    g, _ = optimal_filter(5, 20, 12, noise_variance=0.25)
    for place in (0.5, 1.0, 1.5):
        assert_close(np.polyval(g[::-1], place), 1 / (place + tau), rtol=0.05)


def test_the_best_preconditioner_is_stationary():
    P = optimal_preconditioner(SIGMA, N, weight_covariance=OMEGA, noise_variance=NOISE)
    risk = jax.grad(
        lambda P: lsa_risk(P, SIGMA, N, weight_covariance=OMEGA, noise_variance=NOISE)
    )
    assert_close(risk(P), np.zeros((2, 2)))
    assert_close(P, P.T)  # though Ω and Λ do not commute
    white = optimal_preconditioner(jnp.eye(5), 20, noise_variance=0.25)
    assert_close(white, 20 / (20 + 5 + 1 + 0.25) * np.eye(5))
    same = optimal_preconditioner(SIGMA, N, weight_covariance=jnp.eye(2))
    assert_close(same, optimal_preconditioner(SIGMA, N))
    # One layer in the other convention has the same optimum.
    loss = jax.grad(lambda P: linear_transformer_loss(-P.T[None], **SETTING))
    assert_close(loss(P), np.zeros((2, 2)))


def test_refusals():
    rule = "`noise_variance` must be ≥ 0 and finite, got -1.0"
    with refused(f"optimal_steps: {rule}"):
        optimal_steps(5, 20, 2, noise_variance=-1.0)
    with refused(f"looped_optimum: {rule}"):
        looped_optimum(5, 20, 2, noise_variance=-1.0)
    with refused(f"scalar_transformer_loss: {rule}"):
        scalar_transformer_loss(jnp.ones(1), None, 5, 20, noise_variance=-1.0)
    with refused(f"linear_transformer_loss: {rule}"):
        linear_transformer_loss(LAYERS, **{**SETTING, "noise_variance": -1.0})
    with refused(f"looped_loss: {rule}"):
        looped_loss(A, **{**SETTING, "noise_variance": -1.0}, loops=1)
    with refused(f"optimal_preconditioner: {rule}"):
        optimal_preconditioner(SIGMA, N, noise_variance=-1.0)
    with refused("optimal_filter: `signal_variance` must be > 0 and finite, got 0.0"):
        optimal_filter(5, 20, 2, signal_variance=0.0)
