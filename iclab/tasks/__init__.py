"""Distributions over prompts."""

from iclab.tasks._label_functions import (
    AbstractLabelFunction as AbstractLabelFunction,
    AbstractRidgeFunction as AbstractRidgeFunction,
    Cubic as Cubic,
    LabelMoments as LabelMoments,
    Quadratic as Quadratic,
    ReLUNetwork as ReLUNetwork,
    Sine as Sine,
    sampled_moments as sampled_moments,
)
from iclab.tasks._linear_regression import LinearRegression as LinearRegression
from iclab.tasks._nonlinear_regression import (
    NonlinearRegression as NonlinearRegression,
)
from iclab.tasks._random_covariance import (
    AbstractPositiveLaw as AbstractPositiveLaw,
    Exponential as Exponential,
    Fixed as Fixed,
    Gamma as Gamma,
    LogNormal as LogNormal,
    RandomCovariance as RandomCovariance,
    Uniform as Uniform,
)
from iclab.tasks._shifts import (
    AbstractShift as AbstractShift,
    CovariateShift as CovariateShift,
    OrthogonalQuery as OrthogonalQuery,
    QueryShift as QueryShift,
    TaskShift as TaskShift,
)
from iclab.tasks._task import AbstractTask as AbstractTask
