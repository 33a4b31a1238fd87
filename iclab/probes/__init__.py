"""Which algorithm is this model? Measurements on common prompts, with intervals."""

from iclab.probes._bootstrap import Interval as Interval
from iclab.probes._filter import (
    Filter as Filter,
    spectral_filter as spectral_filter,
)
from iclab.probes._selection import (
    FamilyChoice as FamilyChoice,
    FamilyFit as FamilyFit,
    fit_families as fit_families,
)
