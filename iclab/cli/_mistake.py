"""What a user can put right: one line on standard error, and exit code 2."""

import contextlib
from collections.abc import Iterator
from pathlib import Path


class UserMistake(Exception):
    """Something that the user can put right; said in one line."""


@contextlib.contextmanager
def writing(what: str | Path) -> Iterator[None]:
    """Say in one line what could not be written, and why."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserMistake(f"cannot write {what}: {reason}") from None


@contextlib.contextmanager
def keeping(folder: Path) -> Iterator[None]:
    """Say in one line why a folder of results cannot be read or written."""
    from iclab.results import NoResults

    try:
        with writing(f"to {folder}"):
            yield
    except NoResults as reason:
        raise UserMistake(str(reason)) from None
