"""Record what items cost, from the folders of runs: `iclab/lab/costs.json`.

    python benchmarks/costs.py FOLDER [FOLDER ...] [--busy 3]
        [--estimate SCALE:ID:JOB=SECONDS ...]

Every folder is one that `iclab reproduce` wrote. Costs are processor seconds where the
store has them, and else seconds of the clock, which on a busy machine are too many.
What was never run to its end may be named with an estimate. What is not in the folders
stays.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from iclab.lab._costs import FILE, calibration
from iclab.results import read_run


def main() -> None:
    """Read the folders and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--estimate", action="append", default=[])
    text = "how many times as long as alone jobs took by the clock, on a busy machine"
    parser.add_argument("--busy", type=float, default=1.0, help=text)
    options = parser.parse_args()
    table: dict[str, Any] = {"seconds": {}, "estimated": {}}
    if FILE.exists():
        table = json.loads(FILE.read_text(encoding="utf-8"))
    table["calibration"] = calibration()
    for folder in options.folders:
        for scale, id, job, seconds in _found(folder, options.busy):
            table["seconds"].setdefault(scale, {}).setdefault(id, {})[job] = seconds
            still = set(table["estimated"].get(scale, ())) - {id}
            table["estimated"][scale] = sorted(still)
    for word in options.estimate:
        place, _, seconds = word.rpartition("=")
        scale, id, job = (*place.split(":", 2), "")[:3]
        table["seconds"].setdefault(scale, {}).setdefault(id, {})[job] = float(seconds)
        named = set(table["estimated"].get(scale, ())) | {id}
        table["estimated"][scale] = sorted(named)
    text = json.dumps(table, indent=1, sort_keys=True, ensure_ascii=False)
    FILE.write_text(text + "\n", encoding="utf-8")


def _found(folder: Path, busy: float) -> Iterator[tuple[str, str, str, float]]:
    """Scale, item, job and seconds of every finished job whose item has a record."""
    scales = {
        id: record.scale
        for id, record in read_run(folder).records.items()
        if not record.failed and not record.settings
    }
    for path in sorted(folder.glob("store/[0-9a-f][0-9a-f]/*/manifest.json")):
        job = json.loads(path.read_text(encoding="utf-8"))
        id, _, name = job["label"].partition(" · ")
        seconds = job.get("cpu_seconds") or job["seconds"] / busy
        if id in scales:
            yield scales[id], id, name, round(seconds, 2)


if __name__ == "__main__":
    main()
