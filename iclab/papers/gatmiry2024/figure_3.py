"""Figure 3: trained models run for longer, on their own inputs and on others."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from iclab.core import require
from iclab.evidence import Evidence, Sentence, Tables, at_least, at_most, says, setting
from iclab.models import LoopedTransformer
from iclab.papers import _drawing as drawing
from iclab.papers._training_runs import quick_key
from iclab.papers.gatmiry2024._shifted_loss import shifted_loss_by_loops
from iclab.papers.gatmiry2024._training import (
    Training,
    losses_by_depth,
    train_looped,
    training_job,
    words,
)
from iclab.tasks import LinearRegression
from iclab.theory import looped_optimum, loss_by_test_loops

# Eigenvalues of Σ out of distribution, half of the directions each: the mean of ‖x‖²
# and of y² stays what it was.
_SHIFTED = (Fraction(3, 4), Fraction(5, 4))

_PLACES = ("in", "out")


@dataclass(frozen=True)
class Settings(Training):
    """Sizes of Figure 3, which shows one run for every number of loops."""

    dimension: int = setting("Dimension d of the inputs.", 10, smoke=4, least=2)
    loops: tuple[int, ...] = setting(
        "Loops of training: a column for each.", (1, 2, 5, 10), smoke=(1, 2)
    )
    seeds: int = setting("Runs; the first one is tested.", 1)
    test_loops: int = setting("Loops at test time, up to.", 16, smoke=8)
    prompts: int = setting(
        "Prompts of the test, and sample covariances.",
        20_000,
        smoke=4_000,
        paper=1_000_000,
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
    """Training with testing, and the exact curves."""
    common = training_job(settings) | {"test_loops": settings.test_loops}
    return {
        "exact": common | {"kind": "exact"},
        "trained": common | {"kind": "trained", "prompts": settings.prompts},
    }


def trains(settings: Mapping[str, Any]) -> bool:
    """Whether a job is training."""
    return settings["kind"] == "trained"


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Losses by test loop, a row for every number of training loops."""
    return _exact(settings) if settings["kind"] == "exact" else _trained(settings, key)


def draw(tables: Tables) -> Picture:
    """Upper panels in distribution, lower ones out of it."""
    exact, trained = tables["exact"], tables["trained"]
    loops = exact["loops"]
    low, high = (f"{float(value):g}" for value in _SHIFTED)
    picture = drawing.sheet(
        7.4,
        "Looped for longer, the typical prompt improves and the mean diverges",
        f"d = {int(exact['dimension'])}, n = {int(exact['samples'])}; "
        f"{trained['training']}; medians over {int(trained['prompts']):,} prompts.\n"
        r"In distribution: $x\sim N(0,I)$. Out of it: eigenvalues of $\Sigma$ are "
        f"{low} and {high}, half of the directions each. $w\\sim N(0,I)$ in both.\n"
        "Exact: the expected loss of $A=a^\\star I$, the optimum for the loops of "
        "training. Rare prompts carry the means of the trained models too:\nthey are "
        "drawn more often and weighted, bars are two standard errors"
        f"{_gaps(trained)}.",
    )
    (page,) = drawing.parts(picture, 1, 1)
    axes = page.subplots(2, len(loops), sharex=True, sharey=True, squeeze=False)
    for i, place in enumerate(_PLACES):
        for row, L in enumerate(loops):
            axis, letter = axes[i, row], drawing.LETTERS[i * len(loops) + row]
            title = f"({letter}) trained with {L}, {place}"
            x, y = "loops at test time" if i else "", "" if row else "squared error"
            drawing.panel(axis, title, x, y)
            _curves(axis, tables, place, row, int(L))
    drawing.legend_below(page, list(axes.flat), 5)
    return picture


