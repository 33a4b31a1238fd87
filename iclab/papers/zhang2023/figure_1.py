"""Figure 1: GPT-2 on fixed and random covariances, with least squares and LSA."""

import dataclasses
import hashlib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from iclab.algorithms import LeastSquares
from iclab.core import AbstractPredictor, require
from iclab.evaluation import error_curve
from iclab.evidence import (
    Evidence,
    Sentence,
    Tables,
    at_least,
    at_most,
    says,
    setting,
)
from iclab.models import GPT2, load, shipped, shipped_manifests
from iclab.papers import _drawing as drawing
from iclab.papers._training_runs import shared_key
from iclab.papers.zhang2023._gpt2_training import Settings as Training, build
from iclab.tasks import AbstractTask, Exponential, Fixed, LinearRegression
from iclab.theory import lsa_limit_risk
from iclab.training import train

_ID = "zhang2023/figure-1"
_NAME = r"(fixed|random)-[1-9][0-9]*(-blind)?"

# Test distributions: fixed covariance, and random ones multiplied by c.
PANELS = {"fixed": None, "random, c = 1": 1.0, "random, c = 4": 4.0,
          "random, c = 9": 9.0}  # fmt: skip

# Light to dark with the length of the training prompts.
_COLOURS = {"fixed": ("#9ECAE9", "#4A98C9", "#0B559F"),
            "random": ("#FDBE85", "#F08030", "#A63603")}  # fmt: skip

# How models are trained, besides size, steps and rate: quickly, or as in Appendix E.
_RECIPES: dict[str, dict[str, Any]] = {
    "short": {
        "schedule": "cosine",
        "warmup": 500,
        "clip": 1.0,
        "curriculum_every": 300,
    },
    "paper": {},
}

# All that the shipped models have otherwise than Appendix E.
_DIFFERS = (
    "sizes and training of ours: d = {d} for 20, N = 10, 18, 26 for 40, 70, 100, 3"
    " layers, 2 heads and width 64 for 12, 8 and 256, 15,000 steps for 500,000, rate"
    " 2e-3 with warm-up and a cosine for 1e-4, clipped gradients, a curriculum that"
    " grows every 300 steps for 2,000, 32 prompts a covariance for 64"
)

seeded = True


def _names(*contexts: int) -> tuple[str, ...]:
    """A model for each N and each kind of covariance, and two without positions."""
    return tuple(
        f"{covariance}-{rest}"
        for covariance in ("fixed", "random")
        for rest in (*contexts, f"{contexts[1]}-blind")
    )


@dataclass(frozen=True)
class Settings:
    """Sizes of Figure 1, and the models in it.

    Weights of the small models come with the package; `paper` trains its own.
    """

    dimension: int = setting("Dimension d of the inputs.", 5, paper=20)
    models: tuple[str, ...] = setting(
        "Models by name: covariance in training, N, and -blind without positions.",
        _names(10, 18, 26),
        paper=_names(40, 70, 100),
    )
    weights: tuple[str, ...] = setting(
        "Trained models of one's own, NAME=FILE (--weights): only these are drawn.", ()
    )
    longest: int = setting("Most examples in a prompt.", 40, paper=140, least=11)
    between: int = setting("Step between lengths beyond ten.", 2, smoke=3, paper=3)
    groups: int = setting("Covariances of the test.", 64)
    prompts: int = setting("Prompts for each of them.", 32, smoke=4, paper=64)
    size: Literal["tiny", "small", "standard"] = setting(
        "Size of models that are trained.", "tiny", paper="standard"
    )
    steps: int = setting("Steps of training.", 15_000, paper=500_000)
    learning_rate: float = setting("Rate of Adam.", 2e-3, paper=1e-4)
    recipe: Literal["short", "paper"] = setting(
        "Rest of the training: warm-up, clipping and a falling rate, or as in the "
        "paper.",
        "short",
        paper="paper",
    )

    def __post_init__(self):
        for name in (*self.models, *self.files):
            rule = "like fixed-18 or random-18-blind"
            right = re.fullmatch(_NAME, name) is not None
            require(right, "models", rule, repr(name))
            context = _own(name)["context"]
            rule = f"more than the N of {name}, {context}"
            require(self.longest > context, "longest", rule, self.longest)

    @property
    def files(self) -> dict[str, str]:
        """Files of one's own, by the model's name."""
        pairs = (one.partition("=") for one in self.weights)
        return {name: file for name, _, file in pairs}

    def training(self, **own: Any) -> dict[str, Any]:
        """How a model is trained, as far as the paper does it otherwise."""
        wanted = _RECIPES[self.recipe] | {
            "size": self.size,
            "dimension": self.dimension,
            "steps": self.steps,
            "learning_rate": self.learning_rate,
            "longest": self.longest,
        }
        usual = dataclasses.asdict(Training())
        return own | {name: v for name, v in wanted.items() if v != usual[name]}


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """A job a model, and one for least squares; all see the same prompts."""
    s = settings
    names = tuple(s.files) or s.models
    # The same lengths in every job, so that they share compiled programs.
    lengths = {*range(1, 11), *range(10, s.longest + 1, s.between)}
    for context in {_own(name)["context"] for name in names}:
        lengths |= {context, context + 1}
    base = {"groups": s.groups, "prompts": s.prompts, "lengths": sorted(lengths)}
    found = {}
    for name in names:
        own = _own(name)
        training = s.training(**own)
        title = f"{own['covariance']} {own['context']}"
        title += " no positions" * ("positional" in own)
        job = {"training": training, **base}
        # Other weights are another job.
        if name in s.files:
            job |= {"file": s.files[name], "weights": _checksum(s.files[name])}
        elif (checksum := _shipped_checksum(Training(**training))) is not None:
            job |= {"shipped": True, "weights": checksum}
        found[title] = job
    return found | {"least squares": {"training": s.training(), **base}}


