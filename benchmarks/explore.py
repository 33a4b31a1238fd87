"""The playground: how long a slider waits for its picture, after the first compile.

A slider should be answered in well under half a second. Every move below is to a value
that was not seen before, so that no cache answers; what compiles anew (another
dimension of one layer) is left out. The time of the processor stands beside that of the
clock, which a busy machine makes longer.

Run: python -m benchmarks.explore
"""

import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Any

from iclab.explore import _claims, _depth, _gpt2, _one_layer, _representation
from iclab.explore._settings import Settings

ENOUGH = 0.5  # seconds


def one_layer(settings: Any) -> Any:
    """What is drawn at once; the simulation follows."""
    return _one_layer.risk_chart(settings.parts(), None).svg()


def one_layer_simulated(settings: Any) -> Any:
    """The band that is drawn afterwards."""
    return _one_layer.risk_chart(settings.parts(), settings.simulated()).svg()


def depth(settings: Any) -> Any:
    """All three charts."""
    charts = (_depth.residual_chart, _depth.loops_chart, _depth.depth_chart)
    return [draw(settings).svg() for draw in charts]


def gpt2_line(settings: Any) -> Any:
    """Predictions along the line."""
    return _gpt2.line_chart(settings, settings.answers()).svg()


def gpt2_plane(settings: Any) -> Any:
    """Predictions over the plane."""
    charts = _gpt2.plane_charts(settings, settings.answers())
    return [chart.svg() for chart in charts]


def representation(settings: Any) -> Any:
    """What is drawn before training."""
    frame, ridge = settings.first(), settings.ridge()
    return _representation.matrix_pictures(frame, ridge)


def claim(settings: Any) -> Any:
    """Prediction, measurement and decoy."""
    return _claims.distance_chart(settings.trial(), "").svg()


MOVES: tuple[tuple[str, Callable[[Any], Any], Settings, str, list[Any]], ...] = (
    ("one layer", one_layer, _one_layer.OneLayer(), "context_length", [30, 31, 32, 33]),
    ("one layer", one_layer, _one_layer.OneLayer(), "noise_std", [0.4, 0.5, 0.6, 0.7]),
    (
        *("one layer, simulated", one_layer_simulated, _one_layer.OneLayer()),
        *("noise_std", [0.4, 0.5, 0.6, 0.7]),
    ),
    ("depth", depth, _depth.Depth(), "samples", [30, 31, 32, 33]),
    ("depth", depth, _depth.Depth(), "dimension", [6, 7, 8, 9]),
    ("depth", depth, _depth.Depth(), "layers", [4, 5, 6, 7]),
    ("depth", depth, _depth.Depth(), "noise_std", [0.4, 0.5, 0.6, 0.7]),
    ("GPT-2, line", gpt2_line, _gpt2.Gpt2(), "penalty", [1.0, 2.0, 3.0, 4.0]),
    (
        *("GPT-2, line", gpt2_line, _gpt2.Gpt2()),
        *("line", [(1.0, 0.1 * i, 0.5, 0.2) for i in range(1, 5)]),
    ),
    (
        *("GPT-2, plane", gpt2_plane, _gpt2.Gpt2(space="plane")),
        *("w1", [0.1, 0.2, 0.3, 0.4]),
    ),
    (
        *("representation", representation, _representation.Attention()),
        *("tau", [0.2, 0.3, 0.4, 0.5]),
    ),
    ("claims", claim, _claims.Moved(), "seed", [1, 2, 3, 4]),
)


def measured(
    draw: Callable[[Any], Any], start: Settings, name: str, values: list[Any]
) -> tuple[float, float]:
    """Median seconds of a move by the clock, and of the processor."""
    draw(start)
    first = dataclasses.replace(start, **{name: values[0]})  # type: ignore[arg-type]
    draw(first)
    clock, processor = [], []
    for value in values[1:]:
        settings = dataclasses.replace(start, **{name: value})  # type: ignore[arg-type]
        wall, cpu = time.perf_counter(), time.process_time()
        draw(settings)
        clock.append(time.perf_counter() - wall)
        processor.append(time.process_time() - cpu)
    return statistics.median(clock), statistics.median(processor)


def main() -> None:
    """One line a slider."""
    print(f"{'page':<22} {'moved':<16} {'clock':>10} {'processor':>10} {'of 0.5 s':>9}")
    for page, draw, start, name, values in MOVES:
        clock, processor = measured(draw, start, name, values)
        share = f"{100 * clock / ENOUGH:.0f} %"
        print(
            f"{page:<22} {name:<16} {clock * 1e3:7.0f} ms {processor * 1e3:7.0f} ms"
            f" {share:>9}"
        )


if __name__ == "__main__":
    main()
