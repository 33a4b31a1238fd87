"""Variables that make a process compute with one thread and share compiled programs."""

import functools
import hashlib
import os
import platform
from pathlib import Path

_SINGLE = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
_LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def one_thread() -> dict[str, str]:
    """One compute thread; flags that are already set stay."""
    flags = os.environ.get("XLA_FLAGS", "")
    if _SINGLE not in flags:
        flags = f"{flags} {_SINGLE}".strip()
    return {"XLA_FLAGS": flags, **dict.fromkeys(_LIBRARIES, "1")}


def compilation_cache(folder: Path) -> dict[str, str]:
    """JAX's persistent cache: every program, whatever its size and compile time.

    Small programs are many, and reading one is far quicker than compiling it. A damaged
    entry is a warning and a fresh compilation. Programs compiled for one kind of
    processor may not run on another, so each kind has a folder of its own.
    """
    return {
        "JAX_COMPILATION_CACHE_DIR": str(folder.absolute() / _processor()),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


@functools.cache
def _processor() -> str:
    """A name for this machine's kind of processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = [platform.processor()]
    kinds = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU ")
    facts = sorted({line for line in lines if line.startswith(kinds)})
    digest = hashlib.sha256("\n".join(facts or lines).encode()).hexdigest()
    return f"{platform.machine()}-{digest[:12]}"