def paper_statements(tables: Tables) -> list[Sentence]:
    """What the caption and Section 5.3 say that a reader sees."""
    exact = tables["exact"]
    loops = exact["loops"]
    at = np.arange(len(loops)), loops - 1
    named = np.isin(loops, (2, 5))
    both = np.stack([exact[place] for place in _PLACES])[:, named]
    return [
        says(
            "Out of distribution the loss is higher than in distribution.",
            "Section 5.3",
            at_least(
                "Exact loss out of distribution over that in it, at the loops of "
                "training, smallest",
                exact["out"][at] / exact["in"][at],
                1.0,
                "higher",
            ),
        ),
        says(
            "Models trained with 2 or 5 loops keep improving in and out of "
            "distribution when they are run for arbitrarily many.",
            "caption and Section 5.3",
            at_most(
                "Expected loss after one more loop over that before, largest",
                both[..., 1:] / both[..., :-1],
                1.0,
                "no loop makes it worse; exact, and so for every n in the "
                "end, because eigenvalues of S are unbounded",
            ),
            note="the median prompt does improve with every loop",
        ),
        says(
            "The learned model has a small loss out of distribution.",
            "Section 5.3",
            main=False,
            note="the other covariance is not given",
        ),
    ]


def expect(tables: Tables) -> list[Evidence]:
    """What Section 5.3 says that a reader sees, in the median and in the mean."""
    exact, trained = tables["exact"], tables["trained"]
    loops = exact["loops"]
    at = np.arange(len(loops)), loops - 1
    both = np.stack([exact[place] for place in _PLACES])
    lowest = both.argmin(-1) + 1
    medians = np.stack([trained[f"{place}_median"] for place in _PLACES])
    means = np.stack([trained[f"{place}_mean"] for place in _PLACES])
    return [
        at_most(
            "At the loops of training the loss in distribution is the exact optimum's: "
            "largest relative difference of the trained model's",
            np.abs(trained["in_mean"][at] / exact["in"][at] - 1),
            0.2,
            "a fifth, for what training leaves and sampling adds",
            post_hoc=True,
        ),
        at_most(
            "More loops than in training do help in expectation: exact loss at its "
            "lowest over that at the loops of training, in distribution, largest",
            exact["in"].min(-1) / exact["in"][at],
            1.0,
            "no higher than at the loops of training; exact",
        ),
        at_most(
            "The exact loss turns round before the last test loop, in and out of "
            "distribution: largest number of loops at its lowest",
            lowest,
            both.shape[-1] - 1.0,
            "before the last; exact",
            name="turn",
        ),
        at_least(
            "After that it diverges: exact loss at the last test loop over the lowest, "
            "smallest",
            both[..., -1] / both.min(-1),
            2.0,
            "twice the lowest; exact",
            name="diverged",
        ),
        at_least(
            "So it does for the trained models: mean at the last test loop of which it "
            "is known, over the lowest mean, smallest",
            _last_known(means) / np.nanmin(means, -1),
            2.0,
            "twice the lowest",
        ),
        at_most(
            "The median prompt goes on improving: largest ratio of one more loop",
            medians[..., 1:] / medians[..., :-1],
            1.0,
            "no higher",
        ),
    ]


