"""What source files import, known from one run to the next."""

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

from iclab._reader import checked
from iclab.runs import _code
from iclab.runs._cache import Cache
from iclab.runs._code import PARSED

# What was read by other code than this is not believed.
_READER = hashlib.sha256(Path(_code.__file__).read_bytes()).hexdigest()
_NOTE = f"imports of sources, read by {_READER}"


@checked
@contextlib.contextmanager
def parsed_sources(cache: Cache | None) -> Iterator[None]:
    """Inside of this, files that a cache knows by their content are not parsed again.

    At the end it knows the others too.
    """
    kept = None if cache is None else cache.note(_NOTE)
    kept = kept if isinstance(kept, dict) else {}
    for key, value in kept.items():
        with contextlib.suppress(TypeError, ValueError):
            imports, computes = value
            PARSED.setdefault(key, (tuple(map(str, imports)), bool(computes)))
    yield
    if cache is not None and not PARSED.keys() <= kept.keys():
        known = {key: [list(names), one] for key, (names, one) in PARSED.items()}
        cache.keep(_NOTE, known)
