"""A room per paper, one file per result; `contents.py` opens each room.

Importing this folder is cheap: a result's file is loaded when it is run.
"""

from iclab.papers._bibliography import PAPERS as PAPERS
from iclab.papers._catalog import (
    ENTRIES as ENTRIES,
    Method as Method,
    UnknownId as UnknownId,
    load_claim as load_claim,
    load_figure as load_figure,
    method as method,
    module_name as module_name,
    paper as paper,
    select as select,
)
from iclab.papers._jobs import (
    claim_job as claim_job,
    claim_record as claim_record,
    failed_record as failed_record,
    figure_jobs as figure_jobs,
    figure_record as figure_record,
    finish_figure as finish_figure,
)
from iclab.papers._recipes import RECIPES as RECIPES, recipe as recipe

# Finds and plans what is computed elsewhere: no part of the names of jobs.
__computes__ = False
