"""What every task promises. A new task is tested by joining `TASKS`."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.tasks import (
    AbstractTask,
    CovariateShift,
    Cubic,
    DiagonalCovariance,
    DiscreteVectors,
    DrawnCovariance,
    Exponential,
    Fixed,
    Gamma,
    LinearLabels,
    LinearRegression,
    LogNormal,
    MixtureOfCovariances,
    NetworkLabels,
    NoisyLabels,
    NonlinearRegression,
    OrthogonalQuery,
    Quadratic,
    QueryLaw,
    QueryShift,
    RademacherCoefficients,
    RandomCovariance,
    Regression,
    ReLUNetwork,
    Representation,
    RotatedCovariance,
    SignVectors,
    Sine,
    SparseVectors,
    SphereVectors,
    StudentVectors,
    TaskShift,
    Uniform,
    UniformVectors,
    WishartCovariance,
)
from iclab.testing import check_task
from tests.assertions import assert_close, assert_mean_close
from tests.refusals import refused

D, N, DRAWS = 3, 2, 40_000

COVARIANCE = jnp.array([[1.0, 0.3, 0.0], [0.3, 0.5, -0.1], [0.0, -0.1, 0.2]])
OTHER = jnp.diag(jnp.array([0.3, 1.0, 0.6]))
WEIGHT = jnp.array([1.0, -2.0, 0.5])
TRANSFORM = jnp.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.0], [0.3, 0.0, 0.5]])
MOVED = TRANSFORM @ COVARIANCE @ TRANSFORM.T
LAWS = (Exponential(0.8), Gamma(2.0, 0.5), Uniform(0.5, 1.5))
QUICK = (Exponential(0.8), Uniform(0.5, 1.5), Uniform(0.0, 2.0))  # no gamma to compile
LAW_MEANS = jnp.diag(jnp.array([0.8, 1.0, 1.0]))


class Member(NamedTuple):
    """A task for any noise, and the second moments that it promises without noise.

    Of inputs and of queries (d×d), and of the target; None where none is promised. A
    task whose inputs are the same in every prompt gives them, n×d, as `fixed_inputs`.
    """

    name: str
    make: Callable[[float], AbstractTask]
    inputs: jax.Array | None
    queries: jax.Array | None
    target: float | None
    target_is_noisy: bool = False
    fixed_inputs: jax.Array | None = None
    cross: jax.Array | float = 0.0  # of the first example and the query
    rare: bool = False  # combinations of what others combine: seconds to compile


def _linear(noise: float, **options) -> LinearRegression:
    return LinearRegression(COVARIANCE, noise_std=noise, **options)


# Six tokens ±eᵢ, whose mean is zero; features of two dimensions.
DICTIONARY = jnp.concatenate([jnp.eye(D), -jnp.eye(D)])
FEATURES = jnp.arange(12.0).reshape(6, 2) / 5 - 1


def _representation(noise: float) -> Representation:
    """Noise λᵀε of std `noise`: ±1 coefficients have ‖λ‖² = m, always."""
    return Representation(
        DICTIONARY,
        FEATURES,
        context_length=N,
        noise_variance=noise**2 / 2,
        law=RademacherCoefficients(),
    )


POINTS = jnp.array([[1.0, 0.0, 2.0], [-1.0, 1.0, 0.0]])
OF_POINTS = POINTS.T @ POINTS / 2


def _one_scale(key):
    """Diagonal entries that are always equal, 1/2 or 3/2."""
    return (0.5 + jax.random.bernoulli(key)) * OTHER


TASKS = (
    Member("linear", _linear, COVARIANCE, COVARIANCE, 1.7),
    Member(
        "linear with a weight covariance",
        lambda noise: _linear(noise, weight_covariance=OTHER),
        COVARIANCE,
        COVARIANCE,
        float(jnp.trace(OTHER @ COVARIANCE)),
    ),
    Member(
        "linear with a fixed weight",
        lambda noise: _linear(noise, weight=WEIGHT),
        COVARIANCE,
        COVARIANCE,
        float(WEIGHT @ COVARIANCE @ WEIGHT),
    ),
    Member(
        "random covariance",
        lambda noise: RandomCovariance(LAWS, scale=2.0, noise_std=noise),
        2 * LAW_MEANS,
        2 * LAW_MEANS,
        5.6,
    ),
    Member(
        "random covariance of other laws",
        lambda noise: RandomCovariance(
            (Fixed(0.5), LogNormal(0.1, 0.3), Fixed(1.0)), noise_std=noise
        ),
        jnp.diag(jnp.array([0.5, float(np.exp(0.145)), 1.0])),
        jnp.diag(jnp.array([0.5, float(np.exp(0.145)), 1.0])),
        1.5 + float(np.exp(0.145)),
    ),
    Member(
        "quadratic",
        lambda noise: NonlinearRegression(
            Quadratic(jnp.eye(D), WEIGHT), COVARIANCE, noise_std=noise
        ),
        COVARIANCE,
        COVARIANCE,
        # E(xᵀx)² = (tr Λ)² + 2 tr Λ²
        float(1.7**2 + 2 * jnp.sum(COVARIANCE**2) + WEIGHT @ COVARIANCE @ WEIGHT),
        True,
    ),
    Member(
        "cubic",
        lambda noise: NonlinearRegression(
            Cubic(jnp.array([1.0, 0.0, 0.0]), 0.5), OTHER, noise_std=noise
        ),
        OTHER,
        OTHER,
        # z ~ N(0, 0.3): E(z³ + z/2)² = 15·0.3³ + 3·0.3² + 0.3/4
        15 * 0.3**3 + 3 * 0.3**2 + 0.3 / 4,
        True,
    ),
    Member(
        "sine",
        lambda noise: NonlinearRegression(Sine(WEIGHT), OTHER, noise_std=noise),
        OTHER,
        OTHER,
        # z ~ N(0, 4.45): E sin² z = (1 − e^{−2·4.45})/2
        (1 - float(np.exp(-8.9))) / 2,
        True,
    ),
    Member(
        "network",
        lambda noise: NonlinearRegression(
            ReLUNetwork(jnp.array([[1.0, 0.0, 0.0]]), jnp.array([2.0])),
            OTHER,
            noise_std=noise,
        ),
        OTHER,
        OTHER,
        4 * 0.3 / 2,
        True,
    ),
    Member(
        "task shift",
        lambda noise: TaskShift(
            LinearRegression(OTHER), _linear(noise, weight_covariance=2 * jnp.eye(D))
        ),
        OTHER,
        OTHER,
        3.8,
    ),
    Member(
        "task shift to nonlinear labels",
        lambda noise: TaskShift(
            LinearRegression(OTHER),
            NonlinearRegression(Sine(WEIGHT), COVARIANCE, noise_std=noise),
        ),
        OTHER,
        OTHER,
        (1 - float(np.exp(-8.9))) / 2,
        True,
    ),
    Member(
        "query shift",
        lambda noise: QueryShift(_linear(noise), OTHER),
        COVARIANCE,
        OTHER,
        1.9,
    ),
    Member(
        "noisy labels",
        lambda noise: NoisyLabels(_linear(3.0), noise),
        COVARIANCE,
        COVARIANCE,
        1.7,
    ),
    Member(
        "orthogonal query",
        lambda noise: OrthogonalQuery(_linear(noise)),
        COVARIANCE,
        None,
        None,
    ),
    Member(
        "covariate shift",
        lambda noise: CovariateShift(_linear(noise), TRANSFORM),
        MOVED,
        MOVED,
        float(jnp.trace(MOVED)),
    ),
    Member(
        "representation",
        _representation,
        None,
        jnp.eye(D) / D,
        float(jnp.sum(FEATURES**2) / 6),
        True,
        DICTIONARY[:N],
    ),
    Member(
        "regression on Wishart covariances, t inputs and a query beside them",
        lambda noise: Regression(
            WishartCovariance(COVARIANCE, 5),
            inputs=StudentVectors(12.0),
            labels=NetworkLabels(32),
            noise=SignVectors(),
            noise_std=noise,
            query=QueryLaw(SphereVectors(), mean=WEIGHT, covariance=OTHER),
        ),
        COVARIANCE,
        OTHER + jnp.outer(WEIGHT, WEIGHT),
        float(jnp.trace(OTHER) + WEIGHT @ WEIGHT),
    ),
    Member(
        "regression on two covariances, inputs on the sphere and a discrete query",
        lambda noise: Regression(
            MixtureOfCovariances(
                jnp.stack([COVARIANCE, OTHER]), jnp.array([0.25, 0.75])
            ),
            inputs=SphereVectors(),
            labels=LinearLabels(OTHER, law=UniformVectors()),
            noise=UniformVectors(),
            noise_std=noise,
            query=QueryLaw(DiscreteVectors(POINTS), covariance=jnp.eye(D)),
        ),
        COVARIANCE / 4 + 3 * OTHER / 4,
        OF_POINTS,
        float(jnp.trace(OTHER @ OF_POINTS)),
        rare=True,
    ),
    Member(
        "regression on rotated covariances, sparse inputs and a query like them",
        lambda noise: Regression(
            RotatedCovariance(QUICK),
            inputs=SparseVectors(0.5),
            noise=StudentVectors(12.0),
            noise_std=noise,
            query=QueryLaw(correlation=0.6),
        ),
        2.8 / 3 * jnp.eye(D),
        2.8 / 3 * jnp.eye(D),
        2.8,
        cross=0.3 * 2.8 / 3 * jnp.eye(D),  # one example of two is the one
        rare=True,
    ),
    Member(
        "regression on equal scales, Gaussian inputs",
        lambda noise: Regression(
            DrawnCovariance(_one_scale), labels=Sine(WEIGHT), noise_std=noise
        ),
        OTHER,
        OTHER,
        (2 - float(np.exp(-4.45) + np.exp(-3 * 4.45))) / 4,
    ),
    Member(
        "regression on diagonal covariances, inputs of signs",
        lambda noise: Regression(
            DiagonalCovariance(QUICK), inputs=SignVectors(), noise_std=noise
        ),
        LAW_MEANS,
        LAW_MEANS,
        2.8,
        rare=True,
    ),
)

every_task = pytest.mark.parametrize(
    "member",
    [
        pytest.param(
            member,
            id=member.name,
            marks=[pytest.mark.everything] if member.rare else [],
        )
        for member in TASKS
    ],
)


BATCH_KEY = jax.random.key(7)


@functools.cache
def _prompts(name):
    """One batch of each task serves every statistical check; labels have noise 1/2."""
    task = next(member for member in TASKS if member.name == name).make(0.5)
    # Not compiled as a whole: the tasks share most of their operations.
    return jax.tree.map(np.asarray, task.sample_batch(BATCH_KEY, DRAWS, N))


def test_no_task_is_missing():
    def finals(cls):
        children = [
            child for child in cls.__subclasses__() if "iclab.tasks" in child.__module__
        ]
        return {leaf for child in children for leaf in finals(child)} or {cls}

    assert {type(member.make(0.0)) for member in TASKS} == finals(AbstractTask)


@every_task
def test_the_public_contract(member):
    """Shapes, keys, batches, labels one by one."""
    task = member.make(0.5)
    assert task.dimension == D
    check_task(task, examples=N)


@every_task
def test_batches_are_loops_of_reproducible_samples(member):
    task, batch = member.make(0.5), _prompts(member.name)
    for index, key in enumerate(jax.random.split(BATCH_KEY, DRAWS)[:2]):
        prompt = task.sample(key, N)
        for found, expected in zip(
            jax.tree.leaves(batch), jax.tree.leaves(prompt), strict=True
        ):
            assert_close(found[index], expected)
    assert len(np.unique(batch.target)) == DRAWS


@every_task
def test_noise_has_its_own_stream(member):
    silent, loud, louder = (
        member.make(noise).sample(jax.random.key(2), N) for noise in (0.0, 0.5, 1.0)
    )
    for noisy in (loud, louder):
        assert_close(noisy.examples, silent.examples, rtol=0, atol=0)
        assert_close(noisy.query, silent.query, rtol=0, atol=0)
    noise = loud.labels - silent.labels
    assert jnp.all(noise != 0)
    assert_close(louder.labels - silent.labels, 2 * noise)
    change = loud.target - silent.target
    assert_close(louder.target - silent.target, 2 * change)
    assert bool(change != 0) == member.target_is_noisy


@every_task
def test_labels_have_the_promised_noise(member):
    task = member.make(0.5)
    latent = task.latent(jax.random.key(3))
    noise = np.asarray(task.noise(latent, DRAWS, jax.random.key(4)))
    square = noise**2
    assert_mean_close(noise.mean(), noise.std() / np.sqrt(DRAWS), 0.0)
    assert_mean_close(square.mean(), square.std() / np.sqrt(DRAWS), 0.25)


def _assert_second_moment(vectors, expected):
    products = vectors[:, :, None] * vectors[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(vectors))
    assert_mean_close(products.mean(axis=0), error, expected)


@every_task
def test_inputs_have_the_promised_second_moment(member):
    examples = _prompts(member.name).examples
    if member.inputs is None:
        assert member.fixed_inputs is not None
        repeated = np.broadcast_to(np.asarray(member.fixed_inputs), examples.shape)
        assert_close(examples, repeated, rtol=0, atol=0)
        return
    for index in range(N):
        _assert_second_moment(examples[:, index], np.asarray(member.inputs))
        mean = examples[:, index].mean(axis=0)
        assert_mean_close(mean, examples[:, index].std(axis=0) / np.sqrt(DRAWS), 0.0)


@every_task
def test_queries_have_the_promised_second_moment(member):
    query = _prompts(member.name).query
    if member.queries is None:
        examples = _prompts(member.name).examples
        assert_close(np.einsum("pnd,pd->pn", examples, query), 0.0, atol=1e-9)
        assert np.min(np.linalg.norm(query, axis=1)) > 0
        return
    _assert_second_moment(query, np.asarray(member.queries))


@every_task
def test_targets_have_the_promised_power(member):
    prompts = _prompts(member.name)
    if member.target is None:
        # The weights never saw the query: E(wᵀx)² = E‖x‖² for w ~ N(0, I).
        values = prompts.target**2 - np.sum(prompts.query**2, axis=1)
        expected = 0.0
    else:
        values = prompts.target**2
        expected = member.target + 0.25 * member.target_is_noisy
    assert_mean_close(values.mean(), values.std() / np.sqrt(DRAWS), expected)


@every_task
def test_examples_and_query_correlate_as_promised(member):
    prompts = _prompts(member.name)
    products = prompts.examples[:, 0, :, None] * prompts.query[:, None, :]
    error = products.std(axis=0) / np.sqrt(DRAWS)
    mean = products.mean(axis=0)
    # Orthogonality makes the trace vanish exactly; the mean is zero by symmetry anyway.
    assert_mean_close(mean, error, member.cross)


@every_task
@pytest.mark.parametrize(
    ("prompts", "examples", "complaint"),
    [
        (3, 0, "`examples` must be an integer ≥ 1, got 0"),
        (3, 2.5, "`examples` must be an integer ≥ 1, got 2.5"),
        (0, 2, "`prompts` must be an integer ≥ 1, got 0"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_counts_are_named(member, prompts, examples, complaint):
    task = member.make(0.0)
    with refused(f"{type(task).__name__}.sample_batch: {complaint}"):
        task.sample_batch(jax.random.key(0), prompts, examples)


@every_task
def test_a_stretch_of_one_changes_nothing(member):
    """And one of two stretches the inputs; inputs of another law are refused."""
    task, key = member.make(0.5), jax.random.key(5)
    eye = jnp.eye(D)
    if task.input_root(task.latent(key)) is None:
        with refused(
            f"{type(task).__name__}.sample_stretched: inputs must be Gaussian, those of"
            f" {type(task).__name__} are not"
        ):
            task.sample_stretched(key, N, eye)
        return
    prompt, white = task.sample_stretched(key, N, eye)
    for found, expected in zip(
        jax.tree.leaves(prompt), jax.tree.leaves(task.sample(key, N)), strict=True
    ):
        assert_close(found, expected)
    twice, stretched = task.sample_stretched(key, N, 2 * eye)
    assert_close(stretched, 2 * white)
    assert_close(twice.examples, 2 * prompt.examples)
