"""How the suite checks that a mistake is refused, word for word."""

import contextlib
from collections.abc import Iterator

import pytest


@contextlib.contextmanager
def refused(message: str) -> Iterator[None]:
    """The block raises a `ValueError` that says exactly `message`."""
    with pytest.raises(ValueError) as error:  # noqa: PT011  compared literally below
        yield
    assert str(error.value) == message


@contextlib.contextmanager
def refused_like(part: str) -> Iterator[None]:
    """The block raises a `ValueError` whose message has `part` in it."""
    with pytest.raises(ValueError) as error:  # noqa: PT011  compared literally below
        yield
    assert part in str(error.value)
