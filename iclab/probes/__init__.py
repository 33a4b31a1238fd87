"""Which algorithm is this model? Measurements on common prompts, with intervals.

`probe` does all of them; each also stands alone. Intervals hold 90 % of bootstrap draws
over prompts.
"""

from iclab.probes._bootstrap import Interval as Interval
from iclab.probes._families import Family as Family
from iclab.probes._filter import (
    Filter as Filter,
    spectral_filter as spectral_filter,
)
from iclab.probes._implied_weights import (
    ImpliedWeights as ImpliedWeights,
    implied_weights as implied_weights,
)
from iclab.probes._json import rows_of as rows_of
from iclab.probes._kinds import (
    Extrapolation as Extrapolation,
    KindTest as KindTest,
    extrapolations as extrapolations,
    kind_tests as kind_tests,
)
from iclab.probes._layers import (
    Layer as Layer,
    Layers as Layers,
    layers as layers,
)
from iclab.probes._preconditioner import Preconditioner as Preconditioner
from iclab.probes._probe import (
    ContextProbe as ContextProbe,
    Probe as Probe,
    probe as probe,
)
from iclab.probes._shifts import Shift as Shift, shifts as shifts
from iclab.probes._verdict import (
    FamilyFit as FamilyFit,
    Verdict as Verdict,
    judge as judge,
)
