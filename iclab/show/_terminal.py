"""Standard output and standard error, whatever they are connected to."""

import codecs
import contextlib
import errno
import io
import os
import re
import sys
import unicodedata
from typing import Any

# What a terminal without Unicode shows in the place of these; of others, below.
_ASCII = {
    "≥": ">=", "≤": "<=", "≠": "!=", "≈": "~", "−": "-", "–": "-", "—": "-", "·": "*",
    "×": "x", "√": "sqrt", "∞": "inf", "Σ": "sum", "∈": "in", "→": "->", "↦": "->",
    "’": "'", "‘": "'", "“": '"', "”": '"', "⟨": "<", "⟩": ">", "‖": "||",
    "∂": "d", "∇": "grad", "⊤": "'", "ᵀ": "'", "━": "-",
}  # fmt: skip
_POWER = re.compile("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+")

_OF_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


# Characters that a terminal obeys instead of showing, or that turn the order of others:
# C0 but tab and newline, C1, and the marks of writing from right to left.
CONTROL = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]"
)


class CannotWrite(Exception):
    """Standard output takes nothing more; the message says why."""


def open_streams() -> None:
    """Let everything be printed: on closed streams and in any encoding."""
    for handle in (0, 1, 2):
        try:
            os.fstat(handle)
        except OSError:
            # Else the next file that is opened is taken for it.
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    codecs.register_error("iclab.ascii", _ascii_instead)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="iclab.ascii")


def is_unicode(stream: Any) -> bool:
    """Whether a stream takes all characters."""
    return codecs.lookup(stream.encoding or "ascii").name.startswith("utf")


def columns() -> int:
    """Letters in a line of standard output."""
    terminal = sys.stdout.isatty()
    return os.get_terminal_size(sys.stdout.fileno()).columns if terminal else 100


def visible(text: str) -> str:
    """A text that may be a stranger's, with control characters spelt out."""
    return CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def tell(text: str) -> None:
    """Print a line on standard error, if that can be done at all.

    It may quote names and files of strangers: what a terminal obeys is spelt out.
    """
    try:
        print(visible(text), file=sys.stderr, flush=True)
    except OSError:
        _give_up(sys.stderr)


def say_of_writing(error: OSError) -> None:
    """Raise `CannotWrite` for an error of writing to what is open already.

    Errors of opening name their file. Unbuffered streams fail inside `print`.
    """
    if error.filename is None and error.errno in _OF_WRITING:
        raise CannotWrite(f"cannot write: {error.strerror}") from None


def flush() -> None:
    """Write out what was printed; raises `CannotWrite`, once, if that fails.

    A reader that has left (`iclab list | head`) is no failure: nobody is there.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            _give_up(stream)
        except OSError as error:
            _give_up(stream)
            if stream is sys.stdout:
                raise CannotWrite(
                    f"cannot write to standard output: {error.strerror}"
                ) from None


def _give_up(stream: Any) -> None:
    """Let nothing more be written: Python would try again at its end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _ascii_instead(error: UnicodeError) -> tuple[str, int]:
    """Characters that a stream does not know in those that every stream knows."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return in_ascii(error.object[error.start : error.end]), error.end


def in_ascii(text: str) -> str:
    """Text in ASCII: `1.9x10^-11`, `lambda`."""
    return "".join(map(_ascii, _POWER.sub(lambda power: f"^{_digits(power[0])}", text)))


def _digits(power: str) -> str:
    return unicodedata.normalize("NFKD", power).replace("−", "-")


def _ascii(character: str) -> str:
    if character.isascii() or character in _ASCII:
        return _ASCII.get(character, character)
    if 0xD800 <= ord(character) < 0xE000:  # a byte of a file's name that is no text
        return f"\\x{ord(character) & 0xFF:02x}"
    name = unicodedata.name(character, "")
    if name.startswith("GREEK"):
        return name.replace("LAMDA", "LAMBDA").split(" WITH ")[0].split()[-1].lower()
    letters = unicodedata.normalize("NFKD", character)
    return letters.encode("ascii", "ignore").decode() or "?"
