"""Classical in-context learners: no weights, no training."""

from iclab.algorithms._gradient_descent import (
    GradientDescent as GradientDescent,
    GradientDescentPlusPlus as GradientDescentPlusPlus,
    IterativeNewton as IterativeNewton,
    PreconditionedGradientDescent as PreconditionedGradientDescent,
)
from iclab.algorithms._least_squares import (
    Averaging as Averaging,
    LeastSquares as LeastSquares,
    Ridge as Ridge,
    Zero as Zero,
)
