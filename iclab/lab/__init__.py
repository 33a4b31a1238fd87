"""The laboratory: a request is planned, run and judged, and its records are kept.

`iclab check` and `iclab reproduce` make requests from words, `iclab.check` and
`iclab.reproduce` without. Engine and display are arguments of `run`.
"""

from typing import TYPE_CHECKING

from iclab._on_use import names_on_use

if TYPE_CHECKING:
    from iclab.lab._costs import (
        Cost as Cost,
        Forecast as Forecast,
        Left as Left,
        cost as cost,
    )
    from iclab.lab._lines import (
        evidence_line as evidence_line,
        result_lines as result_lines,
        sentence_line as sentence_line,
    )
    from iclab.lab._mistake import Mistake as Mistake, mistakes as mistakes
    from iclab.lab._request import Request as Request
    from iclab.lab._run import (
        Pages as Pages,
        Ran as Ran,
        open_cache as open_cache,
        plan as plan,
        run as run,
    )
    from iclab.lab._signals import Stopped as Stopped
    from iclab.lab._verify import (
        Verification as Verification,
        verify as verify,
    )

# Plans and keeps what is computed elsewhere: no part of the names of jobs.
__computes__ = False

__getattr__, __dir__ = names_on_use(__name__, __file__)
