"""The HTML report, and the data, of a folder that `iclab reproduce` has written.

Everything here reads stored results and computes nothing.
"""

from iclab.report._build import build_report as build_report
from iclab.report._files import locked as locked, write_whole as write_whole
from iclab.report._probe_page import write_probe_page as write_probe_page
from iclab.report._results import (
    FORMAT as FORMAT,
    RESULTS as RESULTS,
    NoResults as NoResults,
    Run as Run,
    load as load,
    read_run as read_run,
)
