"""Claims, figures and verdicts. Nothing here knows what the claims are about."""

from typing import TYPE_CHECKING

from iclab._on_use import names_on_use

if TYPE_CHECKING:
    from iclab.evidence._case import (
        GOOD_VERDICTS as GOOD_VERDICTS,
        CaseResult as CaseResult,
        Verdict as Verdict,
    )
    from iclab.evidence._claim import (
        SCALES as SCALES,
        Claim as Claim,
        Measured as Measured,
        Printed as Printed,
        Relation as Relation,
        Scale as Scale,
    )
    from iclab.evidence._distance import (
        bars_off as bars_off,
        case_line as case_line,
        farthest as farthest,
    )
    from iclab.evidence._entry import (
        ERRATUM_CLASSES as ERRATUM_CLASSES,
        TEXTS as TEXTS,
        Entry as Entry,
        ErratumClass as ErratumClass,
        Kind as Kind,
        file_stem as file_stem,
    )
    from iclab.evidence._figure import (
        Evidence as Evidence,
        Figure as Figure,
        Given as Given,
        MissingTable as MissingTable,
        Sentence as Sentence,
        Tables as Tables,
        at_least as at_least,
        at_most as at_most,
        largest as largest,
        says as says,
        smallest as smallest,
    )
    from iclab.evidence._modules import (
        ClaimModule as ClaimModule,
        FigureModule as FigureModule,
        claim_of as claim_of,
        figure_of as figure_of,
    )
    from iclab.evidence._numbers import (
        as_json as as_json,
        filled as filled,
        names as names,
    )
    from iclab.evidence._paper import (
        KEY_RULE as KEY_RULE,
        Paper as Paper,
        is_key as is_key,
    )
    from iclab.evidence._runner import (
        ClaimResult as ClaimResult,
        FigureResult as FigureResult,
        case_key as case_key,
        case_verdict as case_verdict,
        claim_verdict as claim_verdict,
        figure_verdict as figure_verdict,
        judge_figure as judge_figure,
        run_claim as run_claim,
    )
    from iclab.evidence._settings import (
        Described as Described,
        describe_settings as describe_settings,
        setting as setting,
        setting_text as setting_text,
    )
    from iclab.evidence._tolerance import (
        STANDARD_ERRORS as STANDARD_ERRORS,
        averaged as averaged,
        rounded as rounded,
        slope as slope,
        solved as solved,
    )

__getattr__, __dir__ = names_on_use(__name__, __file__)
