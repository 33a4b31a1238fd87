"""Table of contents of mahankali2023, in the order of its abstract."""

from iclab.evidence import Entry, Paper

PAPER = Paper(
    key="mahankali2023",
    title=(
        "One Step of Gradient Descent is Provably the Optimal In-Context Learner with"
        " One Layer of Linear Self-Attention"
    ),
    authors=("Arvind Mahankali", "Tatsunori B. Hashimoto", "Tengyu Ma"),
    year=2023,
    venue_or_note="arXiv 2307.03576; locators follow the abstract",
    arxiv="2307.03576",
    bibtex="""\
@misc{mahankali2023,
  title         = {One Step of Gradient Descent is Provably the Optimal In-Context
                   Learner with One Layer of Linear Self-Attention},
  author        = {Mahankali, Arvind and Hashimoto, Tatsunori B. and Ma, Tengyu},
  year          = {2023},
  eprint        = {2307.03576},
  archiveprefix = {arXiv}
}""",
)

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="mahankali2023/one-step",
        kind="claim",
        locator="abstract, first result",
        statement=(
            "Of all layers of linear self-attention the best on noisy linear labels is"
            " one step of gradient descent from zero, of size E⟨ŵ, Xᵀy⟩/E‖Xᵀy‖² with ŵ"
            " the ridge solution, which is 1/(n + d + 1 + σ²)."
        ),
        hypotheses="x, w ~ N(0, I), label noise of variance σ², n examples",
        formula=r"\hat y=\eta\sum_iy_i\langle x_i,x_q\rangle,\qquad"
        r"\eta=\frac1{n+d+1+\sigma^2}",
    ),
    Entry(
        id="mahankali2023/preconditioned-step",
        kind="claim",
        locator="abstract, second result",
        statement=(
            "On inputs of covariance Σ, with weights N(0, Σ⁻¹), the best layer is one"
            " step preconditioned by Σ⁻¹, of the same size."
        ),
        hypotheses="x ~ N(0, Σ), w ~ N(0, Σ⁻¹), label noise of variance σ²",
        formula=r"\hat y=\eta\sum_iy_i\,x_i^\top\Sigma^{-1}x_q",
    ),
    Entry(
        id="mahankali2023/nonlinear-targets",
        kind="claim",
        locator="abstract, third result",
        statement=(
            "On labels f(x) + noise, f from a law that rotations leave as it is, the"
            " best layer is still one step of gradient descent, of the size below, with"
            " u = E[f(x)x], the best linear fit of f."
        ),
        hypotheses="x ~ N(0, I), label noise of variance σ²",
        formula=r"\eta=\frac{\mathbb{E}\|u\|^2}{\mathbb{E}f(x)^2\|x\|^2+\sigma^2d"
        r"+(n-1)\,\mathbb{E}\|u\|^2}",
    ),
    Entry(
        id="mahankali2023/figure-price-of-one-step",
        kind="figure",
        locator="beyond the paper",
        statement=(
            "What one step of gradient descent loses to ridge regression, the Bayes"
            " rule, by the number of examples and the noise."
        ),
        hypotheses="x, w ~ N(0, I)",
    ),
)
