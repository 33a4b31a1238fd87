"""Records of runs: what claims and figures came to, in a folder that keeps them.

A folder of results may be a stranger's: everything in it is read through one schema,
and nothing in it chooses what is imported, called, read or written elsewhere.
"""

from iclab.results._again import (
    differences as differences,
    table_differences as table_differences,
)
from iclab.results._arrays import (
    STORE as STORE,
    load as load,
    stored_tables as stored_tables,
)
from iclab.results._compare import (
    Comparison as Comparison,
    Moved as Moved,
    Pair as Pair,
    compare as compare,
)
from iclab.results._drawn import (
    Drawn as Drawn,
    altered as altered,
    note_made as note_made,
    read_drawn as read_drawn,
    see_drawable as see_drawable,
    write_drawn as write_drawn,
)
from iclab.results._folder import (
    DEFAULT_FOLDER as DEFAULT_FOLDER,
    FORMAT as FORMAT,
    RESULTS as RESULTS,
    Facts as Facts,
    NoResults as NoResults,
    ResultsFolder as ResultsFolder,
    Run as Run,
    Settle as Settle,
    first as first,
    read_run as read_run,
    require_results as require_results,
)
from iclab.results._keep import (
    NotARecord as NotARecord,
    checksums as checksums,
    keep_record as keep_record,
)
from iclab.results._lock import locked as locked
from iclab.results._prediction import (
    Prediction as Prediction,
    read_predictions as read_predictions,
    see_predicted as see_predicted,
)
from iclab.results._record import (
    Failure as Failure,
    Record as Record,
    claim_record as claim_record,
    file_names as file_names,
    last_line as last_line,
    read_record as read_record,
    scatter as scatter,
)
from iclab.results._scatter import Scatter as Scatter
from iclab.results._schema import Wrong as Wrong

# Keeps what others compute: no part of the names of jobs.
__computes__ = False
