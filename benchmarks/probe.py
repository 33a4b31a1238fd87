"""Is the probe right? A zoo of methods whose name is known, and intervals that cover.

    python -m benchmarks.probe [--half tuned|kept] [--factors K …] [--coverage N]
                               [--only WORD] [--out FILE]

A row for every method, a cell for every length (d, 2d, 4d) without and with noise ½:
`name` (is what it is), `same` (another name for the same function here, 10⁻⁸ away on
fresh prompts), `closest` and `none` (right for methods on no menu), `missed` (a name
that was not found) and `WRONG` (an *is* that is false). Then how often 90 % intervals
of parameters and distances hold the truth.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.probe_zoo import Method, kept, methods
from iclab.core import AbstractPredictor, Foreign, Prompt
from iclab.probes import Verdict, judge
from iclab.probes._bootstrap import bootstrap_weights, ratio
from iclab.probes._families import rows_for
from iclab.probes._filter import fit_filter
from iclab.probes._fit import fit, with_intervals
from iclab.probes._kinds import sizes_of
from iclab.probes._spectra import Moments, Sample
from iclab.tasks import LinearRegression

DIMENSION, FACTORS, NOISES, PROMPTS = 5, (1, 2, 4), (0.0, 0.5), 2048
# Two functions are one if this share of E ŷ² is between them on fresh prompts.
SAME = 1e-8


class Cell(NamedTuple):
    """What the probe said of a method, and whether it is so."""

    method: str
    on_menu: bool
    kept: bool
    examples: int
    noise: float
    outcome: str
    words: str
    seconds: float


def cell(one: Method, index: int, n: int, noise: float) -> Cell:
    """The verdict on one method at one length and one noise."""
    task = LinearRegression(jnp.eye(DIMENSION), noise_std=noise)
    model = Foreign(one.predict)
    begun = time.process_time()
    found = judge(model, prompts(n, noise, 0), task=task)
    seconds = time.process_time() - begun
    if found.verdict == "is" and found.name == one.name:
        outcome = "name"
    elif found.verdict == "is":
        outcome = "same" if _same(one, found, n, noise) else "WRONG"
    else:
        outcome = "missed" if one.name is not None else found.verdict
    fit_ = found.fit
    words = f"{found.verdict} {found.name}"
    if fit_ is not None:
        words += f", {fit_.distance.value:.2g}"
    if outcome == "missed":
        mine = [f for f in found.fits if f.name == one.name]
        words += "; own: " + (
            f"{mine[0].distance.value:.2g} {mine[0].excluded}" if mine else "not fitted"
        )
        words += f"; best {found.fits[0].name} {found.fits[0].distance.value:.2g}"
        words += f" {found.fits[0].excluded}"
    return Cell(
        one.label, one.name is not None, kept(index), n, noise, outcome, words, seconds
    )


def _same(one: Method, found: Verdict, n: int, noise: float) -> bool:
    """Whether another name is the same function, on fresh prompts."""
    assert found.fit is not None
    sample = Sample.of(prompts(n, noise, 1), n)
    answers = one.predict(sample.examples, sample.labels, sample.query)
    sizes = sizes_of(answers)
    gap = sizes * (answers - found.fit.member.predict(sample))
    return bool(np.sum(gap**2) <= SAME * np.sum((sizes * answers) ** 2))


def prompts(n: int, noise: float, seed: int) -> Prompt:
    """Common prompts."""
    task = LinearRegression(jnp.eye(DIMENSION), noise_std=noise)
    key = jax.random.fold_in(jax.random.key(seed), n)
    return _sample(task, key, PROMPTS, n)


@eqx.filter_jit
def _sample(task: LinearRegression, key, count: int, n: int) -> Prompt:
    return task.sample_batch(key, count, n)


# Intervals. --------------------------------------------------------------------------

# A family, its parameters, and the length of the prompts.
TRUE = (
    ("ridge", {"tau": 0.2}, 10),
    ("gradient flow", {"time": 2.0}, 10),
    ("averaging", {"step": 0.6}, 5),
    ("momentum", {"steps": 4, "step": 0.3, "momentum": 0.4}, 10),
    ("normalised LMS", {"sweeps": 1, "step": 0.7}, 10),
    (
        "mixture of ridge and averaging",
        {"tau": 0.3, "first share": 0.5, "second share": 0.5},
        20,
    ),
    ("softmax attention", {"sharpness": 0.6, "share": 0.8}, 20),
)
# What is added that no family has, as a share of the answers' size.
ADDED = 0.1


def covered(name: str, chosen: dict, n: int, repetitions: int) -> dict[str, float]:
    """How often intervals of a true family hold its parameters and distance.

    A tenth is added that nothing explains: waves in the query and the first label,
    larger for some prompts.
    """
    hits: dict[str, list[bool]] = {}
    row = next(r for r in rows_for(n, DIMENSION) if r.name == name)
    truth = _answers(row, chosen, _drawn(n, 10**5, np.random.default_rng(9)))
    distance = np.sum(truth[2] ** 2) / np.sum(truth[0] ** 2)
    for repetition in range(repetitions):
        rng = np.random.default_rng((n, repetition))
        sample = _drawn(n, 2 * 1024, rng)
        answers, _, _ = _answers(row, chosen, sample)
        half = len(answers) // 2
        ones = np.ones(half)
        key = jax.random.key(repetition)
        weights = bootstrap_weights(key, half)
        fits = fit(row, sample[:half], answers[:half], ones, (1.5, 2.0))
        found = []
        for member, how in fits:
            gap = answers[half:] - member.predict(sample[half:])
            found.append((member, how, gap**2))
        best = min(found, key=lambda one: one[2].sum())
        peers = [(m, e) for m, _, e in found]
        member = with_intervals(best[0], best[1], weights, peers, weights)
        for parameter, value in chosen.items():
            low, high = member.intervals[parameter]
            hits.setdefault(parameter, []).append(low <= value <= high)
        own = ratio(best[2], answers[half:] ** 2, weights)
        hits.setdefault("distance", []).append(own.lower <= distance <= own.upper)
    return {name: float(np.mean(one)) for name, one in hits.items()}


def _drawn(n: int, count: int, rng: np.random.Generator) -> Sample:
    X = rng.normal(size=(count, n, DIMENSION))
    w, q = rng.normal(size=(2, count, DIMENSION))
    return Sample(X, np.einsum("bni,bi->bn", X, w), q)


def _answers(row, chosen, sample: Sample):
    nonlinear = {name: chosen[name] for name in row.ranges}
    exact = row.predict(sample, **nonlinear)
    if row.linear:
        exact = exact @ np.array([chosen[name] for name in row.linear])
    wave = np.sin(40 * sample.query[:, 0] + 7 * sample.labels[:, 0])
    wave = ADDED * wave * (1 + np.abs(sample.query[:, 1]))
    return exact + wave, exact, wave


def coverage(
    d: int, n: int, count: int, repetitions: int, *, draws: int = 400
) -> tuple[float, float]:
    """How often 90 % bands hold the true filter of ridge plus a tenth that no filter
    explains, larger for some queries; and the least often of all places.
    """
    tau, rng = 0.2, np.random.default_rng(0)
    task, hits = LinearRegression(jnp.eye(d)), []
    for repetition in range(repetitions):
        key = jax.random.fold_in(jax.random.key(11), repetition)
        batch = _sample(task, key, count, n)
        spectra = Moments.of(batch, n).spectra()
        lam = spectra.eigenvalues
        answers = spectra.predictions(lam / (lam + tau))
        uneven = 1 + np.abs(np.asarray(batch.query)[:, 0])
        answers = answers + 0.1 * rng.standard_normal(count) * uneven
        weights = bootstrap_weights(jax.random.key(repetition), count, draws)
        found = fit_filter(spectra, answers, weights)
        true = found.eigenvalues / (found.eigenvalues + tau)
        hits.append((found.lower <= true) & (true <= found.upper))
    return float(np.mean(hits)), float(np.min(np.mean(hits, axis=0)))


class NearestNeighbour(AbstractPredictor):
    """The label of the example next to the query: no filter."""

    def __call__(self, prompt: Prompt):
        distance = jnp.sum((prompt.examples - prompt.query[None]) ** 2, axis=1)
        real = jnp.arange(len(distance)) < prompt.count
        return prompt.labels[jnp.argmin(jnp.where(real, distance, jnp.inf))]


def table(cells: list[Cell]) -> str:
    """A row for every method; then the counts."""
    columns = sorted({(c.examples, c.noise) for c in cells})
    heads = [f"n = {n}, σ = {s:g}" for n, s in columns]
    lines = ["| method | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    by = {(c.method, c.kept, c.examples, c.noise): c for c in cells}
    for name, mine in dict.fromkeys((c.method, c.kept) for c in cells):
        row = [by.get((name, mine, *one)) for one in columns]
        words = [
            " "
            if c is None
            else f"{c.outcome}: {c.words}"
            if c.outcome != "name"
            else "name"
            for c in row
        ]
        lines.append(f"| {name}{' *' if mine else ''} | " + " | ".join(words) + " |")
    for title, chosen in (
        ("tuned", [c for c in cells if not c.kept]),
        ("kept for the end (*)", [c for c in cells if c.kept]),
    ):
        if chosen:
            counts = Counter(c.outcome for c in chosen)
            right = sum(counts[k] for k in ("name", "same", "closest", "none"))
            lines.append("")
            lines.append(
                f"{title}: {right} of {len(chosen)} right"
                f" ({100 * right / len(chosen):.1f} %), {counts['WRONG']} wrong *is*; "
                + ", ".join(f"{k} {v}" for k, v in counts.most_common())
            )
    lines.append(f"\n{sum(c.seconds for c in cells):.0f} s of processor time")
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    words = __doc__.splitlines()[0] if __doc__ else None
    parser = argparse.ArgumentParser(description=words)
    parser.add_argument("--half", choices=("tuned", "kept", "all"), default="all")
    parser.add_argument("--factors", type=int, nargs="+", default=FACTORS, metavar="K")
    parser.add_argument("--noises", type=float, nargs="+", default=NOISES, metavar="S")
    parser.add_argument("--coverage", type=int, default=0, metavar="N")
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--out", type=Path, metavar="FILE")
    options = parser.parse_args()
    text = []
    cells: list[Cell] = []
    if options.factors != [0]:
        for factor in options.factors:
            n = factor * DIMENSION
            for index, one in enumerate(methods(DIMENSION, n)):
                if options.half != "all" and kept(index) != (options.half == "kept"):
                    continue
                if options.only not in one.label:
                    continue
                for noise in options.noises:
                    cells.append(cell(one, index, n, noise))
                    c = cells[-1]
                    print(
                        f"{c.outcome:8} {c.method:24} n={n:<3} σ={noise:<4} {c.words}"
                        f"  ({c.seconds:.1f} s)",
                        file=sys.stderr,
                        flush=True,
                    )
        text.append(table(cells))
    if options.coverage:
        text.append(f"\n90 % intervals over {options.coverage} repetitions\n")
        for name, chosen, n in TRUE:
            found = covered(name, chosen, n, options.coverage)
            shares = ", ".join(f"{k} {100 * v:.1f} %" for k, v in found.items())
            text.append(f"- {name}, n = {n}: {shares}")
            print(text[-1], file=sys.stderr, flush=True)
    print("\n".join(text))
    if options.out is not None:
        options.out.write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
