"""What a job does that only asks a claim what it predicts, and measures nothing.

Not beside the other functions of jobs, because those are part of all jobs' names.
"""

from collections.abc import Mapping
from typing import Any

from iclab.papers._found import found_claim
from iclab.results import Prediction


def predict_claim(config: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Predictions for the cases of a claim, in the order in which it is run."""
    del seed  # it decides what is measured
    said = {name: config[name] for name in ("erratum", "remark")}
    claim, scale = found_claim(config["claim"], config["id"], **said), config["scale"]
    found = [
        Prediction(name, claim.relation, claim.predict(case), claim.decoy(case))
        for name, case in claim.cases(scale).items()
    ]
    if (printed := claim.printed) is not None:
        relation = printed.relation or claim.relation
        found += [
            Prediction(name, relation, printed.predict(case), None, printed=True)
            for name, case in (printed.cases or claim.cases)(scale).items()
        ]
    return {"cases": [one.json() for one in found]}
