"""Type checks at run time in every process that has this folder on its path.

Of folders that know arrays: shapes are what no other tool sees. Elsewhere `pyright`
and the reading of arguments do it, and these checks would take half of a test's time.
Functions without annotations are left as they are: there is nothing to check, and many
are made anew at every call of another.
"""

from types import FunctionType
from typing import Any

import jaxtyping

_FOLDERS = (
    "core",
    "tasks",
    "algorithms",
    "models",
    "theory",
    "evaluation",
    "training",
    "probes",
    "papers",
    "explore",
)

# Small functions that one fit calls ten thousand times: checks are a fifth of its time.
_BUSY = ("iclab.probes._families", "iclab.probes._fit", "iclab.probes._spectra")

_with_checks = jaxtyping.jaxtyped


def _where_annotated(*given: Any, **options: Any) -> Any:
    """What the hook puts before every function and class."""
    checked = _with_checks(*given, **options)
    if given:
        return checked

    def decorate(one: Any) -> Any:
        bare = isinstance(one, FunctionType) and not one.__annotations__
        return one if bare or one.__module__ in _BUSY else checked(one)

    return decorate


jaxtyping.jaxtyped = _where_annotated  # pyright: ignore[reportPrivateImportUsage]
jaxtyping.install_import_hook(
    [f"iclab.{folder}" for folder in _FOLDERS],
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))",
)
