"""Numbers that a user types."""

import argparse
from collections.abc import Callable

# More than any machine holds of anything that is counted here.
_MOST = 2**24


def whole_number(least: int, most: int = _MOST) -> Callable[[str], int]:
    """A reader of whole numbers from `least` to `most`, for `type=` of arguments."""

    def read(word: str) -> int:
        try:
            number = int(word)
        except ValueError:  # no number, or one of thousands of digits
            number = least - 1
        if not least <= number <= most:
            rule = f"≥ {least}" if number < least else f"≤ {most}"
            shown = word if len(word) < 40 else f"{word[:37]}…"
            raise argparse.ArgumentTypeError(
                f"must be a whole number {rule}, got {shown!r}"
            )
        return number

    return read


# All that a random key can tell apart.
seed = whole_number(0, 2**63 - 1)
