"""Classical in-context learners: no weights, no training."""

from iclab.algorithms._bayes import BayesOverTasks as BayesOverTasks
from iclab.algorithms._gradient_descent import (
    GradientDescent as GradientDescent,
    GradientDescentPlusPlus as GradientDescentPlusPlus,
    IterativeNewton as IterativeNewton,
    PreconditionedGradientDescent as PreconditionedGradientDescent,
)
from iclab.algorithms._huber import Huber as Huber
from iclab.algorithms._least_squares import (
    Averaging as Averaging,
    LeastSquares as LeastSquares,
    Ridge as Ridge,
    Zero as Zero,
)
from iclab.algorithms._sparse import (
    Lasso as Lasso,
    OrthogonalMatchingPursuit as OrthogonalMatchingPursuit,
)
