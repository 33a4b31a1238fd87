"""What a training step of an encoder costs, in operations and in numbers moved."""

from collections.abc import Mapping
from typing import Any

# Operations that take as long as writing and reading a number: what makes a step with
# 64 heads, 33 s of one core at the paper's sizes, as much dearer than with 8, 18 s.
_MOVING = 58

# Floating-point operations of a softmax for every score: scaling, maximum, difference,
# exponential, sum and quotient.
_SOFTMAX = 6


def operations_a_step(settings: Mapping[str, Any], heads: int) -> int:
    r"""Floating-point operations of a training step of an encoder.

    $$3B\Big[2KD(d+2)+\ell\big(8KD^2+4KDF+4K^2D+6HK^2\big)\Big]$$

    with D, F the widths, ℓ layers, B prompts of K tokens: products of matrices count
    two operations for every multiplication, a softmax six for every score; norms,
    biases, residuals and the optimiser are left out, and the derivatives cost twice
    what the predictions do.
    """
    s = settings
    K, D, F = s["dictionary_size"], s["width"], s["hidden"]
    scores = K**2 * (4 * D + _SOFTMAX * heads)
    block = K * (8 * D**2 + 4 * D * F) + scores
    ends = 2 * K * D * (s["input_dim"] + 2)
    return 3 * s["batch"] * (ends + s["layers"] * block)


def time_of_a_step(settings: Mapping[str, Any], heads: int) -> int:
    r"""What a step costs when numbers have to be moved too, in operations.

    $$\text{operations}+58\cdot3B\ell\big(2HK^2+8KD+2KF\big)$$

    The second part counts what a block writes: scores and attention of every head,
    and the rows between its maps. 58 is such that 8 and 64 heads at the paper's sizes
    are as 18 to 33, which are seconds of one core.
    """
    s = settings
    K, D, F = s["dictionary_size"], s["width"], s["hidden"]
    moved = 2 * heads * K**2 + 8 * K * D + 2 * K * F
    moved *= 3 * s["batch"] * s["layers"]
    return operations_a_step(settings, heads) + _MOVING * moved
