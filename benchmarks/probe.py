"""Does the probe name what it is shown, and do its bands cover? Models with a known
algorithm, and how often each gets which name.

    python -m benchmarks.probe [--quick] [--prompts N] [--repetitions N]

Three tables. Which name every model gets, at three dimensions and three lengths, as it
is and with a part added that no algorithm explains; how far the filter of the best
k-layer transformer is from the theory's polynomial; and how often 90 % bands hold the
true filter, over repetitions.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from iclab.algorithms import (
    Averaging,
    GradientDescent,
    GradientDescentPlusPlus,
    IterativeNewton,
    LeastSquares,
    Ridge,
    Zero,
)
from iclab.core import AbstractPredictor, Prompt
from iclab.models import LinearTransformer, LoopedTransformer
from iclab.probes import fit_families, spectral_filter
from iclab.probes._bootstrap import bootstrap_weights
from iclab.probes._filter import fit_filter
from iclab.probes._spectra import Moments
from iclab.tasks import LinearRegression
from iclab.theory import looped_optimum, optimal_steps, residual_polynomial
from iclab.training import trained_lsa

DIMENSIONS, LENGTHS = (2, 5, 10), (1, 2, 8)
# Share of E ŷ² that is added to a model and that no algorithm has.
DISTURBED = 0.01


class NearestNeighbour(AbstractPredictor):
    """The label of the example next to the query: no filter."""

    def __call__(self, prompt: Prompt):
        distance = jnp.sum((prompt.examples - prompt.query[None]) ** 2, axis=1)
        real = jnp.arange(len(distance)) < prompt.count
        return prompt.labels[jnp.argmin(jnp.where(real, distance, jnp.inf))]


class Disturbed(AbstractPredictor):
    """A predictor, and waves in the query and the first label of a given size."""

    predictor: AbstractPredictor
    size: float

    def __call__(self, prompt: Prompt):
        wave = jnp.sin(40 * prompt.query[0] + 7 * prompt.labels[0])
        return self.predictor(prompt) + self.size * jnp.sqrt(2.0) * wave


class Known(NamedTuple):
    """A model, the name that it should get, and some of its parameters."""

    predictor: AbstractPredictor
    name: str
    parameters: Mapping[str, Any] = {}


def known_models(d: int, n: int) -> dict[str, Known]:
    """Models whose algorithm is known, for `n` examples in `d` dimensions."""
    steps, _ = optimal_steps(d, n, 3)
    deep = LinearTransformer.sparse(-steps[:, None, None] * jnp.eye(d)[None])
    step, _ = looped_optimum(d, n, 4)
    looped = LoopedTransformer(step * jnp.eye(d), jnp.zeros(d), loops=4)
    pair = (jnp.array([0.4, 0.3]), jnp.array([0.2, 0.0]))
    constant = {"steps": 5, "step": 0.2}
    contracting = {"step_sizes": [0.4, 0.3], "contractions": [0.2]}
    return {
        "linear attention": Known(
            trained_lsa(jnp.eye(d), n), "averaging", {"step": n / (n + d + 1)}
        ),
        "3-layer optimum": Known(
            deep, "gradient descent", {"step_sizes": steps.tolist()}
        ),
        "looped": Known(looped, "gradient descent", {"steps": 4, "step": float(step)}),
        "ridge": Known(Ridge(0.2 * n), "ridge", {"tau": 0.2}),
        "GD": Known(GradientDescent(jnp.full(5, 0.2)), "gradient descent", constant),
        "Newton": Known(IterativeNewton(5), "Newton", {"iterations": 5}),
        "GD++": Known(GradientDescentPlusPlus(*pair), "GD++", contracting),
        "least squares": Known(LeastSquares(), "least squares"),
        "averaging": Known(Averaging(), "averaging", {"step": 1.0}),
        "zero": Known(Zero(), "zero"),
        "nearest neighbour": Known(NearestNeighbour(), "none"),
    }


class Named(NamedTuple):
    """What the probe said of a model."""

    model: str
    dimension: int
    examples: int
    expected: str
    name: str
    closest: str
    right: bool
    distance: float


def named(
    dimensions: tuple[int, ...],
    lengths: tuple[int, ...],
    prompts: int,
    *,
    disturbed: float = 0.0,
) -> Iterator[Named]:
    """The name of every known model, at every dimension and length (in units of d).

    `right` also asks for the parameters, to 10⁻⁶ where nothing is added and within
    twice their interval where something is.
    """
    for d in dimensions:
        task = LinearRegression(jnp.eye(d))
        for n in (factor * d for factor in lengths):
            batch = _sample(task, jax.random.key(100 * d + n), prompts, n)
            for model, known in known_models(d, n).items():
                predictor = known.predictor
                if disturbed:
                    answers = jax.vmap(predictor)(batch)
                    size = float(jnp.sqrt(disturbed * jnp.mean(answers**2)))
                    predictor = Disturbed(predictor, size)
                found = fit_families(predictor, batch, task=task)
                same = found.name == known.name
                right = same and all(
                    _agrees(name, value, found.fit, exact=not disturbed)
                    for name, value in known.parameters.items()
                )
                distance = found.fit.distance.value
                closest = found.fit.name
                yield Named(
                    model, d, n, known.name, found.name, closest, right, distance
                )


def _agrees(name: str, value: Any, fit: Any, *, exact: bool) -> bool:
    have = fit.parameters.get(name)
    if have is None:
        return False
    if exact or name not in fit.intervals:
        return np.shape(have) == np.shape(value) and np.allclose(have, value, 1e-6, 0)
    lower, upper = map(np.asarray, fit.intervals[name])
    return bool(
        np.all(np.abs(np.asarray(value) - (lower + upper) / 2) <= upper - lower)
    )


def distance_to_theory(d: int, n: int, layers: int, prompts: int) -> float:
    """Largest relative difference between the filter of the best k-layer transformer
    and the theory's residual polynomial.
    """
    steps, _ = optimal_steps(d, n, layers)
    model = LinearTransformer.sparse(-steps[:, None, None] * jnp.eye(d)[None])
    batch = _sample(LinearRegression(jnp.eye(d)), jax.random.key(1), prompts, n)
    found = spectral_filter(model, batch)
    residual = np.asarray(residual_polynomial(-steps))
    true = 1 - np.polynomial.polynomial.polyval(found.eigenvalues, residual)
    return float(np.max(np.abs(found.value - true)) / np.max(np.abs(true)))


def coverage(
    d: int, n: int, prompts: int, repetitions: int, *, draws: int = 400
) -> tuple[float, float]:
    """How often 90 % bands hold the true filter of ridge plus a tenth that no filter
    explains, larger for some queries; and the least often of all places.
    """
    tau, rng = 0.2, np.random.default_rng(0)
    task, hits = LinearRegression(jnp.eye(d)), []
    for repetition in range(repetitions):
        key = jax.random.fold_in(jax.random.key(11), repetition)
        batch = _sample(task, key, prompts, n)
        spectra = Moments.of(batch, n).spectra()
        lam = spectra.eigenvalues
        answers = spectra.predictions(lam / (lam + tau))
        uneven = 1 + np.abs(np.asarray(batch.query)[:, 0])
        answers = answers + 0.1 * rng.standard_normal(prompts) * uneven
        weights = bootstrap_weights(jax.random.key(repetition), prompts, draws)
        found = fit_filter(spectra, answers, weights)
        true = found.eigenvalues / (found.eigenvalues + tau)
        hits.append((found.lower <= true) & (true <= found.upper))
    return float(np.mean(hits)), float(np.min(np.mean(hits, axis=0)))


@eqx.filter_jit
def _sample(task: LinearRegression, key: Any, prompts: int, examples: int) -> Prompt:
    return task.sample_batch(key, prompts, examples)


def show_names(found: list[Named]) -> None:
    """A row for every model, a column for every name that was given."""
    names = sorted({one.name for one in found} | {one.expected for one in found})
    short = [name.replace("gradient descent", "GD") for name in names]
    print(f"{'':<18}" + "".join(f"{name:>19}" for name in short) + f"{'right':>9}")
    for model in dict.fromkeys(one.model for one in found):
        mine = [one for one in found if one.model == model]
        counts = Counter(one.name for one in mine)
        cells = [str(counts[name]) if counts[name] else "·" for name in names]
        right = f"{sum(one.right for one in mine)}/{len(mine)}"
        print(f"{model:<18}" + "".join(f"{cell:>19}" for cell in cells) + f"{right:>9}")
    for one in found:
        if not one.right:
            where = f"d={one.dimension}, n={one.examples}"
            name = one.name if one.name != "none" else f"none (closest {one.closest})"
            print(f"  {one.model}, {where}: {name}, {one.distance:.2g} away")


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("--quick", action="store_true", help="d = 2 and 5 only")
    parser.add_argument("--prompts", type=int, default=2048, metavar="N")
    parser.add_argument("--repetitions", type=int, default=200, metavar="N")
    options = parser.parse_args()
    dimensions = DIMENSIONS[:2] if options.quick else DIMENSIONS
    for share in (0.0, DISTURBED):
        title = (
            "as they are" if not share else f"with {share:.0%} that nothing explains"
        )
        print(
            f"\nnames, {title}: how many of {len(dimensions) * len(LENGTHS)} settings"
        )
        show_names(list(named(dimensions, LENGTHS, options.prompts, disturbed=share)))
    print("\nfilter of the best k layers against theory, largest relative difference")
    for d in dimensions:
        for k in (1, 2, 3, 4):
            far = distance_to_theory(d, 2 * d, k, options.prompts)
            print(f"  d={d}, n={2 * d}, k={k}: {far:.1e}")
    print(f"\n90 % bands over {options.repetitions} repetitions: all places, the worst")
    for d in dimensions:
        for n in (factor * d for factor in LENGTHS):
            mean, worst = coverage(d, n, 512, options.repetitions, draws=200)
            print(f"  d={d}, n={n}: {100 * mean:.1f} %, {100 * worst:.1f} %")


if __name__ == "__main__":
    main()
