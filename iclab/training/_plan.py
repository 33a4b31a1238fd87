"""Settings that decide what training computes, as plain values with names."""

import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import optax

from iclab._reader import Rule, get_rules
from iclab.core import (
    Natural,
    NonNegativeFloat,
    PositiveFloat,
    Seed,
    Size,
    checked,
    require,
)
from iclab.training._own_code import code_differs, made_code, own_code

# How the names of settings end that are code.
_CODE = ".code()"

# Settings that checkpoints of the version before do not have, and what they were.
_ADDED = {
    "redraw_every": 1,
    "start_scale": 1.0,
    "optimiser.halve_every": None,
    "optimiser.clip_by": "whole",
    "optimiser.betas[0]": 0.9,
    "optimiser.betas[1]": 0.999,
}

Precision = Literal["float32", "float64", "bfloat16"]
Beta = Annotated[float, Rule("from 0 to below 1", lambda beta: 0 <= beta < 1)]


@checked
@dataclass(frozen=True)
class Optimiser:
    """Adam, AdamW or SGD with a schedule and clipping, as plain values.

    `schedule` is what follows a linear `warmup` of so many steps: `constant`, down to
    zero at the last step by a `linear` or a `cosine` curve, or `halving`, half the rate
    after every `halve_every` steps. `betas` are those of Adam.

    `clip` bounds the norm of the gradient: of the whole, or with `clip_by="matrix"` of
    every matrix on its own. These are an array's last two axes, so that layers in a
    stack do not share a bound; a vector counts as a matrix.
    """

    method: Literal["adam", "adamw", "sgd"] = "adam"
    learning_rate: PositiveFloat = 1e-4
    schedule: Literal["constant", "linear", "cosine", "halving"] = "constant"
    warmup: Annotated[int, *get_rules(Seed)] = 0
    clip: PositiveFloat | None = None
    weight_decay: NonNegativeFloat = 0.0
    momentum: NonNegativeFloat = 0.0
    halve_every: Natural | None = None
    clip_by: Literal["whole", "matrix"] = "whole"
    betas: tuple[Beta, Beta] = (0.9, 0.999)

    def __post_init__(self):
        decays = self.method == "adamw" or self.weight_decay == 0
        require(decays, "weight_decay", "0 unless adamw", self.weight_decay)
        moves = self.method == "sgd" or self.momentum == 0
        require(moves, "momentum", "0 unless sgd", self.momentum)
        plain = self.method != "sgd" or self.betas == (0.9, 0.999)
        require(plain, "betas", "as they are for sgd, which has none", self.betas)
        halves = (self.schedule == "halving") == (self.halve_every is not None)
        rule = "given with the schedule halving, and with no other"
        require(halves, "halve_every", rule, self.halve_every)
        some = self.clip is not None or self.clip_by == "whole"
        require(some, "clip_by", "whole unless `clip` is given", self.clip_by)

    @classmethod
    def of(cls, settings: Any) -> "Optimiser":
        """The optimiser of an object or a mapping with some of these names."""
        return cls(**_named_fields(cls, settings))

    def rate(self, steps: Natural) -> Callable[[Any], Any]:
        """Learning rate by step of a run of so many steps."""
        peak, rest = self.learning_rate, max(steps - self.warmup, 1)
        halve_every = self.halve_every or 1
        after = {
            "constant": optax.constant_schedule(peak),
            "linear": optax.linear_schedule(peak, 0.0, rest),
            "cosine": optax.cosine_decay_schedule(peak, rest),
            "halving": lambda step: peak * 0.5 ** (step // halve_every),
        }[self.schedule]
        if self.warmup == 0:
            return after
        rise = optax.linear_schedule(peak / self.warmup, peak, self.warmup - 1)
        return optax.join_schedules([rise, after], [self.warmup])

    def transformation(self, steps: Natural) -> optax.GradientTransformation:
        """The optax optimiser of a run of so many steps."""
        rate, (b1, b2) = self.rate(steps), self.betas
        method = {
            "adam": lambda: optax.adam(rate, b1, b2),
            "adamw": lambda: optax.adamw(rate, b1, b2, weight_decay=self.weight_decay),
            "sgd": lambda: optax.sgd(rate, self.momentum or None),
        }[self.method]()
        if self.clip is None:
            return method
        by_matrix = self.clip_by == "matrix"
        clip = _clip_by_matrix if by_matrix else optax.clip_by_global_norm
        return optax.chain(clip(self.clip), method)


def _clip_by_matrix(most: float) -> optax.GradientTransformation:
    """A bound on the norm of every matrix of the gradient, be they stacked or not."""

    def clipped(matrices: Any) -> Any:
        axes = tuple(range(matrices.ndim))[-2:]
        norms = jnp.sqrt(jnp.sum(matrices**2, axes, keepdims=True))
        return matrices * (most / jnp.maximum(norms, most))

    return optax.stateless(lambda updates, _: jax.tree.map(clipped, updates))


def _named_fields(kind: type, settings: Any) -> dict[str, Any]:
    names = [one.name for one in dataclasses.fields(kind)]
    known = settings if isinstance(settings, Mapping) else vars(settings)
    return {name: known[name] for name in names if name in known}


# What steps: settings with names, or any optimiser of optax.
AnyOptimiser = Optimiser | optax.GradientTransformation


def transformation(one: AnyOptimiser, steps: int) -> optax.GradientTransformation:
    """The optax optimiser of a run of so many steps: all trainings step with this."""
    return one.transformation(steps) if isinstance(one, Optimiser) else one


def is_endless(one: AnyOptimiser) -> bool:
    """Whether a step does not depend on how many there will be."""
    return not isinstance(one, Optimiser) or one.schedule in ("constant", "halving")


@checked(finite=False)
@dataclass(frozen=True)
class Plan:
    """A run: steps, samples a step, optimiser, seed of the samples, precision.

    The optimiser may be any of optax too. Samples are drawn again after every
    `redraw_every` steps. Training begins at `start_scale` times the model's arrays.

    `bfloat16` computes losses and gradients in bfloat16 and keeps the weights and the
    optimiser's state in float32; it pays on accelerators only.
    """

    steps: Natural
    batch: Size = 64
    optimiser: AnyOptimiser = field(default_factory=Optimiser)
    seed: Seed = 0
    precision: Precision = "float32"
    redraw_every: Natural = 1
    start_scale: PositiveFloat = 1.0

    @classmethod
    def of(cls, settings: Any) -> "Plan":
        """The plan of an object or a mapping with these names and `Optimiser`'s."""
        given: dict[str, Any] = {"optimiser": Optimiser.of(settings)}
        return cls(**given | _named_fields(cls, settings))


def described(plan: Plan | Mapping[str, Any], problem: Any, model: Any) -> dict:
    """All that decides the numbers of a run, flat: name -> plain value.

    `plan` may be its settings by their names too, where there is none. The model's
    weights enter with their shapes only, because training moves them. The number of
    steps matters only to schedules that end with it. Classes and functions of the
    user's own enter with their code too, and an optimiser of optax with all it holds.
    """
    flat = _flat("", plan, values=True)
    optimiser = plan.optimiser if isinstance(plan, Plan) else plan["optimiser"]
    if is_endless(optimiser):
        del flat["steps"]
    flat |= _flat("problem", problem, values=True)
    return flat | _flat("model", model, values=False)


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Every setting in which two runs differ, in words.

    Where a part is of another kind, what it is made of is not gone into.
    """
    found: list[str] = []
    other_kinds: tuple[str, ...] = ()
    there = {name: _ADDED[name] for name in set(here) & set(_ADDED)} | dict(there)
    for name in sorted(set(there) | set(here)):
        one, other = there.get(name, "nothing"), here.get(name, "nothing")
        # `HuberLoss` was `Huber` in checkpoints of the version before.
        one = "HuberLoss" if one == "Huber" else one
        if one == other or name.startswith(other_kinds):
            continue
        if name.endswith(_CODE):
            if code_differs(str(one), str(other)):
                what = f"`{name.removesuffix(_CODE)}`"
                what = what if name == f"optimiser{_CODE}" else f"the code of {what}"
                found.append(f"{what} is another one")
            continue
        found.append(f"`{name}` is {one} there and {other} here")
        other_kinds += (f"{name}.", f"{name}[")
    return found


def _flat(name: str, value: Any, *, values: bool) -> dict[str, Any]:
    """A tree of dataclasses and tuples as one level of names."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # Two tasks may have the same fields.
        own = {name: type(value).__name__, **_code(name, type(value))} if name else {}
        inside = {
            f"{name}.{one.name}" if name else one.name: getattr(value, one.name)
            for one in dataclasses.fields(value)
        }
    elif isinstance(value, Mapping):
        own, inside = (
            {},
            {f"{name}.{key}" if name else key: value[key] for key in value},
        )
    elif isinstance(value, (tuple, list)):
        own, inside = _code(name, value), {}
        inside |= {f"{name}[{i}]": one for i, one in enumerate(value)}
    elif isinstance(value, (jax.Array, np.ndarray)):
        return {name: _array_text(np.asarray(value), values=values)}
    elif callable(value) and hasattr(value, "__qualname__"):
        # Its `repr` has an address that changes from process to process.
        text = f"{value.__module__}.{value.__qualname__}"
        return {name: text, **_code(name, value)}
    else:
        plain = value is None or isinstance(value, (bool, int, float, str))
        return {name: value if plain else repr(value)}
    for key, one in inside.items():
        own |= _flat(key, one, values=values)
    return own


def _code(name: str, thing: Any) -> dict[str, str]:
    """What a part of a run does, if it is of the user's own making, or of optax."""
    of_optax = isinstance(thing, optax.GradientTransformation)
    code = made_code(thing) if of_optax else own_code(thing)
    return {} if code is None else {f"{name}{_CODE}": code}


def _array_text(array: np.ndarray, *, values: bool) -> str:
    text = f"{array.dtype}{list(array.shape)}"
    if not values:
        return text
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return f"{text} with checksum {digest[:12]}"
