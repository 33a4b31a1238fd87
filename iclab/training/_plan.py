"""Settings that decide what training computes, as plain values with names."""

import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import jax
import numpy as np
import optax

from iclab._reader import get_rules
from iclab.core import (
    Natural,
    NonNegativeFloat,
    PositiveFloat,
    Seed,
    Size,
    checked,
    require,
)
from iclab.training._own_code import code_differs, own_code

# How the names of settings end that are code.
_CODE = ".code()"

Precision = Literal["float32", "float64", "bfloat16"]


@checked
@dataclass(frozen=True)
class Optimiser:
    """Adam, AdamW or SGD with a schedule and clipping, as plain values.

    `schedule` is what follows a linear `warmup` of so many steps: `constant`, or down
    to zero at the last step by a `linear` or a `cosine` curve. `clip` bounds the norm
    of the whole gradient.
    """

    method: Literal["adam", "adamw", "sgd"] = "adam"
    learning_rate: PositiveFloat = 1e-4
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup: Annotated[int, *get_rules(Seed)] = 0
    clip: PositiveFloat | None = None
    weight_decay: NonNegativeFloat = 0.0
    momentum: NonNegativeFloat = 0.0

    def __post_init__(self):
        decays = self.method == "adamw" or self.weight_decay == 0
        require(decays, "weight_decay", "0 unless adamw", self.weight_decay)
        moves = self.method == "sgd" or self.momentum == 0
        require(moves, "momentum", "0 unless sgd", self.momentum)

    def rate(self, steps: Natural) -> Callable[[Any], Any]:
        """Learning rate by step of a run of so many steps."""
        peak, rest = self.learning_rate, max(steps - self.warmup, 1)
        after = {
            "constant": optax.constant_schedule(peak),
            "linear": optax.linear_schedule(peak, 0.0, rest),
            "cosine": optax.cosine_decay_schedule(peak, rest),
        }[self.schedule]
        if self.warmup == 0:
            return after
        rise = optax.linear_schedule(peak / self.warmup, peak, self.warmup - 1)
        return optax.join_schedules([rise, after], [self.warmup])

    def transformation(self, steps: Natural) -> optax.GradientTransformation:
        """The optax optimiser of a run of so many steps."""
        rate = self.rate(steps)
        method = {
            "adam": lambda: optax.adam(rate),
            "adamw": lambda: optax.adamw(rate, weight_decay=self.weight_decay),
            "sgd": lambda: optax.sgd(rate, self.momentum or None),
        }[self.method]()
        if self.clip is None:
            return method
        return optax.chain(optax.clip_by_global_norm(self.clip), method)


# What steps: settings with names, or any optimiser of optax.
AnyOptimiser = Optimiser | optax.GradientTransformation


def transformation(one: AnyOptimiser, steps: int) -> optax.GradientTransformation:
    """The optax optimiser of a run of so many steps: all trainings step with this."""
    return one.transformation(steps) if isinstance(one, Optimiser) else one


def is_endless(one: AnyOptimiser) -> bool:
    """Whether a step does not depend on how many there will be."""
    return not isinstance(one, Optimiser) or one.schedule == "constant"


@checked(finite=False)
@dataclass(frozen=True)
class Plan:
    """A run: steps, samples a step, optimiser, seed of the samples, precision.

    The optimiser may be any of optax too; then its settings are not compared when a run
    is resumed, because it does not tell them.

    `bfloat16` computes losses and gradients in bfloat16 and keeps the weights and the
    optimiser's state in float32; it pays on accelerators only.
    """

    steps: Natural
    batch: Size = 64
    optimiser: AnyOptimiser = field(default_factory=Optimiser)
    seed: Seed = 0
    precision: Precision = "float32"


def described(plan: Plan, problem: Any, model: Any) -> dict[str, Any]:
    """All that decides the numbers of a run, flat: name -> plain value.

    The model's weights enter with their shapes only, because training moves them. The
    number of steps matters only to schedules that end with it. Classes and functions
    of the user's own enter with their code too.
    """
    flat = _flat("", plan, values=True)
    if is_endless(plan.optimiser):
        del flat["steps"]
    flat |= _flat("problem", problem, values=True)
    return flat | _flat("model", model, values=False)


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Every setting in which two runs differ, in words.

    Where a part is of another kind, what it is made of is not gone into.
    """
    found: list[str] = []
    other_kinds: tuple[str, ...] = ()
    for name in sorted(set(there) | set(here)):
        one, other = there.get(name, "nothing"), here.get(name, "nothing")
        # `HuberLoss` was `Huber` in checkpoints of the version before.
        one = "HuberLoss" if one == "Huber" else one
        if one == other or name.startswith(other_kinds):
            continue
        if name.endswith(_CODE):
            if code_differs(str(one), str(other)):
                found.append(f"the code of `{name.removesuffix(_CODE)}` is another one")
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
    elif isinstance(value, (tuple, list)):
        own, inside = {}, {f"{name}[{i}]": one for i, one in enumerate(value)}
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
    """What a part of a run does, if it is of the user's own making."""
    code = own_code(thing)
    return {} if code is None else {f"{name}{_CODE}": code}


def _array_text(array: np.ndarray, *, values: bool) -> str:
    text = f"{array.dtype}{list(array.shape)}"
    if not values:
        return text
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return f"{text} with checksum {digest[:12]}"
