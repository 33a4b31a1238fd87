"""Table of contents of zhang2023, in the paper's order."""

from iclab.evidence import Entry, Paper

PAPER = Paper(
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
)

# Models that `iclab train` trains.
RECIPES = {"zhang2023/gpt2": "_gpt2_training"}

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "zhang2023/equation-3.6",
        "claim",
        "(3.3)–(3.6)",
        "The prediction is ŷ = (last row of W_PV)·(EEᵀ/N)·(first d columns of"
        " W_KQ)·x_q: no other weight matters, and the prompt enters through its"
        " second moments alone.",
        hypotheses="Any prompt and any weights; ρ = N.",
        formula=(
            r"\hat y=\left[W_{PV}\right]_{d+1,\,:}\;\frac{EE^\top}{N}\;\left[W_{KQ}"
            r"\right]_{:,\,1:d}\;x_q"
        ),
    ),
    Entry(
        "zhang2023/theorem-4.1",
        "claim",
        "Theorem 4.1, (4.1)",
        "Gradient flow on the population loss, from a balanced start with σ² <"
        " 2/(√d‖Γ‖), converges to a global minimum over all weights: W_KQ →"
        " tr(Γ⁻²)^{-1/4} (Γ⁻¹ 0; 0 0) and W_PV → tr(Γ⁻²)^{1/4} (0 0; 0 1) with"
        " Γ = (1 + 1/N)Λ + tr(Λ)I/N. The least loss is ½(tr Λ − tr Λ²Γ⁻¹).",
        hypotheses="y = ⟨w, x⟩, w ~ N(0, I), x ~ N(0, Λ), Λ > 0; Assumption 3.3",
        formula=(
            r"\begin{align*} W_{KQ}&\to\operatorname{tr}(\Gamma^{-2})^{-1/4}"
            r"\begin{pmatrix}\Gamma^{-1}&0\\0&0\end{pmatrix}, & W_{PV}&\to"
            r"\operatorname{tr}(\Gamma^{-2})^{1/4}\begin{pmatrix}0&0\\0&1"
            r"\end{pmatrix},\\ \Gamma&=\Big(1+\frac1N\Big)\Lambda+\frac{"
            r"\operatorname{tr}\Lambda}{N}I, & \min L&=\frac12\big(\operatorname{tr}"
            r"\Lambda-\operatorname{tr}\Lambda^2\Gamma^{-1}\big)\end{align*}"
        ),
    ),
    Entry(
        "zhang2023/equation-4.2",
        "claim",
        "(4.2)–(4.3)",
        "The trained model predicts ŷ = x_qᵀ Γ⁻¹ (1/M) Σ yᵢxᵢ, one preconditioned"
        " gradient step from zero, whatever the labels and the test length M are.",
        hypotheses="Weights of (4.1), the end of gradient flow.",
        formula=r"\hat y=x_q^\top\,\Gamma^{-1}\,\frac1M\sum_{i=1}^M y_ix_i",
    ),
    Entry(
        "zhang2023/theorem-4.2",
        "claim",
        "Theorem 4.2, (4.5)–(4.6)",
        "E(ŷ − y)² = min_w E(⟨w, x⟩ − y)² + (1/M) tr[ΣΓ⁻²Λ] + (1/N²)[‖a‖²_{Γ⁻²Λ³} +"
        " 2 tr(Λ)‖a‖²_{Γ⁻²Λ²} + tr(Λ)²‖a‖²_{Γ⁻²Λ}] with a = Λ⁻¹E[xy] and Σ ="
        " Cov(xy), if E y, E[xy] and E[y²xxᵀ] are finite.",
        hypotheses=(
            "Trained model (4.1); test pairs (x, y) independent with x ~ N(0, Λ),"
            " the query's pair too; y any function of x plus noise."
        ),
        erratum_class="hypothesis",
        quote="we know that E(⟨w, x_query⟩ − y_query)² exists",
        remark=(
            "Two steps of the proof. The hypotheses do not make the risk R(w) of a"
            " linear predictor finite: for d = 1 and y = |x|^{-1/2} the means of y, xy"
            " and x²y² are finite but E y² is not«: every decade of |x| near zero adds"
            " {decade:.2f} to it». There (4.6) says ∞ = ∞, which is right; the proof,"
            " which expands the square and minimises R, covers finite E y². And the"
            " Hessian of R is 2Λ, not Λ, which changes nothing."
        ),
        formula=(
            r"\begin{align*} \mathbb{E}(\hat y-y)^2&=\min_w\mathbb{E}(\langle w,x"
            r"\rangle-y)^2+\frac1M\operatorname{tr}[\Sigma\Gamma^{-2}\Lambda]\\ &"
            r"\quad+\frac1{N^2}\Big[{\lVert a\rVert}^2_{\Gamma^{-2}\Lambda^3}+2"
            r"\operatorname{tr}(\Lambda){\lVert a\rVert}^2_{\Gamma^{-2}\Lambda^2}+"
            r"\operatorname{tr}(\Lambda)^2{\lVert a\rVert}^2_{\Gamma^{-2}\Lambda}\Big]"
            r"\end{align*}"
        ),
    ),
    Entry(
        "zhang2023/section-4.1-rates",
        "claim",
        "Section 4.1, first remarks after Theorem 4.2",
        "Training length and test length do different things to the risk: what is above"
        " that of the best linear predictor falls as 1/M + 1/N².",
        hypotheses="Trained model (4.1), x ~ N(0, Λ), linear labels, w ~ N(0, I).",
        formula=r"\mathbb{E}(\hat y-y)^2-\min_wR(w)=O\Big(\frac1M+\frac1{N^2}\Big)",
    ),
    Entry(
        "zhang2023/section-4.1-risk-bounds",
        "claim",
        "Section 4.1, displays after Theorem 4.2",
        "For y = ⟨w, x⟩, Σ = ‖w‖²_Λ Λ + Λwwᵀ Λ and the risk is at most"
        " ((d+1)/M)‖w‖²_Λ + (1/N²)[‖w‖²_Λ + 2‖w‖² tr(Λ) + ‖w‖²_{Λ⁻¹} tr(Λ)²];"
        " over w ~ N(0, I) at most (d+1)tr(Λ)/M + (1 + 2d + d²κ)tr(Λ)/N².",
        hypotheses=(
            "Trained model (4.1), x ~ N(0, Λ), no noise; κ the condition number of Λ."
        ),
        formula=(
            r"\mathbb{E}_w\,\mathbb{E}(\hat y-y)^2\le\frac{(d+1)\operatorname{tr}"
            r"\Lambda}{M}+\frac{(1+2d+d^2\kappa)\operatorname{tr}\Lambda}{N^2}"
        ),
    ),
    Entry(
        "zhang2023/section-4.1-conditioning",
        "claim",
        "Section 4.1, before Corollary 4.3",
        "Greater variance raises the risk at the same lengths: that of cΛ is c times"
        " that of Λ. The upper bound also grows with the condition number κ.",
        hypotheses="Trained model (4.1), noiseless linear labels, w ~ N(0, I).",
        erratum_class="wording",
        quote="the generalization risk will be higher",
        remark=(
            "The text takes from the bound that a more ill-conditioned Λ suggests a"
            " higher risk as well. The bound is higher; the risk itself falls with κ"
            " where the trace stays«: {kappa_1:.3f}, {kappa_10:.3f} and"
            " {kappa_100:.3f} for κ = 1, 10, 100, tr Λ = d = 3, N = M = 10»."
        ),
        counterexample=(
            "d = 2, N = M = 1, tr Λ = 2, w ~ N(0, I): for Λ = I, Γ = 4I and the risk is"
            " 3/2; for Λ = diag(3/2, 1/2), with κ = 3, Γ = diag(5, 3) and the risk is"
            " 22/15."
        ),
    ),
    Entry(
        "zhang2023/corollary-4.3",
        "claim",
        "Corollary 4.3",
        "The risk over w ~ N(0, I) is at most ε once M ≥ 2(d+1)tr(Λ)ε⁻¹ and N ≥"
        " √(2(1 + 2d + d²κ)tr(Λ))·ε^{-1/2}.",
        hypotheses="Trained model (4.1), noiseless linear labels, 0 < ε < 1.",
        erratum_class="misprint",
        quote="of length at least N ≥",
        remark=(
            "In our copy the root runs on over ε^{-1/2}: such training prompts would be"
            " too short as ε falls«, with risks up to {worst:.0f} times ε for ε down to"
            " 10⁻⁴». Definition 3.2 asks one model for every ε; at a fixed N the risk"
            " has a floor as M → ∞«, {floor_10:.3f}, {floor_100:.4f} and"
            " {floor_1000:.1e} for Λ = I, d = 3 and N = 10, 100, 1000», so that the"
            " corollary is about a model for each ε, trained on prompts that are long"
            " enough for it, as its “provided” says."
        ),
        credit=(
            "in the bound printed just before the corollary, which asks for this N."
        ),
        counterexample=(
            "The root of our copy, d = 1, Λ = 1, ε = 1/10000: M = 40000 and N = 29 ≥"
            " √(2·4·100). Then Γ = 31/29, and the risk is (2/M + (1 − Γ)²)/Γ² ="
            " 80841/19220000, over 42 times ε."
        ),
        formula=(
            r"M\ge\frac{2(d+1)\operatorname{tr}\Lambda}{\varepsilon},\qquad N\ge\sqrt{"
            r"\frac{2(1+2d+d^2\kappa)\operatorname{tr}\Lambda}{\varepsilon}}"
        ),
    ),
    Entry(
        "zhang2023/section-4.2-task-shift",
        "claim",
        "Section 4.2, task shifts",
        "Label noise and any fixed weight vector w are tolerated: the error against"
        " ⟨w, x_q⟩ goes to zero as M and N grow, like 1/n for M = N = n.",
        hypotheses=(
            "Inputs as in training; noise independent of them, with mean zero."
        ),
        formula=(
            r"\mathbb{E}(\hat y-\langle w,x_q\rangle)^2=O(1/n)\quad\text{for}"
            r"\quad M=N=n"
        ),
    ),
    Entry(
        "zhang2023/section-4.2-query-shift",
        "claim",
        "Section 4.2, query shifts, (4.8)",
        "Queries of any covariance, singular ones too, are tolerated: the error"
        " goes to zero as M and N grow, like 1/n for M = N = n.",
        hypotheses="Examples as in training, noiseless; query independent of them.",
    ),
    Entry(
        "zhang2023/section-4.2-orthogonal-query",
        "claim",
        "Section 4.2, end of query shifts",
        "A query orthogonal to the span of the examples gets the prediction zero.",
        quote="the prediction will be zero",
        hypotheses="Trained model (4.1), M < d so that such queries exist.",
        erratum_class="false",
        erratum=(
            "ŷ = x_qᵀΓ⁻¹(1/M)Σ yᵢxᵢ, and Γ⁻¹ in general turns x_q out of the orthogonal"
            " complement. With d = 3 and M = 2 the prediction need not be 0«: over"
            " {prompts:d} prompts the largest, as a share of a typical label, is"
            " {geometric:.2f} for eigenvalues 2, 1.6, 1.28 of Λ and {tiny:.2f} where"
            " one eigenvalue is tiny»."
        ),
        correction=(
            "The prediction is zero for queries with x_qᵀΓ⁻¹xᵢ = 0 for every"
            " example; for Λ ∝ I these are the orthogonal ones."
        ),
        counterexample=(
            "d = 2, Λ = diag(2, 1), trained with N = 1, so that Γ = 2Λ + 3I = diag(7,"
            " 5). A prompt with one example (M = 1), x₁ = (1, 1), w = (1, 1), y₁ = 2,"
            " and the query x_q = (1, −1), orthogonal to it: ŷ = x_qᵀΓ⁻¹y₁x₁ = 2(1/7 −"
            " 1/5) = −4/35."
        ),
        formula=(
            r"x_q^\top\Gamma^{-1}x_i=0\;\text{ for every }i\quad\Longrightarrow"
            r"\quad\hat y=0"
        ),
    ),
    Entry(
        "zhang2023/section-4.2-shifts",
        "claim",
        "Section 4.2, covariate shifts",
        "When all inputs of a test prompt are scaled by c, the prediction tends to"
        " c²⟨w, x_q⟩ for long prompts: such a shift is not tolerated. Least squares"
        " tolerates it.",
        hypotheses="Trained on x ~ N(0, Λ), tested on cx; M, N → ∞; noiseless.",
        erratum_class="misprint",
        remark=(
            "In our copy w is missing in the middle term of the display, and in the"
            " set-up of the section test functions come from D^train."
        ),
        credit=(
            "in the displays for noisy labels and before (4.8), which have w, and in"
            " the list of shifts, which compares D^train with D^test."
        ),
        formula=(
            r"\hat y\to x_q^\top\Lambda^{-1}\Big(\frac1M\sum_ix_ix_i^\top\Big)w"
            r"\to c^2\langle w,x_q\rangle"
        ),
    ),
    Entry(
        "zhang2023/theorem-4.5",
        "claim",
        "Theorem 4.5, (4.11)–(4.12)",
        "When every prompt draws its own diagonal covariance, gradient flow"
        " from a small balanced start ends at u₋₁U₁₁ = [E Γ_τΛ_τ²]⁻¹ E Λ_τ², a"
        " global minimum of the population loss, with the two factors balanced.",
        hypotheses=(
            "Λ_τ diagonal with independent positive entries that have three"
            " moments; Assumption 3.3; σ² < 2‖E Λ_τΘ‖_F² / (√d E‖Γ_τ‖‖Λ_τ‖_F²)."
            " Also run beyond them: entries that depend, with the same limit, and full"
            " Λ_τ, where u₋₁U₁₁ tends to the B of E[Γ_τΛ_τBΛ_τ] = E Λ_τ²"
        ),
        formula=(
            r"u_{-1}U_{11}\to\left[\mathbb{E}\,\Gamma_\tau\Lambda_\tau^2\right]^{-1}"
            r"\,\mathbb{E}\,\Lambda_\tau^2"
        ),
    ),
    Entry(
        "zhang2023/equation-4.13",
        "claim",
        "(4.13) and the displays after it",
        "For M, N → ∞ the mean of the trained model's prediction, given x_q and w, is"
        " Σᵢ (E λᵢ² E λᵢ / E λᵢ³) xᵢwᵢ: a third of the truth when the entries are"
        " Exponential(1).",
        hypotheses=(
            "Training as in Theorem 4.5; examples and query from N(0, Λ_new), and"
            " Λ_new from the law of training."
        ),
        erratum_class="hypothesis",
        quote="E[ŷ_query | x_query, w]",
        erratum=(
            "A query from N(0, Λ_new) tells something about Λ_new, which the mean given"
            " x_q has to use: for Exponential(1) coordinate i gets the factor (1 +"
            " √2|xᵢ|)/6«, measured as {near:.2f} at xᵢ = 0.1, {one:.2f} at 1 and"
            " {far:.2f} at 4», and not 1/3. What the section concludes from it, that"
            " the model fails, stands with either."
        ),
        correction=(
            "It is the mean over new covariances at a query that is held fixed, or is"
            " independent of Λ_new."
        ),
        counterexample=(
            "d = 1 and λ = 1 or 4, each with probability 1/2: E λ = 5/2, E λ² = 17/2,"
            " E λ³ = 65/2, and the printed factor is (17/2)(5/2)/(65/2) = 17/26. As x_q"
            " → 0 the densities of x_q given λ are as λ^{-1/2}, 1 to 1/2, so that λ is"
            " 1 with probability 2/3 given such a query, E[λ | x_q] → 2, and the factor"
            " is 2·(17/2)/(65/2) = 34/65."
        ),
        formula=(
            r"\mathbb{E}\,\hat y\to\sum_i\frac{\mathbb{E}\lambda_i^2\;\mathbb{E}"
            r"\lambda_i}{\mathbb{E}\lambda_i^3}\,x_iw_i"
        ),
    ),
    Entry(
        "zhang2023/figure-1",
        "figure",
        "Figure 1, Section 4.3 and Appendix E",
        "GPT-2 trained on prompts with fixed covariance survives random covariances"
        " at c = 1. At c = 4 and 9 training on random covariances is better. On the law"
        " of its training a model's error jumps past the training length, unless it has"
        " no positional encoding. Two sentences of the paper are not seen in the small"
        " models of desk scale«: fixed training leaves as little as"
        " {unsuccessful_4:.0%} and {unsuccessful_9:.0%} of the zero predictor's error"
        " at c = 4 and 9, where the text has it unsuccessful, and the spike is only"
        " {least_spike:.1f}-fold in one panel¦: how much fixed training fails at c = 4"
        " and 9, and a spike in every panel». Their sizes and training are not the"
        " paper's, and decide nothing.",
        hypotheses=(
            "y = ⟨w, x⟩, w ~ N(0, I); x ~ N(0, I) or N(0, c·diag(λ)), λᵢ ~"
            " Exponential(1). The paper: d = 20, N = 40, 70, 100, 12 layers; desk"
            " scale: d = 5, N = 10, 18, 26, 3 layers."
        ),
    ),
    Entry(
        "zhang2023/figure-1-lsa-limit",
        "claim",
        "Figure 1, black dashed line",
        "For M, N → ∞ and test covariances c·diag(λ), λᵢ ~ Exponential(1),"
        " linear attention trained on the same law at c = 1 has error c(2c²/3 −"
        " 4c/3 + 1) per dimension (1/3, 76/3, 387 for c = 1, 4, 9), and trained"
        " on the identity c(6c² − 4c + 1).",
        hypotheses=(
            "y = ⟨w, x⟩, w ~ N(0, I); the query has the prompt's own covariance"
        ),
        formula=r"\frac1d\,\mathbb{E}(\hat y-y)^2\to c\Big(\frac23c^2-\frac43c+1\Big)",
    ),
    Entry(
        "zhang2023/lemma-5.1",
        "claim",
        "Lemma 5.1, (5.1)",
        "The prediction is a quadratic form in the weights: ŷ = uᵀHu with H = ½"
        " X ⊗ (EEᵀ/N), X = (0 x_q; x_qᵀ 0) and u = Vec(U), U = (U₁₁ u₁₂; u₂₁ᵀ"
        " u₋₁) read column by column.",
        hypotheses="Any prompt; U₁₁, u₂₁ from W_KQ and u₁₂, u₋₁ from W_PV.",
        formula=(
            r"\hat y=u^\top Hu,\qquad H=\frac12\,X\otimes\frac{EE^\top}{N},\qquad X"
            r"=\begin{pmatrix}0&x_q\\x_q^\top&0\end{pmatrix}"
        ),
    ),
    Entry(
        "zhang2023/section-5.1-determinant",
        "claim",
        "Section 5.1, display before Section 5.2",
        "det(μI − X) = μ^{d−1}(μ² − ‖x_q‖²), so X has exactly one negative eigenvalue.",
        hypotheses="x_q ≠ 0.",
        formula=r"\det(\mu I-X)=\mu^{d-1}\big(\mu^2-{\lVert x_q\rVert}^2\big)",
    ),
    Entry(
        "zhang2023/section-5.1-sign-count",
        "claim",
        "Section 5.1, last sentence",
        "H has at least d + 1 negative eigenvalues, so uᵀHu is not convex.",
        hypotheses="Almost every prompt.",
        erratum_class="hypothesis",
        erratum=(
            "Right for N ≥ d, which is not said. Prompts with fewer examples than"
            " dimensions leave EEᵀ without full rank«: d = 3, N = 2 gives {short:d}"
            " negative eigenvalues, not 4»."
        ),
        correction=(
            "H has exactly rank(E) = min(d, N) + 1 negative eigenvalues for almost"
            " every prompt; at least two, so the form is still not convex."
        ),
        quote="at least d + 1 negative eigenvalues",
        counterexample=(
            "d = 2, N = 1, x₁ = w = (1, 0), y₁ = 1, x_q = (0, 1): EEᵀ has rows (1, 0,"
            " 1), (0, 1, 0), (1, 0, 1) and eigenvalues 2, 1, 0; X has 1, 0, −1. Of the"
            " products over 2, those of H, only −1 and −1/2 are negative: 2 of them,"
            " not 3."
        ),
        credit=(
            "in the argument before, which needs only one negative eigenvalue and has"
            " it."
        ),
        formula=(
            r"\#\{\text{negative eigenvalues of }H\}=\operatorname{rank}E=\min(d,N)+1"
        ),
    ),
    Entry(
        "zhang2023/lemma-5.2",
        "claim",
        "Lemma 5.2, (5.4)",
        "Gradient flow moves only two blocks of the weights: dU₁₁/dt ="
        " −u₋₁²ΓΛU₁₁Λ + u₋₁Λ² and du₋₁/dt = −tr[u₋₁ΓΛU₁₁ΛU₁₁ᵀ − Λ²U₁₁ᵀ], while"
        " u₁₂ and u₂₁ stay zero.",
        hypotheses="a start with u₁₂ = u₂₁ = 0, such as Assumption 3.3",
        erratum_class="misprint",
        remark=(
            "Letters of the proof, in our copy: step four ends a sum over i and j with"
            " Λ_k where Λ_l is meant, step five has Λ for Λ_j under a mean, and a wᵀ of"
            " EEᵀ/N is without its transpose."
        ),
        credit="in the lines after each of them, which have the right ones.",
        formula=(
            r"\begin{align*}\dot U_{11}&=-u_{-1}^2\Gamma\Lambda U_{11}\Lambda+u_{-1}"
            r"\Lambda^2\\ \dot u_{-1}&=-\operatorname{tr}\big[u_{-1}\Gamma\Lambda "
            r"U_{11}\Lambda U_{11}^\top-\Lambda^2U_{11}^\top\big]\end{align*}"
        ),
    ),
    Entry(
        "zhang2023/lemma-5.3",
        "claim",
        "Lemma 5.3, (5.6)",
        "At every global minimum of ℓ̃, u₋₁U₁₁ = Γ⁻¹.",
        hypotheses="Λ > 0",
        formula=r"u_{-1}U_{11}=\Gamma^{-1}",
    ),
    Entry(
        "zhang2023/lemma-5.4",
        "claim",
        "Lemma 5.4, (5.7)–(5.8)",
        "Along the flow ‖∇ℓ̃‖² ≥ μ(ℓ̃ − min ℓ̃), so that ℓ̃ − min ℓ̃ shrinks at"
        " least like e^{−μt}, with μ = σ²‖ΛΘ‖²_F [2 − √d σ²‖Γ‖] / (√d ‖Λ‖²"
        " tr(Γ⁻¹Λ⁻¹) tr(Λ⁻¹)).",
        hypotheses="Assumption 3.3 with σ² < 2/(√d‖Γ‖)",
        erratum_class="misprint",
        remark=(
            "In (A.15), in our copy, ‖Λ‖² stands beside the fraction and not below it."
        ),
        credit="in (A.14), from which it comes, and in (5.7).",
        formula=(
            r"{\lVert\nabla\tilde\ell\rVert}^2\ge\mu\,(\tilde\ell-\min\tilde\ell),"
            r"\qquad\mu=\frac{\sigma^2{\lVert\Lambda\Theta\rVert}_F^2\,\big[2-\sqrt "
            r"d\,\sigma^2\lVert\Gamma\rVert\big]}{\sqrt d\,{\lVert\Lambda\rVert}^2"
            r"\operatorname{tr}(\Gamma^{-1}\Lambda^{-1})\operatorname{tr}("
            r"\Lambda^{-1})}"
        ),
    ),
    Entry(
        "zhang2023/equation-5.9",
        "claim",
        "Lemma 5.4, (5.9)",
        "As t → ∞, u₋₁ → ‖Γ⁻¹‖_F^{1/2} and U₁₁ → ‖Γ⁻¹‖_F^{-1/2} Γ⁻¹, whatever Θ and σ.",
        hypotheses="Assumption 3.3 with σ² < 2/(√d‖Γ‖)",
        formula=(
            r"u_{-1}\to{\lVert\Gamma^{-1}\rVert}_F^{1/2},\qquad U_{11}\to{"
            r"\lVert\Gamma^{-1}\rVert}_F^{-1/2}\,\Gamma^{-1}"
        ),
    ),
    Entry(
        "zhang2023/equation-a.1",
        "claim",
        "(A.1), proof of Lemma 5.2",
        "With u = Vec(U) and the forms H of Lemma 5.1, gradient flow is du/dt ="
        " −2E(⟨H, uuᵀ⟩H)u + 2E(wᵀx_q H)u, for all weights.",
        hypotheses="y = ⟨w, x⟩, w ~ N(0, I), x ~ N(0, Λ)",
        formula=(
            r"\dot u=-2\,\mathbb{E}\big(\langle H,uu^\top\rangle H\big)u"
            r"+2\,\mathbb{E}\big(w^\top x_q\,H\big)u"
        ),
    ),
    Entry(
        "zhang2023/equation-a.3",
        "claim",
        "(A.3)–(A.4), proof of Lemma 5.2",
        "E[wᵀx_q H] = ½(0 A; Aᵀ 0), where A is the column of blocks V_j + V_jᵀ"
        " and V_j = (0 ΛΛ_j; 0 0) with Λ_j the j-th column of Λ.",
        hypotheses="w ~ N(0, I), independent of x ~ N(0, Λ)",
        formula=(
            r"\mathbb{E}[w^\top x_q\,H]=\frac12{\begin{pmatrix}0&A\\"
            r"A^\top&0\end{pmatrix}},\quad A={\begin{pmatrix}V_1+V_1^\top\\"
            r"\vdots\\V_d+V_d^\top\end{pmatrix}},\quad V_j={"
            r"\begin{pmatrix}0&\Lambda\Lambda_j\\0&0\end{pmatrix}}"
        ),
    ),
    Entry(
        "zhang2023/sample-covariance-square",
        "claim",
        "Display before (A.7), proof of Lemma 5.2",
        "The second moment Λ̂ of N inputs satisfies E[Λ̂²] = (1 + 1/N)Λ² +"
        " tr(Λ)Λ/N = ΓΛ.",
        hypotheses="inputs independent, x ~ N(0, Λ)",
        formula=(
            r"\mathbb{E}\,\hat\Lambda^2=\Big(1+\frac1N\Big)\Lambda^2+"
            r"\frac{\operatorname{tr}\Lambda}{N}\Lambda=\Gamma\Lambda"
        ),
    ),
    Entry(
        "zhang2023/lemma-a.1",
        "claim",
        "Lemma A.1, (5.5), (A.11)",
        "From a start with u₁₂ = u₂₁ = 0, gradient flow on the loss L is gradient"
        " flow on ℓ̃(U₁₁, u₋₁) = tr[½u₋₁²ΓΛU₁₁ΛU₁₁ᵀ − u₋₁Λ²U₁₁ᵀ].",
        hypotheses="Assumption 3.3",
        erratum_class="wording",
        quote="plus some constants that do not depend on the parameter u",
        remark=(
            "The remarks after (5.5) and (A.11) call ℓ̃ the loss up to a constant. It"
            " is, tr(Λ)/2, where u₁₂ = u₂₁ = 0; for other u₁₂ and u₂₁ the loss changes"
            " in general and ℓ̃, which does not know them, does not."
        ),
        credit=(
            "in Lemma 5.2, which keeps the flow where u₁₂ = u₂₁ = 0, and in the lemma"
            " itself, which speaks of U₁₁ and u₋₁."
        ),
        formula=(
            r"\tilde\ell=\operatorname{tr}\Big[\frac12u_{-1}^2\Gamma\Lambda U_{11}"
            r"\Lambda U_{11}^\top-u_{-1}\Lambda^2U_{11}^\top\Big],\qquad L=\tilde\ell+"
            r"\frac{\operatorname{tr}\Lambda}{2}\;\text{ where }u_{12}=u_{21}=0"
        ),
    ),
    Entry(
        "zhang2023/corollary-a.2",
        "claim",
        "Corollary A.2 and its proof",
        "min ℓ̃ = −½tr(Λ²Γ⁻¹), and ℓ̃ − min ℓ̃ = ½‖Γ^{1/2}(u₋₁Λ^{1/2}U₁₁Λ^{1/2} −"
        " ΛΓ⁻¹)‖²_F.",
        hypotheses="none: an identity in U₁₁ and u₋₁",
        erratum_class="misprint",
        remark=(
            "Two lines of the proof, as printed in our copy, are not 2ℓ̃: −u₋₁tr[a − b]"
            " for the equal cross terms a = ΓΛΓ⁻¹Λ^{1/2}U₁₁Λ^{1/2} and b ="
            " ΓΛ^{1/2}U₁₁Λ^{3/2}Γ⁻¹, which add up, and −2u₋₁tr[Λ²U₁₁Λ^{1/2}], where a"
            " factor Λ^{1/2} is left over. They read −u₋₁tr[a + b] and −2u₋₁tr[Λ²U₁₁]."
        ),
        credit="in the line before the two.",
        formula=(
            r"\tilde\ell-\min\tilde\ell=\frac12{\lVert\Gamma^{1/2}\big(u_{-1}\Lambda"
            r"^{1/2}U_{11}\Lambda^{1/2}-\Lambda\Gamma^{-1}\big)\rVert}_F^2,"
            r"\qquad\min\tilde\ell=-\frac12\operatorname{tr}(\Lambda^2\Gamma^{-1})"
        ),
    ),
    Entry(
        "zhang2023/lemma-a.3",
        "claim",
        "Lemma A.3, (A.12)",
        "u₋₁² = ‖U₁₁‖²_F at all times of the flow.",
        hypotheses="Assumption 3.3, which makes it true at the start",
        formula=r"u_{-1}^2={\lVert U_{11}\rVert}_F^2",
    ),
    Entry(
        "zhang2023/lemma-a.4",
        "claim",
        "Lemma A.4, (A.13)",
        "From a balanced start with 0 < σ < (2/(√d‖Γ‖))^{1/2}, ℓ̃ is negative"
        " at the start and u₋₁ stays positive at all times.",
        hypotheses="Assumption 3.3",
        formula=(
            r"0<\sigma^2<\frac{2}{\sqrt d\,\lVert\Gamma\rVert}\quad"
            r"\Longrightarrow\quad\tilde\ell(0)<0,\quad u_{-1}(t)>0"
        ),
    ),
    Entry(
        "zhang2023/lemma-a.5",
        "claim",
        "Lemma A.5, (A.14)",
        "At all times u₋₁ ≥ (σ²‖ΛΘ‖²_F [2 − √d σ²‖Γ‖] / (2√d ‖Λ‖²))^{1/2} > 0.",
        hypotheses="Assumption 3.3 with σ² < 2/(√d‖Γ‖)",
        formula=(
            r"u_{-1}^2\ge\frac{\sigma^2{\lVert\Lambda\Theta\rVert}_F^2\,\big[2-\sqrt "
            r"d\,\sigma^2\lVert\Gamma\rVert\big]}{2\sqrt d\,{\lVert\Lambda\rVert}^2}>0"
        ),
    ),
    Entry(
        "zhang2023/lemma-c.1",
        "claim",
        "Lemma C.1, (C.1)–(C.2)",
        "With random covariances of any law the flow is U̇₁₁ = −u₋₁²E[Γ_τΛ_τU₁₁Λ_τ]"
        " + u₋₁E Λ_τ², u̇₋₁ = −u₋₁ tr E[Γ_τΛ_τU₁₁Λ_τU₁₁ᵀ] + tr(E[Λ_τ²]U₁₁ᵀ), and"
        " u₁₂ = u₂₁ = 0 stays.",
        hypotheses="Assumption 3.3; Λ_τ positive definite with three moments",
        formula=(
            r"\begin{align*}\dot U_{11}&=-u_{-1}^2\,\mathbb{E}[\Gamma_\tau\Lambda_\tau"
            r" U_{11}\Lambda_\tau]+u_{-1}\mathbb{E}\Lambda_\tau^2,\\ \dot u_{-1}&="
            r"-u_{-1}\operatorname{tr}\mathbb{E}[\Gamma_\tau\Lambda_\tau U_{11}"
            r"\Lambda_\tau U_{11}^\top]+\operatorname{tr}(\mathbb{E}[\Lambda_\tau^2]"
            r"U_{11}^\top)\end{align*}"
        ),
    ),
    Entry(
        "zhang2023/corollary-c.2",
        "claim",
        "Corollary C.2, (C.3)–(C.4)",
        "With random diagonal covariances the flow is u̇ᵢᵢ = −γᵢu₋₁²uᵢᵢ +"
        " ξᵢu₋₁, u̇ᵢⱼ = −ζᵢⱼu₋₁²uᵢⱼ, u̇₋₁ = −u₋₁(Σγᵢuᵢᵢ² + Σζᵢⱼuᵢⱼ²) + Σξᵢuᵢᵢ,"
        " with γ, ξ, ζ from the first three moments, independent entries or not.",
        hypotheses="Assumption 3.3; Λ_τ diagonal, positive, with three moments",
        formula=(
            r"\begin{align*}\dot u_{ii}&=-\gamma_iu_{-1}^2u_{ii}+\xi_iu_{-1},"
            r"\qquad\dot u_{ij}=-\zeta_{ij}u_{-1}^2u_{ij},\\ "
            r"\dot u_{-1}&=-u_{-1}\Big(\sum_i\gamma_iu_{ii}^2+"
            r"\sum_{i\ne j}\zeta_{ij}u_{ij}^2\Big)+\sum_i\xi_iu_{ii}\end{align*}"
        ),
    ),
    Entry(
        "zhang2023/lemma-c.3",
        "claim",
        "Lemmas C.3 and C.4, (C.5)–(C.8)",
        "That flow is gradient flow on ℓ_rdm = ½u₋₁²(Σγᵢuᵢᵢ² + Σζᵢⱼuᵢⱼ²) −"
        " u₋₁Σξᵢuᵢᵢ, whose minimum is −½Σξᵢ²/γᵢ, attained exactly where u₋₁U₁₁"
        " = diag(ξᵢ/γᵢ); the gap to it is a sum of squares.",
        hypotheses="as Corollary C.2; u₁₂ = u₂₁ = 0",
        formula=(
            r"\ell_{\mathrm{rdm}}=\frac12u_{-1}^2\Big(\sum_i\gamma_iu_{ii}^2+"
            r"\sum_{i\ne j}\zeta_{ij}u_{ij}^2\Big)-u_{-1}\sum_i\xi_iu_{ii},"
            r"\qquad\min\ell_{\mathrm{rdm}}=-\frac12\sum_i\frac{\xi_i^2}{\gamma_i}"
        ),
    ),
    Entry(
        "zhang2023/lemma-c.5",
        "claim",
        "Lemma C.5, (C.9)",
        "u₋₁² = ‖U₁₁‖_F² along the whole flow on random covariances.",
        hypotheses="Assumption 3.3",
        formula=r"u_{-1}^2={\lVert U_{11}\rVert}_F^2",
    ),
    Entry(
        "zhang2023/lemma-c.6",
        "claim",
        "Lemma C.6, (C.10)–(C.11), and its proof",
        "If σ² < 2‖E Λ_τΘ‖_F² / (√d E‖Γ_τ‖‖Λ_τ‖_F²), then u₋₁ > 0 for all time.",
        hypotheses="Assumption 3.3, E Λ_τΘ ≠ 0",
        erratum_class="false",
        quote="From the property of trace, we know",
        remark=(
            "A step of the proof is false, E tr(Λ_τ²ΘΘᵀ) = ‖E Λ_τΘ‖_F² as printed in"
            " our copy: for Exponential(1) entries E λ² = 2 and (E λ)² = 1, so that the"
            " left side is twice the right«, {left:.2f} against {right:.2f} for the Θ"
            " of the run». The left side is E‖Λ_τΘ‖_F², which is at least the right by"
            " Jensen: the slip goes the safe way, and the lemma, (C.12), (C.13) and"
            " Theorem 4.5 stand. u₋₁ > 0 even under σ² < 2E‖Λ_τΘ‖_F² / (√d"
            " E‖Γ_τ‖‖Λ_τ‖_F²). The proof also starts from U₁₁(0) = ΘΘᵀ without its σ."
        ),
        credit="in the next display, which has the σ.",
        counterexample=(
            "The step, d = 1, Θ = 1 and λ = 1 or 3, each with probability 1/2: E λ² ="
            " 5, and (E λ)² = 4."
        ),
        formula=(
            r"\sigma^2<\frac{2\,\mathbb{E}{\lVert\Lambda_\tau\Theta\rVert}_F^2}{"
            r"\sqrt d\;\mathbb{E}\lVert\Gamma_\tau\rVert{"
            r"\lVert\Lambda_\tau\rVert}_F^2}\quad\Longrightarrow\quad u_{-1}(t)>0"
        ),
    ),
    Entry(
        "zhang2023/lemma-c.7",
        "claim",
        "Lemma C.7, (C.12)",
        "Along the flow u₋₁² ≥ σ²[2‖E Λ_τΘ‖_F² − √dσ²E‖Γ_τ‖‖Λ_τ‖_F²] / (2√d‖E Λ_τ²‖).",
        hypotheses="Assumption 3.3 and (C.10)",
        erratum_class="misprint",
        remark=(
            "The proof cites Lemma D.1 for traces and products of semi-definite"
            " matrices; they are in Lemma D.4. The proof of Lemma C.5 has Lemma 5.2 for"
            " (C.1), which is Lemma C.1."
        ),
        credit="in the proof of Lemma A.5, which cites Lemma D.4.",
        formula=(
            r"u_{-1}^2\ge\frac{\sigma^2\big[2{\lVert\mathbb{E}\,\Lambda_\tau\Theta"
            r"\rVert}_F^2-\sqrt d\,\sigma^2\,\mathbb{E}"
            r"\lVert\Gamma_\tau\rVert{\lVert\Lambda_\tau\rVert}_F^2\big]}{2\sqrt d\,"
            r"\lVert\mathbb{E}\,\Lambda_\tau^2\rVert}"
        ),
    ),
    Entry(
        "zhang2023/lemma-c.8",
        "claim",
        "Lemma C.8, (C.13)–(C.14)",
        "Along the flow ‖∇ℓ_rdm‖² ≥ ν(ℓ_rdm − min ℓ_rdm), where ν is min{γᵢ,"
        " ζᵢⱼ} times the bound of Lemma C.7 on u₋₁², so the gap decays at least"
        " like e^{−νt}.",
        hypotheses="Assumption 3.3 and (C.10)",
        formula=(
            r"{\lVert\nabla\ell_{\mathrm{rdm}}\rVert}^2"
            r"\ge\nu\,(\ell_{\mathrm{rdm}}-\min\ell_{\mathrm{rdm}})"
        ),
    ),
    Entry(
        "zhang2023/equation-c.15",
        "claim",
        "Lemma C.8, (C.15)",
        "The flow on random covariances ends at u₋₁ = [Σξᵢ²/γᵢ²]^{1/4} and uᵢᵢ ="
        " [Σξⱼ²/γⱼ²]^{−1/4} ξᵢ/γᵢ.",
        hypotheses="Assumption 3.3 and (C.10)",
        erratum_class="misprint",
        remark=(
            "The limit of u₋₁ lacks the square in our copy; without it u₋₁² = ‖U₁₁‖_F²"
            " (Lemma C.5) would fail, and the flow ends elsewhere«, by {off:.2f} at the"
            " most»."
        ),
        credit="in (4.12), in the display after (C.15) and in (C.17) of the proof.",
        formula=(
            r"u_{-1}\to\left[\sum_i\frac{\xi_i^2}{\gamma_i^2}\right]^{1/4},"
            r"\qquad u_{ii}\to\left[\sum_j\frac{\xi_j^2}{\gamma_j^2}\right]^{-1/4}"
            r"\frac{\xi_i}{\gamma_i}"
        ),
    ),
    Entry(
        "zhang2023/lemmas-d",
        "claim",
        "Lemmas D.1–D.4",
        "Rules of matrix calculus and vectorisation; E[xxᵀAxxᵀ] = Λ(A + Aᵀ)Λ +"
        " tr(AΛ)Λ; tr(UᵀV) ≤ Σσᵢ(U)σᵢ(V) ≤ ‖U‖Σσᵢ(V) ≤ √d‖U‖‖V‖_F; and for"
        " semi-definite A, B: tr(AB) ≥ 0, and AB ⪰ 0 if and only if AB = BA.",
        hypotheses=(
            "x ~ N(0, Λ); U, V ∈ ℝ^{d×n} with d ≤ n; ⪰ 0 means symmetric and"
            " semi-definite (without symmetry the last equivalence is false)."
        ),
        formula=(
            r"\mathbb{E}[xx^\top Axx^\top]=\Lambda(A+A^\top)\Lambda"
            r"+\operatorname{tr}(A\Lambda)\,\Lambda"
        ),
    ),
)
