"""One line of a paper's table of contents."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["claim", "figure"]


@dataclass(frozen=True)
class Entry:
    """A result of a paper, said in our words; reading it runs nothing.

    `erratum` says what is wrong with the statement as printed and `correction` what
    holds instead; a claim has both or neither. `formula` is what holds as a display in
    LaTeX: the heart of the statement, or of its correction where there is one.
    """

    id: str
    kind: Kind
    locator: str
    statement: str
    hypotheses: str = ""
    erratum: str | None = None
    correction: str | None = None
    formula: str | None = None

    def __post_init__(self):
        if (self.erratum is None) != (self.correction is None):
            raise ValueError(f"{self.id}: an erratum and its correction go together")

    @property
    def paper(self) -> str:
        """Key of the paper: the part of the id before the slash."""
        return self.id.partition("/")[0]
