"""Begin with few dimensions and short prompts, end with all of them."""

import math
from dataclasses import dataclass
from typing import Annotated, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from iclab._reader import Rule, Whole
from iclab.core import Natural, Size, checked, is_traced, require


def _is_step(value: Any) -> bool:
    known = isinstance(value, int) and not isinstance(value, bool)
    if (dtype := getattr(value, "dtype", None)) is not None:
        known = jnp.issubdtype(dtype, jnp.integer)
    return known and (is_traced(value) or bool(np.all(np.asarray(value) >= 0)))


# Steps after which a program of its own has paid.
_LONG = 1000

Step = Annotated[Any, Rule("an integer ≥ 0 or an array of such", _is_step)]


@checked
@dataclass(frozen=True)
class Ramp:
    """From `start` to `end` in `stairs` stairs of `every` steps each, then `end`."""

    start: Size
    end: Size
    stairs: Natural = 1
    every: Natural = 1

    def __post_init__(self):
        rule = f"at least `start` = {self.start}"
        require(self.end >= self.start, "end", rule, self.end)

    def __call__(self, step: Step) -> Any:
        """Value at a step: an `int` for an `int`, an array for an array."""
        smallest = min if isinstance(step, int) else jnp.minimum
        climbed = smallest(step // self.every, self.stairs)
        return self.start + (self.end - self.start) * climbed // self.stairs

    @checked(finite=False)
    def leaves_at(self, value: int) -> float:
        """First step at which the ramp is above `value`; infinity if it never is."""
        if value >= self.end:
            return math.inf
        missing, height = value + 1 - self.start, self.end - self.start
        stair = -(-missing * self.stairs // height) if missing > 0 else 0
        return stair * self.every


@checked
class Stage(eqx.Module):
    """How much of a prompt counts at a step: its first points and dimensions.

    `points` is the length of its arrays, with padding, and static: a new one compiles.
    """

    points: Size = eqx.field(static=True)
    active_points: Int[Array, ""]
    active_dimensions: Int[Array, ""]


@checked
@dataclass(frozen=True)
class Curriculum:
    """Ramps of the number of points of a prompt (its query is one) and of dimensions.

    Dimensions that are not yet active are zero. Prompts are padded to one of `shapes`
    lengths, so that little is compiled and little is computed in vain. Padding changes
    neither the samples nor, but for rounding, the losses.
    """

    points: Ramp
    dimensions: Ramp
    shapes: Size = 4

    @classmethod
    def constant(cls, points: Size, dimensions: Size) -> "Curriculum":
        """No curriculum: everything from the first step on."""
        return cls(Ramp(points, points), Ramp(dimensions, dimensions), 1)

    @classmethod
    def growing(
        cls, points: Size, dimensions: Size, *, every: Whole = 2000
    ) -> "Curriculum":
        """Active dimensions d₀ = ⌈d/4⌉ → d by one, points 2d₀ + 1 → all, together.

        Stairs that last a thousand steps have a length of their own, and no padding.

        Source: Garg et al., as used in zhang2023, Appendix E: for d = 20 and 41 points,
        5 → 20 and 11 → 41 by two, every 2,000 steps.
        """
        first = -(-dimensions // 4)
        stairs = max(dimensions - first, 1)
        start = min(2 * first + 1, points)
        return cls(
            Ramp(start, points, stairs, every),
            Ramp(first, dimensions, stairs, every),
            shapes=stairs + 1 if every >= _LONG else 4,
        )

    def padded_length(self, step: Whole) -> int:
        """Length that prompts of a step are padded to: one that they grow to."""
        ramp, height = self.points, self.points.end - self.points.start
        if height == 0:
            return ramp.end
        # All lengths in turn, in as many groups as there may be shapes.
        last = min(ramp.stairs, height)
        groups = min(self.shapes, last + 1)
        number = -(-(ramp(step) - ramp.start) * last // height)
        group = number * groups // (last + 1)
        longest = -(-(group + 1) * (last + 1) // groups) - 1
        return ramp.start + height * longest // last

    @checked(finite=False)
    def leaves_at(self, step: Whole) -> float:
        """First step after `step` whose prompts are padded to another length."""
        return self.points.leaves_at(self.padded_length(step))

    def stage(self, step: Int[Array, ""], length: Size) -> Stage:
        """What counts at a (traced) step."""
        return Stage(length, self.points(step), self.dimensions(step))

    def last(self) -> Stage:
        """What counts once both ramps are climbed."""
        ends = (self.points.end, self.dimensions.end)
        return Stage(ends[0], *map(jnp.asarray, ends))
