"""Distributions over prompts."""

from iclab.tasks._coefficient_laws import (
    AbstractCoefficientLaw as AbstractCoefficientLaw,
    GaussianCoefficients as GaussianCoefficients,
    RademacherCoefficients as RademacherCoefficients,
    UnitCoefficients as UnitCoefficients,
)
from iclab.tasks._covariance_laws import (
    AbstractCovarianceLaw as AbstractCovarianceLaw,
    DiagonalCovariance as DiagonalCovariance,
    DrawnCovariance as DrawnCovariance,
    MixtureOfCovariances as MixtureOfCovariances,
    RotatedCovariance as RotatedCovariance,
    WishartCovariance as WishartCovariance,
)
from iclab.tasks._feature_maps import (
    AbstractFeatureMap as AbstractFeatureMap,
    FourierFeatures as FourierFeatures,
    NetworkFeatures as NetworkFeatures,
    PolynomialFeatures as PolynomialFeatures,
)
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
from iclab.tasks._regression import (
    AbstractLabelLaw as AbstractLabelLaw,
    FixedLabels as FixedLabels,
    LinearLabels as LinearLabels,
    NetworkLabels as NetworkLabels,
    QueryLaw as QueryLaw,
    Regression as Regression,
)
from iclab.tasks._representation import (
    Representation as Representation,
    gaussian_tokens as gaussian_tokens,
    unit_tokens as unit_tokens,
)
from iclab.tasks._shifts import (
    AbstractShift as AbstractShift,
    CovariateShift as CovariateShift,
    NoisyLabels as NoisyLabels,
    OrthogonalQuery as OrthogonalQuery,
    QueryShift as QueryShift,
    TaskShift as TaskShift,
)
from iclab.tasks._task import AbstractTask as AbstractTask
from iclab.tasks._vector_laws import (
    AbstractVectorLaw as AbstractVectorLaw,
    DiscreteVectors as DiscreteVectors,
    GaussianVectors as GaussianVectors,
    SignVectors as SignVectors,
    SparseVectors as SparseVectors,
    SphereVectors as SphereVectors,
    StudentVectors as StudentVectors,
    UniformVectors as UniformVectors,
)
