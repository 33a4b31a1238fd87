"""Files of a folder that may be a stranger's: plain ones are read, and no others."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")

# Each reads from `place`, where a pipe is, to which nobody writes: who waits for it
# waits forever. So they are tried in a program of their own.
READS = {
    "tensors": "core.read_tensors(place)",
    "description": "print(core.description_of(place))",
    "model": "models.load(place)",
    "folder-of-a-model": "models.load(folder('model.safetensors'))",
    "index-of-a-model": "models.load(folder('model.safetensors.index.json'))",
    "sweep": "open_sweep(folder('sweep.json'))",
    "time-spent": "print(runs.Bench(folder('spent')).spent())",
    "metrics": "MetricsFile(place, 0, tensorboard=False)",
    "results": "iclab.load('zhang2023/lemma-a.1', folder('results.json'))",
    "store": "runs.Store(folder('FORMAT'))",
    "lock": "locked(folder('.lock')).__enter__()",
}
PROGRAM = """
import json, os, shutil, sys
from pathlib import Path
import iclab
from iclab import core, models, runs
from iclab.results import locked
from iclab.runs import open_sweep
from iclab.training._metrics import MetricsFile

root = Path(sys.argv[1])
place = root / "step-000000001.safetensors"
os.mkfifo(place)

def folder(name):
    shutil.rmtree(root / "folder", ignore_errors=True)
    (root / "folder").mkdir()
    os.mkfifo(root / "folder" / name)
    return root / "folder"

for name, code in json.loads(sys.argv[2]).items():
    try:
        exec(code)
    except Exception as error:
        print(type(error).__name__, error)
    print("ended", name, flush=True)
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    words = [str(tmp_path_factory.mktemp("pipes")), json.dumps(READS)]
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words], stdout=subprocess.PIPE, text=True
    )
    try:
        return program.communicate(timeout=60)[0]
    except subprocess.TimeoutExpired:
        program.kill()
        return program.communicate()[0]


@pytest.mark.parametrize("name", READS)
def test_nobody_waits_for_a_pipe(said, name):
    assert f"ended {name}\n" in said, said


def test_a_run_with_pipes_for_checkpoints_says_so(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    for step in (1, 2):
        os.mkfifo(tmp_path / "checkpoints" / f"step-00000000{step}.safetensors")
    words = "train zhang2023/gpt2 --size tiny --context 4 --steps 1 --resume --out"
    done = subprocess.run(
        [sys.executable, "-m", "iclab", *words.split(), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("is not a plain file; trying the one before") == 2
    assert done.stderr.endswith(" is damaged\n")
