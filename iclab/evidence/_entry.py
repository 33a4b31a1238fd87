"""One line of a paper's table of contents."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from iclab._reader import checked
from iclab.evidence._numbers import filled
from iclab.evidence._settings import setting_text

Kind = Literal["claim", "figure"]
ErratumClass = Literal["false", "hypothesis", "misprint", "constant", "wording"]

# What each class of errata means, the heaviest first.
ERRATUM_CLASSES: Mapping[ErratumClass, str] = {
    "false": "A counterexample lies inside the printed hypotheses.",
    "hypothesis": "True with a hypothesis that the paper uses elsewhere or leaves out.",
    "constant": "Right up to a factor.",
    "misprint": "A slip: another line of the paper, or its proof, has it right.",
    "wording": "Loosely said; what is meant holds, or holds of something else.",
}

# Longest name of settings that stands in an id as it is.
_LONGEST = 80

# Fields of an entry that may name numbers of a run.
TEXTS = ("statement", "hypotheses", "erratum", "correction", "remark", "credit",
         "counterexample")  # fmt: skip
# A quotation says where and is no copy.
_WORDS_QUOTED = 12


@checked
@dataclass(frozen=True)
class Entry:
    """A result of a paper, said in our words; reading it runs nothing.

    `erratum` says what is wrong with the statement as printed and `correction` what
    holds instead: both go together, and both are run. A `remark` is about a slip beside
    a statement that holds as it stands. Either has its class, and `credit` says where
    the paper itself has it right. A `counterexample` shows by hand that what is printed
    is wrong, in whole numbers and fractions, and `quote` is a few words of the paper
    that say where it is. `formula` is what holds as a display in
    LaTeX: the heart of the statement, or of its correction where there is one.

    Texts may name numbers that a run fills in: see `filled`.
    """

    id: str
    kind: Kind
    locator: str
    statement: str
    hypotheses: str = ""
    erratum: str | None = None
    correction: str | None = None
    formula: str | None = None
    remark: str | None = None
    erratum_class: ErratumClass | None = None
    credit: str | None = None
    counterexample: str | None = None
    quote: str | None = None

    def __post_init__(self):
        erratum, remark = self.erratum is not None, self.remark is not None
        slip = erratum or remark
        rules = {
            "an erratum and its correction go together": (
                erratum == (self.correction is not None)
            ),
            "an erratum or a remark, not both": not (erratum and remark),
            "an erratum or a remark goes with its class": (
                slip == (self.erratum_class is not None)
            ),
            "credit goes with an erratum or a remark": slip or self.credit is None,
            "a counterexample goes with an erratum or a remark": (
                slip or self.counterexample is None
            ),
            f"a quotation goes with an erratum or a remark, and has at most"
            f" {_WORDS_QUOTED} words": (slip if self.quote else True)
            and len((self.quote or "").split()) <= _WORDS_QUOTED,
        }
        for rule, holds in rules.items():
            if not holds:
                raise ValueError(f"{self.id}: {rule}")

    @property
    def paper(self) -> str:
        """Key of the paper: the part of the id before the slash."""
        return self.id.partition("/")[0]

    @property
    def base(self) -> str:
        """The id without the settings of a variant."""
        return self.id.partition("@")[0]

    @property
    def is_variant(self) -> bool:
        """Whether this is a figure with settings that are not its own."""
        return "@" in self.id

    def variant(self, settings: Mapping[str, Any]) -> "Entry":
        """The same figure with other settings, under a name that tells them."""
        words = [f"{name}={setting_text(value)}" for name, value in settings.items()]
        name = "+".join(words)
        if len(name) > _LONGEST or re.fullmatch(r"[\w.,=+-]+", name, re.A) is None:
            # What no file's name can tell is told by a hash.
            import hashlib

            digest = hashlib.sha256(name.encode()).hexdigest()[:12]
            name = f"{'+'.join(settings)}-{digest}"
        return dataclasses.replace(self, id=f"{self.base}@{name}")

    def filled(self, numbers: Mapping[str, object]) -> "Entry":
        """The entry with the numbers of a run in its texts, or without them."""
        texts = {name: getattr(self, name) for name in TEXTS}
        return dataclasses.replace(
            self,
            **{name: filled(text, numbers) for name, text in texts.items() if text},
        )


@checked
def file_stem(id: str) -> str:
    """Name of the file of an id: `zhang2023/theorem-4.1` is in `theorem_4_1.py`."""
    tail = id.partition("@")[0].partition("/")[2]
    return tail.replace("-", "_").replace(".", "_")
