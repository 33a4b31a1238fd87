"""Freed memory stays with the process, so that the next step need not ask for it.

Only for processes of our own, commands and workers: it changes glibc's allocator for
all that runs in them.
"""

import contextlib
import ctypes
import gc
import os
import sys
from pathlib import Path

# Where bytes lie changes no number: no part of the names of jobs.
__computes__ = False

# Parameters of glibc's `mallopt`.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX, _ARENA_MAX = -1, -2, -4, -8

# The most that `mallopt` takes, and what is asked of the system at a time.
_KEPT, _AT_A_TIME = 2**31 - 1, 64 * 2**20


def keep_freed_memory() -> bool:
    """Let glibc keep up to 2 GiB that programs free; says whether it does.

    XLA allocates what a program keeps for its derivative, and frees it, at every call.
    By default glibc returns that to the system, and each page is then cleared and
    faulted in again: a fifth of the processor time of a training step of GPT-2. Large
    blocks come from one heap instead. To be called first: the number of heaps is
    settled when a second thread takes memory. Other C libraries, and variables named
    MALLOC_… that a user has set, are left alone.
    """
    chosen = "GLIBC_TUNABLES" in os.environ or any(
        name.startswith("MALLOC_") for name in os.environ
    )
    if chosen or not sys.platform.startswith("linux"):
        return False
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        return all(
            mallopt(name, value)
            for name, value in (
                (_ARENA_MAX, 1),
                (_MMAP_MAX, 0),
                (_TRIM_THRESHOLD, _KEPT),
                (_TOP_PAD, _AT_A_TIME),
            )
        )
    return False


def give_back(beyond: int = 2**30) -> bool:
    """Between two pieces of work, forget compiled programs and free their memory.

    A process that has done a hundred items would hold gigabytes, a few MB for each
    program. Below `beyond` bytes nothing is done: what the next item shares with the
    last stays compiled. Says whether it did.
    """
    if _held() <= beyond:
        return False
    if (jax := sys.modules.get("jax")) is not None:
        jax.clear_caches()
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    return True


def _held() -> int:
    """Bytes of memory that this process has, 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
