"""Figure 3: trained models run for longer, on their own inputs and on others."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from iclab.core import Prompt, require
from iclab.evidence import Evidence, Sentence, Tables, at_least, at_most, says, setting
from iclab.models import UntiedTransformer
from iclab.papers import _drawing as drawing
from iclab.papers._training_runs import quick_key
from iclab.papers.gatmiry2024._shifted_loss import shifted_loss_by_loops
from iclab.papers.gatmiry2024._training import (
    Short,
    Training,
    how,
    losses_by_depth,
    manners,
    train,
    trained_tables,
    training_jobs,
    words,
)
from iclab.theory import looped_optimum, loss_by_test_loops

# Eigenvalues of Σ out of distribution, half of the directions each: the mean of ‖x‖²
# and of y² stays what it was.
_SHIFTED = (Fraction(3, 4), Fraction(5, 4))
_PLACES = ("in", "out")
# Examples for which the exact curves say when they turn.
_LENGTHS = (20, 50, 100, 200)
# Loops up to which losses out of distribution are worked out: a second for 16.
_WORKED_OUT = 16
# Prompts at a time: a million at once would not fit.
_PART = 20_000


@dataclass(frozen=True)
class Settings(Training):
    """Sizes of Figure 3, which shows one run for every number of loops."""

    dimension: int = setting("Dimension d of the inputs.", 10, smoke=4, least=2)
    samples: tuple[int, ...] = setting(
        "Examples in a prompt, n.", (20, 100, 200), smoke=(8, 40)
    )
    loops: tuple[int, ...] = setting("Loops of training.", (2, 5), smoke=(1, 2))
    seeds: int = setting("Runs; the first one is tested.", 1)
    test_loops: int = setting("Loops at test time, up to.", 32, smoke=8)
    prompts: int = setting(
        "Prompts of the test, and sample covariances.", 5_000, smoke=2_000, paper=20_000
    )

    def __post_init__(self):
        most = max(self.loops)
        require(
            self.test_loops >= most,
            "test_loops",
            f"at least the loops of training, {most}",
            self.test_loops,
        )


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """Training with testing for every protocol and n, and the exact curves."""
    own = {"test_loops": settings.test_loops, "prompts": settings.prompts}
    trained = training_jobs(settings, **own)
    lengths = sorted({*settings.samples, *_LENGTHS})
    exact = own | {"dimension": settings.dimension, "loops": sorted(settings.loops)}
    curves = {f"exact, n = {n}": exact | {"samples": n} for n in lengths}
    return trained | curves


def trains(settings: Mapping[str, Any]) -> bool:
    """Whether a job is training."""
    return "protocol" in settings


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Losses by test loop, a row for every number of training loops."""
    return (_trained if trains(settings) else _exact)(settings, key)


def draw(tables: Tables) -> Picture:
    """A column for every n, in and out of distribution; where the exact curves turn."""
    trained, exact = trained_tables(tables), _exact_tables(tables)
    first, protocols = trained[0], {str(one["protocol"]) for one in trained}
    low, high = (f"{float(value):g}" for value in _SHIFTED)
    columns = len({int(one["samples"]) for one in trained})
    picture = drawing.sheet(
        3.0 + 4.4 * len(protocols),
        "Looped for longer: many examples, and few prompts that diverge",
        f"d = {int(first['dimension'])}; {first['training']}.\n"
        f"{manners(trained)}\n"
        f"Means and medians over {int(first['prompts']):,} prompts; "
        r"in distribution $x\sim N(0,I)$, out of it $\Sigma$ has eigenvalues "
        f"{low} and {high}, half of the directions each.\n"
        "Exact: the expected loss of $A=a^\\star I$, the optimum for the loops of "
        f"training (out of distribution as far as {_WORKED_OUT} loops, then by draws).\n"
        "Dots with bars of two standard errors: expected loss of the trained model, "
        f"over a mixture that has rare prompts often{_gaps(trained)}.",
    )
    page, lower = drawing.parts(picture, 2, 1, height_ratios=(2 * len(protocols), 0.9))
    axes = page.subplots(2 * len(protocols), columns, sharex=True, squeeze=False)
    for index, table in enumerate(trained):
        block, column = divmod(index, columns)
        curves = exact[int(table["samples"])]
        for i, place in enumerate(_PLACES):
            axis = axes[2 * block + i, column]
            letter = drawing.LETTERS[(2 * block + i) * columns + column]
            title = f"({letter}) n = {int(table['samples'])}, {place}"
            title += f", {table['protocol']}" if len(protocols) > 1 else ""
            drawing.panel(axis, title, "loops at test time" if i else "", "loss")
            _curves(axis, table, curves, place)
    drawing.legend_below(page, list(axes.flat), 3)
    _turns(lower.subplots(1, 2), exact, drawing.LETTERS[2 * len(trained) :])
    return picture


