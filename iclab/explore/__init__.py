"""The playground: a page in the browser, where sliders move exact formulas.

A page is a marimo file here (`one_layer.py`), which `marimo edit` opens, and beside it
the plain functions that compute what it shows (`_one_layer.py`). Importing this folder
needs no marimo; `iclab explore` does (`pip install 'iclab[explore]'`).
"""

from iclab.explore._pages import (
    PAGES as PAGES,
    Page as Page,
    UnknownPage as UnknownPage,
    find_page as find_page,
)
from iclab.explore._server import CannotServe as CannotServe, serve as serve

# Shows what is computed elsewhere: no part of the names of jobs.
__computes__ = False
