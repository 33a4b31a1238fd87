"""Flows of a few numbers, each followed up to a time of its own."""

from collections.abc import Callable
from dataclasses import dataclass

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.core import Prompt
from iclab.models import LoopedTransformer
from iclab.theory import convergence_time, dominance_threshold

# Local error of a step, relative to the solution.
TOLERANCE = 1e-11

_MOST_STEPS = 4096


@dataclass(frozen=True)
class Flow:
    """Gradient flow from A = aI, or from a diagonal matrix, until a loss of ξ.

    Time is that of Theorem 3.3 as corrected unless `printed`. With one loop, which the
    theorem leaves out, gradient dominance with κ = 1 gives a logarithm.
    """

    dimension: int
    samples: int
    loops: int
    xi: float
    start: float | tuple[float, ...] = 0.0
    printed: bool = False

    @property
    def time(self) -> float:
        """The theorem's time; its hypothesis on ξ has to hold."""
        d, L = self.dimension, self.loops
        assert self.xi >= dominance_threshold(d, self.samples, L)
        if L == 1:
            assert isinstance(self.start, float)
            return float(np.log(d * (1 - self.start) ** 2 / self.xi))
        return convergence_time(self.xi, L, dimension=d, corrected=not self.printed)


def error_left(a: Array, loops: int) -> Array:
    """What the model with A = aI leaves of a label when S = I; one input is enough.

    With 10¹⁸ samples S is the identity up to 10⁻⁹, and the loss of A = aI is d times
    the square of this.
    """
    one = jnp.ones(1)
    prompt = Prompt(one[:, None], one, one)
    return 1 - LoopedTransformer(jnp.reshape(a, (1, 1)), loops=loops)(prompt)


def steps_reached(runs: list[Flow]) -> tuple[dict[Flow, float], int]:
    """a at the end of runs from multiples of I, and the steps that the solver took.

    Down the gradient of the model's squared error, by automatic differentiation.
    """

    def field(a):
        return jnp.stack(
            [
                -jax.grad(lambda a, L=run.loops: error_left(a, L) ** 2)(one)
                for one, run in zip(a, runs, strict=True)
            ]
        )

    start, time = (
        np.array([getattr(run, name) for run in runs]) for name in ("start", "time")
    )
    ends, steps = solution_at(field, start, time)
    return dict(zip(runs, ends.tolist(), strict=True)), steps


def solution_at(
    field: Callable[[Float[Array, " k"]], Float[Array, " k"]],
    start: Float[np.ndarray, " k"],
    time: Float[np.ndarray, " k"],
) -> tuple[Float[np.ndarray, " k"], int]:
    """Solve ẏ_i = field_i(y_i) until `time`_i, and count the steps.

    One system in units of the times; explicit (eighth order), since what is solved here
    is not stiff.
    """
    rescaled = jnp.asarray(time)

    @jax.jit
    def solve(start):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: rescaled * field(y)),
            diffrax.Dopri8(),
            t0=0.0,
            t1=1.0,
            dt0=None,
            y0=start,
            stepsize_controller=diffrax.PIDController(rtol=TOLERANCE, atol=TOLERANCE),
            max_steps=_MOST_STEPS,
        )
        assert solution.ys is not None
        return solution.ys[-1], solution.stats["num_accepted_steps"]

    end, steps = solve(jnp.asarray(start))
    return np.asarray(end), int(steps)