def paper_statements(tables: Tables) -> list[Sentence]:
    """What the caption and Section 5.3 say that a reader sees, at the largest n."""
    exact, judged = _exact_tables(tables), trained_tables(tables, judged=True)
    table = judged[-1]
    n, loops = int(table["samples"]), table["loops"]
    at = np.arange(len(loops)), loops - 1
    named = np.isin(loops, (2, 5)) if np.isin(loops, (2, 5)).any() else loops > 0
    means = np.stack([table[f"{place}_sampled"] for place in _PLACES])[:, named]
    inside, outside = (
        int(np.nanargmin(exact[n][place][named], axis=-1).min()) + 1
        for place in _PLACES
    )
    return [
        says(
            "Out of distribution the loss is higher than in distribution.",
            "Section 5.3",
            at_least(
                "Trained models' loss out of distribution over that in it, at the "
                "loops of training, every n, smallest",
                [(one["out_mean"][at] / one["in_mean"][at]) for one in judged],
                1.0,
                "higher",
            ),
        ),
        says(
            "Models trained with 2 or 5 loops keep improving in and out of "
            "distribution when they are run for many more.",
            "caption and Section 5.3",
            at_least(
                "Loops after which the mean over prompts is least, over those of "
                "training, smallest",
                (means.argmin(-1) + 1) / loops[named],
                2.0,
                "twice the loops of training",
                post_hoc=True,
            ),
            caveat=f"n ({n} here), which the paper does not give",
            note=f"at n = {n}, in expectation up to {inside} loops in distribution and "
            f"{outside} out of it; not for arbitrarily many, whatever n: the panels "
            "below show how many",
        ),
        says(
            "They improve for arbitrarily many: with every further loop.",
            "caption and Section 5.3",
            at_most(
                "Exact loss after one more loop over that before, in distribution, "
                "largest",
                exact[n]["in"][named, 1:] / exact[n]["in"][named, :-1],
                1.0,
                "no loop makes it worse",
            ),
            main=False,
            caveat=f"n ({n} here), and how many loops arbitrarily many are",
            note="in expectation for no n, because eigenvalues of S are unbounded; the "
            "median prompt does improve with every loop",
        ),
        says(
            "The learned model has a small loss out of distribution.",
            "Section 5.3",
            main=False,
            note="the other covariance is not given",
        ),
    ]


