"""The HTML report of a folder that `iclab reproduce` has written.

Everything here reads stored results and computes nothing.
"""

from iclab.report._build import (
    build_report as build_report,
    see_report_place as see_report_place,
)
from iclab.report._compare_page import write_compare_page as write_compare_page
from iclab.report._errata import write_errata as write_errata
from iclab.report._findings import Finding as Finding, Findings as Findings
from iclab.report._probe_page import write_probe_page as write_probe_page
