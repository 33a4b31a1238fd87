"""What every predictor promises. A new predictor is tested by joining `PREDICTORS`."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from iclab.algorithms import (
    Averaging,
    BayesOverTasks,
    GradientDescent,
    GradientDescentPlusPlus,
    Huber,
    IterativeNewton,
    Lasso,
    LeastSquares,
    OrthogonalMatchingPursuit,
    PreconditionedGradientDescent,
    Ridge,
    Zero,
)
from iclab.core import AbstractPredictor, Deep, Foreign, Prompt
from iclab.models import (
    GPT2,
    Attention,
    Encoder,
    LinearSelfAttention,
    LinearTransformer,
    LoopedTransformer,
    MergedWeights,
    MultiHeadSoftmax,
    OnPrompts,
    UntiedTransformer,
)
from iclab.testing import check_predictor
from iclab.testing._predictor import (  # compiled once for all
    _look_inside,
    _predict,
    _predict_batch,
)
from tests.assertions import assert_close
from tests.refusals import refused

D, N = 3, 5


class Member(NamedTuple):
    """A predictor, and how it turns with the inputs: `turn(predictor, R)`.

    One that is not `symmetric` minds the order of its examples and their axes; one that
    does not turn, the axes alone.
    """

    predictor: AbstractPredictor
    turn: Callable = lambda predictor, R: predictor
    own_dimension: bool = False
    symmetric: bool = True
    turns: bool = True
    linear_in_query: bool = True
    differentiable: bool = True

    @property
    def name(self) -> str:
        """The class; an adapter with what it adapts."""
        inner = getattr(self.predictor, "model", None)
        name = type(self.predictor).__name__
        if isinstance(self.predictor, Attention):
            return f"{name}({self.predictor.activation}, {self.predictor.query})"
        return name if inner is None else f"{name}({type(inner).__name__})"


def _turn_step(predictor, R):
    P = R @ predictor.preconditioner @ R.T
    return PreconditionedGradientDescent(P, predictor.step_sizes)


def _turn_attention(model, R):
    Q = jnp.eye(D + 1).at[:D, :D].set(R)
    return LinearSelfAttention(
        Q @ model.key_query @ Q.T, Q @ model.value_projection @ Q.T
    )


def _turn_layers(model, R):
    Q = jnp.eye(D + 1).at[:D, :D].set(R)
    return LinearTransformer(Q @ model.value @ Q.T, Q @ model.key_query @ Q.T)


def _turn_loop(model, R):
    return LoopedTransformer(R @ model.A @ R.T, R @ model.u, loops=model.loops)


def _turn_untied(model, R):
    return UntiedTransformer(R @ model.A @ R.T, model.u @ R.T)


def _turn_merged(model, R):
    Q = jnp.eye(D + 1).at[:D, :D].set(R)
    P, scores = model.weights.merged()
    weights = MergedWeights(Q @ P @ Q.T, Q @ scores @ Q.T)
    return eqx.tree_at(lambda model: model.weights, model, weights)


_MATRIX = jnp.array([[1.0, 0.2, 0.0], [0.1, 0.7, 0.1], [-0.3, 0.0, 0.4]])
_WEIGHTS = jax.random.normal(jax.random.key(0), (2, D + 1, D + 1))
_LAYERS = 0.3 * jax.random.normal(jax.random.key(1), (2, 2, D + 1, D + 1))

_SIZES: dict[str, Any] = {"layers": 2, "heads": 2, "width": 8, "dtype": jnp.float64}
# In compiled form: every operation alone would be compiled too.
_GPT2 = eqx.filter_jit(lambda key: GPT2(D, N, **_SIZES, key=key))(jax.random.key(2))
_ENCODER = eqx.filter_jit(
    lambda key: Encoder.random(key, input_dim=D, hidden=6, pre_norm=True, **_SIZES)
)(jax.random.key(3))
# A query that is no key, one that is, and one in between; separate and merged weights.
_HEADS = Attention.random(jax.random.key(4), dimension=D, layers=2, heads=2)
_RELU = Attention.random(
    jax.random.key(5), dimension=D, activation="relu", query="key", hidden=4, loops=3
)
_MASKED = Attention(MergedWeights(*_LAYERS[:, None]), query="masked", negated=True)
_SOFTMAX = MultiHeadSoftmax(_WEIGHTS[:, :D, :D], _WEIGHTS[:, 0])


def _turn_encoder(predictor, R):
    Q = jnp.eye(D + 1).at[:D, :D].set(R)
    weights = lambda p: p.model.embedding.weight  # noqa: E731
    return eqx.tree_at(weights, predictor, weights(predictor) @ Q.T)


def _turn_softmax(predictor, R):
    weights = lambda p: p.model.key_query  # noqa: E731
    return eqx.tree_at(weights, predictor, R @ weights(predictor) @ R.T)


def _averages(examples, labels, queries):
    correlation = np.einsum("bn,bnd->bd", labels, examples) / labels.shape[1]
    return np.sum(correlation * queries, axis=1)


PREDICTORS = (
    Member(_GPT2, own_dimension=True, symmetric=False, linear_in_query=False),
    Member(OnPrompts(_ENCODER), _turn_encoder, True, linear_in_query=False),
    Member(OnPrompts(_SOFTMAX, query=2), _turn_softmax, True, linear_in_query=False),
    Member(_HEADS, _turn_merged, True, linear_in_query=False),
    Member(_RELU, own_dimension=True, turns=False, linear_in_query=False),
    Member(_MASKED, _turn_merged, True, linear_in_query=False),
    Member(Foreign(_averages), differentiable=False),
    Member(Zero()),
    Member(Averaging()),
    Member(LeastSquares()),
    Member(Ridge(0.3)),
    Member(GradientDescent(jnp.array([0.4, 0.2, 0.1]))),
    Member(
        PreconditionedGradientDescent(_MATRIX, jnp.array([0.4, 0.2])), _turn_step, True
    ),
    Member(GradientDescentPlusPlus(jnp.array([0.4, 0.2]), jnp.array([0.1, 0.3]))),
    Member(IterativeNewton(4)),
    Member(Lasso(0.4), turns=False),
    Member(OrthogonalMatchingPursuit(2), turns=False),
    Member(Huber(0.3)),
    Member(
        BayesOverTasks(_MATRIX, 0.5, jnp.array([0.5, 0.2, 0.3])),
        lambda predictor, R: eqx.tree_at(
            lambda p: p.tasks, predictor, predictor.tasks @ R.T
        ),
        True,
    ),
    Member(
        LoopedTransformer(0.5 * _MATRIX, jnp.arange(D) / D, loops=3), _turn_loop, True
    ),
    Member(
        UntiedTransformer(_LAYERS[0, :, :D, :D], _LAYERS[1, :, :D, 0]),
        _turn_untied,
        True,
    ),
    # With off-diagonal blocks the query attends to itself: not linear in it.
    Member(
        LinearSelfAttention(*_WEIGHTS), _turn_attention, True, linear_in_query=False
    ),
    Member(LinearTransformer(*_LAYERS), _turn_layers, True, linear_in_query=False),
)


def _those(chosen: Callable[[Member], bool]):
    members = [member for member in PREDICTORS if chosen(member)]
    return pytest.mark.parametrize("member", members, ids=lambda member: member.name)


every_predictor = _those(lambda member: True)
symmetric_predictors = _those(lambda member: member.symmetric)
turning_predictors = _those(lambda member: member.symmetric and member.turns)
predictors_linear_in_the_query = _those(lambda member: member.linear_in_query)
differentiable_predictors = _those(lambda member: member.differentiable)
deep_predictors = _those(lambda member: isinstance(member.predictor, Deep))
FEW = settings(max_examples=4, deadline=None, derandomize=True, database=None)


def _prompt(seed: int, n: int = N, d: int = D) -> Prompt:
    rng = np.random.default_rng(seed)
    shapes = ((n, d), (n,), (d,), ())
    X, y, query, target = (jnp.asarray(rng.normal(size=shape)) for shape in shapes)
    return Prompt(X, y, query, target)


def test_no_predictor_is_missing():
    def finals(cls):
        children = [
            child
            for child in cls.__subclasses__()
            if "iclab" in child.__module__ and child.__name__[0] != "_"
        ]
        return {leaf for child in children for leaf in finals(child)} or {cls}

    assert {type(member.predictor) for member in PREDICTORS} == finals(
        AbstractPredictor
    )


@every_predictor
def test_the_public_contract(member):
    """Shapes, jit, vmap, the target, the padding rule, and depth."""
    assert member.predictor(_prompt(0)).dtype == jnp.float64
    check_predictor(member.predictor, dimension=D, examples=N)


@differentiable_predictors
def test_gradients_are_finite(member):
    def loss(predictor, prompt):
        return (predictor(prompt) - prompt.target) ** 2

    gradient = eqx.filter_jit(eqx.filter_grad(loss))(member.predictor, _prompt(3))
    leaves = jax.tree.leaves(gradient)
    arrays = jax.tree.leaves(eqx.filter(member.predictor, eqx.is_inexact_array))
    assert [leaf.shape for leaf in leaves] == [array.shape for array in arrays]
    assert all(np.all(np.isfinite(leaf)) for leaf in leaves)
    assert all(np.any(np.asarray(leaf) != 0) for leaf in leaves)


@every_predictor
def test_second_call_does_not_recompile(member):
    traces = []

    @eqx.filter_jit
    def predict(predictor, prompt):
        traces.append(1)
        return predictor(prompt)

    predict(member.predictor, _prompt(4))
    predict(member.predictor, _prompt(5))
    changed = jax.tree.map(lambda x: 2 * x if eqx.is_array(x) else x, member.predictor)
    predict(changed, _prompt(6).prefix(2))
    # A prefix may differ from a prompt in the weak type of its count: two at most.
    assert len(traces) <= 2
    predict(changed, _prompt(7).prefix(4))
    assert len(traces) <= 2


@symmetric_predictors
@FEW
@given(seed=st.integers(0, 10_000))
def test_order_of_examples_does_not_matter(member, seed):
    prompt = _prompt(seed)
    order = np.random.default_rng(seed).permutation(N)
    mixed = Prompt(prompt.examples[order], prompt.labels[order], prompt.query)
    found, expected = (_predict(member.predictor, p) for p in (mixed, prompt))
    assert_close(found, expected, rtol=1e-9)  # sums in another order


@turning_predictors
@FEW
@given(seed=st.integers(0, 10_000))
def test_rotations_change_nothing(member, seed):
    prompt = _prompt(seed)
    R, _ = np.linalg.qr(np.random.default_rng(seed + 1).normal(size=(D, D)))
    R = jnp.asarray(R)
    turned = Prompt(prompt.examples @ R.T, prompt.labels, R @ prompt.query)
    found = _predict(member.turn(member.predictor, R), turned)
    # Least squares loses digits to the conditioning of five random examples.
    assert_close(found, _predict(member.predictor, prompt), rtol=1e-8, atol=1e-9)


@predictors_linear_in_the_query
@FEW
@given(seed=st.integers(0, 10_000), factor=st.floats(-3, 3))
def test_predictions_scale_with_the_query(member, seed, factor):
    prompt = _prompt(seed)
    scaled = Prompt(prompt.examples, prompt.labels, factor * prompt.query)
    found = _predict(member.predictor, scaled)
    assert_close(found, factor * _predict(member.predictor, prompt), rtol=1e-9)


def test_every_model_is_deep_and_no_algorithm():
    for member in PREDICTORS:
        trained = type(member.predictor).__module__.startswith("iclab.models")
        assert isinstance(member.predictor, Deep) == trained, member.name


@deep_predictors
def test_depth_begins_before_any_example(member):
    predictor, prompt = member.predictor, _prompt(8)
    by_depth, streams = _look_inside(predictor, prompt)
    assert by_depth.dtype == jnp.float64
    # What enters the first block has seen no example.
    unlabelled = Prompt(prompt.examples[::-1], -prompt.labels, prompt.query)
    other, entered = _look_inside(predictor, unlabelled)
    assert_close(other[0], by_depth[0])
    assert_close(entered[0], streams[0])
    assert float(jnp.min(jnp.max(jnp.abs(jnp.diff(streams, axis=0)), axis=1))) > 0
    if not isinstance(predictor, (GPT2, OnPrompts)):
        assert by_depth[0] == 0


@every_predictor
def test_other_dimensions(member):
    prompt = _prompt(0, d=2)
    if not member.own_dimension:
        assert np.isfinite(_predict(member.predictor, prompt))
        return
    # The predictor speaks, or the method of its own that looked at the prompt.
    message = (
        rf"^{type(member.predictor).__name__}(\.\w+)?: `prompt` must be of dimension 3,"
        " the predictor's own, got dimension 2(\n|$)"
    )
    with pytest.raises(ValueError, match=message):
        member.predictor(prompt)
    with pytest.raises(ValueError, match=message):
        _predict(member.predictor, prompt)


@every_predictor
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("part", ["examples", "labels", "query"])
def test_what_is_not_finite(member, part, bad):
    """Refused by name where it is known; NaN, and no endless loop, where it is not."""
    prompt = _prompt(9)
    value = getattr(prompt, part)
    worse = value.at[(0,) * value.ndim].set(bad)
    with refused(f"Prompt: `{part}` must be finite, got 1 entries that are not"):
        Prompt(**{name: worse if name == part else getattr(prompt, name)
                  for name in ("examples", "labels", "query")})  # fmt: skip
    altered = eqx.tree_at(lambda p: getattr(p, part), prompt, worse)
    name = type(member.predictor).__name__
    with refused(
        f"{name}: `prompt` must be finite, got 1 entries of `{part}` that are not"
    ):
        member.predictor(altered)
    assert np.isnan(_predict(member.predictor, altered))


@every_predictor
def test_only_the_prompt_that_is_not_finite_is_answered_with_nan(member):
    prompts = [_prompt(seed) for seed in (0, 1)]
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *prompts)
    bad = eqx.tree_at(lambda p: p.labels, batch, batch.labels.at[1, 2].set(jnp.inf))
    found = _predict_batch(member.predictor, bad)
    assert_close(found[0], _predict(member.predictor, prompts[0]), rtol=1e-9)
    assert np.isnan(found[1])


@every_predictor
def test_no_examples_are_refused(member):
    name = type(member.predictor).__name__
    with refused(f"{name}.at_lengths: `lengths` must be ≥ 1, got 0"):
        member.predictor.at_lengths(_prompt(0), jnp.array([1, 0]))
