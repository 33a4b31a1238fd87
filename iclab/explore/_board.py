"""A chart whose points can be moved in the browser, and the foot of a view.

marimo draws sliders and tables, and nothing that one drags over a picture: this is the
least that does, a little JavaScript that comes from this folder. A picture changes
while a point is held, which the output of a marimo cell could not.
"""

from pathlib import Path

import anywidget
import traitlets

from iclab.explore._settings import Settings
from iclab.show import Chart
from iclab.show.palette import BRIGHT_BLUE, ORANGE

_HERE = Path(__file__).parent
_COLOURS = (
    f".iclab-board {{ --iclab-blue: {BRIGHT_BLUE}; --iclab-orange: {ORANGE}; }}\n"
)


class Board(anywidget.AnyWidget):
    """A picture, and points on it. Python draws the picture, the user moves the points.

    A point is a dictionary: `x`, `y`, `colour`, `shape`, and `fixed` if it moves up and
    down only. With `flips` a label can be turned: its sign (`"y"`), or a mark that the
    point is mislabelled (`"mark"`).
    """

    _esm = (_HERE / "board.js").read_text(encoding="utf-8")
    _css = _COLOURS + (_HERE / "board.css").read_text(encoding="utf-8")
    svg = traitlets.Unicode("").tag(sync=True)
    frame = traitlets.Dict().tag(sync=True)
    points = traitlets.List().tag(sync=True)
    fresh = traitlets.Dict().tag(sync=True)
    adds = traitlets.Bool(False).tag(sync=True)
    counts = traitlets.Bool(False).tag(sync=True)
    flips = traitlets.Unicode("").tag(sync=True)
    least = traitlets.Int(1).tag(sync=True)
    most = traitlets.Int(20).tag(sync=True)

    def show(self, chart: Chart) -> None:
        """Put another picture under the points."""
        frame = chart.frame()
        if frame != self.frame:
            self.frame = frame
        self.svg = chart.svg()


class Picture(anywidget.AnyWidget):
    """A picture that changes while Python is at work."""

    _esm = (_HERE / "picture.js").read_text(encoding="utf-8")
    svg = traitlets.Unicode("").tag(sync=True)
    width = traitlets.Int(520).tag(sync=True)


class Foot(anywidget.AnyWidget):
    """The code that gives a view's numbers, and the link that keeps its settings."""

    _esm = (_HERE / "foot.js").read_text(encoding="utf-8")
    _css = (_HERE / "foot.css").read_text(encoding="utf-8")
    code = traitlets.Unicode("").tag(sync=True)
    link = traitlets.Unicode("").tag(sync=True)
    address = traitlets.Unicode("").tag(sync=True)
    command = traitlets.Unicode("").tag(sync=True)

    def show(self, settings: Settings) -> None:
        """Say what belongs to these settings."""
        self.code, self.link = settings.code(), settings.link()
        self.address = f"../{settings.page}/?{self.link.partition('?')[2]}"
        self.command = f"iclab explore '{self.link}'"
