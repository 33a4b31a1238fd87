"""Time functions against each other, in one process, after compilation."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import jax

from iclab._memory import keep_freed_memory

keep_freed_memory()  # as commands do


def seconds(function: Callable[[], Any], repeats: int = 9) -> float:
    """Median time of a call, compiled and waited for."""
    jax.block_until_ready(function())
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(function())
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def fastest(
    functions: dict[str, Callable[[], Any]], repeats: int = 7
) -> dict[str, float]:
    """Shortest time of a call of each, in turns, so that all meet the same machine."""
    for function in functions.values():
        jax.block_until_ready(function())
    times = dict.fromkeys(functions, float("inf"))
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.perf_counter()
            jax.block_until_ready(function())
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def show(name: str, ours: float, straightforward: float) -> None:
    """One line: both times and their ratio."""
    print(
        f"{name:<58} {ours * 1e3:10.3f} ms {straightforward * 1e3:10.3f} ms"
        f" {straightforward / ours:9.1f}×"
    )


def heading(title: str, ours: str, straightforward: str) -> None:
    """Title and column names of a table."""
    print(f"\n{title:<58} {ours:>13} {straightforward:>13} {'ratio':>10}")
