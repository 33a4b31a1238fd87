"""The claim of a module, compared with what the contents say of it.

Part of every claim's job, like the functions that do them.
"""

import importlib

from iclab.evidence import Claim, claim_of


def found_claim(module: str, id: str, *, erratum: bool, remark: bool) -> Claim:
    """The claim `id` of a module; its contents say whether it is printed otherwise.

    A statement that fails as printed is an erratum, and a misprint nearby a remark.
    """
    claim = claim_of(importlib.import_module(module), id)
    nearby = claim.printed is not None and claim.printed.nearby
    replaced = claim.printed is not None and not nearby
    if replaced != erratum:
        raise ValueError(f"{id}: an erratum in contents.py and `printed` go together")
    if nearby and not remark:
        raise ValueError(
            f"{id}: a misprint near the claim goes with a remark in contents.py"
        )
    return claim
