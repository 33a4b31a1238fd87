"""What source files import, known from one run to the next."""

import contextlib
from collections.abc import Iterator

from iclab._reading import checked
from iclab.runs._cache import Cache
from iclab.runs._code import PARSED

_NOTE = "imports of sources, first form"


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
