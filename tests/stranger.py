"""A folder as a stranger may send it: what is in it must never run."""

from pathlib import Path

# Modules that every program of ours loads sooner or later.
_MODULES = ("signal.py", "json.py", "numpy/__init__.py")

# What leaves a mark, and ends the program that has loaded it.
_PROGRAM = """\
with open({mark!r}, "a", encoding="utf-8") as file:
    file.write(__name__ + "\\n")
raise SystemExit(9)
"""


class Stranger:
    """A folder with modules that have the names of libraries, and what points there."""

    def __init__(self, folder: Path):
        self.folder = folder / "stranger"
        self._mark = folder / "mark"
        own = _PROGRAM.format(mark=str(self._mark))
        for name in (*_MODULES, "offered/__init__.py"):
            self._write(name, own)
        # A package that says that it is installed and has a paper.
        points = "[iclab.papers]\noffered = offered\n"
        self._write("offered-1.dist-info/entry_points.txt", points)
        self._write("offered-1.dist-info/METADATA", "Name: offered\nVersion: 1\n")
        # Settings of marimo.
        self._write(".marimo.toml", f'[runtime]\npythonpath = ["{self.folder}"]\n')

    @property
    def ran(self) -> list[str]:
        """Names of the modules that were loaded."""
        if not self._mark.exists():
            return []
        return self._mark.read_text(encoding="utf-8").split()

    def _write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
