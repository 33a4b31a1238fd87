"""Figure 1: GPT-2 on fixed and random covariances, beside least squares and LSA."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from iclab.algorithms import LeastSquares
from iclab.core import AbstractPredictor
from iclab.evaluation import error_curve
from iclab.evidence import Evidence, Figure, Scale, Sentence, Tables
from iclab.models import GPT2, shipped, shipped_manifests
from iclab.papers._drawing import (
    BLACK,
    GREY,
    legend_below,
    log_scale,
    panel,
    parts,
    sheet,
)
from iclab.papers.zhang2023._gpt2_training import Settings, build
from iclab.tasks import AbstractTask, Exponential, Fixed, LinearRegression
from iclab.theory import lsa_limit_risk
from iclab.training import train

# Test distributions: fixed covariance, and random ones multiplied by c.
PANELS = {"fixed": None, "random, c = 1": 1.0, "random, c = 4": 4.0,
          "random, c = 9": 9.0}  # fmt: skip

# Light to dark with the length of the training prompts.
_COLOURS = {"fixed": ("#9ECAE9", "#4A98C9", "#0B559F"),
            "random": ("#FDBE85", "#F08030", "#A63603")}  # fmt: skip

# What the shipped models were trained with, besides covariance, context and positions.
_DESK = {
    "size": "tiny",
    "dimension": 5,
    "steps": 15_000,
    "learning_rate": 2e-3,
    "schedule": "cosine",
    "warmup": 500,
    "clip": 1.0,
    "curriculum_every": 300,
    "longest": 40,
}


def jobs(scale: Scale) -> dict[str, dict[str, Any]]:
    """A job a model, and one for least squares; all see the same prompts.

    Weights of the small models come with the package; `paper` trains its own.
    """
    paper = scale == "paper"
    contexts = (40, 70, 100) if paper else (10, 18, 26)
    common = {"longest": 140} if paper else _DESK
    # The same lengths in every job, so that they share compiled programs.
    step = 2 if scale == "desk" else 3
    lengths = {*range(1, 11), *range(10, common["longest"] + 1, step)}
    lengths |= {context + past for context in contexts for past in (0, 1)}
    prompts = 4 if scale == "smoke" else 64
    base = {"groups": 64, "prompts": prompts, "lengths": sorted(lengths)}
    found, manifests = {}, shipped_manifests()
    for covariance in ("fixed", "random"):
        blind = {"context": contexts[1], "positional": False}
        for own in (*({"context": n} for n in contexts), blind):
            training = {"covariance": covariance, **own, **common}
            name = f"{covariance} {own['context']}"
            name += " no positions" * ("positional" in own)
            found[name] = {"training": training, **base}
            if not paper:
                # Other weights are another job.
                checksum = manifests[weights_name(Settings(**training))]["sha256"]
                found[name] |= {"shipped": True, "weights": checksum}
    return found | {"least squares": {"training": common, **base}}


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Errors by context length in the four panels, as a share of the zero predictor's.

    Every job draws the same prompts.
    """
    run = Settings(**settings["training"])
    d, lengths = run.dimension, settings["lengths"]
    predictor: AbstractPredictor = LeastSquares()
    if "covariance" in settings["training"]:
        own = settings.get("shipped")
        predictor = shipped(weights_name(run)) if own else trained(run)
    table: dict[str, Any] = {
        "lengths": lengths,
        "context": run.context,
        "dimension": d,
        "prompts": settings["groups"] * settings["prompts"],
    }
    for number, (name, c) in enumerate(PANELS.items()):
        curve = error_curve(
            {"": predictor},
            _Covariances(jnp.asarray(c or 0.0), d),
            lengths,
            groups=settings["groups"],
            prompts=settings["prompts"],
            normalisation=d * (c or 1.0),
            key=jax.random.key(number),
        )[""]
        table[f"{name}: mean"] = curve.mean
        table[f"{name}: lower"] = curve.lower
        table[f"{name}: upper"] = curve.upper
        table[f"{name}: LSA limit"] = _lsa_limit(c, d)
    return table


def weights_name(run: Settings) -> str:
    """Name of a run among the shipped weights."""
    return f"gpt2-{run.covariance}-{run.context}" + "-blind" * (not run.positional)


def trained(run: Settings) -> GPT2:
    """The model of a run, trained here and now."""
    return train(*build(run)).model


