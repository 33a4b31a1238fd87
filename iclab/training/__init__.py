"""Ways to train: gradient flow, gradient descent, stochastic gradients."""

from iclab._renamed import renamed
from iclab.training._checkpoint import (
    Checkpoints as Checkpoints,
    OtherConfiguration as OtherConfiguration,
)
from iclab.training._core import TrainingRun as TrainingRun
from iclab.training._curriculum import (
    Curriculum as Curriculum,
    Ramp as Ramp,
    Stage as Stage,
)
from iclab.training._descent import descend as descend, descent_path as descent_path
from iclab.training._gradient_flow import (
    gradient_flow as gradient_flow,
    integrate_flow as integrate_flow,
)
from iclab.training._hooks import (
    EarlyStopping as EarlyStopping,
    Hook as Hook,
    Recorder as Recorder,
    Validation as Validation,
)
from iclab.training._in_context import InContext as InContext
from iclab.training._looped import (
    Loops as Loops,
    fit_loops as fit_loops,
    looped_gradient_flow as looped_gradient_flow,
)
from iclab.training._losses import HuberLoss as HuberLoss, squared as squared
from iclab.training._lsa_gradient_flow import lsa_gradient_flow as lsa_gradient_flow
from iclab.training._minimise import minimise as minimise
from iclab.training._plan import Optimiser as Optimiser, Plan as Plan
from iclab.training._problem import (
    AbstractProblem as AbstractProblem,
    Exact as Exact,
    FixedSet as FixedSet,
)
from iclab.training._processes import join_processes as join_processes
from iclab.training._representation import (
    OverRepresentation as OverRepresentation,
    batch_loss as batch_loss,
    exact_gap as exact_gap,
    exact_loss as exact_loss,
    train_exact as train_exact,
    two_rates as two_rates,
)
from iclab.training._run_folder import CannotSave as CannotSave
from iclab.training._trained import Diverged as Diverged, Trained as Trained
from iclab.training._trained_lsa import (
    initial_lsa as initial_lsa,
    trained_lsa as trained_lsa,
)
from iclab.training._trainer import fit as fit, train as train

__getattr__ = renamed(
    __name__, {"Course": "TrainingRun", "Huber": "HuberLoss", "Record": "Recorder"}
)
