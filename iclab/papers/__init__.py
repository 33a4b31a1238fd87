"""The papers, iclab's own among them: one per paper, with a file per result.

Importing this folder is cheap: a result's file is loaded when it is run.
"""

from typing import TYPE_CHECKING

from iclab._on_use import names_on_use

if TYPE_CHECKING:
    from iclab.papers._calls import (
        definitions_behind as definitions_behind,
        run_by_decoy as run_by_decoy,
        theory_of_both as theory_of_both,
    )
    from iclab.papers._catalog import (
        Method as Method,
        UnknownId as UnknownId,
        find_paper as find_paper,
        load_claim as load_claim,
        load_figure as load_figure,
        method as method,
        module_name as module_name,
        paper as paper,
        select as select,
    )
    from iclab.papers._jobs import (
        claim_job as claim_job,
        drawn as drawn,
        failed_record as failed_record,
        figure_jobs as figure_jobs,
        figure_record as figure_record,
        judged as judged,
        prediction_job as prediction_job,
    )
    from iclab.papers._map import (
        PaperMap as PaperMap,
        Section as Section,
        Statement as Statement,
        numbers_of as numbers_of,
        paper_map as paper_map,
    )
    from iclab.papers._opening import (
        TAKEN as TAKEN,
        OpenPaper as OpenPaper,
        PaperProblem as PaperProblem,
        every_paper as every_paper,
        file_name as file_name,
        is_id as is_id,
        open_papers as open_papers,
        open_papers_here as open_papers_here,
        package_name as package_name,
        paper_problems as paper_problems,
        why_closed as why_closed,
    )
    from iclab.papers._recipes import recipe as recipe

# Finds and plans what is computed elsewhere: no part of the names of jobs.
__computes__ = False

__getattr__, __dir__ = names_on_use(__name__, __file__)
