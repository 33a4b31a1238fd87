"""Every file of a claim or a figure is one, to a type checker too."""

import shutil
import subprocess
from pathlib import Path

import pytest

from iclab import papers


def _errors(folder: Path, claims: list[str], figures: list[str]) -> list[str]:
    """What pyright says of modules that are held against the two protocols."""
    program = [
        *(f"import {name}" for name in (*claims, *figures)),
        "from iclab.evidence import ClaimModule, FigureModule",
        f"claims: list[ClaimModule] = [{', '.join(claims)}]",
        f"figures: list[FigureModule] = [{', '.join(figures)}]",
    ]
    file = folder / "modules.py"
    file.write_text("\n".join(program) + "\n")
    command = ["pyright", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "informations" in done.stdout, done.stderr
    return [line for line in done.stdout.splitlines() if "error:" in line]


@pytest.mark.everything
@pytest.mark.skipif(shutil.which("pyright") is None, reason="no pyright here")
def test_files_are_what_the_protocols_say(tmp_path):
    entries = papers.select()
    figures = [papers.module_name(one) for one in entries if one.kind == "figure"]
    claims = [
        papers.module_name(one)
        for one in entries
        if one.kind == "claim"
        and "\nCLAIM = " not in papers.find_paper(one.paper).file(one).read_text()
    ]
    assert len(claims) > 120
    assert _errors(tmp_path, claims, figures) == []
    assert len(_errors(tmp_path, figures[:1], claims[:1])) == 2
