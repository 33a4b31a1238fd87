"""How well predictors do, measured on common prompts."""

from iclab.core import Estimate as Estimate, HeavyTails as HeavyTails
from iclab.evaluation._bootstrap import Band as Band
from iclab.evaluation._error_curve import (
    Curves as Curves,
    ErrorCurve as ErrorCurve,
    common_prompts as common_prompts,
    error_curve as error_curve,
    error_curve_of as error_curve_of,
    predictions as predictions,
    squared_errors as squared_errors,
)
from iclab.evaluation._paired import (
    PairedCurves as PairedCurves,
    paired_curves as paired_curves,
)
from iclab.evaluation._representation import ridge_distance as ridge_distance
from iclab.evaluation._risk import (
    prompt_average as prompt_average,
    sampled_risk as sampled_risk,
)
