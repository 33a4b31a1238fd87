"""Jobs for the tests to run."""

import ctypes
import os
import sys
import time
from pathlib import Path

import numpy as np


def square(config, seed):
    """Arrays and plain values."""
    return {"values": np.arange(config["n"]) ** 2 + seed, "note": "done"}


def count(config, seed):
    """Leaves a mark each time it runs."""
    with open(Path(config["folder"]) / "runs.txt", "a", encoding="utf-8") as file:
        file.write(f"{seed}\n")
    return {"seed": seed}


def fail(config, seed):
    """Always raises."""
    raise RuntimeError("no such luck")


def objects(config, seed):
    """Returns what no store can keep."""
    return {"bad": np.array([object()])}


def die(config, seed):
    """Takes its process along."""
    os._exit(3)


def environment(config, seed):
    """What a worker finds."""
    names = ("XLA_FLAGS", "OMP_NUM_THREADS", "JAX_COMPILATION_CACHE_DIR")
    names += ("PYTHONSAFEPATH", "JAX_PLATFORMS", "ICLAB_DEVICE")
    names += ("CUDA_VISIBLE_DEVICES", "XLA_PYTHON_CLIENT_PREALLOCATE")
    return {name: os.environ.get(name, "") for name in names} | {"pid": os.getpid()}


def path(config, seed):
    """Where modules are looked for."""
    return {"path": sys.path}


def mapped(config, seed):
    """Whether glibc gives a large block a mapping of its own, as it does by default."""
    library = ctypes.CDLL(None)
    # Ten numbers, of which the fourth counts such blocks.
    library.mallinfo.restype = type(
        "Facts",
        (ctypes.Structure,),
        {"_fields_": [(f"field_{i}", ctypes.c_int) for i in range(10)]},
    )
    library.malloc.restype = ctypes.c_void_p
    before = library.mallinfo().field_3
    assert library.malloc(ctypes.c_size_t(2**28))
    return {"mapped": library.mallinfo().field_3 > before}


def hold(config, seed):
    """Leaves its process number in `folder` and waits there for a file `go`."""
    folder = Path(config["folder"])
    draft = folder / f"draft-{seed}-{os.getpid()}"
    draft.write_text(str(os.getpid()), encoding="utf-8")
    draft.rename(folder / f"pid-{seed}-{os.getpid()}")
    until(lambda: (folder / "go").exists())
    return {"values": np.arange(3) + seed}


def held(folder):
    """Numbers of the processes that hold a job, each once they are there."""
    return [int(path.read_text(encoding="utf-8")) for path in folder.glob("pid-*")]


def until(holds, seconds=60.0):
    """Wait for something that comes soon."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def gone(process):
    """Whether a process has ended, its parent told or not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return True
    return state.rpartition(")")[2].split()[0] in "ZX"


def compiled(config, seed):
    """Something that JAX compiles."""
    import jax

    x = jax.numpy.arange(100.0) / 7 + seed
    return {"values": jax.jit(lambda one: jax.numpy.sin(one) @ one)(x)}


def talk(config, seed):
    """Says how far it is."""
    from iclab.runs import progress

    progress(0.25, "a")
    progress(1.0, "b")
    return {"done": True}


def keep(config, seed):
    """Fails until it has been tried often enough, by what it finds in its folder."""
    from iclab.runs import bench

    here = bench()
    assert here is not None
    place = here.place("tries")
    assert place is not None
    place.mkdir(parents=True, exist_ok=True)
    (place / str(len(list(place.iterdir())))).touch()
    tries = len(list(place.iterdir()))
    if tries < config["until"]:
        raise RuntimeError("not yet")
    return {"tries": tries}


def search(config, seed):
    """A descent that lasts, with its process's number in `folder` and its steps."""
    import jax.numpy as jnp
    import optax

    from iclab.training import Hook, fit
    from iclab.training._problem import Exact

    folder = Path(config["folder"])
    (folder / f"pid-{os.getpid()}").touch()

    class Watch(Hook):
        every = 10

        def __call__(self, run):
            with open(folder / "steps.txt", "a", encoding="utf-8") as file:
                file.write(f"{run.step}\n")
            time.sleep(config["pause"])

    found = fit(
        Exact(lambda x: jnp.sum((x - seed) ** 4)),
        jnp.linspace(1.0, 2.0, 5),
        optax.adam(0.01),
        steps=config["steps"],
        hooks=[Watch()],
    )
    return {"model": found.model, "losses": found.losses}


def place(config, seed):
    """Which device of how many is its own; waits until all have said that."""
    import jax

    from iclab.runs import assigned_devices

    folder = Path(config["folder"])
    (device,) = assigned_devices()
    (folder / f"at-{seed}").touch()
    until(lambda: (folder / "go").exists())
    return {
        "device": f"{device.id} of {len(jax.devices())}",
        "platforms": os.environ["JAX_PLATFORMS"],
    }