def draw(tables: Tables) -> Picture:
    """Four panels, a curve a model, intervals shaded, the legend below."""
    first = tables["least squares"]
    d = int(first["dimension"])
    picture = sheet(
        8.0,
        "GPT-2 trained on prompts with fixed or random covariance",
        f"d = {d}; error on the query divided by that of predicting 0, mean over "
        f"{int(first['prompts']):,} prompts; shaded: 90 % bootstrap intervals.\n"
        "Dotted verticals: N, the longest context in training. Linear attention was "
        "trained on random covariances.",
    )
    (page,) = parts(picture, 1, 1)
    axes = list(page.subplots(2, 2, sharex=True, sharey=True).flat)
    for letter, axis, name in zip("abcd", axes, PANELS, strict=True):
        x = "examples in context, M" if letter in "cd" else ""
        y = "error" if letter in "ac" else ""
        panel(axis, f"({letter}) test: {name}", x, y)
        _curve(axis, first, name, "least squares", BLACK, "-")
        axis.axhline(1.0, color=GREY, linestyle="--", label="zero predictor")
        limit = float(first[f"{name}: LSA limit"])
        label = "linear attention, M, N → ∞"
        axis.axhline(limit, color=BLACK, linestyle="--", label=label)
        for job, colour, style in _styles(tables):
            covariance, context, *rest = job.split()
            label = f"{covariance}, N = {context}" + ", no positions" * bool(rest)
            _curve(axis, tables[job], name, label, colour, style)
            axis.axvline(int(context), color=GREY, linestyle=":", linewidth=0.7)
        log_scale(axis, (1,))
    # Least squares is exact from M = d on, far below.
    axes[0].set_ylim(1e-3, 100)
    legend_below(page, axes, 4)
    return picture


def said(tables: Tables) -> list[Sentence]:
    """What Section 4.3 and the caption say that a reader sees."""
    fixed, random, _ = _models(tables)
    plain = [*fixed, *random]
    exact = tables["least squares"]
    d, c1 = int(exact["dimension"]), "random, c = 1"
    size = "" if d == 20 else f"the size, d = {d} and three layers for 20 and twelve"
    text = "Section 4.3, text on Figure 1"
    return [
        Sentence(
            "Trained on the fixed covariance, models succeed on random covariances "
            "with c = 1, better than linear attention can.",
            text,
            (
                Evidence(
                    "Largest error at M = N, against the limit of linear attention",
                    max(_at_end(tables[job], c1) for job in fixed),
                    "<=",
                    float(exact[f"{c1}: LSA limit"]),
                    reason="the black dashed line of the figure, exact",
                ),
            ),
        ),
        Sentence(
            "At c = 4 and 9 they are unsuccessful.",
            text,
            tuple(
                Evidence(
                    f"Largest error at M = N, c = {c}, of predicting 0",
                    max(_at_end(tables[job], f"random, c = {c}") for job in fixed),
                    ">=",
                    0.5,
                    reason="half of the error is left",
                    in_view=True,
                    name=f"unsuccessful_{c}",
                )
                for c in (4, 9)
            ),
            blame=size,
        ),
        Sentence(
            "At c = 4 and 9 training on random covariances is better.",
            text,
            tuple(
                Evidence(
                    f"Errors at M = N, c = {c}, fixed over random, geometric mean",
                    _gain(tables, fixed, random, f"random, c = {c}"),
                    ">=",
                    1.0,
                    reason="better means less error",
                )
                for c in (4, 9)
            ),
        ),
        Sentence(
            "At c = 9 they still fail to match least squares.",
            text,
            (
                Evidence(
                    "Smallest error at M = N, where least squares has none",
                    min(_at_end(tables[job], "random, c = 9") for job in random),
                    ">=",
                    0.05,
                    reason="a twentieth of the error of predicting 0",
                    in_view=True,
                ),
            ),
        ),
        Sentence(
            "Past the training length errors spike, whatever the covariances of "
            "training and test.",
            "Section 4.3 and caption",
            (
                Evidence(
                    "Largest error beyond N over that at N, smallest of all models, in "
                    "the distribution of their training",
                    min(_spike(tables[job], _home(job)) for job in plain),
                    ">=",
                    2.0,
                    reason="twice the error is more than sampling explains",
                ),
            ),
        ),
        Sentence(
            "The spike appears to be smaller for prompts of higher variance.",
            text,
            (
                Evidence(
                    "Spike at c = 9 over that at c = 1, geometric mean over models",
                    _mean(
                        _spike(tables[job], "random, c = 9") / _spike(tables[job], c1)
                        for job in plain
                    ),
                    "<=",
                    1.0,
                    reason="smaller",
                ),
            ),
            main=False,
            blame=size,
        ),
        Sentence(
            "Models trained on random covariances have smaller errors when their "
            "training contexts are longer.",
            "caption",
            (
                Evidence(
                    "Errors at M = N on random covariances with c = 1, longest over "
                    "shortest N",
                    _at_end(tables[random[-1]], c1) / _at_end(tables[random[0]], c1),
                    "<=",
                    1.0,
                    reason="smaller",
                ),
            ),
            main=False,
            blame=size,
        ),
    ]


