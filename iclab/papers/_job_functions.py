"""What a job does: check a claim, or compute a table of a figure.

This file is part of every job's name. It finds work by the name of a module and does
not import the catalogue, so that editing that renames no job; nor does editing the
engine, which is told how far a job is and decides nothing.
"""

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from iclab.evidence import case_key, run_claim
from iclab.papers._found import found_claim
from iclab.runs import job_parts


def check_claim(config: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Run the claim `id` of the module `claim`; the result is plain JSON."""
    said = {name: config[name] for name in ("erratum", "remark")}
    claim = found_claim(config["claim"], config["id"], **said)
    result = run_claim(claim, config["scale"], seed, each=job_parts)
    cases = [case.json() for case in result.cases]
    return {
        "verdict": result.verdict,
        "cases": cases,
        "slips": [case.json() for case in result.slips],
        "numbers": result.numbers,
        "seconds": result.seconds,
    }


def compute_table(config: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Compute one table with the function `compute`, a "module:function"."""
    module, _, name = config["compute"].partition(":")
    compute = getattr(importlib.import_module(module), name)
    table = compute(config["settings"], case_key(seed, config["table"]))
    return {name: np.asarray(column) for name, column in table.items()}
