"""How well predictors do, measured on common prompts."""

from iclab.evaluation._error_curve import (
    ErrorCurve as ErrorCurve,
    error_curve as error_curve,
    squared_errors as squared_errors,
)
from iclab.evaluation._representation import ridge_distance as ridge_distance
from iclab.evaluation._risk import (
    Estimate as Estimate,
    prompt_average as prompt_average,
    sampled_risk as sampled_risk,
)
