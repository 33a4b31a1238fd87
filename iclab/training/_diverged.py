"""The one way in which training fails of itself."""

from typing import Any


class Diverged(ValueError):
    """Training whose loss or gradient left the finite numbers, or its loss a limit.

    `result` is what the function would have returned: losses up to and with the bad
    one, records so far, and the last parameters with a good loss.
    """

    def __init__(self, message: str, result: Any):
        super().__init__(message)
        self.result = result