def _own(name: str) -> dict[str, Any]:
    """What the name of a model says of its training."""
    covariance, context, *blind = name.split("-")
    own = {"covariance": covariance, "context": int(context)}
    return own | {"positional": False} if blind else own


def _checksum(file: str) -> str:
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(f"{_ID}: cannot read weights {file}: {reason}") from None


def _shipped_checksum(run: Training) -> str | None:
    """Of the weights of a run, if they come with the package."""
    manifest = shipped_manifests().get(weights_name(run))
    if manifest is None or Training(**manifest["settings"]) != run:
        return None
    return manifest["sha256"]


def trains(settings: Mapping[str, Any]) -> bool:
    """Whether a job is training."""
    return "covariance" in settings["training"]


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Errors by context length in the four panels, as a share of the zero predictor's.

    Every job draws the same prompts.
    """
    run, seed = Training(**settings["training"]), settings.get("seed", 0)
    d, lengths = run.dimension, settings["lengths"]
    predictor: AbstractPredictor = LeastSquares()
    if "covariance" in settings["training"]:
        if "file" in settings:
            predictor = _from_file(settings, run)
        else:
            own = settings.get("shipped")
            fresh = dataclasses.replace(run, seed=seed)
            predictor = shipped(weights_name(run)) if own else trained(fresh)
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
            key=shared_key(jax.random.key(number), seed),
            mixture=False,  # means as the paper plots them
        )[""]
        table[f"{name}: mean"] = curve.mean
        table[f"{name}: lower"] = curve.lower
        table[f"{name}: upper"] = curve.upper
        table[f"{name}: LSA limit"] = _lsa_limit(c, d)
    return table


def weights_name(run: Training) -> str:
    """Name of a run among the shipped weights."""
    return f"gpt2-{run.covariance}-{run.context}" + "-blind" * (not run.positional)


def trained(run: Training) -> GPT2:
    """The model of a run, trained here and now."""
    return train(*build(run)).model


def _from_file(settings: Mapping[str, Any], run: Training) -> GPT2:
    """A model of one's own; it must be the one that was planned with, and fit."""
    file = settings["file"]
    same = _checksum(file) == settings["weights"]
    require(same, "weights", "the file that was planned with", f"another {file}")
    model = load(file)
    kind = type(model).__name__
    require(isinstance(model, GPT2), "weights", f"a GPT-2 in {file}", kind)
    d, most = model.read_in.weight.shape[-1], model.max_examples or run.longest
    right = d == run.dimension
    rule = f"the dimension of {file}, {d} (--set dimension={d})"
    require(right, "dimension", rule, run.dimension)
    rule = f"at most what {file} has positions for, {most} (--set longest={most})"
    require(max(settings["lengths"]) <= most, "longest", rule, run.longest)
    return model


