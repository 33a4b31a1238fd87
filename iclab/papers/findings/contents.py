"""Table of contents of what this laboratory found, one layer first, noise last."""

from iclab.evidence import Entry, Paper

PAPER = Paper(
    key="findings",
    title="iclab: a laboratory for the theory of in-context learning",
    authors=("The iclab authors",),
    year=2026,
    venue_or_note="Software, version 0.1.0; results of its own, beside those of papers",
    arxiv="",
    bibtex="""\
@software{findings,
  title   = {iclab: a laboratory for the theory of in-context learning},
  author  = {{The iclab authors}},
  version = {0.1.0},
  year    = {2026}
}""",
)

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="findings/local-minima",
        kind="claim",
        locator="beside zhang2023, Theorem 4.1, and ahn2023, Theorem 1",
        statement=(
            "With all weights free, the loss of one layer of linear attention has local"
            " minima that are not global: a layer that learns along the leading"
            " eigenvector alone. For equal eigenvalues the same point is a saddle."
        ),
        hypotheses="two inputs of unequal variance, two examples, w ~ N(0, I)",
        formula=(
            r"f=\operatorname{tr}\Sigma-\frac{\lambda_1^2}{\Gamma_{11}}>"
            r"\operatorname{tr}\Sigma-\sum_i\frac{\lambda_i^2}{\Gamma_{ii}}"
        ),
    ),
    Entry(
        id="findings/start-scale",
        kind="claim",
        locator="beside zhang2023, Theorem 4.1 and (A.13)",
        statement=(
            "Gradient flow reaches the global minimum from balanced starts far above"
            " the cap on their scale as well; the cap buys explicit bounds."
        ),
        hypotheses="Assumption 3.3 of zhang2023, any scale σ > 0",
    ),
    Entry(
        id="findings/orthogonal-query",
        kind="claim",
        locator="beside zhang2023, Section 4.2",
        statement=(
            "A trained layer answers zero to a query that Γ⁻¹ turns orthogonal to all"
            " examples; a query orthogonal to them is not enough unless Λ ∝ I."
        ),
        hypotheses="the weights of zhang2023, Theorem 4.1",
    ),
    Entry(
        id="findings/residual-polynomial",
        kind="claim",
        locator="beside ahn2023, Theorems 4 and 5",
        statement=(
            "Layers A_i = a_iΣ⁻¹, B_i = b_iI leave a polynomial of the eigenvalue h of"
            " the whitened S on each direction, of degree k without B and (3ᵏ − 1)/2"
            " with it; gradient descent and GD++ are these."
        ),
        formula=(
            r"c_{i+1}=c_i(1+a_ihs_i^2),\quad s_{i+1}=s_i(1+b_ia_ihs_i^2),\quad"
            r" c_0=s_0=1"
        ),
    ),
    Entry(
        id="findings/marchenko-pastur",
        kind="claim",
        locator="beside ahn2023, Theorem 4, and gatmiry2024, Theorem 3.2",
        statement=(
            "As d and n grow at d/n = c, the best shared step tends to 1/(1 + c) for"
            " every number of loops, the best untied steps to reciprocals of Chebyshev"
            " nodes, and both losses to closed forms."
        ),
        hypotheses="Gaussian inputs, labels without noise, w ~ N(0, Σ⁻¹)",
        formula=(
            r"a^\star\to\frac1{1+c},\qquad\eta_j\to\frac1{1+c+2\sqrt c\cos\frac{j\pi}"
            r"{k+1}},\qquad\frac{\text{loss}}d\to\frac{c^k(1-c)}{1-c^{k+1}}"
        ),
    ),
    Entry(
        id="findings/long-prompts",
        kind="claim",
        locator="beside gatmiry2024, Theorem 3.2",
        statement=(
            "The best looped layer among multiples of Σ⋆⁻¹ is 1 − κ/n of it, and its"
            " loss C/nᴸ, with κ and C rational; the theorem has n^{−1/2}."
        ),
        hypotheses="Gaussian inputs, labels without noise, w ~ N(0, Σ⋆⁻¹)",
        formula=r"a^\star=1-\frac\kappa n+O(n^{-2}),\qquad\text{loss}=\frac C{n^L}"
        r"(1+O(n^{-1}))",
    ),
    Entry(
        id="findings/turned-weights",
        kind="claim",
        locator="beside gatmiry2024, Theorem 3.2",
        statement=(
            "Weights that are not symmetric do better in a loop: at two inputs and two"
            " loops the multiple of Σ⋆⁻¹ of least loss is a saddle from n = 15 on, and"
            " as n grows aI + εJ has 44/n² where symmetric weights have 46/n²."
        ),
        hypotheses="J the rotation by 90° in whitened inputs, labels without noise",
    ),
    Entry(
        id="findings/turned-weights-deep",
        kind="claim",
        locator="beside gatmiry2024, Figure 1",
        statement=(
            "With ten loops, five inputs and twenty examples there are weights, not"
            " symmetric, with about half of the least loss of symmetric ones."
        ),
        hypotheses="Σ⋆ = I, w ~ N(0, I), labels without noise",
    ),
    Entry(
        id="findings/more-test-loops",
        kind="claim",
        locator="beside gatmiry2024, Section 5.3",
        statement=(
            "Looped more often than in training, the expected loss turns after a few"
            " loops and diverges, while the median falls on: rare prompts, with an"
            " eigenvalue of S beyond 2/a, carry the mean."
        ),
        hypotheses="A = a⋆Σ⋆⁻¹ of training, Gaussian inputs",
    ),
    Entry(
        id="findings/label-noise",
        kind="claim",
        locator="beside ahn2023, (5), and gatmiry2024, Lemma A.3",
        statement=(
            "Label noise adds (σ²/n) E tr(SHΣHᵀ), SH = I − G, to the loss of every"
            " linear transformer, with any prior N(0, Ω) of the weights: still exact."
            " The best single layer has P below."
        ),
        hypotheses="Gaussian inputs, noise of variance σ², target without it",
        formula=(
            r"P=\Omega\big[(1+\tfrac1n)\Sigma\Omega+\tfrac1n(\operatorname{tr}(\Omega"
            r"\Sigma)+\sigma^2)I\big]^{-1}"
        ),
    ),
    Entry(
        id="findings/bayes-limit",
        kind="claim",
        locator="beside ahn2023, Theorem 4",
        statement=(
            "On noisy labels the best k layers are a polynomial that is known in closed"
            " form, and as k grows they tend to ridge regression with σ²/n, the Bayes"
            " rule."
        ),
        hypotheses="w ~ N(0, vΣ⁻¹), τ = σ²/(nv), π_k orthogonal in λ dμ",
        formula=(
            r"g(\lambda)=\frac{1-\pi_k(\lambda)/\pi_k(-\tau)}{\lambda+\tau}\;"
            r"\longrightarrow\;\frac1{\lambda+\tau}"
        ),
    ),
    Entry(
        id="findings/figure-layers-of-bayes",
        kind="figure",
        locator="beside findings/bayes-limit",
        statement=(
            "How many layers is the Bayes rule worth? Exact losses by depth, for free"
            " layers, for layers with real steps and for one layer in a loop, at four"
            " levels of noise, and the filters that they apply."
        ),
        hypotheses="d = 5, n = 20, w ~ N(0, Σ⁻¹)",
    ),
)
