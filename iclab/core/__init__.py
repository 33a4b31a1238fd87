"""What everything else is made of: prompts, predictors, matrices, error messages."""

from iclab._files import (
    now as now,
    remove_drafts as remove_drafts,
    write_whole as write_whole,
)
from iclab._reader import (
    Natural as Natural,
    Own as Own,
    Rule as Rule,
    finite_array as finite_array,
    is_traced as is_traced,
    read as read,
    refuse as refuse,
    require as require,
)
from iclab.core._checked import checked as checked
from iclab.core._errors import enough_memory as enough_memory
from iclab.core._estimate import (
    FEWEST_EFFECTIVE as FEWEST_EFFECTIVE,
    Estimate as Estimate,
    HeavyTails as HeavyTails,
    Sums as Sums,
    largest_share as largest_share,
)
from iclab.core._finite import (
    if_finite as if_finite,
    nan_unless_finite as nan_unless_finite,
)
from iclab.core._foreign import Foreign as Foreign
from iclab.core._mixture import Mixture as Mixture
from iclab.core._predictor import (
    AbstractPredictor as AbstractPredictor,
    Deep as Deep,
    Lengths as Lengths,
    context_lengths as context_lengths,
    named_predictors as named_predictors,
    same_dimension as same_dimension,
)
from iclab.core._prompt import Prompt as Prompt
from iclab.core._rules import (
    Count as Count,
    Covariance as Covariance,
    Limit as Limit,
    NonNegative as NonNegative,
    NonNegativeFloat as NonNegativeFloat,
    Number as Number,
    Positive as Positive,
    PositiveFloat as PositiveFloat,
    SecondMoment as SecondMoment,
    Seed as Seed,
    Share as Share,
    Size as Size,
    Symmetric as Symmetric,
    between as between,
)
from iclab.core._symmetric import (
    inverse_square_root as inverse_square_root,
    square_root as square_root,
)
from iclab.core._tensor_file import (
    DamagedFile as DamagedFile,
    description_of as description_of,
    pickle_sentence as pickle_sentence,
    read_tensors as read_tensors,
    write_tensors as write_tensors,
)
