"""How far a training is: a bar on a terminal and in a notebook, else a few lines."""

import jax
import numpy as np

from iclab.core import checked
from iclab.runs import bench
from iclab.show import Display, display, number, of
from iclab.training._hooks import AnyRun, Hook


@checked
class ShowProgress(Hook):
    """Says on standard error how far a training is.

    `show=None` moves a bar if standard error is a terminal or this is a notebook, and
    else writes lines, of which the first comes after the first step if `early`, or else
    after a minute. Inside of a job it is silent: whoever runs the job says how far it
    is. A `display` of one's own shows it in another way.
    """

    def __init__(
        self,
        show: bool | None = None,
        *,
        early: bool = False,
        display: Display | None = None,
    ):
        self._show, self._early, self._display = show, early, display

    def begin(self, run: AnyRun) -> None:
        if self._display is None:
            self._display = self._usual()
        self._display.begin(1, run.name, "step")

    def __call__(self, run: AnyRun) -> None:
        assert self._display is not None
        step, steps = run.step, run.steps
        self._display.started(run.name, run.first / max(steps, 1))
        if step > run.first:
            words = f"{of(step, steps, 'step')} · loss"
            words += f" {number(np.mean(run.losses[-1]), 4)}"
            rate = float(f"{run.rate:.3g}")
            words += f" · {number(rate)} steps/s" if rate else ""
            self._display.progressed(run.name, step / steps, words)

    def close(self) -> None:
        if self._display is not None:
            self._display.close()

    def _usual(self) -> Display:
        # Where several processes train together, the first one says it.
        quiet = bench() is not None or jax.process_index() != 0
        if self._show is None:
            return display(quiet=quiet, patience=0.0 if self._early else 60.0)
        return display(quiet=not self._show, bar=self._show)
