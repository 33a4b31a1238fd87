"""Losses of linear transformers against token-space passes of the paper's network."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.theory import (
    linear_transformer_loss,
    sampled_transformer_loss,
    scalar_transformer_loss,
)


def token_space_losses(A, B, covariance, weight_covariance, n, prompts, seed):
    """Squared errors of Z ← Z + (1/n) P Z M Zᵀ Q Z with the forms (9) or (13)."""
    rng = np.random.default_rng(seed)
    d = len(covariance)
    x = rng.multivariate_normal(np.zeros(d), covariance, size=(prompts, n + 1))
    w = rng.multivariate_normal(np.zeros(d), weight_covariance, size=prompts)
    y = np.einsum("bni,bi->bn", x, w)
    Z = np.concatenate([x, y[:, :, None]], axis=2).swapaxes(1, 2)
    Z[:, d, n] = 0
    mask = np.diag([1.0] * n + [0.0])
    for i in range(len(A)):
        P, Q = np.zeros((d + 1, d + 1)), np.zeros((d + 1, d + 1))
        P[d, d], Q[:d, :d] = 1, A[i]
        if B is not None:
            P[:d, :d] = B[i]
        Z = Z + P @ Z @ mask @ Z.swapaxes(1, 2) @ Q @ Z / n
    return (Z[:, d, n] + y[:, n]) ** 2


def z_score(draws, exact):
    return (draws.mean() - float(exact)) / (draws.std() / np.sqrt(len(draws)))


def problem(k, d, seed=0, scale=0.3):
    rng = np.random.default_rng(seed)
    root, weight_root = rng.normal(size=(2, d, d))
    covariance = root @ root.T / d + 0.2 * np.eye(d)
    weight_covariance = weight_root @ weight_root.T / d
    A, B = scale * rng.normal(size=(2, k, d, d))
    return A - 0.3 * np.eye(d), B, covariance, weight_covariance


def test_two_layer_reference_and_order_of_layers():
    A = jnp.stack(
        [jnp.diag(jnp.array([-0.9, -0.2])), jnp.diag(jnp.array([-0.3, -1.2]))]
    )
    loss = linear_transformer_loss(A, covariance=jnp.eye(2), samples=8)
    np.testing.assert_allclose(loss, 0.401984375, rtol=1e-13)
    swapped = linear_transformer_loss(A[::-1], covariance=jnp.eye(2), samples=8)
    np.testing.assert_allclose(swapped, 0.55578125, rtol=1e-13)


def test_three_layers_at_the_optimum_of_theorem_4():
    d, n = 5, 20
    covariance = jnp.array(problem(1, d, seed=3)[2])
    a = jnp.array([-1.714217379534, -0.689126087405, -0.422408533929])
    A = a[:, None, None] * jnp.linalg.inv(covariance)[None]

    @jax.jit
    def loss_and_slope(A):
        return jax.value_and_grad(
            lambda A: linear_transformer_loss(A, covariance=covariance, samples=n)
        )(A)

    loss, slope = loss_and_slope(A)
    np.testing.assert_allclose(loss, 12138645 / 90852389, rtol=1e-11)
    # The whole gradient, in every direction, not only along S.
    np.testing.assert_allclose(slope, np.zeros((3, d, d)), atol=1e-10)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_arbitrary_weights_in_token_space(k):
    A, _, covariance, weight_covariance = problem(k, 2, seed=k)
    exact = linear_transformer_loss(
        jnp.array(A),
        covariance=jnp.array(covariance),
        weight_covariance=jnp.array(weight_covariance),
        samples=6,
    )
    draws = token_space_losses(A, None, covariance, weight_covariance, 6, 100_000, k)
    assert abs(z_score(draws, exact)) < 4


def test_no_layer_effect_is_the_zero_predictor():
    covariance = jnp.array(problem(1, 2)[2])
    A = jnp.zeros((3, 2, 2))
    loss = linear_transformer_loss(A, covariance=covariance, samples=4)
    np.testing.assert_allclose(loss, 2, rtol=1e-13)


@pytest.mark.everything
def test_exact_agrees_with_sampled():
    A, _, covariance, weight_covariance = map(jnp.array, problem(3, 2, seed=5))
    exact = linear_transformer_loss(
        A, covariance=covariance, weight_covariance=weight_covariance, samples=5
    )
    mean, error = sampled_transformer_loss(
        A,
        None,
        covariance=covariance,
        weight_covariance=weight_covariance,
        samples=5,
        key=jax.random.key(0),
        draws=50_000,
    )
    assert abs(mean - exact) < 4 * error
    assert error < 0.05 * exact


@pytest.mark.parametrize("k", [1, 2, 3])
def test_exact_agrees_with_quadrature(k):
    covariance = jnp.array(problem(1, 2, seed=6)[2])
    a = jnp.array([-0.7, 0.4, -1.3])[:k]
    A = a[:, None, None] * jnp.linalg.inv(covariance)[None]
    for n in (1, 7):
        exact = linear_transformer_loss(A, covariance=covariance, samples=n)
        scalar = scalar_transformer_loss(a, None, 2, n)
        np.testing.assert_allclose(exact, scalar, rtol=1e-11)


def test_second_layer_of_b_in_token_space():
    k, d, n = 3, 2, 8
    A, B, covariance, weight_covariance = problem(k, d, seed=7, scale=0.2)
    draws = token_space_losses(A, B, covariance, weight_covariance, n, 100_000, 0)
    mean, error = sampled_transformer_loss(
        jnp.array(A),
        jnp.array(B),
        covariance=jnp.array(covariance),
        weight_covariance=jnp.array(weight_covariance),
        samples=n,
        key=jax.random.key(1),
        draws=50_000,
    )
    both = np.hypot(float(error), draws.std() / np.sqrt(len(draws)))
    assert abs(draws.mean() - float(mean)) < 4 * both
    assert float(error) < draws.std() / np.sqrt(len(draws))  # Rao and Blackwell


def test_scalar_weights_with_b_agree_with_matrices():
    d, n = 2, 9
    covariance = jnp.array(problem(1, d, seed=8)[2])
    a, b = jnp.array([-0.4, -0.6]), jnp.array([0.3, 5.0])
    exact = scalar_transformer_loss(a, b, d, n)
    mean, error = sampled_transformer_loss(
        a[:, None, None] * jnp.linalg.inv(covariance)[None],
        b[:, None, None] * jnp.eye(d)[None],
        covariance=covariance,
        samples=n,
        key=jax.random.key(2),
        draws=50_000,
    )
    assert abs(mean - exact) < 4 * error
    # Footnote 3: the last b has no effect.
    other = scalar_transformer_loss(a, b.at[1].set(-1.0), d, n)
    np.testing.assert_allclose(other, exact, rtol=1e-13)


def test_one_layer_ignores_b():
    A, B, covariance, _ = map(jnp.array, problem(1, 2, seed=9))
    with_b = linear_transformer_loss(A, B, covariance=covariance, samples=4)
    without = linear_transformer_loss(A, covariance=covariance, samples=4)
    np.testing.assert_allclose(with_b, without, rtol=1e-14)


def test_gradient_and_hessian():
    A, _, covariance, _ = map(jnp.array, problem(2, 2, seed=10))

    @jax.jit
    def loss(A):
        return linear_transformer_loss(A, covariance=covariance, samples=5)

    slope, H = jax.jit(lambda A: (jax.grad(loss)(A), jax.hessian(loss)(A)))(A)
    H = H.reshape(8, 8)
    np.testing.assert_allclose(H, H.T, atol=1e-12)
    step, rng = 1e-4, np.random.default_rng(0)
    for _ in range(3):
        move = jnp.array(rng.normal(size=A.shape))
        up, here, down = loss(A + step * move), loss(A), loss(A - step * move)
        first, second = (up - down) / (2 * step), (up - 2 * here + down) / step**2
        # Differences are good to step² against the third and fourth derivatives.
        np.testing.assert_allclose(first, jnp.sum(slope * move), rtol=1e-4)
        curvature = move.ravel() @ H @ move.ravel()
        np.testing.assert_allclose(second, curvature, rtol=1e-4)


def test_sampled_loss_is_differentiable():
    A, B, covariance, _ = map(jnp.array, problem(2, 2, seed=11))

    def loss(B):
        return sampled_transformer_loss(
            A, B, covariance=covariance, samples=5, key=jax.random.key(0), draws=50_000
        ).mean

    slope = jax.grad(loss)(B)
    assert np.max(np.abs(slope[0])) > 1e-3
    np.testing.assert_allclose(slope[1], np.zeros((2, 2)))


def raised(function, *arguments, **settings):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        function(*arguments, **settings)
    return str(caught.value)


def test_what_the_exact_loss_cannot_do():
    setting = {"covariance": jnp.eye(2), "samples": 3}
    assert raised(linear_transformer_loss, jnp.ones((4, 2, 2)), **setting) == (
        "linear_transformer_loss: `A` must be of at most 3 layers to be exact (more: "
        "scalar_transformer_loss for multiples of the inverse covariance, else "
        "sampled_transformer_loss), got 4 layers"
    )
    layers = jnp.ones((2, 2, 2))
    assert raised(linear_transformer_loss, layers, layers, **setting) == (
        "linear_transformer_loss: `B` must be None to be exact with several layers "
        "(scalar_transformer_loss serves multiples of the identity, "
        "sampled_transformer_loss any B), got 2 layers of it"
    )


def test_bad_input(unchecked):
    A, setting = jnp.ones((2, 2, 2)), {"covariance": jnp.eye(2), "samples": 3}
    assert raised(linear_transformer_loss, jnp.ones((2, 2)), **setting) == (
        "linear_transformer_loss: `A` must be an array of shape (k, d, d),"
        " got shape (2, 2)"
    )
    assert raised(linear_transformer_loss, A * jnp.inf, **setting) == (
        "linear_transformer_loss: `A` must be finite, got 8 entries that are not"
    )
    assert raised(linear_transformer_loss, A, covariance=jnp.eye(2), samples=0) == (
        "linear_transformer_loss: `samples` must be an integer ≥ 1, got 0"
    )
    singular = jnp.diag(jnp.array([1.0, 0.0]))
    assert raised(linear_transformer_loss, A, covariance=singular, samples=3) == (
        "linear_transformer_loss: `covariance` must be positive definite, got smallest "
        "eigenvalue 0"
    )
    assert raised(
        linear_transformer_loss, A, weight_covariance=jnp.eye(3), **setting
    ) == (
        "linear_transformer_loss: `weight_covariance` must be a 2×2 matrix like `A`,"
        " got shape "
        "(3, 3)"
    )
    draws = {"key": jax.random.key(0), "draws": 10}
    assert raised(sampled_transformer_loss, A, A[:1], **setting, **draws) == (
        "sampled_transformer_loss: `B` must be an array of shape (2, 2, 2) like `A`,"
        " got "
        "shape (1, 2, 2)"
    )
    assert raised(
        sampled_transformer_loss, A, None, **setting, key=jax.random.key(0), draws=1
    ) == (
        "sampled_transformer_loss: `draws` must be at least 2 for a standard error, "
        "got 1"
    )
    assert raised(scalar_transformer_loss, jnp.ones(6), jnp.ones(6), 3, 4) == (
        "scalar_transformer_loss: `a` must be of few enough layers for a degree ≤ 255 "
        "in the eigenvalue (sampled_transformer_loss has no such limit), got 6 layers, "
        "degree 728"
    )
    assert raised(scalar_transformer_loss, jnp.ones(2), jnp.ones(3), 3, 4) == (
        "scalar_transformer_loss: `b` must be a vector of 2 numbers like `a`, got "
        "shape (3,)"
    )
