"""Variables that make a process compute with one thread."""

import os

_SINGLE = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
_LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def one_thread() -> dict[str, str]:
    """One compute thread; flags that are already set stay."""
    flags = os.environ.get("XLA_FLAGS", "")
    if _SINGLE not in flags:
        flags = f"{flags} {_SINGLE}".strip()
    return {"XLA_FLAGS": flags, **dict.fromkeys(_LIBRARIES, "1")}


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
