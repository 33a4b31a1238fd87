"""What a user can put right, in one line: exit code 2 of a command."""

import contextlib
from collections.abc import Iterator


class Mistake(ValueError):
    """Something that the user can put right; the message is one line."""


@contextlib.contextmanager
def mistakes(writing: object = None) -> Iterator[None]:
    """Raise as `Mistake` what the user can put right.

    Files that cannot be written are among it if `writing` names them.
    """
    try:
        yield
    except OSError as error:
        if writing is None:
            raise
        reason = error.strerror or str(error)
        raise Mistake(f"cannot write {writing}: {reason}") from None
    except _of_folders_below() as reason:
        raise Mistake(str(reason)) from None


def _of_folders_below() -> tuple[type[Exception], ...]:
    """Loaded when something is wrong: words need neither."""
    from iclab.results import NoResults, NotARecord
    from iclab.runs import EngineProblem

    return NoResults, NotARecord, EngineProblem
