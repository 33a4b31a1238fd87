"""What may not fit into memory is refused before it is asked for."""

from iclab._reader import require

# Of 8 bytes each: 8 GB.
_MOST_NUMBERS = 10**9


def enough_memory(numbers: int, name: str, product: str) -> None:
    """Refuse arrays of so many numbers: a process that asks for them may be ended."""
    rule = f"small enough for {_MOST_NUMBERS:.0e} numbers in memory, {product}"
    require(numbers <= _MOST_NUMBERS, name, rule, f"{numbers:.1e}")
