"""Table of contents of yang2024, in the paper's order."""

from iclab.evidence import Entry, Paper

PAPER = Paper(
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
)

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "yang2024/equation-1-noise",
        "claim",
        "(1); Appendix D.3, text after (77)",
        "Labels are y_k = λᵀ(f(v_k) + ε_k) with ε_k ~ N(0, τI), so that E‖ε^Pâ_k −"
        " ε_k‖² = mτ(‖â_k‖² + 1) − 2mτâ_kk 1{k ≤ N}, (77).",
        hypotheses="E λλᵀ = I; any weights",
        quote="ε_k i.i.d. ∼ N(0, τ²I_m)",
        erratum_class="misprint",
        remark=(
            "After (77) the noise is N(0, τ²I). (77), and Lemma 5 with it, belong to"
            " the variance τ: with τ² in its place and τ = 1/2, the errors of a random"
            " model on sampled tasks are smaller than (77) gives them«, by {least:.0%}"
            " to {most:.0%}»."
        ),
        credit="in (1), where τ is the variance.",
        formula=(
            r"\mathbb{E}(\hat y_k-y_k)^2=\lVert Z\hat a_k-z_k\rVert^2+m\tau(\lVert\hat"
            r" a_k\rVert^2+1-2\hat a_{kk}1\{k\le N\})"
        ),
    ),
    Entry(
        "yang2024/equation-8",
        "claim",
        "(8), from (5)–(7)",
        "The diagonal of the attention map T(E) predicts the label of token k by"
        " the shown labels, weighted with the heads' attention to the shown"
        " tokens, summed with weights w_{h,k}.",
        hypotheses="W_O, W_V, W_K and W_Q as in (7); softmax of every column",
        formula=(
            r"\hat y_k=\left\langle y,\sum_{h=1}^Hw_{h,k}\operatorname{softmax}(V^\top"
            r" Q_hv_k)\right\rangle"
        ),
    ),
    Entry(
        "yang2024/equation-15",
        "claim",
        "(15), from (46)–(48) with (44)",
        "γ = √(η_w/η_Q) has to be at least a multiple of ζ₀^{−5/4}, so that (48)"
        " holds: no B_k moves far enough to lose half of its least eigenvalue. The"
        " constant is exactly the one that (48) needs.",
        hypotheses="Assumptions 1 and 2, w⁽⁰⁾ = 0, tokens of norm 1",
        formula=(
            r"\gamma\ge\zeta_0^{-5/4}\Big(\frac{128\sqrt2}{\sqrt2-1}\lVert\bar Z\rVert"
            r"_2^2\sqrt H\,\bar f_{\max}K^{3/2}\Delta^{(0)}\Big)^{1/2}"
        ),
    ),
    Entry(
        "yang2024/equation-17",
        "claim",
        "(17) and its footnote",
        "The constant L of (17), with which the learning rates are set, is a"
        " simpler and looser form of the smoothness constant (61).",
        hypotheses="α as in (44), γ as in (15), tokens of norm 1, features of size one",
        quote="a tighter, but more complicated, expression of L",
        erratum_class="constant",
        remark=(
            "(17) drops max{1, ·} of (61), which is 1 unless K is much larger than N:"
            " with features of size 0.1 it is«¦ a little» below (61)«, by {first:.1%}»."
            " In our copy ‖Z̄‖ in its bracket is squared; only the first power has the"
            " right units«, and the square would make that {squared:.0%}». (17) also"
            " inherits the missing square of (61)."
        ),
        formula=(
            r"L^2=b^2\lVert\bar Z\rVert^4\Big(\frac{8\gamma^2}K+\frac{4096K^2N\Delta"
            r"^{(0)}}{\gamma\zeta_0^2}\Big)+2H^2\lVert\bar Z\rVert^4\Big(\frac{\gamma"
            r"^4}{K^2}+\frac{16384K^3\lVert\bar Z\rVert^2(\Delta^{(0)})^2}{\gamma"
            r"\zeta_0^4}\Big),\quad b=\frac{8\sqrt{2K}H\lVert\bar Z\rVert\sqrt{\Delta"
            r"^{(0)}}}{\zeta_0}+1+\frac{\lVert Z^\top\hat Z\rVert}{m\tau}"
        ),
    ),
    Entry(
        "yang2024/proposition-1",
        "claim",
        "Proposition 1, Assumptions 2 and 3; proof in Appendix D.1",
        "With at least as many heads as labels, H ≥ N, and Q_h drawn with"
        " independent entries N(0, β²), every B_k = Z̄C_k has full row rank almost"
        " surely. With fewer heads the rank is H.",
        hypotheses=(
            "Assumption 3: the shown tokens differ in some coordinate. Tokens that are"
            " merely different are enough: the corners of a square, which Assumption 3"
            " excludes, have full rank too"
        ),
        erratum_class="misprint",
        remark=(
            "In Appendix D.1 Ã is N×(N − 1), where the domain of the integral in our"
            " copy is that of N×(m − 1) matrices."
        ),
        formula=r"\operatorname{rank}\bar ZC_k=N\quad\text{for all }k",
    ),
    Entry(
        "yang2024/theorem-1",
        "claim",
        "Theorem 1, (18); proof in Appendix B, (64)",
        "Gradient descent from w = 0 with η_Q = 1/L and η_w = γ²/L brings the loss to"
        " its infimum at a linear rate, and (64) says so of every single step, also"
        " with a tenth of that η_Q and with γ up to ten times (15), from starts as"
        " they come, N = 2 to 5 and H = N to 3N. Along real descents the slowest step"
        " shrinks the gap four times as fast as guaranteed, and in the end exactly so:"
        " only w moves, while Q changes by less than 10⁻⁶.",
        hypotheses="Assumptions 1 and 2, the rates (15)–(17), tokens of norm 1",
        formula=(
            r"L(\theta^{(t)})-L^\star\le\Big(1-\frac{\eta_w\zeta_0}{2K}\Big)^t\big(L("
            r"\theta^{(0)})-L^\star\big)"
        ),
    ),
    Entry(
        "yang2024/section-3.1-dictionary",
        "claim",
        "Section 3.1, text after Theorem 1",
        "By (18), convergence is slower with a larger dictionary: K stands there, and"
        " ζ₀ is the least over its tokens. From every start the guarantee falls as"
        " tokens are added, but less than the K of (18) alone would have it, since γ"
        " and L have K as well.",
        hypotheses="γ as small as (15) allows, L of (17); checked with N = 3",
        formula=(
            r"\frac{\eta_w\zeta_0}{2K}=\frac{\gamma^2\zeta_0}{2KL}\text{ falls with }K"
        ),
    ),
    Entry(
        "yang2024/section-3.3-heads",
        "claim",
        "After Theorem 1, and Section 3.3",
        "By (18), convergence is slower with more heads, and one should not set H"
        " too large.",
        hypotheses="H ≥ N, Q_h with independent Gaussian entries; checked with N = 3",
        quote="larger H yields slower convergence rate",
        erratum_class="wording",
        erratum=(
            "From H = N on it is first the other way. As long as ζ₀ and γ stay, it is"
            " slower: H stands in L. But ζ₀ grows with H as well, and faster«: the"
            " median rate that (18) guarantees, with γ as small as (15) allows, rises"
            " {rise:.0f}-fold from H = N = 3 to H = {most:d}». For very many heads it"
            " falls again, as the text says«: to {fall:.0%} of that by H = {last:d}»."
            " All this is about the guarantee, not about training time."
        ),
        correction=(
            "With the γ of (15) some H between is best: ζ₀ grows like H once H ≫ N, and"
            " then the rate falls like H^{−1/2}. (15) only bounds γ from below, and the"
            " guarantee improves as γ grows, up to ζ₀/(2√2H‖Z̄‖²), whose mean over"
            " starts never falls with H: ζ₀/H is the least eigenvalue of a mean of H"
            " independent matrices, a concave function."
        ),
        formula=(
            r"\sup_\gamma\frac{\eta_w\zeta_0}{2K}=\frac{\zeta_0}{2\sqrt2H\lVert\bar Z"
            r"\rVert_2^2},\qquad\mathbb E\frac{\zeta_0(H+1)}{H+1}\ge\mathbb E\frac{\ze"
            r"ta_0(H)}H"
        ),
    ),
    Entry(
        "yang2024/theorem-2",
        "claim",
        "Theorem 2, (21), (22)",
        "After T steps of (21) the model copies the labels that it is shown and"
        " predicts the others by ridge regression with penalty mτ, up to ε, for"
        " all but a part δ of the prompts with ‖λ‖ ≤ B. In the descents that were"
        " run a tenth of T is about enough.",
        hypotheses="as in Theorem 1; ‖λ‖ ≤ B, any such λ",
        formula=(
            r"\frac1{2K}\lVert\hat y-\hat y^\star\rVert_2^2\le\varepsilon,\qquad\hat y"
            r"^\star=\begin{pmatrix}y\\(Z^Q)^\top\hat\lambda\end{pmatrix}"
        ),
    ),
    Entry(
        "yang2024/ridge-comparison",
        "claim",
        "(20) and (25), text after (25)",
        "Both are ridge regressions, with penalties mτ and Nτ on the sum of"
        " squares; they agree if N = m. For N < m the trained model's coefficients"
        " are the shorter ones, for N > m the longer ones.",
        hypotheses="τ > 0",
        formula=(
            r"\hat\lambda=(ZZ^\top+m\tau I)^{-1}Zy,\qquad\hat\lambda_\tau=(ZZ^\top+N\t"
            r"au I)^{-1}Zy"
        ),
    ),
    Entry(
        "yang2024/equation-23",
        "claim",
        "(23)–(25), text before (23)",
        "The best prediction one could hope for is ŷ^best, ridge regression with"
        " penalty Nτ.",
        hypotheses="E λλᵀ ∝ I, which the paper does not ask for here",
        quote="the best prediction we could hope for",
        erratum_class="wording",
        erratum=(
            "The text does not say over which λ it is best, and for a single one either"
            " penalty may win. Over λ with E λλᵀ ∝ I, as in training and of any size,"
            " ridge regression with penalty mτ, which training finds, has the smaller"
            " expected error unless N = m: «{few_ours:.4g} against {few_theirs:.4g} for"
            " N = {few:d}, and {many_ours:.4g} against {many_theirs:.4g} for N ="
            " {many:d}, with one random table¦by a little». (24) minimises over noise"
            " that is redrawn, while the noise in the labels has variance τ‖λ‖²."
        ),
        correction=(
            "Penalty mτ gives the least expected error of all predictions that are"
            " linear in the labels. Penalty Nτ adds the mean squared distance of the"
            " two predictions, the quantity that Figure 3 shows."
        ),
        counterexample=(
            "m = 1, f(v_k) = 1 for every token and τ = 1, so that y_k = λ(1 + ε_k)."
            " From N = 2 labels penalty mτ predicts (y₁ + y₂)/3, and an unseen label is"
            " missed by λ²·4/3 in the mean of squares; penalty Nτ predicts (y₁ + y₂)/4,"
            " and misses by λ²·11/8, whatever λ is."
        ),
        formula=(
            r"\mathbb E\lVert\hat y^{best}-y\rVert^2=\mathbb E\lVert\hat y^\star-y\rVe"
            r"rt^2+\mathbb E\lVert\hat y^\star-\hat y^{best}\rVert^2"
        ),
    ),
    Entry(
        "yang2024/section-3.2-closer",
        "claim",
        "Section 3.2, list after (25), first item",
        "The closer m is to N, the better are the transformer's predictions.",
        hypotheses="E λλᵀ ∝ I; expected squared error of labels that are not shown",
        quote="the better the transformer’s prediction will be",
        erratum_class="false",
        erratum=(
            "They improve with every label, beyond N = m as well«: by up to"
            " {smaller:.0%}». What is least at N = m is the distance of ŷ* to ŷ_best of"
            " (23), which is 0 there."
        ),
        correction=(
            "The expected error of an unseen label is mτ(1 + zᵀ(ZZᵀ + mτI)⁻¹z), and"
            " every label that is added to Z makes it smaller."
        ),
        counterexample=(
            "m = 1, f(v_k) = 1 for every token and τ = 1, so that y_k = λ(1 + ε_k)."
            " From N = 1 = m label ridge regression (20) predicts y₁/2 and misses an"
            " unseen label by λ²·3/2 in the mean of squares; from N = 2 labels it"
            " predicts (y₁ + y₂)/3 and misses by λ²·4/3. So it is better farther from"
            " m, for every λ."
        ),
        formula=(
            r"\mathbb E(\hat y^\star_k-y_k)^2=m\tau\big(1+z_k^\top(ZZ^\top+m\tau I)^"
            r"{-1}z_k\big),\quad k>N"
        ),
    ),
    Entry(
        "yang2024/section-3.2-list",
        "claim",
        "Section 3.2, list after (25), second and third item",
        "Against (25) the trained model fits shown labels less if N < m, and more if"
        " N > m.",
        hypotheses="E λλᵀ = I; expected squared residual of (20) and of (25)",
        quote="it underestimates the noise level",
        erratum_class="wording",
        remark=(
            "That this is too little or too much depends on (25) being best: over such"
            " λ it is not, and for N > m the shorter penalty mτ belongs to the noise"
            " that labels have, λᵀε of variance τ‖λ‖²."
        ),
        formula=(
            r"\mathbb E\lVert y-Z^\top\hat\lambda_\rho\rVert^2=\sum_{i=1}^N\Big("
            r"\frac\rho{s_i^2+\rho}\Big)^2(s_i^2+m\tau),\quad\rho=m\tau\text{ or }"
            r"N\tau"
        ),
    ),
    Entry(
        "yang2024/lemma-4",
        "claim",
        "Lemma 4, (32); (24) and (25)",
        "For given labels, averaged over fresh noise ε, least squares on the"
        " features f(v_i) + ε_i is ridge regression with penalty (τ/2)‖λ‖², and"
        " (24) and (25) have one minimiser.",
        hypotheses="ε_i ~ N(0, τI), independent of each other and of the labels",
        erratum_class="wording",
        remark=(
            "By (1) ε is also the noise in the labels. If that were meant, the left"
            " side of (32) would be 0 at the true λ, where the right side is τ‖λ‖² on"
            " average."
        ),
        credit="in (24), which writes ε̃ under the expectation, though ε inside.",
        formula=(
            r"\mathbb{E}_{\tilde\epsilon}\frac1{2N}\sum_{i=1}^N(y_i-\lambda^\top(f(v_i"
            r")+\tilde\epsilon_i))^2=\frac1{2N}\sum_{i=1}^N(y_i-\lambda^\top f(v_i))^2"
            r"+\frac\tau2\lVert\lambda\rVert^2"
        ),
    ),
    Entry(
        "yang2024/section-3.3-noiseless",
        "claim",
        "Section 3.3, text before (26), and (26)",
        "Without noise, τ = 0, and with N ≥ m labels A is Z⁺Ẑ with the"
        " pseudoinverse for the inverse, and every label is ⟨y, (Z⁺Ẑ)_k⟩, (26). As"
        " τ → 0, A tends to (I_N, Z⁺Z^Q), by (66): shown labels are copied, and"
        " noiseless labels, which lie in the range of Zᵀ, are predicted alike.",
        hypotheses="Z of rank m, which makes λ unique as the text says",
        quote="In this case, A becomes Z†Ẑ",
        erratum_class="wording",
        remark=(
            "Read as the limit τ → 0, A is not Z⁺Ẑ for N > m: the first N columns are I"
            " in the one and the projection Z⁺Z in the other«, {away:.2f} apart in an"
            " entry for N = 5 and m = 2». For N = m the two agree."
        ),
        formula=r"\lim_{\tau\to0}A=\big(I_N,\;Z^{+}Z^Q\big)",
    ),
    Entry(
        "yang2024/section-3.3-one-head",
        "claim",
        "Section 3.3, on multi-head attention",
        "One head is not enough in general: all entries of its column Â_k have one"
        " sign. Where A has columns of both signs the loss stays above L* by at"
        " least the sum below. With orthogonal tokens that is the infimum: for K ="
        " 3, N = 2 and z₃ = z₁ − z₂ with τ = 1/4 the least gap is 1/9, and"
        " training comes within 0.1 % of it.",
        hypotheses="H = 1; the bound is the infimum if tokens are independent",
        formula=(
            r"\inf_{H=1}L=L^\star+\frac1{2K}\sum_{k=1}^K\min_{c\ge0\text{ or }c\le0}\l"
            r"Vert\bar Z(c-A_{:,k})\rVert_2^2"
        ),
    ),
    Entry(
        "yang2024/figure-2a",
        "figure",
        "Figure 2 (a), Section 4",
        "One layer with 64 heads trained by Adam (N = 30, K = 200, d = 100, m = 20),"
        " on sampled tasks and on the exact population loss: inference losses in and"
        " out of domain fall together, the latter higher; in domain the expectation is"
        " 2(L − L*). On sampled tasks they fall a little more slowly. With tokens of"
        " norm 1 the output comes down to ridge regression. With raw Gaussian tokens,"
        " as in the paper's experiments, attention is one-hot from the start and the"
        " loss stays higher above its infimum«, {higher:.0f}-fold in the run».",
        hypotheses=(
            "Q standard Gaussian and w = 0 at the start, τ = 0.01; float32, a rate of"
            " 0.01 and 400 steps at desk scale."
        ),
    ),
    Entry(
        "yang2024/figure-2b",
        "figure",
        "Figure 2 (b), Section 4",
        "A four-layer transformer trained by Adam on sampled tasks: training loss"
        " and inference losses fall«, in domain to {inside:.1%} of the start, out"
        " of domain to {outside:.0%}», at the reduced sizes of desk scale not at"
        " one rate.",
        hypotheses="Raw Gaussian tokens, τ = 0.01; sizes in the caption.",
    ),
    Entry(
        "yang2024/figure-3",
        "figure",
        "Figure 3, Section 4",
        "The distance of ŷ* to ŷ_best by N, exactly, at m = 100: it is 0 at N = m,"
        " because the penalties mτ and Nτ are the same there. ŷ_best is not the"
        " best: its expected loss is above that of ŷ* by half the distance."
        " Predictions do not improve as N approaches m; they improve with N.",
        hypotheses="Gaussian tables of features, K = 200, τ = 0.01; no training.",
    ),
    Entry(
        "yang2024/figure-4",
        "figure",
        "Figure 4, Section 4",
        "One layer with 1 to 400 heads and raw tokens on sampled tasks: the gap L − L*"
        " of the population stops far away for H < N, as in the paper, and goes on"
        " falling slowly for H = N. With 400 heads it falls first and comes to a"
        " floor, where batches keep Adam's steps alive and 400 heads move a prediction"
        " together: at the rate 0.01 of desk scale it turns round and ends above that"
        " with a hundred heads; at the paper's 10⁻⁴ the floor is low, and it neither"
        " diverges nor spikes by a factor of two. On the exact loss it converges"
        " fastest, and at the rate 0.1 it overshoots at once, which fewer heads hardly"
        " do: the step is the cause. With tokens of norm 1 the gap goes on falling"
        " with fewer heads than N, and only very few stall.",
        hypotheses=(
            "N = 30, K = 200, d = 100, m = 20, τ = 0.01; 10,000 tasks, batches of 256;"
            " Adam, float32, one run a curve; a rate of 0.01 and 200 steps at desk"
            " scale."
        ),
    ),
    Entry(
        "yang2024/figure-5a",
        "figure",
        "Figure 5 (a), Section 4",
        "Last losses of a four-layer transformer by number of heads on equal budgets,"
        " which stand for the paper's 100 seconds. No large H is needed. On equal time,"
        " in which attention maps count, losses rise with H, as in the paper. On equal"
        " floating-point operations a few heads are best and all lie close together«,"
        " within a factor of {spread:.2f}».",
        hypotheses=(
            "Reduced sizes at desk scale, two runs. m = 20 as in Figure 2, where the"
            " text refers to Figure 3, which has m = 100 (`--set feature_dim=100`)."
            " Operations and time by stated formulas; wall clock, the paper's budget,"
            " is an option."
        ),
    ),
    Entry(
        "yang2024/figure-5b",
        "figure",
        "Figure 5 (b), Section 4",
        "Training curves of the same runs, by step and by time: more heads are not"
        " slower by step than one head, but make a step dearer«: in operations alone"
        " {price:.2f} times from one to the most».",
        hypotheses="As in Figure 5 (a).",
    ),
    Entry(
        "yang2024/figure-attention",
        "figure",
        "beyond the paper; Â(θ) of (35) and A of (34)",
        "What trained attention computes: Â(θ) along training next to A, which"
        " copies shown labels and does ridge regression for the others. With"
        " tokens of norm 1 Â becomes A as far as labels can tell. With raw tokens"
        " one-hot heads never look at some pairs of example and token«,"
        " {unseen:.1f} times as many as if they looked at random»; these explain"
        " «{explained:.0%} of ¦most of »what is missing.",
        hypotheses="As in Figure 2 (a), 64 heads.",
    ),
    Entry(
        "yang2024/lemma-1",
        "claim",
        "Lemma 1, (29)",
        "The derivative of the attention s_jk of token k to shown token j, with"
        " respect to the key–query matrix of the head.",
        hypotheses="any tokens and any Q_h",
        formula=(
            r"\frac{\partial s^h_{jk}}{\partial Q_h}=s^h_{jk}\sum_{i=1}^Ns^h_{ik}(v_j-"
            r"v_i)v_k^\top"
        ),
    ),
    Entry(
        "yang2024/lemma-2",
        "claim",
        "Lemma 2, (30)",
        "Softmax moves, in the sum of sizes, by at most twice the largest change of"
        " its scores. The sharp constant is 1: the weights' change is a mean of |h_i −"
        " h̄| over them, and two even weights that part by a little reach it.",
        hypotheses="any two vectors of scores",
        formula=(
            r"\lVert\operatorname{softmax}(\xi_1)-\operatorname{softmax}(\xi_2)\rVert_"
            r"1\le2\lVert\xi_1-\xi_2\rVert_\infty"
        ),
    ),
    Entry(
        "yang2024/lemma-3",
        "claim",
        "Lemma 3, (31)",
        "The square of a sum of l vectors is at most l times the sum of their"
        " squares; equal vectors reach it.",
        hypotheses="any vectors of one length",
        formula=(
            r"\left\lVert\sum_{i=1}^lx_i\right\rVert^2\le l\sum_{i=1}^l\lVert x_i\rVer"
            r"t^2"
        ),
    ),
    Entry(
        "yang2024/equation-33",
        "claim",
        "(33)",
        "δ_k is Σ_h w_{h,k}s^h_k less (ZᵀZ + mτI)⁻¹(Zᵀz_k + mτe_k) for k ≤ N, and"
        " less (ZᵀZ + mτI)⁻¹Zᵀz_k for the other tokens: column k of Â − A, where A"
        " holds the best linear predictors of all labels from the shown ones.",
        hypotheses="E λλᵀ = I, τ > 0",
        erratum_class="misprint",
        remark=(
            "(33) prints z_k for Zᵀz_k, in both lines: z_k has m entries and e_k has N."
            " Where m = N the sum has a meaning and is not the δ_k of Lemma 5«: an"
            " entry is off by {off:.2f} in a problem with m = N = 2»."
        ),
        credit="in (34), (78) and Lemma 5's own L*.",
        formula=(
            r"\delta_k=\sum_{h=1}^Hw_{h,k}s^h_k-(Z^\top Z+m\tau I)^{-1}(Z^\top z_k+m\t"
            r"au e_k1\{k\le N\})"
        ),
    ),
    Entry(
        "yang2024/lemma-5",
        "claim",
        "Lemma 5, (36); Appendix D.3, (79)",
        "The loss is a sum of squares ‖Z̄δ_k‖²/2K and a constant L*, to which"
        " every token adds ‖z_k‖² − c_kᵀ(ZᵀZ + mτI)⁻¹c_k, and every token k ≤ N"
        " also mτ; c_k = Zᵀz_k + mτe_k 1{k ≤ N}.",
        hypotheses="E λ = 0, E λλᵀ = I, noise of variance τ > 0 in every feature",
        quote="is a constant that does not depend on θ",
        erratum_class="constant",
        erratum=(
            "(79) drops the noise in the labels of the tokens that are not shown, so"
            " that L* is too small by mτ(K − N)/2K«: it is printed as {printed:.4f}"
            " where no weights have a loss below {least:.4f}». L − L* is unchanged;"
            " that L* is the infimum needs the corrected value."
        ),
        correction=(
            "Every token adds mτ. What tokens k ≤ N add to L* is then 0, since a label"
            " that is shown can be copied."
        ),
        credit="in (77), which has the term for every token.",
        counterexample=(
            "Two tokens with f = 1, the first one shown, m = 1 and τ = 1. ŷ₁ = ay₁ and"
            " ŷ₂ = by₁ have the loss [2(a − 1)² + (b − 1)² + b² + 1]/4, which is least"
            " at a = 1 and b = 1/2, where it is 3/8. The printed L* is 1/8."
        ),
        formula=(
            r"L(\theta)=\frac1{2K}\sum_{k=1}^K\lVert\bar Z\delta_k\rVert^2+L^\star,\qu"
            r"ad L^\star=\frac1{2K}\sum_{k=1}^K(\lVert z_k\rVert^2+m\tau-c_k^\top(Z^\t"
            r"op Z+m\tau I)^{-1}c_k)"
        ),
    ),
    Entry(
        "yang2024/equation-37",
        "claim",
        "(37), (38)",
        "The loss tends to L* if and only if Â(θ) tends to A: either distance"
        " bounds the other, with constants that do not depend on θ.",
        hypotheses="E λλᵀ = I, τ > 0",
        formula=(
            r"m\tau\lVert\hat A-A\rVert_F^2\le2K(L(\theta)-L^\star)\le\lVert\bar Z\rVe"
            r"rt_2^2\lVert\hat A-A\rVert_F^2"
        ),
    ),
    Entry(
        "yang2024/infimum",
        "claim",
        "Appendix B, end of the proof; announced after Lemma 5",
        "L* is the infimum of the loss: no state along the descent is below it,"
        " and descent with large steps ends at it up to round-off, with L* as"
        " corrected in Lemma 5.",
        hypotheses="Assumptions 1 and 2, H ≥ N, τ > 0",
        formula=r"L^\star=\inf_\theta L(\theta)=\lim_{t\to\infty}L(\theta^{(t)})",
    ),
    Entry(
        "yang2024/lemma-6",
        "claim",
        "Lemma 6, (39)–(41); Appendix D.4",
        "Gradient descent with rates η_Q and η_w is gradient descent with the one"
        " rate η_Q in (Q, α), where α = w/γ and γ² = η_w/η_Q.",
        hypotheses="any start and any rates",
        formula=(
            r"\gamma=\sqrt{\eta_w/\eta_Q},\quad\alpha_h=w_h/\gamma,\quad\xi^{(t)}=\xi^"
            r"{(t-1)}-\eta_Q\nabla\ell(\xi^{(t-1)})"
        ),
    ),
    Entry(
        "yang2024/lemma-7",
        "claim",
        "Lemma 7, (42); Appendix D.5",
        "The gradient in a key–query matrix is bounded by the root of the loss"
        " above L*. The sharp constant is √2, half of the printed one: the"
        " gradient is a covariance under attention, and even attention on two"
        " opposite tokens with opposite features comes as close as one likes. The"
        " first display of D.5 lacks + L*.",
        hypotheses="|α_{h,k}| ≤ α, tokens of norm 1, E λλᵀ = I",
        formula=(
            r"\left\lVert\frac{\partial\ell}{\partial Q_h}\right\rVert_F\le2\sqrt2\,\g"
            r"amma\alpha\bar f_{\max}\sqrt{\ell(\xi)-L^\star}"
        ),
    ),
    Entry(
        "yang2024/equation-45",
        "claim",
        "(45)",
        "The gradient in the weights α_k of token k is (γ/K) B_kᵀZ̄δ_k.",
        hypotheses="E λλᵀ = I, τ > 0",
        formula=(
            r"\frac{\partial\ell}{\partial\alpha_k}=\frac\gamma KB_k^\top\bar Z\delta_k"
        ),
    ),
    Entry(
        "yang2024/equation-47",
        "claim",
        "(46), (47), (48)",
        "Along the descent of Theorem 1 no Q_h gets farther than what steps of the size"
        " (42) add up to, and no B_k farther than (1 − 1/√2)√ζ₀. In real descents they"
        " get nowhere near.",
        hypotheses="as in Theorem 1",
        quote="∀x ∈ R^K",
        erratum_class="misprint",
        remark=(
            "After (48) x has to have N entries and norm 1, and the gradient in (49) is"
            " in ξ, as in (41), not in θ."
        ),
        formula=(
            r"\lVert Q_h^{(t)}-Q_h^{(0)}\rVert_F\le\frac{8\sqrt2\gamma\alpha\bar f_"
            r"{\max}}\sigma\sqrt{\Delta^{(0)}},\quad\lVert B_k^{(t)}-B_k^{(0)}\rVert_F"
            r"\le\Big(1-\frac1{\sqrt2}\Big)\sqrt{\zeta_0}"
        ),
    ),
    Entry(
        "yang2024/equation-43",
        "claim",
        "Appendix B, (43a), (43b), (44), (49)",
        "Along the descent of Theorem 1 the norms ‖w_h‖/γ stay below α, the least"
        " eigenvalues above ζ₀/2, and the gradient dominates the gap. In real"
        " descents the norms are at most 2 % of α, the eigenvalues stay at ζ₀, and"
        " dominance holds with 2σ.",
        hypotheses="as in Theorem 1",
        formula=(
            r"\lVert\alpha_h^{(t)}\rVert_2\le\alpha,\quad\lambda_{\min}(B_kB_k^\top)\g"
            r"e\frac{\zeta_0}2,\quad\lVert\nabla\ell\rVert^2\ge\sigma(\ell-L^\star),\q"
            r"uad\sigma=\frac{\zeta_0\gamma^2}K"
        ),
    ),
    Entry(
        "yang2024/lemma-8",
        "claim",
        "Lemma 8, (50), (51)",
        "How far b^h_k = Z̄s^h_k and δ_k move with the parameters. The sharp"
        " constant in the place of 2, in both, is 1/√2; the second term of (51) is"
        " sharp as it stands.",
        hypotheses="|α_{h,k}| and |α'_{h,k}| ≤ α, tokens of norm 1",
        formula=(
            r"\lVert b^h_k-b'^h_k\rVert\le2\lVert\bar Z\rVert_2\lVert Q_h-Q'_h\rVert_F"
            r",\quad\lVert\delta_k-\delta'_k\rVert\le2\gamma\sqrt H\alpha\sqrt{\sum_h"
            r"\lVert Q_h-Q'_h\rVert_F^2}+\gamma\sqrt H\lVert\alpha_k-\alpha'_k\rVert"
        ),
    ),
    Entry(
        "yang2024/lemma-9",
        "claim",
        "Lemma 9, (52), (53)",
        "The largest b^h_k and δ_k. Both bounds are sharp: all attention on one"
        " token, whose feature is the largest.",
        hypotheses="|α_{h,k}| ≤ α",
        formula=(
            r"\lVert b^h_k\rVert\le\lVert\bar Z\rVert_2,\quad\lVert\delta_k\rVert\le\g"
            r"amma H\alpha+\lVert A\rVert_2"
        ),
    ),
    Entry(
        "yang2024/equation-54",
        "claim",
        "(54), (55)",
        "How fast the gradient in α changes, for one token and for all. The term"
        " in α of (54) is sharp: all attention of all heads on one token.",
        hypotheses="|α_{h,k}| and |α'_{h,k}| ≤ α, tokens of norm 1",
        formula=(
            r"\lVert\nabla_{\alpha_k}\ell-\nabla'_{\alpha_k}\ell\rVert\le\frac{2\gamma"
            r"}K\lVert\bar Z\rVert_2^2(2\gamma H\alpha+\lVert A\rVert_2)\sqrt{\sum_h\l"
            r"Vert Q_h-Q'_h\rVert_F^2}+\frac{\gamma^2H}K\lVert\bar Z\rVert_2^2\lVert\a"
            r"lpha_k-\alpha'_k\rVert"
        ),
    ),
    Entry(
        "yang2024/equation-56",
        "claim",
        "(56); Appendix D.5, (82)",
        "The gradient in Q_h is (γ/K) Σ_{k,j} (Z̄δ_k)ᵀz̄_j α_{h,k} s^h_jk Σ_i"
        " s^h_ik (v_j − v_i)v_kᵀ.",
        hypotheses="E λλᵀ = I, τ > 0",
        erratum_class="misprint",
        remark=(
            "The bar of z̄_j is missing in our copy of (56): z_j has m entries and"
            " Z̄δ_k has N. Where m = N the product has a meaning and is not the"
            " gradient«: an entry is off by {off:.3f} in a problem with m = N = 2»."
        ),
        credit="in (82), which it cites, and in (57).",
        formula=(
            r"\frac{\partial\ell}{\partial Q_h}=\frac\gamma K\sum_{k=1}^K\sum_{j=1}^N("
            r"\bar Z\delta_k)^\top\bar z_j\,\alpha_{h,k}s^h_{jk}\sum_{i=1}^Ns^h_{ik}(v"
            r"_j-v_i)v_k^\top"
        ),
    ),
    Entry(
        "yang2024/equation-58",
        "claim",
        "(57), (58)",
        "How fast the gradient in Q_h changes. Of the term in ‖α_h − α'_h‖ a part"
        " 1/(2√K) is reached: even attention on two opposite tokens, and one token"
        " alone that is given a weight.",
        hypotheses="|α_{h,k}| and |α'_{h,k}| ≤ α, tokens of norm 1",
        formula=(
            r"\lVert\nabla_{Q_h}\ell-\nabla'_{Q_h}\ell\rVert\le\frac{2\gamma\bar f_"
            r"{\max}\lVert\bar Z\rVert_2}K\Big[\alpha\gamma\sqrt H\Big(2K\alpha\sqrt"
            r"{\sum_h\lVert Q_h-Q'_h\rVert_F^2}+\sqrt K\lVert\alpha-\alpha'\rVert_F"
            r"\Big)+D\big(\sqrt K\lVert\alpha_h-\alpha'_h\rVert+4K\alpha\sqrt N\lVert"
            r" Q_h-Q'_h\rVert_F\big)\Big],\quad D=\gamma H\alpha+\lVert A\rVert_2"
        ),
    ),
    Entry(
        "yang2024/lemma-10",
        "claim",
        "Lemma 10, (59)–(61)",
        "The gradient of the loss in (Q, α) is Lipschitz with the constant L of"
        " (61), whose square has the second part 8γf̄‖Z̄‖ max{1, 4Kα²}[(αγH)² +"
        " 4N(αγH + ‖A‖)²].",
        hypotheses="|α_{h,k}| and |α'_{h,k}| ≤ α, tokens of norm 1",
        quote="L² = 2(…) + 8γf̄_max‖Z̄‖₂ · max{1, (2√Kα)²}",
        erratum_class="constant",
        erratum=(
            "(59) squares (58) but leaves the factor 2γf̄‖Z̄‖/K as it is, so that L is"
            " too small where that is large. With features near 10⁴, α up to 10³ and γ"
            " = 1 the gradient changes «{times:.0f} times as fast as¦faster than» the"
            " printed L allows. Where the paper uses it, with γ of (15) and α of (44),"
            " no pair was found that breaks it«: {tied:.0%} of it at the most». Theorem"
            " 1's proof goes through with the right L."
        ),
        correction=(
            "The factor squared, and 4 for four terms: the second part of L² is"
            " 16(γf̄‖Z̄‖)² max{1/K, 4α²} times the same bracket."
        ),
        credit="in (58), before it is squared.",
        formula=(
            r"L^2=2\left(\frac{(2\gamma\lVert\bar Z\rVert^2D_2)^2}K+\frac{\gamma^4H^2"
            r"\lVert\bar Z\rVert^4}{K^2}\right)+16(\gamma\bar f_{\max}\lVert\bar Z\rVe"
            r"rt)^2\max\{\frac1K,4\alpha^2\}((\alpha\gamma H)^2+4ND_1^2),\quad D_j=j\a"
            r"lpha\gamma H+\lVert A\rVert_2"
        ),
    ),
    Entry(
        "yang2024/equation-62",
        "claim",
        "(62)",
        "The gradient in a head's weights is bounded by the root of the loss above"
        " L*. The constant is sharp: all attention on one token, whose feature is"
        " the largest, and large weights.",
        hypotheses="E λλᵀ = I, τ > 0",
        formula=(
            r"\left\lVert\frac{\partial\ell}{\partial\alpha_h}\right\rVert\le\lVert\ba"
            r"r Z\rVert_2\,\gamma\sqrt{\frac2K(\ell(\xi)-L^\star)}"
        ),
    ),
    Entry(
        "yang2024/equation-65",
        "claim",
        "Appendix C, (65)",
        "The inverse of Z̄² through an inverse of the size of the features.",
        hypotheses="τ > 0",
        formula=(
            r"(m\tau I_N+Z^\top Z)^{-1}=\frac1{m\tau}I_N-\frac1{m\tau}Z^\top(m\tau I_m"
            r"+ZZ^\top)^{-1}Z"
        ),
    ),
    Entry(
        "yang2024/equation-66",
        "claim",
        "Appendix C, (66), (67); (27)",
        "A of (34) copies the labels that are shown and predicts the others by"
        " ridge regression with penalty mτ, so that Aᵀy = ŷ*.",
        hypotheses="τ > 0",
        erratum_class="misprint",
        remark="The third expression of (66) has Z̃ for Ẑ in our copy.",
        credit="in the two lines before.",
        formula=(
            r"A=\big(I_N,\;Z^\top(m\tau I_m+ZZ^\top)^{-1}Z^Q\big),\quad A^\top y=\hat"
            r" y^\star"
        ),
    ),
    Entry(
        "yang2024/equation-68",
        "claim",
        "Appendix C, (68), (69)",
        "The noise in the N labels, and with it ‖y‖, exceeds the bound with"
        " probability at most δ. For 30 and more labels (68) cannot do without its"
        " middle term.",
        hypotheses="noise of variance τ per feature; for (69) also ‖λ‖ ≤ B",
        formula=(
            r"\mathbb P\Big(\lVert y-Z^\top\lambda\rVert_2^2\ge\tau\lVert\lambda\rVert"
            r"_2^2\big(N+2\sqrt{N\log\tfrac1\delta}+2\log\tfrac1\delta\big)\Big)\le\de"
            r"lta"
        ),
    ),
    Entry(
        "yang2024/equation-70",
        "claim",
        "Appendix C, display before (70), and (70)",
        "L = ‖Z̄(Â − A)‖²/(2K) + L* with Frobenius' norm, and therefore ‖Â − A‖₂ ≤"
        " √(2K(L − L*)/(mτ)).",
        hypotheses="Assumption 1, τ > 0",
        erratum_class="misprint",
        remark=(
            "The display before (70) has the spectral norm in our copy«: for a random Â"
            " with K = 8, N = 5, m = 2 the gap is {gap:.3f}, the printed formula gives"
            " {printed:.3f}». The inequality (70) needs only that Frobenius' norm is at"
            " least as large."
        ),
        credit="in (36).",
        formula=r"L(\theta)=\frac1{2K}\lVert\bar Z(\hat A-A)\rVert_F^2+L^\star",
    ),
    Entry(
        "yang2024/equation-83",
        "claim",
        "Appendix D.5, (83)",
        "Every term G^{h,jk} of the gradient in Q_h is at most 2αs^h_jk. It comes close"
        " for a token that is hardly looked at, opposite to the one that is.",
        hypotheses="|α_{h,k}| ≤ α, tokens of norm 1",
        formula=(
            r"\lVert\alpha_{h,k}s^h_{jk}\sum_{i=1}^Ns^h_{ik}(v_j-v_i)v_k^\top"
            r"\rVert_F\le2\alpha s^h_{jk}"
        ),
    ),
)
