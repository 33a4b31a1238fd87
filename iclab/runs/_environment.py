"""Variables for processes that we start: one thread, which device, which modules."""

import os
import subprocess
import sys
from typing import Any

_SINGLE = "--xla_cpu_multi_thread_eigen=false"
_QUICK = ("--xla_cpu_use_fusion_emitters=false", "--xla_backend_optimization_level=1")
_LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

# Set, a process does not look for modules in the folder in which it is started.
SAFE_PATH = "PYTHONSAFEPATH"


def one_thread(*, quick: bool = False) -> dict[str, str]:
    """One compute thread; flags that are already set stay, behind ours: XLA reads no
    further than to a word that is no flag.

    Where programs are made `quick`, the compiler takes a third less time, and what it
    makes may take longer: for work that is mostly compilation.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    for flag in (_SINGLE, *(_QUICK if quick else ())):
        if flag.partition("=")[0] not in flags:
            flags = f"{flag} {flags}".strip()
    return {"XLA_FLAGS": flags, **dict.fromkeys(_LIBRARIES, "1")}


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# For processes that we start: the device that is theirs, as "gpu:0" or "cpu:2".
DEVICE = "ICLAB_DEVICE"
# Variables with which drivers know the cards that a program may see.
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")


def on_cpu() -> dict[str, str]:
    """The CPU and nothing else, whatever is installed."""
    return {"JAX_PLATFORMS": "cpu", DEVICE: ""}


def on_gpu(index: int) -> dict[str, str]:
    """One card of this machine alone, of which memory is taken as it is needed.

    Cards are counted among those that the environment lets programs see.
    """
    seen = {}
    for name in _VISIBLE:
        named = [word for word in os.environ.get(name, "").split(",") if word.strip()]
        seen[name] = named[index].strip() if index < len(named) else str(index)
    # Empty: JAX takes the best that it finds, which is the card.
    return {
        "JAX_PLATFORMS": "",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        DEVICE: "gpu:0",
        **seen,
    }


def assigned_devices() -> list[Any]:
    """Devices that this process may compute on: its own one, or all that JAX has."""
    import jax

    word = os.environ.get(DEVICE, "")
    if not word:
        return jax.devices()
    kind, _, index = word.partition(":")
    return [jax.devices(kind)[int(index)]]


def count_gpus() -> int:
    """How many cards JAX sees; asked in another process, which takes their memory."""
    program = "import jax; print(sum(d.platform != 'cpu' for d in jax.devices()))"
    environment = {**os.environ, "JAX_PLATFORMS": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    found = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    words = found.stdout.split()
    return int(words[-1]) if found.returncode == 0 and words else 0
