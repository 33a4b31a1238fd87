"""Who wrote the four papers, and how to cite them.

Nothing heavy is imported here, so that `iclab cite` answers at once.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """One paper: what a reader needs to find it and to cite it."""

    key: str
    """Name of the paper in iclab: its folder, and the first half of every ID."""

    title: str
    """Title as printed."""

    authors: tuple[str, ...]
    """Authors in printed order, first name first."""

    year: int
    """Year of the publication that `bibtex` cites; `key` has that of the preprint."""

    venue_or_note: str
    """Where it appeared, and which version our locators were read from."""

    arxiv: str
    """arXiv identifier, without prefix or version."""

    bibtex: str
    """A complete BibTeX entry, under `key`, that ends with its closing brace."""


PAPERS: tuple[Paper, ...] = (
    Paper(
        key="zhang2023",
        title="Trained Transformers Learn Linear Models In-Context",
        authors=("Ruiqi Zhang", "Spencer Frei", "Peter L. Bartlett"),
        year=2024,
        venue_or_note=(
            "Journal of Machine Learning Research 25(49), 2024; "
            "locators follow the preprint of 14 August 2023"
        ),
        arxiv="2306.09927",
        bibtex="""\
@article{zhang2023,
  title         = {Trained Transformers Learn Linear Models In-Context},
  author        = {Zhang, Ruiqi and Frei, Spencer and Bartlett, Peter L.},
  journal       = {Journal of Machine Learning Research},
  volume        = {25},
  number        = {49},
  pages         = {1--55},
  year          = {2024},
  url           = {https://jmlr.org/papers/v25/23-1042.html},
  eprint        = {2306.09927},
  archiveprefix = {arXiv}
}""",
    ),
    Paper(
        key="ahn2023",
        title=(
            "Transformers learn to implement preconditioned gradient descent "
            "for in-context learning"
        ),
        authors=("Kwangjun Ahn", "Xiang Cheng", "Hadi Daneshmand", "Suvrit Sra"),
        year=2023,
        venue_or_note="NeurIPS 2023; locators follow the preprint of 2 June 2023",
        arxiv="2306.00297",
        bibtex="""\
@inproceedings{ahn2023,
  title         = {Transformers learn to implement preconditioned gradient descent
                   for in-context learning},
  author        = {Ahn, Kwangjun and Cheng, Xiang and Daneshmand, Hadi and
                   Sra, Suvrit},
  booktitle     = {Advances in Neural Information Processing Systems},
  volume        = {36},
  year          = {2023},
  eprint        = {2306.00297},
  archiveprefix = {arXiv}
}""",
    ),
    Paper(
        key="yang2024",
        title=(
            "In-Context Learning with Representations: "
            "Contextual Generalization of Trained Transformers"
        ),
        authors=("Tong Yang", "Yu Huang", "Yingbin Liang", "Yuejie Chi"),
        year=2024,
        venue_or_note="NeurIPS 2024; locators follow the preprint of 20 August 2024",
        arxiv="2408.10147",
        bibtex="""\
@inproceedings{yang2024,
  title         = {In-Context Learning with Representations: Contextual
                   Generalization of Trained Transformers},
  author        = {Yang, Tong and Huang, Yu and Liang, Yingbin and Chi, Yuejie},
  booktitle     = {Advances in Neural Information Processing Systems},
  volume        = {37},
  year          = {2024},
  eprint        = {2408.10147},
  archiveprefix = {arXiv}
}""",
    ),
    Paper(
        key="gatmiry2024",
        title=(
            "Can Looped Transformers Learn to Implement Multi-step Gradient Descent "
            "for In-context Learning?"
        ),
        authors=(
            "Khashayar Gatmiry",
            "Nikunj Saunshi",
            "Sashank J. Reddi",
            "Stefanie Jegelka",
            "Sanjiv Kumar",
        ),
        year=2024,
        venue_or_note="ICML 2024; locators follow the arXiv preprint",
        arxiv="2410.08292",
        bibtex="""\
@inproceedings{gatmiry2024,
  title         = {Can Looped Transformers Learn to Implement Multi-step Gradient
                   Descent for In-context Learning?},
  author        = {Gatmiry, Khashayar and Saunshi, Nikunj and Reddi, Sashank J. and
                   Jegelka, Stefanie and Kumar, Sanjiv},
  booktitle     = {Proceedings of the 41st International Conference on Machine
                   Learning},
  series        = {Proceedings of Machine Learning Research},
  volume        = {235},
  pages         = {15130--15152},
  publisher     = {PMLR},
  year          = {2024},
  url           = {https://proceedings.mlr.press/v235/gatmiry24b.html},
  eprint        = {2410.08292},
  archiveprefix = {arXiv}
}""",
    ),
)
"""The four papers, in the order in which iclab lists them."""
