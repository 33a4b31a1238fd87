"""A record to keep: what a folder of results found, small enough for a repository."""

import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from iclab._files import is_signed, now, read_inside, sha256, signed, write_inside
from iclab._reader import checked
from iclab.results._drawn import read_drawn
from iclab.results._folder import FORMAT, RESULTS, Run
from iclab.results._lock import LOCK
from iclab.results._record import Record
from iclab.results._schema import Wrong, file_sum, from_json, write_signed
from iclab.show import size

MANIFEST = "manifest.json"
# By this, and by its checksum, a folder is known to be a record that we wrote.
_FORMAT = "iclab record 1"
# How the names end of what is being written, and of what makes way for it.
_ENDS = ("draft", "old")

# Kinds of files that are kept, and how large one may be.
_KEPT = ("svg", "csv")
_LARGEST = 1_000_000


class NotARecord(ValueError):
    """A place that is not written over, and why."""


@checked
def keep_record(
    run: Run, target: str | os.PathLike[str], entries: Iterable[str]
) -> dict[str, Any]:
    """Write results, tables and pictures of a run to `target`; returns its manifest.

    `entries` are the ids of all that could have been run. What was run with sizes of
    one's own counts as a part. Files that are too large, or not as they were written,
    are left out and named, also those that a record left out of which the run's folder
    began as a copy.

    The record is written beside its place and moved there whole. The place must be new,
    empty, or a record with nothing else in it, which is then replaced; and the run must
    not be in it, nor it in the run.
    """
    place = Path(os.path.abspath(target))
    _see_apart(run.folder, place)
    older = _older(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    mark = secrets.token_hex(4)
    draft, aside = (place.with_name(f".{place.name}.{mark}.{end}") for end in _ENDS)
    draft.mkdir()
    try:
        manifest = _write(run, draft, list(entries))
        if older:
            place.rename(aside)
        elif place.exists():
            place.rmdir()
        draft.rename(place)
    except BaseException:
        if aside.exists() and not place.exists():
            aside.rename(place)
        shutil.rmtree(draft, ignore_errors=True)
        raise
    _remove(aside, older)
    return manifest


@checked
def checksums(folder: Path, record: Record) -> Mapping[str, str]:
    """Checksums of a figure's files, by name, from when it was drawn or kept.

    What has none is nobody's. `Wrong` if what holds them was altered.
    """
    drawn = read_drawn(folder, record.id)
    known = _read_manifest(folder).get("files", {}) if drawn is None else drawn.files
    return {name: known[name] for name in record.files if name in known}


def _write(run: Run, place: Path, entries: list[str]) -> dict[str, Any]:
    """All files of a record, the manifest last."""
    records, left_out, sums, size = [], [], {}, 0
    for record in run.records.values():
        files, others = _files(run, record)
        for name, data in files.items():
            write_inside(place, name, data)
            sums[name] = sha256(data)
            size += len(data)
        left_out += others
        records.append(replace(record, files=tuple(files), jobs={}))
    facts = {name: value for name, value in asdict(run.facts).items() if value}
    found = {"format": FORMAT, **facts}
    found["results"] = [signed(one.json()) for one in records]
    text = json.dumps(found, indent=1, ensure_ascii=False, default=dict) + "\n"
    write_inside(place, RESULTS, text)
    sums[RESULTS] = sha256(text.encode())
    known = {_name(one) for one in left_out}
    known |= {name for record in records for name in record.files}
    left_out += [one for one in _left_out_before(run) if _name(one) not in known]
    manifest = {"format": _FORMAT, **_manifest(run, records, entries)}
    manifest |= {"left_out": left_out, "bytes": size + len(text.encode())}
    return write_signed(place, MANIFEST, manifest | {"files": sums})


def _see_apart(source: Path, place: Path) -> None:
    """See that neither folder is the other or inside it, whatever their names are."""
    one, other = Path(os.path.realpath(source)), Path(os.path.realpath(place))
    for inner, outer in ((one, other), (other, one)):
        above = [folder for folder in (inner, *inner.parents) if folder.exists()]
        if outer.exists() and any(map(outer.samefile, above)):
            raise NotARecord(f"a record of {source} must be apart from it, got {place}")


def _older(place: Path) -> list[str]:
    """Files of the record in `place`, none if that is new or empty.

    `NotARecord` says what else is there.
    """
    if place.is_symlink():
        raise NotARecord(f"{place} is a symbolic link, and a record must be a folder")
    if not place.exists():
        return []
    if not place.is_dir():
        raise NotARecord(f"{place} is a file, and a record must be a folder")
    there = _listed(place)
    manifest = _read_manifest(place)
    if there and not manifest:
        raise NotARecord(f"{place} holds something else than a record")
    files = manifest.get("files", {})
    # Reading leaves an empty lock, in any folder.
    known = {name: sha256(b"") for name in there if Path(name).name == LOCK} | files
    for name in [name for name in there if name != MANIFEST]:
        if name not in known or known[name] != file_sum(place, name):
            what = "was changed" if name in files else "is not of the record"
            path = place / name
            raise NotARecord(f"{path} {what}: move it away, or name another folder")
    return there


def _listed(place: Path) -> list[str]:
    """Files, links and empty folders below a folder, by name."""
    found = []
    for folder, folders, files in os.walk(place):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        found += [Path(folder, name) for name in [*files, *links]]
        found += [] if files or folders or folder == str(place) else [Path(folder)]
    return sorted(path.relative_to(place).as_posix() for path in found)


def _remove(place: Path, names: Iterable[str]) -> None:
    """Remove these files, and folders that are empty then: nothing else."""
    for name in names:
        with contextlib.suppress(OSError):
            (place / name).unlink()
    for folder, _, _ in os.walk(place, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def _read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a record, with its files; empty if there is none of ours."""
    try:
        found = json.loads(read_inside(folder, MANIFEST))
        ours = found["format"] == _FORMAT and is_signed(found)
        from_json(found["files"], Mapping[str, str], "files")
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return found if ours else {}


def _files(run: Run, record: Record) -> tuple[dict[str, bytes], list[str]]:
    """Files of a figure that are kept, and names of others with the reason."""
    kept, left_out = {}, []
    try:
        sums = checksums(run.folder, record)
    except Wrong:
        sums = {}
    for name in record.files:
        if name.rpartition(".")[2] not in _KEPT:
            continue
        try:
            data = read_inside(run.folder, name)
        except OSError:
            continue
        if sums.get(name) != sha256(data):
            left_out.append(f"{name} ({'altered' if name in sums else 'no checksum'})")
        elif len(data) > _LARGEST:
            left_out.append(f"{name} ({size(len(data))})")
        else:
            kept[name] = data
    return kept, left_out


def _name(left_out: str) -> str:
    """Of "figures/a/b.csv (2.5 MB)", the file."""
    return left_out.partition(" (")[0]


def _left_out_before(run: Run) -> list[str]:
    """What the record that the folder began as did not keep of its items."""
    known = _read_manifest(run.folder).get("left_out")
    files = {f"figures/{id}.{kind}" for id in run.records for kind in _KEPT}
    listed = known if isinstance(known, list) else []
    return [one for one in listed if isinstance(one, str) and _name(one) in files]


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
        # With how many of its seeds the verdict of an item counts as success.
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
