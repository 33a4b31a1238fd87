"""Ctrl-C and SIGTERM: a run stops between two items, never in the middle of one."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any, TypeVar

_T = TypeVar("_T")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(KeyboardInterrupt):
    """A signal has ended the run."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number

    @property
    def word(self) -> str:
        """What happened, in a word."""
        return "interrupted" if self.number == signal.SIGINT else "terminated"

    @property
    def exit_code(self) -> int:
        """The exit code that shells give a program that a signal ended."""
        return 128 + self.number


class _Listener:
    """Takes signals while it waits; those that come at other times wait themselves."""

    def __init__(self):
        self._number: int | None = None
        self._waiting = False

    def heard(self, number: int, _frame: Any) -> None:
        self._number = self._number or number
        if self._waiting:
            raise Stopped(self._number)

    def listen(self, events: Iterator[_T]) -> Iterator[_T]:
        while True:
            self._waiting = True
            try:
                if self._number is not None:
                    raise Stopped(self._number)
                event = next(events)
            except StopIteration:
                return
            finally:
                self._waiting = False
            yield event


@contextlib.contextmanager
def stoppable(events: Iterator[_T]) -> Iterator[Iterator[_T]]:
    """Give `events` on until a signal stops them: that raises `Stopped`.

    What is done with an event is done to its end: a signal is heard only while the
    next one is waited for. `events` are closed either way.
    """
    listener = _Listener()
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, listener.heard) for number in _SIGNALS}
    try:
        yield listener.listen(events)
    finally:
        close = getattr(events, "close", lambda: None)
        close()
        for number, handler in before.items():
            signal.signal(number, handler)