def expect(tables: Tables) -> list[Evidence]:
    """What these models show besides."""
    fixed, random, blind = _models(tables)
    exact = tables["least squares"]
    c1 = "random, c = 1"
    return [
        Evidence(
            "Trained and tested on the fixed covariance, models come close to least "
            "squares: largest ratio of errors, averaged over M = 1 … N",
            max(_ratio(tables[job], exact, "fixed") for job in fixed),
            "<=",
            1.5,
            reason="half as much again",
            in_view=True,
        ),
        Evidence(
            "Where least squares is exact they are nearly so: largest error at M = N",
            max(_at_end(tables[job], "fixed") for job in fixed),
            "<=",
            0.1,
            reason="a tenth of the error of predicting 0",
            in_view=True,
        ),
        Evidence(
            "Models that were trained on random covariances beat the limit of linear "
            "attention too: largest error at M = N, c = 1",
            max(_at_end(tables[job], c1) for job in random),
            "<=",
            float(exact[f"{c1}: LSA limit"]),
            reason="the black dashed line of the figure, exact",
        ),
        Evidence(
            "Without positional encoding errors do not spike: largest ratio of errors "
            "beyond N to that at N",
            max(_spike(tables[job], _home(job)) for job in blind),
            "<=",
            1.5,
            reason="well below the twofold that counts as a spike",
            in_view=True,
        ),
    ]


def _models(tables: Tables) -> tuple[list[str], list[str], list[str]]:
    """Jobs that are models: fixed and random covariances, and without positions."""
    names = [job for job in tables if job != "least squares"]
    blind = [job for job in names if job.endswith("no positions")]
    plain = [job for job in names if job not in blind]
    fixed = [job for job in plain if job.startswith("fixed")]
    return fixed, [job for job in plain if job not in fixed], blind


def _styles(tables: Tables) -> list[tuple[str, str, str]]:
    """Jobs that are models, with colour and line style."""
    found = []
    for covariance, colours in _COLOURS.items():
        own = [job for job in tables if job.startswith(f"{covariance} ")]
        plain = [job for job in own if len(job.split()) == 2]
        found += [(job, c, "-") for job, c in zip(plain, colours, strict=True)]
        found += [(job, colours[1], "--") for job in own if job not in plain]
    return found


def _curve(
    axis: Axes,
    table: Mapping[str, Any],
    name: str,
    label: str,
    colour: str,
    style: str,
) -> None:
    x = table["lengths"]
    lower, upper = table[f"{name}: lower"], table[f"{name}: upper"]
    axis.fill_between(x, lower, upper, color=colour, alpha=0.2, linewidth=0)
    axis.plot(x, table[f"{name}: mean"], color=colour, linestyle=style, label=label)


def _at_end(table: Mapping[str, Any], name: str) -> float:
    """Error at the training length."""
    place = list(table["lengths"]).index(int(table["context"]))
    return float(table[f"{name}: mean"][place])


def _gain(
    tables: Tables, these: Sequence[str], those: Sequence[str], name: str
) -> float:
    """Errors of these models at their training lengths over those of others."""
    pairs = zip(these, those, strict=True)
    return _mean(_at_end(tables[a], name) / _at_end(tables[b], name) for a, b in pairs)


def _mean(ratios: Iterable[float]) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(list(ratios)))))


def _ratio(table: Mapping[str, Any], exact: Mapping[str, Any], name: str) -> float:
    """Mean error up to the training length, over that of another predictor."""
    seen = np.asarray(table["lengths"]) <= int(table["context"])
    own, other = (np.asarray(one[f"{name}: mean"])[seen] for one in (table, exact))
    return float(own.sum() / other.sum())


def _home(job: str) -> str:
    """The panel whose prompts are like those of a model's training."""
    return "fixed" if job.startswith("fixed") else "random, c = 1"


def _spike(table: Mapping[str, Any], name: str) -> float:
    """Largest error past N over the error at N."""
    beyond = np.asarray(table["lengths"]) > int(table["context"])
    worst = float(np.max(np.asarray(table[f"{name}: mean"])[beyond]))
    return worst / _at_end(table, name)


class _Covariances(eqx.Module):
    """The identity for c = 0, else a random diagonal covariance multiplied by c.

    c is an array, so that the four panels share a compiled program.
    """

    c: Float[Array, ""]
    dimension: int

    def __call__(self, key: PRNGKeyArray) -> AbstractTask:
        drawn = self.c * jax.random.exponential(key, (self.dimension,))
        return LinearRegression(jnp.diag(jnp.where(self.c > 0, drawn, 1.0)))


def _lsa_limit(c: float | None, dimension: int) -> float:
    """Share of the zero predictor's error that trained linear attention keeps."""
    moments = lambda law: jnp.tile(jnp.array(law.moments())[:, None], dimension)  # noqa: E731
    training = moments(Exponential())
    test = moments(Fixed(1.0)) if c is None else training
    scale = c or 1.0
    return float(lsa_limit_risk(training, test, scale)) / (scale * dimension)


FIGURE = Figure(
    "zhang2023/figure-1",
    "Trained GPT-2 models by context length, under fixed and random covariances",
    jobs,
    compute,
    draw,
    expect,
    said=said,
)