def _exact(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Expected losses of A = a*I; out of distribution by exact matrix moments."""
    s = settings
    d, n, test_loops = s["dimension"], s["samples"], s["test_loops"]
    steps = [looped_optimum(d, n, L)[0] for L in s["loops"]]
    return {
        "loops": s["loops"],
        "steps": steps,
        "in": [np.asarray(loss_by_test_loops(a, d, n, test_loops)) for a in steps],
        "out": shifted_loss_by_loops(steps, _SHIFTED, _halves(d), n, test_loops),
        "dimension": d,
        "samples": n,
    }


def _trained(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Median squared errors of trained models on prompts, and their expected losses."""
    s = settings
    d, n = s["dimension"], s["samples"]
    training_key, *test_keys = jax.random.split(key, 3)
    runs = train_looped(settings, training_key)
    values = jnp.array([float(value) for value in _SHIFTED])
    shifted = jnp.repeat(values, jnp.array(_halves(d)), total_repeat_length=d)
    table: dict[str, Any] = {"prompts": s["prompts"], "training": words(settings)}
    A, u = runs.A[:, 0, -1], runs.u[:, 0, -1]
    models = jnp.asarray(A), jnp.asarray(u)
    for place, covariance, test_key in zip(
        _PLACES, (jnp.eye(d), jnp.diag(shifted)), test_keys, strict=True
    ):
        task = LinearRegression(covariance)
        # A part at a time: a million prompts at once would not fit.
        size = min(s["prompts"], 20_000)
        keys = jax.random.split(quick_key(test_key), max(1, s["prompts"] // size))
        sizes = (size, n, s["test_loops"])
        errors = np.concatenate(
            [np.asarray(_errors(*models, task, one, sizes)) for one in keys], axis=1
        )
        table[f"{place}_median"] = np.median(errors, axis=1)
        draw_key, loops = jax.random.fold_in(test_key, 1), s["test_loops"]
        means = [
            losses_by_depth(
                np.repeat(A_one[None], loops, axis=0),
                np.repeat(u_one[None], loops, axis=0),
                np.asarray(covariance),
                n,
                s["prompts"],
                draw_key,
            )
            for A_one, u_one in zip(A, u, strict=True)
        ]
        table[f"{place}_mean"], table[f"{place}_error"] = np.stack(means, axis=1)
    return table


def _last_known(means: np.ndarray) -> np.ndarray:
    """The last number of each row that is not NaN."""
    back = np.argmax(~np.isnan(means[..., ::-1]), axis=-1)
    return np.take_along_axis(means[..., ::-1], back[..., None], axis=-1)[..., 0]


def _gaps(trained: Mapping[str, Any]) -> str:
    """Words about means that too few draws carry, if there are any."""
    means = np.stack([trained[f"{place}_mean"] for place in _PLACES])
    unknown = int(np.isnan(means).sum())
    if not unknown:
        return ""
    return f"; {unknown} of {means.size} means are unknown, too few draws carry them"


def _halves(d: int) -> tuple[int, int]:
    """How many directions have each eigenvalue of Σ out of distribution."""
    return d - d // 2, d // 2


@eqx.filter_jit
def _errors(
    A: Array, u: Array, task: LinearRegression, key: Array, sizes: tuple[int, int, int]
) -> Array:
    """Squared errors by model, prompt and loop; all models see the same prompts."""
    prompts, n, loops = sizes
    batch = task.sample_batch(key, prompts, n)

    def one(A, u):
        model = LoopedTransformer(A, u, loops=loops)
        predictions = jax.vmap(model.predictions_by_depth)(batch)[:, 1:]
        return (predictions - batch.target[:, None]) ** 2

    return jax.vmap(one)(A, u)


def _curves(
    axis: Axes, tables: Tables, place: str, row: int, trained_with: int
) -> None:
    exact, trained = tables["exact"][place][row], tables["trained"]
    x = np.arange(1, len(exact) + 1)
    axis.plot(x, exact, "-", color=drawing.BLACK, label="exact expected loss")
    lowest = int(exact.argmin())
    label = "its lowest point"
    axis.plot(
        x[lowest], exact[lowest], "*", color=drawing.BLACK, markersize=10, label=label
    )
    mean, error = trained[f"{place}_mean"][row], trained[f"{place}_error"][row]
    median = trained[f"{place}_median"][row]
    axis.errorbar(
        x,
        mean,
        2 * error,
        fmt="o",
        color=drawing.BLUE,
        markersize=4,
        label="trained: mean, from the mixture",
    )
    label = "trained: median of prompts"
    axis.plot(
        x, median, "v--", color=drawing.GREEN, markersize=4, linewidth=1, label=label
    )
    label = "loops of training"
    axis.axvline(
        trained_with, color=drawing.GREY, linestyle=":", linewidth=1.2, label=label
    )
    axis.set_yscale("log")
    axis.set_ylim(5e-3, 1e3)
    axis.set_xticks([1, *range(4, len(exact) + 1, 4)])
