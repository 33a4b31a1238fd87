"""Jobs, where their results are kept, and what runs them. Knows nothing of the rest."""

from iclab.runs._engine import Outcome as Outcome, run_jobs as run_jobs
from iclab.runs._job import Job as Job, Result as Result, code_digest as code_digest
from iclab.runs._provenance import provenance as provenance
from iclab.runs._store import Store as Store
