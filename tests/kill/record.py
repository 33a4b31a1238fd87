"""What a campaign has found: a row for every folder that came to its end."""

import csv
from pathlib import Path

from iclab._files import now, write_whole
from iclab.runs import provenance
from tests.kill.campaign import Tally
from tests.kill.targets import TARGETS

_COLUMNS = (
    "command", "kills", "hit work", "not counted", "kept", "compared", "lost", "seed",
    "commit", "finished",
)  # fmt: skip

_HEAD = """# Runs that were killed

`python -m tests.kill --times 1000 --record records` wrote this and `kills.csv`, which
has a row for every folder that came to its end. Each command is started, killed with
SIGKILL together with all its processes after its first job has begun, and started again
in the same folder until it ends by itself; then every file in the folder is compared
with those of a run that nobody disturbed, times aside, and what was finished before a
kill must still be the same file.

"""


def read(folder: Path | None) -> list[dict[str, str]]:
    """Rows of a record; none without one."""
    path = None if folder is None else folder / "kills.csv"
    if path is None or not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def keep(folder: Path | None, tally: Tally, seed: int) -> dict[str, str]:
    """The row of a tally, after those that stand in the record."""
    numbers = (tally.kills, tally.hit_work, tally.too_early, tally.kept, tally.compared)
    commit = str(provenance()["commit"])
    commit = commit[:12] + "+" * commit.endswith("+")
    cells = (tally.name, *numbers, "; ".join(tally.lost), seed, commit, now())
    row: dict[str, str] = dict(zip(_COLUMNS, map(str, cells), strict=True))
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        # Several campaigns may add to one record: a line is written at once.
        with open(folder / "kills.csv", "a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list[str](_COLUMNS), lineterminator="\n")
            if file.tell() == 0:
                writer.writeheader()
            writer.writerow(row)
        write_whole(folder / "kills.md", _HEAD + table(read(folder)) + "\n")
    return row


def table(rows: list[dict[str, str]]) -> str:
    """Sums by command, and in words what was lost."""
    counted = ("kills", "hit work", "not counted", "kept")
    head = ("command", "kills", "hit work", "ended first", "jobs or steps kept")
    lines = [(*head, "folders", "files compared", "lost"), ("---",) * 8]
    for name in [*TARGETS, "all"]:
        of = [row for row in rows if name in ("all", row["command"])]
        sums = [sum(int(row[column]) for row in of) for column in counted]
        files = sum(int(row["compared"]) for row in of)
        lost = sum(len(row["lost"].split("; ")) for row in of if row["lost"])
        if of:
            lines.append((name, *map(str, sums), str(len(of)), str(files), str(lost)))
    lost = [f"- {row['command']}: {row['lost']}" for row in rows if row["lost"]]
    seeds = ", ".join(sorted({row["seed"] for row in rows}))
    commits = ", ".join(sorted({row["commit"] for row in rows}))
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    said = "\n".join(lost) or "Nothing was lost."
    return f"{text}\n\n{said}\n\nSeed {seeds}; commit {commits}."
