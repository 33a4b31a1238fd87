"""Ways to train: gradient flow, gradient descent, stochastic gradients."""

from iclab.training._checkpoint import (
    Checkpoints as Checkpoints,
    OtherConfiguration as OtherConfiguration,
)
from iclab.training._curriculum import (
    Curriculum as Curriculum,
    Ramp as Ramp,
    Stage as Stage,
)
from iclab.training._descent import (
    TrainingResult as TrainingResult,
    descend as descend,
    fit as fit,
)
from iclab.training._gradient_flow import (
    FlowResult as FlowResult,
    gradient_flow as gradient_flow,
    integrate_flow as integrate_flow,
)
from iclab.training._in_context import (
    AbstractProblem as AbstractProblem,
    InContext as InContext,
)
from iclab.training._lsa_gradient_flow import (
    lsa_gradient_flow as lsa_gradient_flow,
    lsa_gradient_flow_random_covariance as lsa_gradient_flow_random_covariance,
)
from iclab.training._minimise import (
    MinimiseResult as MinimiseResult,
    minimise as minimise,
)
from iclab.training._plan import Optimiser as Optimiser, Plan as Plan
from iclab.training._processes import join_processes as join_processes
from iclab.training._trained_lsa import (
    initial_lsa as initial_lsa,
    trained_lsa as trained_lsa,
    trained_lsa_random_covariance as trained_lsa_random_covariance,
)
from iclab.training._trainer import (
    CannotSave as CannotSave,
    NotFinite as NotFinite,
    TrainedModel as TrainedModel,
    train as train,
)
