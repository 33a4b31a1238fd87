"""The example notebook runs, and its outputs are of the kinds that it shows."""

from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parents[1] / "examples" / "notebooks" / "first_steps.ipynb"


def _kinds(cell: Any) -> list[tuple[str, ...]]:
    return [tuple(sorted(one.get("data", {}))) for one in cell.outputs]


def _pages(cell: Any) -> str:
    return "".join(one.get("data", {}).get("text/html", "") for one in cell.outputs)


@pytest.mark.everything
@pytest.mark.filterwarnings("default")  # of the kernel's own libraries
def test_the_notebook_runs_to_the_same_outputs():
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    stored = nbformat.read(FILE, as_version=4)
    fresh = nbformat.read(FILE, as_version=4)
    for cell in fresh.cells:
        cell.outputs = [] if cell.cell_type == "code" else None
    nbclient.NotebookClient(fresh, timeout=300, kernel_name="python3").execute()
    pairs = [
        (old, new)
        for old, new in zip(stored.cells, fresh.cells, strict=True)
        if old.cell_type == "code"
    ]
    for old, new in pairs:
        assert _kinds(old) == _kinds(new)
    curves, numbers, claim, training = (new for _, new in pairs)
    assert "attention [90 %]" in _pages(curves)
    assert "<svg " in _pages(curves)
    assert numbers.outputs[0]["data"] == pairs[1][0].outputs[0]["data"]
    assert "<strong>holds</strong>" in _pages(claim)
    # The bar of the training, and then its table and picture.
    assert (
        '<progress value="1" max="1"></progress> descend: 400 of 400 steps'
        in _pages(training)
    )
    assert "<svg " in _pages(training)
