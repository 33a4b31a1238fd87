"""Lemma 5.4: a Polyak–Łojasiewicz inequality along the flow, so exponential decay.

From an even start of small scale, with Λ = I, both quotients are least at t = 0, and
there they are 4σ²‖Γ‖: 2d² times μ, up to the small bracket of (5.7). In one dimension
that is twice μ, so that no constant is better by more than this.
"""

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured
from iclab.papers.zhang2023._extreme_starts import even_start
from iclab.papers.zhang2023._fixed_covariance import Setting, settings, trajectory
from iclab.papers.zhang2023._loss_landscape import bowl
from iclab.theory import convergence_constant, lsa_loss

# Steps in one compiled call; longer trajectories are thinned out.
_SLOTS = 1024
# Steps at which what is left of the gap is not known to this fraction are left out.
_LARGEST_ERROR = 0.1

relation = ">="


shares = {"largest_initial_scale": "the start, which both speak of"}


def cases(scale):
    """Random starts, and two at which most of the proof's inequalities are sharp."""
    even = {f"d={d}, even start of small scale, N=10": even_start(d) for d in (1, 3)}
    return {**even, **settings(scale)}


def predict(case: Setting):
    """‖∇ℓ̃‖²/gap, and the mean rate of decay up to any time, are at least μ of (5.7).

    From the even starts they are 2d²μ at least, and no more than three in a hundred
    above.
    """
    least = np.full(2, float(_mu(case)))
    if not _is_even(case):
        return least
    reached = 2 * len(case.theta) ** 2 * least
    return np.concatenate([least, reached, -1.03 * reached])


def measure(case: Setting) -> Measured:
    """The smallest of either over the flow: gradients by automatic differentiation."""
    found, quadratic = trajectory(case), bowl(case)
    last = len(found.u_last) - 1
    stride = max(1.0, last / (_SLOTS - 1))
    steps = np.minimum(stride * np.arange(_SLOTS), last).astype(int)
    U11, u_last = np.asarray(found.U11)[steps], np.asarray(found.u_last)[steps]
    N = jnp.asarray(case.context_length)
    squares = np.asarray(_squared_gradients(U11, u_last, case.covariance, N))
    gap = quadratic.gap(u_last[:, None, None] * U11)
    times = np.asarray(found.flow.recorded_at)[steps]
    # An error of the product u₋₁U₁₁ changes √gap by at most as much in the loss's norm.
    product_error = 2 * float(u_last[-1]) * found.resting_error
    relative = 4 * product_error * np.sqrt(quadratic.steepest / (2 * gap))
    kept = relative < _LARGEST_ERROR
    later = kept & (times > 0)
    ratio = squares[kept] / gap[kept]
    rate = np.log(gap[0] / gap[later]) / times[later]
    value = np.array([np.min(ratio), np.min(rate)])
    error = np.array(
        [
            np.min(ratio) * relative[kept][np.argmin(ratio)],
            (relative[later] / times[later])[np.argmin(rate)],
        ]
    )
    reason = "error of the weights against what is left of the gap"
    if _is_even(case):
        value = np.concatenate([value, value, -value])
        error = np.concatenate([error, error, error])
    return Measured(value, error, reason)


def decoy(case: Setting):
    """A tenth more than the best constant of an even start."""
    if not _is_even(case):
        return None
    reached = predict(case)[2:]
    return np.concatenate([1.1 * reached[:2], reached])


def _is_even(case: Setting) -> bool:
    return case in (even_start(1), even_start(3))


def _mu(case: Setting):
    return convergence_constant(
        case.covariance, case.context_length, case.theta, case.scale
    )


@jax.jit
def _squared_gradients(U11, u_last, covariance, context_length):
    def one(U11, u_last):
        blocks = jax.grad(lsa_loss, (0, 1))(U11, u_last, covariance, context_length)
        return jnp.sum(blocks[0] ** 2) + blocks[1] ** 2

    return jax.vmap(one)(U11, u_last)