def draw(tables: Tables) -> Picture:
    """Four panels, a curve a model, intervals shaded, the legend below."""
    first = next(iter(tables.values()))
    d = int(first["dimension"])
    picture = drawing.sheet(
        8.0,
        "GPT-2 trained on prompts with fixed or random covariance",
        f"d = {d}; error on the query divided by that of predicting 0, mean over "
        f"{int(first['prompts']):,} prompts; shaded: 90 % bootstrap intervals.\n"
        "Dotted verticals: N, the longest context in training. Linear attention was "
        "trained on random covariances.",
    )
    (page,) = drawing.parts(picture, 1, 1)
    axes = list(page.subplots(2, 2, sharex=True, sharey=True).flat)
    for letter, axis, name in zip("abcd", axes, PANELS, strict=True):
        x = "examples in context, M" if letter in "cd" else ""
        y = "error" if letter in "ac" else ""
        drawing.panel(axis, f"({letter}) test: {name}", x, y)
        if "least squares" in tables:
            _curve(
                axis, tables["least squares"], name, "least squares", drawing.BLACK, "-"
            )
        axis.axhline(1.0, color=drawing.GREY, linestyle="--", label="zero predictor")
        limit = float(first[f"{name}: LSA limit"])
        label = "linear attention, M, N → ∞"
        axis.axhline(limit, color=drawing.BLACK, linestyle="--", label=label)
        for job, colour, style in _styles(tables):
            covariance, context, *rest = job.split()
            label = f"{covariance}, N = {context}" + ", no positions" * bool(rest)
            _curve(axis, tables[job], name, label, colour, style)
            axis.axvline(int(context), color=drawing.GREY, linestyle=":", linewidth=0.7)
        drawing.log_scale(axis, (1,))
    # Least squares is exact from M = d on, far below.
    axes[0].set_ylim(1e-3, 100)
    drawing.legend_below(page, axes, 4)
    return picture


def paper_statements(tables: Tables) -> list[Sentence]:
    """What Section 4.3 and the caption say that a reader sees."""
    fixed, random, _ = _models(tables)
    plain = [*fixed, *random]
    exact = tables["least squares"]
    d, c1 = int(exact["dimension"]), "random, c = 1"
    ours = "" if d == 20 else _DIFFERS.format(d=d)
    text = "Section 4.3, text on Figure 1"
    return [
        says(
            "Trained on the fixed covariance, models succeed on random covariances "
            "with c = 1, better than linear attention can.",
            text,
            at_most(
                "Largest error at M = N, against the limit of linear attention",
                [_at_end(tables[job], c1) for job in fixed],
                float(exact[f"{c1}: LSA limit"]),
                "the black dashed line of the figure, exact",
            ),
            caveat=ours,
        ),
        says(
            "At c = 4 and 9 they are unsuccessful.",
            text,
            *tuple(
                at_least(
                    f"Smallest error at M = N, c = {c}, of predicting 0",
                    [_at_end(tables[job], f"random, c = {c}") for job in fixed],
                    0.5,
                    "half of the error is left: our reading of the word",
                    post_hoc=True,
                    name=f"unsuccessful_{c}",
                )
                for c in (4, 9)
            ),
            caveat=ours,
            note="What counts as unsuccessful is not in the text.",
        ),
        says(
            "At c = 4 and 9 training on random covariances is better.",
            text,
            *tuple(
                at_least(
                    f"Errors at M = N, c = {c}, fixed over random, smallest over N",
                    _gains(tables, fixed, random, f"random, c = {c}"),
                    1.0,
                    "better means less error",
                )
                for c in (4, 9)
            ),
            caveat=ours,
        ),
        says(
            "At c = 9 they still fail to match least squares.",
            text,
            at_least(
                "Smallest error at M = N, where least squares has none",
                [_at_end(tables[job], "random, c = 9") for job in random],
                0.05,
                "a twentieth of the error of predicting 0",
                post_hoc=True,
            ),
            caveat=ours,
        ),
        says(
            "Past the training length errors spike, whatever the covariances of "
            "training and test.",
            "Section 4.3 and caption",
            at_least(
                "Largest error beyond N over that at N, smallest of all models and "
                "panels",
                [_spike(tables[job], name) for job in plain for name in PANELS],
                2.0,
                "twice the error is more than sampling explains",
                name="least_spike",
            ),
            caveat=ours,
        ),
        says(
            "The spike appears to be smaller for prompts of higher variance.",
            text,
            at_most(
                "Spike at c = 9 over that at c = 1, geometric mean over models",
                _mean(
                    _spike(tables[job], "random, c = 9") / _spike(tables[job], c1)
                    for job in plain
                ),
                1.0,
                "smaller",
            ),
            main=False,
            caveat=ours,
        ),
        says(
            "Models trained on random covariances have smaller errors when their "
            "training contexts are longer.",
            "caption",
            at_most(
                "Errors at M = N on random covariances with c = 1, longest over "
                "shortest N",
                [
                    _at_end(tables[long], c1) / _at_end(tables[short], c1)
                    for short, long in zip(random[:1], random[-1:], strict=True)
                    if short != long
                ],
                1.0,
                "smaller",
            ),
            main=False,
            caveat=ours,
        ),
    ]


