"""What papers, predictors and tasks promise, as checks for tests of one's own.

Each check runs the real thing, returns nothing where all is well, and raises an
`AssertionError` that says in a sentence what is not.
"""

from iclab.testing._evidence import (
    check_evidence as check_evidence,
    weak_decoys as weak_decoys,
)
from iclab.testing._paper import check_paper as check_paper
from iclab.testing._predictor import check_predictor as check_predictor
from iclab.testing._task import check_task as check_task
