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
        "findings/local-minima",
        "claim",
        "beside zhang2023, Theorem 4.1, and ahn2023, Theorem 1",
        "With all weights free, the loss of one layer of linear attention has local"
        " minima that are not global: a layer that learns along the leading"
        " eigenvector alone, with a mask (ahn2023) and without (zhang2023). For"
        " equal eigenvalues the masked layer has a saddle there.",
        hypotheses="two inputs of unequal variance, two examples, w ~ N(0, I)",
        formula=(
            r"f=\operatorname{tr}\Sigma-\frac{\lambda_1^2}{\Gamma_{11}}>"
            r"\operatorname{tr}\Sigma-\sum_i\frac{\lambda_i^2}{\Gamma_{ii}}"
        ),
    ),
    Entry(
        "findings/start-scale",
        "claim",
        "beside zhang2023, Theorem 4.1 and (A.13)",
        "Gradient flow reaches the global minimum from balanced starts far above"
        " the cap on their scale as well; the cap is needed for explicit bounds.",
        hypotheses="Assumption 3.3 of zhang2023, any scale σ > 0",
    ),
    Entry(
        "findings/orthogonal-query",
        "claim",
        "beside zhang2023, Section 4.2",
        "A trained layer answers zero to a query that Γ⁻¹ turns orthogonal to all"
        " examples; a query orthogonal to them is not enough unless Λ ∝ I.",
        hypotheses="the weights of zhang2023, Theorem 4.1",
    ),
    Entry(
        "findings/gauss-rule",
        "claim",
        "beside ahn2023, Theorem 4",
        "The best k steps of gradient descent are a Gauss rule: their sizes are the"
        " reciprocals of its nodes in λ dμ, with μ the mean spectrum of the"
        " whitened S, and d times a Christoffel number is what they leave. No"
        " training run is needed, for any k.",
        hypotheses="Gaussian inputs, labels without noise, w ~ N(0, Σ⁻¹)",
        formula=(
            r"\min_\eta\int\prod_{j=1}^k(1-\eta_j\lambda)^2\,d\mu,\qquad\pi_k(1/\eta_j)=0,"
            r"\quad\int\pi_k\,\lambda^{i+1}\,d\mu=0\quad(i<k)"
        ),
    ),
    Entry(
        "findings/residual-polynomial",
        "claim",
        "beside ahn2023, Theorems 4 and 5",
        "Layers A_i = a_iΣ⁻¹, B_i = b_iI leave a polynomial of the eigenvalue h of"
        " the whitened S on each direction, of degree k without B and (3ᵏ − 1)/2"
        " with it; gradient descent and GD++ are these, and so is Newton's"
        " iteration on one prompt.",
        formula=(
            r"c_{i+1}=c_i(1+a_ihs_i^2),\quad s_{i+1}=s_i(1+b_ia_ihs_i^2),\quad"
            r" c_0=s_0=1"
        ),
    ),
    Entry(
        "findings/critical-points-one-input",
        "claim",
        "beside ahn2023, Section 7, first direction",
        "Two layers with one input have exactly seven critical points: three minima and"
        " four saddles with one falling direction each, one of them a single step of"
        " gradient descent. Only one minimum is global«; with n = 20 the others have"
        " {second:.2f} and {third:.2f} times its loss». With B = 0 there are three: the"
        " Gauss steps in either order and, between them, the saddle where both steps"
        " are equal. On S the same holds for more inputs.",
        hypotheses=(
            "Gaussian inputs, labels without noise, w ~ N(0, Σ⁻¹); counted for the d"
            " and n of the cases, up to layers that are 0"
        ),
        formula=(
            r"c=(1+uh)\big(1+vh(1+\beta h)^2\big),\qquad u=a_0,\;v=a_1,\;\beta"
            r"=a_0b_0"
        ),
    ),
    Entry(
        "findings/critical-points-two-inputs",
        "claim",
        "beside ahn2023, Section 7, first direction",
        "Two layers with two inputs, all entries of all matrices free: the lowest"
        " minimum that searches find is the best multiple of Σ⁻¹ and I, with B and"
        " without. With B there is a minimum that is no such multiple«, at {off:.1f}"
        " times the least loss»: two axes with steps of their own, one of them uphill"
        " at first.",
        hypotheses=(
            "Σ = I, n = 10, Gaussian starts, with B and without; a search is no proof"
        ),
    ),
    Entry(
        "findings/rare-prompts",
        "claim",
        "beside ahn2023, Section 6.1",
        "Training on a batch with B free ends below the least loss that any such"
        " weights have, at weights whose true loss is many times that. The spread"
        " within the batch does not show it: the prompts that carry the loss are"
        " too rare to be in the batch. As many prompts of a mixture that has them"
        " often do show it. With B = 0 batch and population agree.",
        hypotheses=(
            "three layers of multiples of Σ⁻¹ and I, d = 5, n = 20, batches of 20,000"
            " prompts and more; bounds chosen after seeing results"
        ),
    ),
    Entry(
        "findings/covered-means",
        "claim",
        "beside gatmiry2024, Section 5",
        "Losses of many loops that are averaged over plain prompts are not within two"
        " of their standard errors of the truth, in most runs or in all; averaged with"
        " weights over prompts that are stretched along one direction, they are in"
        " 90 % to 98 % of runs.",
        hypotheses=(
            "Gaussian inputs, labels without noise, five to twenty loops, 2,000 draws"
            " a mean, multiples of I or two inputs"
        ),
    ),
    Entry(
        "findings/marchenko-pastur",
        "claim",
        "beside ahn2023, Theorem 4, and gatmiry2024, Theorem 3.2",
        "As d and n grow at d/n = c, the best shared step tends to 1/(1 + c) for"
        " every number of loops, the best untied steps to reciprocals of Chebyshev"
        " nodes, and both losses to closed forms.",
        hypotheses="Gaussian inputs, labels without noise, w ~ N(0, Σ⁻¹)",
        formula=(
            r"a^\star\to\frac1{1+c},\qquad\eta_j\to\frac1{1+c+2\sqrt c\cos\frac{j\pi}"
            r"{k+1}},\qquad\frac{\text{loss}}d\to\frac{c^k(1-c)}{1-c^{k+1}}"
        ),
    ),
    Entry(
        "findings/long-prompts",
        "claim",
        "beside gatmiry2024, Theorem 3.2",
        "The best looped layer among multiples of Σ⋆⁻¹ is 1 − κ/n of it, and its"
        " loss C/nᴸ, with κ and C rational; the theorem has n^{−1/2}.",
        hypotheses="Gaussian inputs, labels without noise, w ~ N(0, Σ⋆⁻¹)",
        formula=r"a^\star=1-\frac\kappa n+O(n^{-2}),\qquad\text{loss}=\frac C{n^L}"
        r"(1+O(n^{-1}))",
    ),
    Entry(
        "findings/turned-weights",
        "claim",
        "beside gatmiry2024, Theorem 3.2",
        "Weights that are not symmetric do better in a loop: at two inputs and two"
        " loops the multiple of Σ⋆⁻¹ of least loss is a saddle from n = 15 on, and"
        " as n grows aI + εJ has 44/n² where symmetric weights have 46/n².",
        hypotheses="J the rotation by 90° in whitened inputs, labels without noise",
    ),
    Entry(
        "findings/turned-optimum",
        "claim",
        "beside gatmiry2024, Theorem 3.2",
        "Over all weights of two inputs the least loss of L loops is that of the"
        " best aI + εJ in whitened inputs, certified by branch and bound: one loop"
        " is not turned, two are from n = 15 on, and deeper loops are turned"
        " farther and gain more.",
        hypotheses="two inputs, labels without noise, up to four loops",
    ),
    Entry(
        "findings/turned-weights-deep",
        "claim",
        "beside gatmiry2024, Figure 1",
        "With ten loops, five inputs and twenty examples there are weights, not"
        " symmetric, with little more than half of the least loss of symmetric ones.",
        hypotheses="Σ⋆ = I, w ~ N(0, I), labels without noise",
    ),
    Entry(
        "findings/turned-optimum-deep",
        "claim",
        "beside gatmiry2024, Theorem 3.2",
        "Ten loops with all weights free train to aI + bJ with J² = −I: from five"
        " random starts to one loss within 3 %, that of the best a and b, which at"
        " ten inputs is about four fifths of the least loss of symmetric weights.",
        hypotheses=(
            "Σ⋆ = I, w ~ N(0, I), twenty examples, labels without noise; the form of"
            " the weights was found in earlier runs, the 3 % were stated before and"
            " depend on the seed with 40,000 draws"
        ),
        formula=r"A=aI+bJ,\qquad J^\top=-J,\quad J^2=-I",
    ),
    Entry(
        "findings/more-test-loops",
        "claim",
        "beside gatmiry2024, Section 5.3",
        "Looped more often than in training, the expected loss turns after a few"
        " loops and diverges, while the median keeps falling: rare prompts, with an"
        " eigenvalue of S beyond 2/a, carry the mean.",
        hypotheses="A = a⋆Σ⋆⁻¹ of training, Gaussian inputs",
    ),
    Entry(
        "findings/given-prompts",
        "claim",
        "beside ahn2023, Lemma 9, and gatmiry2024, Lemma A.3",
        "Given the sample covariance S the loss is tr(ΩGΣGᵀ) + (σ²/n) tr(SHΣHᵀ)"
        " before any mean over prompts, for layers with B and for loops with u,"
        " whatever does not commute or is not symmetric.",
        hypotheses="any examples; E wwᵀ = Ω, E x_q x_qᵀ = Σ, noise of variance σ²",
        formula=(
            r"G=\prod_i(I+SF_i^\top A_iF_i),\quad F_{i+1}=F_i+B_iF_iSF_i^\top A_iF_i,"
            r"\quad SH=I-G"
        ),
    ),
    Entry(
        "findings/label-noise",
        "claim",
        "beside ahn2023, (5), and gatmiry2024, Lemma A.3",
        "Label noise adds (σ²/n) E tr(SHΣHᵀ), SH = I − G, to the loss of every"
        " linear transformer, with any prior N(0, Ω) of the weights: still exact."
        " The best single layer has P below.",
        hypotheses="Gaussian inputs, noise of variance σ², target without it",
        formula=(
            r"P=\Omega\big[(1+\tfrac1n)\Sigma\Omega+\tfrac1n(\operatorname{tr}(\Omega"
            r"\Sigma)+\sigma^2)I\big]^{-1}"
        ),
    ),
    Entry(
        "findings/noisy-steps",
        "claim",
        "beside ahn2023, Theorem 4, and gatmiry2024, Theorem 3.2",
        "On noisy labels the best k steps, the best step that k loops share and the"
        " best polynomial filter of degree k are exact too. Layers with real steps"
        " stay above the filter where its zeros are complex.",
        hypotheses="Gaussian inputs, noise of variance σ², w ~ N(0, vΣ⁻¹)",
        formula=(
            r"\min_\eta\,d\int\Big[v\,p^2+\frac{\sigma^2}n\,\frac{(1-p)^2}\lambda\Big]"
            r"d\mu,\qquad p=\prod_{j=1}^k(1-\eta_j\lambda)"
        ),
    ),
    Entry(
        "findings/bayes-limit",
        "claim",
        "beside ahn2023, Theorem 4",
        "On noisy labels the best k layers are a polynomial that is known in closed"
        " form, and as k grows they tend to ridge regression with σ²/n, the Bayes"
        " rule.",
        hypotheses="w ~ N(0, vΣ⁻¹), τ = σ²/(nv), π_k orthogonal in λ dμ",
        formula=(
            r"g(\lambda)=\frac{1-\pi_k(\lambda)/\pi_k(-\tau)}{\lambda+\tau}\;"
            r"\longrightarrow\;\frac1{\lambda+\tau}"
        ),
    ),
    Entry(
        "findings/ridge-gap",
        "claim",
        "beside yang2024, Figure 3",
        "The mean distance of the ridge regression that attention learns, of"
        " penalty mτ, to that of penalty Nτ is an integral over the Wishart"
        " spectrum for Gaussian features, and 0 where N = m.",
        hypotheses="Assumption 1 of yang2024, Gaussian features",
        formula=(
            r"\frac{K-N}K\,\mathbb E\sum_{i=1}^m\Big(\frac1{m\tau+s_i}-\frac1{N\tau+"
            r"s_i}\Big)^2(s_i^2+m\tau s_i),\qquad s_i=\lambda_i(ZZ^\top)"
        ),
    ),
    Entry(
        "findings/covariances-by-prompt",
        "claim",
        "an answer to the last question of zhang2023, Section 6",
        "When every prompt draws its own covariance, of eigenvalues Exp(1), the best k"
        " layers A_i = a_iI leave 2/((k + 1)(k + 2)) of the loss of predicting 0 on"
        " infinitely long prompts: depth goes to least squares, slowly. On short"
        " prompts of two inputs descents over all matrices A_i end at the exact least"
        " loss of multiples of I.",
        hypotheses="Gaussian inputs, w ~ N(0, I), labels without noise, B = 0",
        formula=(
            r"\min_p\int_0^\infty p(\lambda)^2\lambda e^{-\lambda}d\lambda"
            r"=\frac2{(k+1)(k+2)},\qquad p(0)=1,\ \deg p\le k"
        ),
    ),
    Entry(
        "findings/figure-covariances-by-prompt",
        "figure",
        "beside findings/covariances-by-prompt",
        "How many layers when every prompt has its own covariance: exact losses by"
        " depth, with B and without, and the GPT-2 that was trained on such prompts.",
        hypotheses="d = 5, eigenvalues Exp(1) anew for every prompt, no noise",
    ),
    Entry(
        "findings/shifted-scale",
        "claim",
        "beside ahn2023, Section 7",
        "The steps of gradient descent that are best in training are fragile. With five"
        " inputs and twenty examples the best three steps leave 2.7 % of the error of"
        " predicting zero; with one and a half times the variance 78 %, and with twice"
        " the variance they do fifteen times worse than predicting zero.",
        hypotheses="Gaussian inputs, labels without noise, w ~ N(0, I)",
        formula=(r"\frac{f(s)}{sd}=\int\prod_{i=1}^k(1-a_ish)^2d\mu(h)"),
    ),
    Entry(
        "findings/figure-shifted-scale",
        "figure",
        "beside ahn2023, Section 7",
        "Robustness to the scale of the inputs: the best steps break soon, the sooner"
        " the more of them there are; careful steps bear more and leave more; a"
        " trained GPT-2 bears far more than steps that are as good as it is.",
        hypotheses="d = 5, n = 18, labels without noise; one trained model",
    ),
    Entry(
        "findings/many-heads",
        "claim",
        "beside yang2024, Section 4, text on Figure 5",
        "Many heads in a small deep transformer are not slower by step, and slower by"
        " time: attention maps grow with H, and steps to a given loss hardly do«:"
        " {steps:.2f} times as many with sixteen heads as with four, {time:.2f} times"
        " the time».",
        hypotheses=(
            "heads share the width; Adam, raw Gaussian tokens; time counted in"
            " operations and numbers moved"
        ),
    ),
    Entry(
        "findings/figure-many-heads",
        "figure",
        "beside yang2024, Section 4, text on Figure 5",
        "Steps and time until the training loss of a four-layer transformer has fallen"
        " to a given level, by number of heads, over several starts«: with the most"
        " heads {steps:.2f} times the steps that four need, and {time:.2f} times the"
        " time of the fastest number».",
        hypotheses="small sizes, heads share the width; see the caption",
    ),
    Entry(
        "findings/trained-gpt2",
        "claim",
        "beside zhang2023, Figure 1",
        "What the trained GPT-2 models compute, with eight examples of five inputs:"
        " a spectral filter, to a few percent of their predictions. Gradient flow,"
        " stopped at a certain time, describes that filter better than ridge"
        " regression or least squares do.",
        hypotheses=(
            "the shipped models trained on x ~ N(0, I), on such prompts; bounds chosen"
            " after seeing results"
        ),
    ),
    Entry(
        "findings/figure-layers-of-bayes",
        "figure",
        "beside findings/bayes-limit",
        "How many layers come close to the Bayes rule: exact losses by depth, for"
        " free layers, for layers with real steps and for one layer in a loop, at"
        " four levels of noise, and the filters that they apply.",
        hypotheses="d = 5, n = 20, w ~ N(0, Σ⁻¹)",
    ),
    Entry(
        "findings/figure-critical-points",
        "figure",
        "beside ahn2023, Section 7, first direction",
        "All critical points of two layers: with one input seven for every number of"
        " examples, of which one minimum is global; what the three minima leave of an"
        " eigenvalue; and with two inputs, all entries free, the points that searches"
        " found, by their number of falling directions«. {lowest:.0%} of descents with"
        " B end at the best point of S, and {plain:.0%} of those with B = 0».",
        hypotheses="w ~ N(0, Σ⁻¹), no noise; two inputs: Σ = I, n = 10",
    ),
)
