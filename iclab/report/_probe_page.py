"""The page of a probe: figures, tables and data in a folder that opens from disk."""

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from iclab._files import own, write_inside
from iclab._reader import checked, require, short
from iclab.report._build import ASSETS, asset, environment
from iclab.show import share

PAGE, RECORD, TABLE = "index.html", "probe.json", "probe.csv"


@checked
def write_probe_page(record: Mapping[str, Any], folder: str | os.PathLike[str]) -> Path:
    """Write what `Probe.json` gives as a page with pictures, CSV and JSON.

    Returns the page. Files of an earlier probe in `folder` are replaced, and no others.
    """
    whole = {"contexts", "main_context"} <= record.keys()
    require(whole, "record", "what `Probe.json` gives", short(record))
    # Reading other reports needs neither JAX nor matplotlib.
    from iclab.report import _probe_figures

    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    pictures = _probe_figures.draw(record)
    own(target, [*pictures, RECORD, TABLE, *ASSETS, PAGE])
    for name, data in pictures.items():
        write_inside(target, name, data)
    text = json.dumps(record, indent=1, ensure_ascii=False)
    write_inside(target, RECORD, text + "\n")
    write_inside(target, TABLE, _table(record))
    for name in ASSETS:
        write_inside(target, name, asset(name))
    main = next(
        one for one in record["contexts"] if one["context"] == record["main_context"]
    )
    template = environment().get_template("probe.html")
    page = template.render(
        probe=record,
        main=main,
        pictures=set(pictures),
        share=share,
        interval=_interval,
    )
    write_inside(target, PAGE, page)
    return target / PAGE


def _table(record: Mapping[str, Any]) -> str:
    from iclab.probes import rows_of

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["measurement", "index", "value"])
    writer.writerows(rows_of(record))
    return stream.getvalue()


def _interval(ends: Sequence[float]) -> str:
    return f"{share(ends[0])} – {share(ends[1])}"
