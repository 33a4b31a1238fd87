"""A record to keep: what a folder of results found, small enough for a repository."""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from iclab._files import now, read_inside, signed, write_inside
from iclab._reading import checked
from iclab.results._folder import FORMAT, RESULTS, Run
from iclab.results._record import Record
from iclab.show import size

MANIFEST = "manifest.json"

# Kinds of files that are kept, and how large one may be.
_KEPT = ("svg", "csv")
_LARGEST = 1_000_000


class NotARecord(ValueError):
    """A folder that holds something else, and is not written over."""


@checked
def keep_record(
    run: Run, target: str | os.PathLike[str], entries: Iterable[str]
) -> dict[str, Any]:
    """Write results, tables and pictures of a run to `target`; returns its manifest.

    `entries` are the ids of all that could have been run. What was run with sizes of
    one's own counts as a part. Files that are too large are left out and named, also
    those that a record left out of which the run's folder began as a copy. An older
    record in `target` is replaced, and anything else refused.
    """
    place = Path(target)
    before = _left_out_before(run)
    _clear(place)
    place.mkdir(parents=True, exist_ok=True)
    records, left_out, size = [], [], 0
    for record in run.records.values():
        files, large = _files(run, record)
        for name, data in files.items():
            write_inside(place, name, data)
            size += len(data)
        left_out += large
        records.append(replace(record, files=tuple(files), jobs={}))
    facts = {name: value for name, value in asdict(run.facts).items() if value}
    found = {"format": FORMAT, **facts}
    found["results"] = [signed(one.json()) for one in records]
    text = json.dumps(found, indent=1, ensure_ascii=False, default=dict) + "\n"
    write_inside(place, RESULTS, text)
    known = {_name(one) for one in left_out}
    known |= {name for record in records for name in record.files}
    left_out += [one for one in before if _name(one) not in known]
    manifest = _manifest(run, records, list(entries))
    manifest |= {"left_out": left_out, "bytes": size + len(text.encode())}
    text = json.dumps(manifest, indent=1, ensure_ascii=False, default=dict) + "\n"
    write_inside(place, MANIFEST, text)
    return manifest


def _files(run: Run, record: Record) -> tuple[dict[str, bytes], list[str]]:
    """Files of a figure that are kept, and names of those that are too large."""
    kept, large = {}, []
    for name in record.files:
        if name.rpartition(".")[2] not in _KEPT:
            continue
        try:
            data = read_inside(run.folder, name)
        except OSError:
            continue
        if len(data) > _LARGEST:
            large.append(f"{name} ({size(len(data))})")
        else:
            kept[name] = data
    return kept, large


def _name(left_out: str) -> str:
    """Of "figures/a/b.csv (2.5 MB)", the file."""
    return left_out.partition(" (")[0]


def _left_out_before(run: Run) -> list[str]:
    """What the record that the folder began as did not keep of its items."""
    try:
        known = list(json.loads(read_inside(run.folder, MANIFEST))["left_out"])
    except (OSError, ValueError, KeyError, TypeError):
        return []
    files = {f"figures/{id}.{kind}" for id in run.records for kind in _KEPT}
    return [one for one in known if isinstance(one, str) and _name(one) in files]


def _manifest(run: Run, records: list[Record], entries: list[str]) -> dict[str, Any]:
    by_id = {record.id: record for record in records}
    parts = [record for record in records if record.is_variant]
    begun = {record.id.partition("@")[0] for record in parts}
    facts = run.facts
    return {
        "made": now(),
        "scale": run.scale,
        "seed": run.seed,
        "commits": sorted({one.commit for one in records if one.commit}),
        "versions": facts.versions,
        "python": facts.python,
        "platform": facts.platform,
        "cores": facts.cores,
        # Of all jobs, one after the other, on a machine that may have been busy.
        "seconds": round(sum(record.seconds for record in records), 1),
        "items": {
            "whole": [id for id in entries if id in by_id],
            "in part": {one.id: dict(one.settings) for one in parts},
            "not run": [id for id in entries if id not in by_id and id not in begun],
        },
        "verdicts": {id: one.verdict for id, one in by_id.items()},
        # With how many seeds an item ends well, of those with which it was run.
        "by_seed": {
            id: {"good": one.scatter.good, "of": len(one.scatter.seeds)}
            for id, one in by_id.items()
            if one.scatter is not None
        },
        "times": {
            id: {"seconds": round(one.seconds, 1), "finished": one.finished}
            for id, one in by_id.items()
        },
    }


def _clear(place: Path) -> None:
    """Remove an older record."""
    if not place.exists():
        return
    if not place.is_dir() or (
        any(place.iterdir()) and not (place / MANIFEST).is_file()
    ):
        raise NotARecord(f"{place} holds something else than a record")
    for path in sorted(place.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()
