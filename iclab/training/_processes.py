"""Training in several processes, on one machine or many."""

import jax
import numpy as np
from jax.experimental import multihost_utils
from jaxtyping import PyTree

from iclab.core import Natural, checked, refuse, require


@checked
def join_processes(
    coordinator: str | None = None,
    processes: Natural | None = None,
    process_id: int | None = None,
) -> None:
    """Join the processes of one run; call it before anything is computed.

    `coordinator` is "host:port" of process 0. Without arguments the cluster's own
    environment (Slurm, Open MPI, Kubernetes, TPU pods, or JAX_COORDINATOR_ADDRESS,
    JAX_NUM_PROCESSES and JAX_PROCESS_ID) tells all three.
    """
    given = [value is not None for value in (coordinator, processes, process_id)]
    if coordinator is not None:
        named = ":" in coordinator and coordinator.rpartition(":")[2].isdigit()
        require(named, "coordinator", "host:port", repr(coordinator))
    if any(given):
        rule = "given together with `coordinator` and `process_id`"
        require(all(given), "processes", rule, processes)
        assert processes is not None
        assert process_id is not None
        rule = f"between 0 and {processes - 1}"
        require(0 <= process_id < processes, "process_id", rule, process_id)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    try:
        jax.distributed.initialize(coordinator, processes, process_id)
        # All are here now. The first collective of CPUs waits for nobody longer than
        # half a minute, which may be too short once each goes its own way.
        agreed(0, False)
    except (ValueError, RuntimeError) as error:
        refuse(f"cannot join the other processes: {error}")


def agreed(count: int, stop: bool) -> tuple[int, bool]:
    """Process 0's count, and whether any process wants to stop; all of them ask."""
    if jax.process_count() == 1:
        return count, stop
    table = multihost_utils.process_allgather(np.array([count, stop], np.int32))
    return int(table[0, 0]), bool(np.any(table[:, 1]))


def anywhere(holds: bool) -> bool:
    """Whether something holds in any process; all of them must ask."""
    return agreed(0, holds)[1]


def shared(value: PyTree) -> PyTree:
    """Process 0's arrays, in every process."""
    if jax.process_count() == 1:
        return value
    return multihost_utils.broadcast_one_to_all(value)