def expect(tables: Tables) -> list[Evidence]:
    """What we find in the median, in the mean over prompts and in the exact mean."""
    exact, judged = _exact_tables(tables), trained_tables(tables, judged=True)
    loops = judged[0]["loops"]
    least = int(np.flatnonzero(loops == min(2, loops.max()))[0])
    sampled = [one["in_sampled"][least].argmin() + 1 for one in judged]
    turns = [exact[int(one["samples"])]["in"][least].argmin() + 1 for one in judged]
    medians = [one[f"{place}_median"] for one in judged[1:] for place in _PLACES]
    first = exact[int(judged[0]["samples"])]
    return [
        at_least(
            "More test loops improve the more, the larger n: loops of the least mean "
            "over prompts, differences from one n to the next, smallest",
            _differences(sampled, judged[0]["in_sampled"].shape[-1]),
            1.0,
            "increasing, as far as there are test loops",
        ),
        at_least(
            "And no fewer than in expectation: difference from the exact count, "
            "smallest",
            np.array(sampled) - np.array(turns),
            0.0,
            "a sample lacks the rarest prompts, and turns later",
        ),
        at_most(
            "The median prompt goes on improving, beyond the smallest n: largest ratio "
            "of one more loop",
            [one[..., 1:] / one[..., :-1] for one in medians] if medians else None,
            1.0,
            "no higher",
        ),
        at_least(
            "In expectation it diverges at the smallest n: exact loss at the last test "
            "loop over the lowest, smallest",
            first["in"][:, -1] / first["in"].min(-1),
            2.0,
            "twice the lowest; exact",
            name="diverged",
        ),
    ]


def _differences(counts: list[Any], most: int) -> np.ndarray | None:
    """From each count to the next, unless it is at the end already."""
    found = np.diff(counts)[np.array(counts[:-1]) < most]
    return found if found.size else None


