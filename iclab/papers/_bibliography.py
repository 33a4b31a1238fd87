"""The four papers, in the order in which iclab lists them."""

from iclab.evidence import Paper
from iclab.papers.ahn2023.contents import PAPER as AHN2023
from iclab.papers.gatmiry2024.contents import PAPER as GATMIRY2024
from iclab.papers.yang2024.contents import PAPER as YANG2024
from iclab.papers.zhang2023.contents import PAPER as ZHANG2023

PAPERS: tuple[Paper, ...] = (ZHANG2023, AHN2023, YANG2024, GATMIRY2024)
