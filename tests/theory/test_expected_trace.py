"""Expected traces against brute-force pairings, samples, moments, differences."""

import string

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.theory import expected_trace, wishart_matrix_moments, wishart_moments


def pairings(slots):
    if not slots:
        yield []
        return
    first, *rest = slots
    for i, partner in enumerate(rest):
        for others in pairings(rest[:i] + rest[i + 1 :]):
            yield [(first, partner), *others]


def free_indices(pairing, k):
    """How many of the k samples a pairing leaves free: slots 2i, 2i+1 are factor i."""
    label = list(range(k))
    for one, other in pairing:
        old, new = label[one // 2], label[other // 2]
        label = [new if x == old else x for x in label]
    return len(set(label))


def brute_force(matrices, covariance, n):
    """Isserlis' theorem written out: one einsum a pairing, no loops recognised."""
    k, letters = len(matrices), string.ascii_letters
    total = 0.0
    for pairing in pairings(list(range(2 * k))):
        # Factor S_i has slots 2i (left) and 2i+1 (right); M_i joins 2i+1 to 2i+2.
        fixed = [letters[2 * i + 1] + letters[(2 * i + 2) % (2 * k)] for i in range(k)]
        paired = [letters[one] + letters[other] for one, other in pairing]
        value = np.einsum(
            ",".join(fixed + paired),
            *matrices,
            *[covariance] * k,
            optimize="greedy",
        )
        total += n ** (free_indices(pairing, k) - k) * value
    return total


def problem(k, d, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(d, d))
    return rng.normal(size=(k, d, d)), root @ root.T / d + 0.1 * np.eye(d)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [1, 7])
def test_brute_force(k, n):
    matrices, covariance = problem(k, 2)
    value = expected_trace(jnp.array(matrices), jnp.array(covariance), n)
    np.testing.assert_allclose(value, brute_force(matrices, covariance, n), rtol=1e-11)


def test_brute_force_of_five():
    # With rank-one matrices a pairing is a product of numbers: 945 of them are quick.
    k, d, n = 5, 3, 4
    rng = np.random.default_rng(5)
    u, v = rng.normal(size=(2, k, d))
    matrices = np.einsum("ki,kj->kij", u, v)
    covariance = problem(k, d)[1]
    # Slot 2i+1 holds u_i, slot 2i+2 holds v_i.
    slots = np.empty((2 * k, d))
    for i in range(k):
        slots[2 * i + 1], slots[(2 * i + 2) % (2 * k)] = u[i], v[i]
    products = slots @ covariance @ slots.T
    total = 0.0
    for pairing in pairings(list(range(2 * k))):
        value = np.prod([products[pair] for pair in pairing])
        total += n ** (free_indices(pairing, k) - k) * value
    value = expected_trace(jnp.array(matrices), jnp.array(covariance), n)
    np.testing.assert_allclose(value, total, rtol=1e-11)


@pytest.mark.parametrize("k", [5, 6])
@pytest.mark.parametrize(("d", "n"), [(5, 20), (3, 2), (1, 4)])
def test_identity_words_are_moments(k, d, n):
    words = jnp.broadcast_to(jnp.eye(d), (k, d, d))
    exact = float(d * wishart_moments(d, n, k)[k])
    np.testing.assert_allclose(expected_trace(words, jnp.eye(d), n), exact, rtol=1e-13)


def test_one_fixed_matrix_sees_the_matrix_moment():
    k, d, n = 6, 3, 4
    matrices, covariance = problem(k, d, seed=1)
    words = np.broadcast_to(np.eye(d), (k, d, d)).copy()
    words[2] = matrices[2]
    moment = wishart_matrix_moments(jnp.array(covariance), n, k)[k]
    exact = np.trace(moment @ matrices[2])
    value = expected_trace(jnp.array(words), jnp.array(covariance), n)
    np.testing.assert_allclose(value, exact, rtol=1e-11)


def test_six_arbitrary_matrices_by_sampling():
    k, d, n = 6, 2, 9
    matrices, covariance = problem(k, d, seed=2)
    rng = np.random.default_rng(3)
    x = rng.multivariate_normal(np.zeros(d), covariance, size=(400_000, n))
    S = np.einsum("bni,bnj->bij", x, x, optimize=True) / n
    product = np.broadcast_to(np.eye(d), S.shape)
    for matrix in matrices:
        product = product @ S @ matrix
    draws = np.trace(product, axis1=1, axis2=2)
    exact = float(expected_trace(jnp.array(matrices), jnp.array(covariance), n))
    z = (draws.mean() - exact) / (draws.std() / np.sqrt(len(draws)))
    assert abs(z) < 4


