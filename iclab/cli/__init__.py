"""The `iclab` command: turns words into objects and steps aside."""

from iclab.cli._main import main as main
