"""Jobs, where their results are kept, and what runs them. Knows nothing of the rest."""

from typing import TYPE_CHECKING

from iclab._on_use import names_on_use

# Engines, stores and benches decide nothing that a job computes: see `_code.py`.
__computes__ = False

if TYPE_CHECKING:
    from iclab.runs._bench import (
        Bench as Bench,
        at_bench as at_bench,
        bench as bench,
        job_parts as job_parts,
        progress as progress,
    )
    from iclab.runs._cache import Cache as Cache, keep_programs as keep_programs
    from iclab.runs._cluster import Cluster as Cluster
    from iclab.runs._code import (
        code_digest as code_digest,
        reread_sources as reread_sources,
    )
    from iclab.runs._engine import run_jobs as run_jobs
    from iclab.runs._environment import (
        assigned_devices as assigned_devices,
        count_gpus as count_gpus,
        usable_cores as usable_cores,
    )
    from iclab.runs._events import (
        Engine as Engine,
        EngineProblem as EngineProblem,
        Event as Event,
        Outcome as Outcome,
        Progressed as Progressed,
        Started as Started,
        here as here,
    )
    from iclab.runs._function_code import function_digest as function_digest
    from iclab.runs._job import Device as Device, Job as Job, Result as Result
    from iclab.runs._parsed import parsed_sources as parsed_sources
    from iclab.runs._places import (
        VARIABLE as VARIABLE,
        importable as importable,
        named_folders as named_folders,
        package_folder as package_folder,
    )
    from iclab.runs._processes import Processes as Processes
    from iclab.runs._provenance import provenance as provenance
    from iclab.runs._store import Named as Named, Store as Store
    from iclab.runs._sweep import open_sweep as open_sweep, sweep as sweep
    from iclab.runs._sweep_result import Point as Point, Sweep as Sweep

__getattr__, __dir__ = names_on_use(__name__, __file__)