def expect(tables: Tables) -> list[Evidence]:
    """What else these models show."""
    fixed, random, blind = _models(tables)
    exact = tables["least squares"]
    c1 = "random, c = 1"
    return [
        at_least(
            "On the law of their training errors spike past the training length: "
            "largest error beyond N over that at N, smallest of all models",
            [_spike(tables[job], _home(job)) for job in (*fixed, *random)],
            2.0,
            "twice the error is more than sampling explains",
        ),
        at_most(
            "Trained and tested on the fixed covariance, models come close to least "
            "squares: largest ratio of errors, averaged over M = 1 … N",
            [_ratio(tables[job], exact, "fixed") for job in fixed],
            1.5,
            "half as much again",
            post_hoc=True,
        ),
        at_most(
            "Where least squares is exact they are nearly so: largest error at M = N",
            [_at_end(tables[job], "fixed") for job in fixed],
            0.1,
            "a tenth of the error of predicting 0",
            post_hoc=True,
        ),
        at_most(
            "Models that were trained on random covariances beat the limit of linear "
            "attention too: largest error at M = N, c = 1",
            [_at_end(tables[job], c1) for job in random],
            float(exact[f"{c1}: LSA limit"]),
            "the black dashed line of the figure, exact",
        ),
        at_most(
            "Without positional encoding errors do not spike: largest ratio of errors "
            "beyond N to that at N",
            [_spike(tables[job], _home(job)) for job in blind],
            1.5,
            "well below the twofold that counts as a spike",
            post_hoc=True,
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
        blind = [job for job in own if job not in plain]
        # The middle one, if it is alone.
        shown = colours[1:] if len(plain) == 1 else itertools.cycle(colours)
        found += [(job, c, "-") for job, c in zip(plain, shown, strict=False)]
        found += [(job, colours[1], "--") for job in blind]
    return found


def _curve(
    axis: Axes, table: Mapping[str, Any], name: str, label: str, colour: str, style: str
) -> None:
    x = table["lengths"]
    lower, upper = table[f"{name}: lower"], table[f"{name}: upper"]
    axis.fill_between(x, lower, upper, color=colour, alpha=0.2, linewidth=0)
    axis.plot(x, table[f"{name}: mean"], color=colour, linestyle=style, label=label)


def _at_end(table: Mapping[str, Any], name: str) -> float:
    """Error at the training length."""
    place = list(table["lengths"]).index(int(table["context"]))
    return float(table[f"{name}: mean"][place])


def _gains(
    tables: Tables, these: Sequence[str], those: Sequence[str], name: str
) -> list[float]:
    """Errors of these models over those of others at the training lengths of both."""
    ends = {int(tables[job]["context"]): _at_end(tables[job], name) for job in these}
    others = {int(tables[job]["context"]): _at_end(tables[job], name) for job in those}
    return [ends[N] / others[N] for N in ends if N in others]


def _mean(ratios: Iterable[float]) -> float | None:
    """The geometric mean; None of nothing."""
    logarithms = [np.log(ratio) for ratio in ratios]
    return float(np.exp(np.mean(logarithms))) if logarithms else None


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