def test_cyclic_shifts_and_transposes_of_six():
    matrices, covariance = problem(6, 3, seed=4)
    mirror = np.swapaxes(matrices[::-1], 1, 2)
    words = np.stack([matrices, np.roll(matrices, 2, axis=0), mirror])
    values = expected_trace(jnp.array(words), jnp.array(covariance), 5)
    np.testing.assert_allclose(values[1:], values[0] * np.ones(2), rtol=1e-11)


def test_leading_axes():
    matrices, covariance = problem(4, 2, seed=5)
    words = np.stack([[matrices, 2 * matrices, 0 * matrices]] * 2)
    values = expected_trace(jnp.array(words), jnp.array(covariance), 5)
    single = expected_trace(jnp.array(matrices), jnp.array(covariance), 5)
    np.testing.assert_allclose(values, [[single, 16 * single, 0]] * 2, rtol=1e-12)


def test_many_samples_replace_s_by_its_mean():
    matrices, covariance = problem(6, 3, seed=6)
    product = np.eye(3)
    for matrix in matrices:
        product = product @ covariance @ matrix
    value = expected_trace(jnp.array(matrices), jnp.array(covariance), 10**12)
    np.testing.assert_allclose(value, np.trace(product), rtol=1e-8)


def test_gradients_and_hessian():
    k, d, n = 4, 2, 3
    matrices, covariance = map(jnp.array, problem(k, d, seed=7))

    def value(matrices, covariance):
        return expected_trace(matrices, covariance, n)

    # Differences in a symmetric direction, good to step² against the third derivative.
    slope = jax.grad(value, argnums=1)(matrices, covariance)
    move, step = jnp.array([[0.3, -0.2], [-0.2, 0.5]]), 1e-4
    up, down = (value(matrices, covariance + s * move) for s in (step, -step))
    difference = (up - down) / (2 * step)
    np.testing.assert_allclose(difference, jnp.sum(slope * move), rtol=1e-5)
    # Multilinear in the words: ⟨∂E/∂M_i, M_i⟩ = E for every i, and
    # ⟨M_i, ∂²E/∂M_i∂M_j, M_j⟩ = E for i ≠ j, 0 for i = j.
    exact = value(matrices, covariance)
    slopes = jnp.sum(jax.grad(value)(matrices, covariance) * matrices, axis=(1, 2))
    np.testing.assert_allclose(slopes, exact * np.ones(k), rtol=1e-11)
    H = jax.jit(jax.hessian(value))(matrices, covariance)
    curvature = jnp.einsum("aijbkl,aij,bkl->ab", H, matrices, matrices)
    target = float(exact) * (1 - np.eye(k))
    np.testing.assert_allclose(curvature, target, rtol=1e-10, atol=1e-9)


def test_inside_jit():
    matrices, covariance = map(jnp.array, problem(3, 2, seed=8))
    closed = jax.jit(lambda words: expected_trace(words, covariance, 3))
    exact = expected_trace(matrices, covariance, 3)
    np.testing.assert_allclose(closed(matrices), exact, rtol=1e-13)


def test_bad_input(unchecked):
    cases = [
        (
            (jnp.ones((7, 2, 2)), jnp.eye(2), 3),
            "`words` must be of 1 to 6 matrices, the longest that are exact here, "
            "got 7 matrices",
        ),
        (
            (jnp.ones((2, 3, 3)), jnp.eye(2), 3),
            "`covariance` must be a 3×3 matrix like `words`, got shape (2, 2)",
        ),
        (
            (jnp.full((1, 2, 2), jnp.nan), jnp.eye(2), 3),
            "`words` must be finite, got 4 entries that are not",
        ),
        (
            (jnp.ones((1, 2, 2)), jnp.eye(2), 0),
            "`samples` must be an integer ≥ 1, got 0",
        ),
        (
            (jnp.ones((1, 2, 2)), jnp.array([[1.0, 0.5], [0.0, 1.0]]), 3),
            "`covariance` must be symmetric, got entries that differ from their mirror "
            "image by 0.5",
        ),
    ]
    for arguments, message in cases:
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            expected_trace(*arguments)
        assert str(caught.value) == f"expected_trace: {message}"
