"""`python -m iclab` is the `iclab` command.

Python then looks for modules in the current folder first, which may be a stranger's:
that ends here, before anything else is loaded, unless iclab itself lies there. What
Python loads for `-m` itself comes earlier (`contextlib`, `typing`, and `iclab`, if a
folder here has that name): in a folder that you do not trust say `iclab`, or
`python -P -m iclab`.
"""

import os
import sys


def _is_here(path: str) -> bool:
    return os.path.isdir(path) and os.path.samefile(path, os.curdir)


_home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if not sys.flags.safe_path and _is_here(sys.path[0]) and not _is_here(_home):
    del sys.path[0]

from iclab.cli import main  # noqa: E402  not before the path is safe

raise SystemExit(main())