def _exact(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Expected losses of A = a*I.

    Out of distribution by exact matrix moments, as far as these can be worked out, and
    then over draws of the mixture.
    """
    s = settings
    d, n, test_loops = s["dimension"], s["samples"], s["test_loops"]
    steps = [looped_optimum(d, n, L)[0] for L in s["loops"]]
    known = min(test_loops, _WORKED_OUT)
    out = np.zeros((len(steps), test_loops))
    out[:, :known] = shifted_loss_by_loops(steps, _SHIFTED, _halves(d), n, known)
    if test_loops > known:
        covariance, u = np.diag(np.asarray(_spectrum(d))), np.zeros((test_loops, d))
        for row, a in enumerate(steps):
            A = np.stack([a * np.eye(d)] * test_loops)
            mean, _ = losses_by_depth(A, u, covariance, n, s["prompts"], key)
            out[row, known:] = mean[known:]
    return {
        "loops": s["loops"],
        "in": [np.asarray(loss_by_test_loops(a, d, n, test_loops)) for a in steps],
        "out": out,
        "dimension": d,
        "samples": n,
    }


def _trained(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Mean and median over drawn prompts by loop, and the expected losses."""
    s = settings
    d, n, test_loops = s["dimension"], s["samples"], s["test_loops"]
    training_key, *test_keys = jax.random.split(key, 3)
    runs = train(s, training_key, shared=True)
    # The first layer of every model, as often as it is tested.
    A, u = (
        np.repeat(one[:, 0, -1, :1], test_loops, axis=1) for one in (runs.A, runs.u)
    )
    table: dict[str, Any] = {
        "loops": s["loops"],
        "prompts": s["prompts"],
        "dimension": d,
        "samples": n,
        "judged": s["judged"],
        "protocol": s["protocol"],
        "how": how(s),
        "training": words(s),
    }
    for place, spectrum, test_key in zip(
        _PLACES, (jnp.ones(d), _spectrum(d)), test_keys, strict=True
    ):
        task = Short(n, jnp.diag(jnp.sqrt(spectrum)))
        size = min(s["prompts"], _PART)
        parts = jax.random.split(quick_key(test_key), max(1, s["prompts"] // size))
        batches = [task.sample_batch(one, size, min(n, d)) for one in parts]
        errors = np.concatenate([_errors(A, u, batch) for batch in batches], axis=1)
        table[f"{place}_median"] = np.median(errors, axis=1)
        table[f"{place}_sampled"] = np.mean(errors, axis=1)
        draw_key = jax.random.fold_in(test_key, 1)
        covariance = np.diag(np.asarray(spectrum))
        means = [
            losses_by_depth(*weights, covariance, n, s["prompts"], draw_key)
            for weights in zip(A, u, strict=True)
        ]
        table[f"{place}_mean"], table[f"{place}_error"] = np.stack(means, axis=1)
    return table


def _exact_tables(tables: Tables) -> dict[int, Any]:
    """The exact curves by n."""
    curves = [table for table in tables.values() if "training" not in table]
    return {int(table["samples"]): table for table in curves}


def _gaps(trained: list[Any]) -> str:
    """Words about means that too few draws carry, if there are any."""
    means = np.stack([one[f"{place}_mean"] for one in trained for place in _PLACES])
    unknown = int(np.isnan(means).sum())
    if not unknown:
        return ""
    return f"; {unknown} of {means.size} are unknown, too few draws carry them"


def _spectrum(d: int) -> Array:
    """Eigenvalues of Σ out of distribution."""
    values = jnp.array([float(value) for value in _SHIFTED])
    return jnp.repeat(values, jnp.array(_halves(d)), total_repeat_length=d)


def _halves(d: int) -> tuple[int, int]:
    """How many directions have each eigenvalue of Σ out of distribution."""
    return d - d // 2, d // 2


@jax.jit
def _errors(A: Array, u: Array, batch: Prompt) -> Array:
    """Squared errors by model, prompt and loop; all models see the same prompts."""

    def one(weights):
        model = UntiedTransformer(*weights)
        predictions = jax.vmap(model.predictions_by_depth)(batch)[:, 1:]
        return (predictions - batch.target[:, None]) ** 2

    return jax.lax.map(one, (A, u))


def _curves(axis: Axes, table: Mapping[str, Any], exact: Any, place: str) -> None:
    x = np.arange(1, exact[place].shape[-1] + 1)
    for row, (L, (color, marker)) in enumerate(
        zip(table["loops"], drawing.CURVES, strict=False)
    ):
        name = f"trained with {int(L)}: "
        curve = exact[place][row]
        label = name + "exact, least at the star"
        axis.plot(x, curve, "-", color=color, linewidth=1.2, label=label)
        lowest = int(np.nanargmin(curve))
        axis.plot(x[lowest], curve[lowest], "*", color=color, markersize=11)
        mean, error = (table[f"{place}_{kind}"][row] for kind in ("mean", "error"))
        style = {"color": color, "markersize": 3}
        axis.errorbar(x, mean, 2 * error, fmt=".", **style, label=name + "expected")
        sampled, median = (
            table[f"{place}_{kind}"][row] for kind in ("sampled", "median")
        )
        axis.plot(x, sampled, marker + "--", **style, label=name + "mean of prompts")
        axis.plot(x, median, ":", color=color, label=name + "median")
        axis.axvline(L, color=color, linestyle=":", linewidth=0.8)
    axis.set_yscale("log")
    low = min(table[f"{place}_median"].min(), np.nanmin(exact[place]))
    axis.set_ylim(max(low / 3, 1e-14), 1e3)


def _turns(axes: Any, exact: Mapping[int, Any], letters: str) -> None:
    """How many loops improve, and by how much, for every n."""
    lengths = sorted(exact)
    titles = "loops that improve, exact", "least loss over that of training, exact"
    for axis, letter, title in zip(axes, letters, titles, strict=False):
        drawing.panel(axis, f"({letter}) {title}", "n", "")
    loops = exact[lengths[0]]["loops"]
    most = exact[lengths[0]]["in"].shape[-1]
    for row, (L, (color, marker)) in enumerate(
        zip(loops, drawing.CURVES, strict=False)
    ):
        for place, line in zip(_PLACES, ("-", "--"), strict=True):
            losses = np.stack([exact[n][place][row] for n in lengths])
            label = f"trained with {int(L)}, {place}"
            style = {"marker": marker, "color": color, "markersize": 4}
            turn = np.nanargmin(losses, axis=-1) + 1
            axes[0].plot(lengths, turn, line, **style, label=label)
            gain = np.nanmin(losses, axis=-1) / losses[:, L - 1]
            axes[1].plot(lengths, gain, line, **style, label=label)
    axes[0].axhline(most, color=drawing.GREY, linestyle=":", linewidth=1)
    drawing.log_scale(axes[1], (1,))
    drawing.legend_below(axes[0].figure, list(axes), 4)
