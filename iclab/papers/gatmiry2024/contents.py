"""Table of contents of gatmiry2024, in the paper's order."""

from iclab.evidence import Entry, Paper

PAPER = Paper(
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
)

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "gatmiry2024/proposition-3.1",
        "claim",
        "Proposition 3.1, (5)–(9)",
        "With the weights (5) the looped transformer takes steps of gradient descent"
        " preconditioned by A, by (9): w_{t+1} = w_t + (1/n)AX(y − Xᵀw_t) from w_0 ="
        " 0, Z⁽ᵗ⁾ has labels y − Xᵀw_t, and the prediction is ⟨w_t, x_q⟩.",
        hypotheses=(
            "any prompt with labels y; symmetric A (else its transpose is the"
            " preconditioner)"
        ),
        erratum_class="misprint",
        remark=(
            "Slips in the proof: ∇ℓ(0) is printed as Xy and is −2Xy for ℓ(w) = ‖Xᵀw −"
            " y‖² (with ½ℓ it is −Xy, and the printed steps become those of the"
            " network); (6) has no 1/n, and its last row is +n times w₁ᵀ[X x_q], not"
            " −w₁ᵀ[X x_q]. ℓ is printed with w⋆ for w. Section 3.2 has steps of 1/κ:"
            " for XXᵀ = 100I, with κ = 1, they send w from 0 to 100w⋆ and on to"
            " −9800w⋆; what converges in O(κ) steps is 1/λ_max."
        ),
        credit="in (9), and in Section 3.2, whose Hessian XXᵀ belongs to ½ℓ.",
        formula=r"w_{t+1}=w_t+\frac1nAX(y-X^\top w_t),\qquad\hat y_t=w_t^\top x_q",
    ),
    Entry(
        "gatmiry2024/theorem-3.2",
        "claim",
        "Theorem 3.2 (A.8), (22)–(24)",
        "A global minimiser of the loss has u = 0, loss at most 8Ld²4ᴸ/√n and (1 −"
        " c)Σ⋆⁻¹ ≼ A ≼ (1 + c)Σ⋆⁻¹ with c = 8δd^{1/(2L)}. Exactly: among symmetric"
        " A the minimum is a⋆Σ⋆⁻¹, with n(1 − a⋆) bounded and a loss of order n⁻ᴸ«:"
        " at the least n allowed for d = L = 2 the loss is {loss:.1e} where the"
        " bound is {bound:.2g}». (22) has half of c for A^{½}Σ⋆A^{½}.",
        hypotheses=(
            "8Ld²/√n ≤ 4⁻ᴸ; w ~ N(0, Σ⋆⁻¹), Gaussian inputs, no noise; symmetric A"
        ),
        erratum_class="hypothesis",
        remark=(
            "A is symmetric in the proof, which uses A^{½}; the theorem does not say"
            " so. Among all matrices the minimum is not symmetric there: for d = L = 2"
            " and n ≥ 15, Σ⋆^{½}AΣ⋆^{½} = aI ± εJ with J the rotation by 90° has less"
            " loss, in the limit 44/n² instead of 46/n²«; at n = 20 its loss is"
            " {turned:.4f} of the symmetric optimum's». As forms, xᵀAx, the bounds hold"
            " for it too."
        ),
        formula=(
            r"(1-c)\Sigma_\star^{-1}\preceq A^{\mathrm{opt}}\preceq(1+c)\Sigma_\star^{"
            r"-1},\qquad c=8\delta d^{1/(2L)}"
        ),
    ),
    Entry(
        "gatmiry2024/section-3.7-tight",
        "claim",
        "Section 3.7; remark after Theorem 3.2",
        "Theorem 3.2 is a tight estimate of the optimum, essentially the best that one"
        " can hope for.",
        hypotheses="symmetric A, as in Theorem 3.2",
        erratum_class="wording",
        erratum=(
            "The optimum is not Σ⋆⁻¹ for finite n, as the remark says, but it is nearer"
            " by whole powers of n. The theorem allows a distance of order n^{−1/(4L)}"
            " and a loss of order n^{−1/2}«; between n = 2³⁰ and 2³⁴ the distance of"
            " two loops falls like n^{distance:.3f} and the loss like n^{loss:.3f}». So"
            " with one loop, to which the remark appeals."
        ),
        correction=(
            "‖Σ⋆^{½}A^optΣ⋆^{½} − I‖ is of order 1/n and the loss of order n⁻ᴸ, d and L"
            " fixed; for one loop they are (d+1)/(n+d+1) and d(d+1)/(n+d+1)."
        ),
        counterexample=(
            "L = 1, d = 2, where E S² = (n+3)/n: a⋆ = n/(n+3), and the loss is 2·3/(n +"
            " 3). For n = 4194304 the theorem has c² = 1 and a loss of 1/16, and the"
            " optimum 1 − a⋆ = 3/4194307 and 6/4194307. For n = 1073741824, 256 times"
            " as many, c² = 1/16 and a loss of 1/256 against 3/1073741827 and"
            " 6/1073741827: the bounds fell by 4 and 16, what they bound by 256."
        ),
        formula=(
            r"1-a^\star=\frac{d+1}{n+d+1},\quad L=\frac{d(d+1)}{n+d+1}\qquad(\text{one"
            r" loop})"
        ),
    ),
    Entry(
        "gatmiry2024/theorem-3.3",
        "claim",
        "Theorem 3.3; Theorem A.12",
        "Gradient flow has L(A(t), 0) ≤ ξ from t = ξ^{−(L−1)/L}"
        " (16L/(L−1))^{(L−1)/(2L−1)} on, and A(t) is then within 8(1 +"
        " 4d^{1/(2L)})ξ^{1/(2L)} of the optimum in spectral distance.",
        hypotheses=(
            "Σ⋆ = I, u = 0, ξ ≥ 2(4δ)^{2L}, L ≥ 2 (L = 1 is singular); the optimum is"
            " that of symmetric matrices, a⋆I"
        ),
        erratum_class="false",
        counterexample=(
            "L = 2, d = 1024, n = 2⁴⁶, ξ = 1 and A(0) = 0. The flow keeps A = (1 − b)I,"
            " and ḃ = −4b³ up to one part in 10⁷, so that 1/b² grows by less than 8.1 a"
            " unit of time. The printed time 32^{1/3} is before t = 16/5, and then 1/b²"
            " ≤ 1 + 8.1 · 16/5 = 673/25; the loss is at least db⁴ ≥ 1024 · (25/673)² ="
            " 640000/452929 > 1."
        ),
        erratum=(
            "Too short: solving the differential equation gives 16L/(L−1) to the first"
            " power, and the 1/16 in it lacks a power of d. From A = 0 with L = 2, d ="
            " 700, n = 10¹⁸ and ξ = 0.01 the loss at the printed time is still above"
            " ξ«: {late:.5f}, while with d = 600 it is {early:.5f}»."
        ),
        correction=(
            "For symmetric A(0), from which the flow stays symmetric: L(A(t), 0) ≤ ξ"
            " from t = L/(κ(L−1)) ξ^{−(L−1)/L} on, with κ = L²d^{−(L−1)/L}; the"
            " distance as printed. This rests on Theorem 3.4 as corrected, which is"
            " checked and not proved. On flows along multiples of I it is four times"
            " longer than needed. A start that is not symmetric may have next to no"
            " loss far away: for L = 2, I − 100e₁e₂ᵀ, whose square deviation from I is"
            " 0."
        ),
        formula=(
            r"L(A(t))\le\xi\quad\text{for}\quad t\ge\frac{L}{\kappa(L-1)}\,\xi^{-(L-1)"
            r"/L},\qquad\kappa=L^2d^{-(L-1)/L}"
        ),
    ),
    Entry(
        "gatmiry2024/section-3.7-convexity",
        "claim",
        "Section 3.7, remark after Theorem 3.3",
        "The landscape of the loss with respect to A is highly non-convex: for two"
        " loops and more, I − 2e₁e₂ᵀ and its transpose have a loss near 0 and their"
        " midpoint one near 2, and with n ≥ 15 examples of two inputs the best"
        " symmetric matrix is a saddle.",
        hypotheses="u = 0, any d×d matrix A",
        erratum_class="wording",
        remark=(
            "That is so over all matrices. Among symmetric ones, for which the theorem"
            " argues, no midpoint of two matrices was found above its chord, for any n"
            " and L tried; this is not proved of the loss. Lemma 4.1's expression is"
            " convex there: a trace of a convex function of S^{½}AS^{½}."
        ),
    ),
    Entry(
        "gatmiry2024/figure-1",
        "figure",
        "Figure 1, Section 5.2",
        "Two loops trained by Adam on prompts of 2 to 50 examples (d = 5). The loss"
        " converges for every n, to the exact optimum, and A comes close to a multiple"
        " of I, for n < d as well«: within {close:.2f} of its size». In the distance"
        " free of scale of the code base that the paper names this is what the caption"
        " says. It does not come close to I itself: the distance to I ends at 1 − a*«,"
        " which is {far:.2f} and more for n < d».",
        hypotheses="x ~ N(0, I), w ~ N(0, I), no noise; the number of loops is ours.",
    ),
    Entry(
        "gatmiry2024/figure-1-reading",
        "claim",
        "Figure 1, caption; Section 5.2",
        "In d = 5 the weights A converge to I for small n too, even for n < d: the"
        " optimum among symmetric A is a⋆I, at distance 0 from I where the distance"
        " is free of scale, ‖A − (tr A/d)I‖/‖A‖.",
        hypotheses=(
            "Σ⋆ = I; symmetric A at the population optimum. The text does not define"
            " its distance; this is that of the code base which it names"
        ),
        erratum_class="wording",
        remark=(
            "That is so up to scale. A itself comes close to I for large n only«: it is"
            " {few_one:.3f} I for n = 3 and one loop, {few_two:.3f} I for two,"
            " {many_ten:.3f} I for n = 20 and ten loops». Over all matrices the optimum"
            " need not be symmetric: with ten loops at n = 20 matrices with an"
            " antisymmetric part have about half that loss."
        ),
    ),
    Entry(
        "gatmiry2024/theorem-3.4",
        "claim",
        "Theorem 3.4; Theorem A.11",
        "‖∇L(A, 0)‖² ≥ (1/16) L(A, 0)^{(2L−1)/L} wherever the loss is large.",
        hypotheses=(
            "Σ⋆ = I, symmetric A, L(A, 0) ≥ 2(4δ)^{2L}; for other Σ⋆ the gradient is"
            " taken in Σ⋆^½AΣ⋆^½. Checked on random A, not proved"
        ),
        erratum_class="false",
        erratum=(
            "False in high dimension. At A = 0, which meets the hypothesis for n ≥"
            " (16L·16ᴸ)², the loss is d and ‖∇L‖² = 4L²d, so that the inequality fails"
            " once d^{(L−1)/L} > 64L²: from d = 65537 on for two loops, 13825, 10322"
            " and 10120 for three, four and five. The proof loses a power of d; it also"
            " covers only ε ≤ 1, that is losses of at most about 2. Up to d = 10119 it"
            " holds at A = 0 for every L."
        ),
        counterexample=(
            "L = 2, A = 0, d = 2¹⁸ = 262144 and n = 2²⁶ = 67108864. The loss is d ≥"
            " 2(4δ)⁴ = 2¹³d/√n. Its derivatives there are −4E S_ji, so that ∇L = −4I"
            " and ‖∇L‖² = 16d = 4194304. The theorem claims at least d^{3/2}/16 ="
            " 2²⁷/16 = 8388608."
        ),
        correction=(
            "‖∇L‖² ≥ κ L^{(2L−1)/L} with κ = L²d^{−(L−1)/L}. At A = 0 the ratio is 4κ"
            " exactly, for any n«; the smallest ratio found is {least:.6f} κ»«, with n"
            " = 5 and d = 3 {few:.1f} κ»."
        ),
        formula=r"\lVert\nabla L\rVert^2\ge L^2d^{-(L-1)/L}\,L(A,0)^{(2L-1)/L}",
    ),
    Entry(
        "gatmiry2024/theorem-3.4-threshold",
        "claim",
        "Theorem 3.4 against Theorem A.11",
        "Gradient dominance holds from a loss of 2(4δ)^{2L} = 16Ld16ᴸ/√n on.",
        hypotheses="δ = (8Ld/√n)^{1/(2L)}, as in Section 3.5",
        erratum_class="misprint",
        remark=(
            "In our copy the main text has 4ᴸ for 16ᴸ, and the proof is that of the"
            " appendix. For losses between the two, corrected dominance was not"
            " violated by any matrix tried. The proof's step from ε > 4δ to ε^{2L} ≥"
            " dδ^{2L}(ε+2)^{2L} needs d^{1/(2L)}(4δ + 2) ≤ 4 besides, and Lemma A.10 ε"
            " ≥ 8δd^{3/(4L)}."
        ),
        credit="in Theorem A.11, which has 2(4δ)^{2L}.",
        formula=r"2(4\delta)^{2L}=\frac{16Ld\,16^L}{\sqrt n}",
    ),
    Entry(
        "gatmiry2024/lemma-4.1",
        "claim",
        "Lemma 4.1; Corollary A.4",
        "L(A, 0) = E tr(I − A^{½}SA^{½})^{2L}, with S the sample covariance.",
        hypotheses="w ~ N(0, Σ⋆⁻¹), Gaussian inputs, no noise; positive definite A",
        erratum_class="false",
        erratum=(
            "True for multiples of Σ⋆⁻¹ alone. For A = diag(1, 1/5), Σ⋆ = I and n = 8"
            " «the loss is {loss_1:.6g} with one loop and the expression"
            " {formula_1:.6g}; with two loops {loss_2:.6g} and {formula_2:.6g}¦the two"
            " differ with one loop already». The outer factors of Lemma A.3 are Σ⋆, not"
            " S, and do not cancel. Theorem 3.2 survives: its bounds were checked on"
            " the loss itself."
        ),
        counterexample=(
            "L = 1, d = 2, Σ⋆ = I, n = 8 and A = diag(1, 2). E S₁₁² = E S₂₂² = 1 + 2/n"
            " = 5/4 and E S₁₂² = 1/n = 1/8. The loss E‖I − SA‖² is E(1 − S₁₁)² + E(1 −"
            " 2S₂₂)² + (1 + 4)E S₁₂² = 1/4 + 2 + 5/8 = 23/8. E tr(I − A^{½}SA^{½})² has"
            " 2·2 E S₁₂² for the last term, and is 11/4."
        ),
        correction=(
            "L(A, 0) = E tr[Σ⋆⁻¹(I − SA)^LΣ⋆((I − SA)^L)ᵀ]. It exceeds the expression"
            " by the mean of Σ_{i<j}(b_i/b_j + b_j/b_i − 2)Q_ij², with b the"
            " eigenvalues of B = Σ⋆^{½}AΣ⋆^{½} and Q = (I − B^{½}WB^{½})^L in its"
            " eigenbasis, W white: never less, and equal if and only if A is a"
            " multiple of Σ⋆⁻¹. With one loop the excess is (d tr B² − (tr B)²)/n."
        ),
        formula=(
            r"L(A,0)=\mathbb{E}\operatorname{tr}\left(\Sigma_\star^{-1}G\Sigma_\star G"
            r"^\top\right),\qquad G=(I-SA)^L"
        ),
    ),
    Entry(
        "gatmiry2024/figure-2",
        "figure",
        "Figure 2, Section 5.1",
        "One layer looped L times and L layers with weights of their own, trained alike"
        " (d = 10, n = 20 and 200), with the gradients of matrices clipped as in the"
        " code base that the paper names. At n = 200 the paper's sentences are there:"
        " more loops have a lower loss, it is very small«, {small:.1e} of predicting 0"
        " with the most loops», and on a logarithmic axis loops look like layers."
        " Layers linger at the looped optimum, where all of them are equal. The exact"
        " optima are not alike«: at n = 20, with the most loops, the looped one is"
        " {price:.1f} times as high».",
        hypotheses=(
            "x ~ N(0, I), w ~ N(0, I), no noise. Exact optima are those of symmetric A"
            " in a loop, and of layers that are multiples of I; n is ours."
        ),
    ),
    Entry(
        "gatmiry2024/lemma-4.2",
        "claim",
        "Lemma 4.2 (A.5)",
        "E Sᵏ has the eigenvectors of Σ̃, and its eigenvalues α_j differ from λ_jᵏ"
        " by at most δᵏλ₁ᵏ, k ≤ 2L, with δ = (8Ld/√n)^{1/(2L)}.",
        hypotheses="x̃ ~ N(0, Σ̃), any n as printed",
        erratum_class="hypothesis",
        erratum=(
            "A condition on n is needed«: for white inputs, d = 5, n = 6, L = 3 and k ="
            " 6, α = {alpha:.1f} is above 1 + δ⁶ = {allowed:.1f}». Three definitions of"
            " δ disagree: Section 3.5, Lemma A.7 (δᵏ = 4kd/√n) and the remark in"
            " Section 3.7 (δ = 4kd/√n)."
        ),
        correction=(
            "λ_jᵏ ≤ α_j ≤ λ_jᵏ + (4kd/√n)λ₁ᵏ for n ≥ 16k²d²; the main text's δᵏ is no"
            " less than 4kd/√n while 8Ld ≤ √n."
        ),
        credit="in Lemma A.2, which the proof uses: it asks for n ≥ 4k²d².",
        formula=(
            r"0\le\alpha_j-\lambda_j^k\le\frac{4kd}{\sqrt n}\lambda_1^k,\qquad n\ge16k"
            r"^2d^2"
        ),
    ),
    Entry(
        "gatmiry2024/lemma-4.3",
        "claim",
        "Lemma 4.3 (A.7)",
        "E(A^{½}SA^{½} − I)ᵏ has the eigenvectors of A^{½}Σ⋆A^{½}, and its"
        " eigenvalues differ from (λ_i − 1)ᵏ by at most δᵏ(λ₁ + 1)ᵏ, k ≤ 2L.",
        hypotheses="positive definite A, Gaussian inputs, any n as printed",
        erratum_class="hypothesis",
        erratum=(
            "Needs many examples, as Lemma 4.2 does«: with d = 1, A = 2, n = 2, L = 3"
            " and k = 6 the mean is {mean:.0f} and the bound {allowed:.1f}»."
        ),
        correction="Within (4kd/√n)(λ₁ + 1)ᵏ for n ≥ 16k²d².",
        credit=(
            "in Lemma A.2, on which it rests: it asks for n ≥ 4k²d². Both sums of the"
            " lemma have d terms, as in Lemma A.7, and are printed with n."
        ),
        formula=r"|\beta_i^{(k)}-(1-\lambda_i)^k|\le\delta^k(\lambda_1+1)^k",
    ),
    Entry(
        "gatmiry2024/figure-3",
        "figure",
        "Figure 3, Section 5.3",
        "Models trained with 2 and 5 loops, run for up to 32 (d = 10, n = 20, 100,"
        " 200), on inputs like those of training and on inputs of another covariance."
        " With many examples they keep improving far beyond the loops of training, as"
        " the paper says, and the median prompt does with every loop. The expected loss"
        " is lowest after some loops, 5 at n = 20 and 25 at n = 200 for two in"
        " training, and then diverges, because some prompts have an eigenvalue beyond"
        " 2/a*. A mean over thousands of prompts lacks the rarest of these, and turns"
        " later.",
        hypotheses=(
            "w ~ N(0, I), no noise; in distribution x ~ N(0, I), out of it Σ has"
            " eigenvalues 3/4 and 5/4, half of the directions each (our choice: the"
            " paper says Σ ≠ I). Exact curves are those of A = a*I."
        ),
        formula=(
            r"\mathbb{E}\operatorname{tr}\Sigma(I-aS)^{2\ell}=\sum_{j=0}^{2\ell}\binom"
            r"{2\ell}{j}(-a)^j\operatorname{tr}\Sigma\,\mathbb{E}[S^j]"
        ),
    ),
    Entry(
        "gatmiry2024/theorem-4.4",
        "claim",
        "Theorem 4.4",
        "L(A, 0) ≤ ε^{2L}/2 implies (1 − cε)A^opt ≼ A ≼ (1 + cε)A^opt with c = 4 +"
        " 16d^{1/(2L)}. «The farthest matrices found use {share:.1%} of the"
        " distance allowed: one¦The farthest matrices found have one» eigenvalue"
        " off by about ε2^{−1/(2L)}.",
        hypotheses=(
            "ε > 4δ; symmetric A, as ≼ and A^{½} in the proof imply, and A^opt ="
            " a⋆Σ⋆⁻¹, the best of these; checked for white and for uneven inputs"
        ),
        erratum_class="hypothesis",
        remark=(
            "That A is symmetric is not said, and without it the bound fails for the"
            " symmetric part: for L = 2, d = 2, n = 10⁸ the matrix A = I − 78e₁e₂ᵀ has"
            " (I − A)² = 0 and a loss that meets the hypothesis«, while its symmetric"
            " part has eigenvalues at a distance of {far:.1f} from 1, and {allowed:.1f}"
            " is allowed»."
        ),
        formula=(
            r"L(A,0)\le\frac{\varepsilon^{2L}}{2}\;\Rightarrow\;(1-c\varepsilon)A^{\ma"
            r"thrm{opt}}\preceq A\preceq(1+c\varepsilon)A^{\mathrm{opt}}"
        ),
    ),
    Entry(
        "gatmiry2024/theorem-4.5",
        "claim",
        "Theorem 4.5, (10); Theorem A.13, (30)",
        "On a prompt with ζΣ⋆ ≼ Σ^out ≼ (2 − ζ)Σ⋆ the model at the optimum has"
        " squared error at most (1 + r)²(1 + r − ζ)^{2L} ‖x_q‖²_{Σ⋆}‖w‖²_{Σ⋆⁻¹}, r"
        " = 16δd^{1/(2L)}.",
        hypotheses=(
            "0 < ζ < 1; labels ⟨w, x⟩ without noise; any x, w and query. A^opt ="
            " a⋆Σ⋆⁻¹, the best symmetric matrix, and for two loops and two inputs the"
            " best of all matrices too, which is turned"
        ),
        erratum_class="misprint",
        erratum=(
            "The two norms are swapped«: with Σ⋆ = diag(1, 10⁻³), ζ = 0.2, L = 1 and n"
            " = 10¹⁶ a prompt has squared error {error:.0f} against a bound of"
            " {swapped:.1e}». For Σ⋆ = I nothing changes. Σ^out is printed as XXᵀ and"
            " has to be XXᵀ/n."
        ),
        correction=(
            "‖x_q‖²_{Σ⋆⁻¹}‖w‖²_{Σ⋆} in place of the norms, Σ^out = XXᵀ/n, under (30)«:"
            " the same prompt then has the bound {bound:.1f}»."
        ),
        credit=(
            "one step earlier in the proof, with wᵀA⁻¹w and x_qᵀAx_q; and (30) has the"
            " ζ that (10) lacks."
        ),
        formula=(
            r"(\hat y-y_q)^2\le(1+r)^2(1+r-\zeta)^{2L}\,(x_q^\top\Sigma_\star^{-1}x_q)"
            r"(w^\top\Sigma_\star w)"
        ),
    ),
    Entry(
        "gatmiry2024/figure-4",
        "figure",
        "Figure 4",
        "Distance of A to I while 1, 2, 3, 5 and more loops are trained (d = 10, n = 20"
        " and 200). Up to scale the symmetric part of A converges to I for every number"
        " of loops, and with one loop so does A, which is no exception: its optimum is"
        " nearest to I of all. With more loops an antisymmetric part stays«, up to"
        " {farthest:.2f} of A at n = 200». The exact loss hardly bends in these"
        " directions, or downwards, from six loops on at n = 20 and from two on at n ="
        " 200, so that a*I is a saddle. Along the exact gradient flow more loops are"
        " hardly slower, and faster near the end.",
        hypotheses=(
            "x ~ N(0, I), w ~ N(0, I), no noise; n and the optimiser are ours. a*I is"
            " the optimum among symmetric A."
        ),
    ),
    Entry(
        "gatmiry2024/figure-4-reading",
        "claim",
        "Figure 4, caption",
        "With one loop A does not converge to the identity: in d = 10 and with n ="
        " 20 it converges to (20/31)I.",
        hypotheses=(
            "Σ⋆ = I; symmetric A at the population optimum; n = 20 is our choice"
        ),
        erratum_class="wording",
        remark=(
            "The caption says of all numbers of loops that A does converge to I. Up to"
            " scale that is so, with one loop as well, and the text does not define its"
            " distance; A itself ends farther away with more loops, at a⋆I among"
            " symmetric A«: {two:.3f} I for two, {ten:.3f} I for ten». It also says"
            " that more loops are slower by the rate of Theorem 3.3. The printed time"
            " grows with L, if ξ < 1; as corrected it is (d/ξ)^{(L−1)/L}/(L(L−1)),"
            " which falls with every further loop up to d/ξ = 729«: at d = 10 and ξ ="
            " 0.1 from {time_two:.1f} for two loops to {time_ten:.2f} for ten»."
        ),
    ),
    Entry(
        "gatmiry2024/section-5.3-more-loops",
        "claim",
        "Section 5.3; Figure 3, caption",
        "A model trained with 2 or 5 loops keeps improving when it is run for more:"
        " its expected loss falls with every further loop, up to a number that grows"
        " with n«. Trained with two in d = 10 it is least after {at_20:d} loops for n ="
        " 20, {at_50:d} for 50, {at_100:d} for 100 and {at_200:d} for 200, where"
        " {least_200:.1e} is left of {start_200:.3f}».",
        hypotheses=(
            "Σ⋆ = I, the expected loss at the best symmetric A for the loops of"
            " training; the paper does not give n"
        ),
        erratum_class="wording",
        remark=(
            "Not for arbitrarily many: whatever n is, now and then an eigenvalue of S"
            " exceeds 2/a⋆, so that in expectation the loss turns round and grows"
            " without bound«. At n = 20 it is {last_20:.1e} after {most:d} loops»."
            " Few prompts carry that growth: the median goes on improving (Figure 3)."
            " On prompts under the condition of Theorem 4.5, which keeps the"
            " eigenvalues of S below 2/a⋆, the loss keeps falling; so it does in the"
            " limit of many inputs and examples, d/n fixed."
        ),
        credit="in Theorem 4.5, whose condition is what it takes.",
        formula=r"L\mapsto d\int(1-ah)^{2L}\,d\mu(h)",
    ),
    Entry(
        "gatmiry2024/theorem-a.1",
        "claim",
        "Theorem A.1, (11)–(13)",
        "Labels after t layers are wᵀΠ_{i<t}(I − SA_i)X + Σ_{i<t} u_iᵀSA_iΠ_{i<j<t}(I"
        " − SA_j)X, and y_q⁽ᵗ⁾ = y_q less the same with x_q for X.",
        hypotheses=(
            "any prompt without noise, any weights of the form (11) in each layer"
        ),
        erratum_class="misprint",
        erratum=(
            "The sum with u enters with a minus: a layer subtracts u_iᵀSA_iX. The proof"
            " drops that term and has XXᵀ = Σ without 1/n. Harmless: u enters the loss"
            " as a square."
        ),
        correction=(
            "Labels are wᵀΠ(I − SA_i)X − Σ u_iᵀSA_iΠ(I − SA_j)X, and y_q⁽ᵗ⁾ = y_q less"
            " the same with x_q, for S = XXᵀ/n and layer 0 leftmost."
        ),
        formula=r"y_q-\hat y=w^\top Gx_q-\sum_iu_i^\top SA_i\prod_{j>i}(I-SA_j)\,x_q",
    ),
    Entry(
        "gatmiry2024/lemma-a.2",
        "claim",
        "Lemma A.2, (14)–(19)",
        "E Sᵏ = n⁻ᵏ Σ_p n^{C(𝒢_p)} d^{C(𝒢′_p)−1} I, summed over the pairings p of"
        " 2k positions, with C the number of cycles of the graphs on the k factors"
        " and on the k places between them; C(𝒢) + C(𝒢′) ≤ k + 1, and with r loops"
        " in 𝒢, C(𝒢) ≤ r + ⌊(k − r)/2⌋ and C(𝒢′) ≤ k − r + 1.",
        hypotheses="x ~ N(0, I), any n and d",
        erratum_class="misprint",
        remark=(
            "As printed in our copy the power k is missing in the lemma, and (18), (19)"
            " have n for d."
        ),
        formula=r"\mathbb{E}\,S^k=n^{-k}\sum_pn^{C(G_p)}d^{\,C(G'_p)-1}\,I",
    ),
    Entry(
        "gatmiry2024/lemma-a.2-bound",
        "claim",
        "Lemma A.2, the bound; (20)",
        "E Sᵏ = αI with 1 ≤ α ≤ 1 + 4kd/√n for n ≥ 4k²d². α − 1 is k(k−1)(d+1)/(2n)"
        " to first order, so that there is much room.",
        hypotheses="x ~ N(0, I)",
        erratum_class="constant",
        remark=(
            "The last step of the proof, Σ_{s≤k}(2kd/√n)^s ≤ 1 + 4kd/√n, needs n ≥"
            " 16k²d²: at n = 4k²d² every term is 1, and for k = 5 it says 6 ≤ 3. With"
            " the numbers of pairings kept, Σ_s C(k,s)(2s−1)!!(d/√n)^s, the proof works"
            " from n = 4k²d² on for k ≤ 31; and (2k)!! stands for (2k−1)!!, a harmless"
            " overcount."
        ),
    ),
    Entry(
        "gatmiry2024/lemma-a.3",
        "claim",
        "Lemma A.3",
        "The loss is E‖S^{−½}Π(I − SA_i)S^{½}‖² + E‖Σ u_iᵀSA_iΠ_{j>i}(I −"
        " SA_j)S^{½}‖²; u is printed d.",
        hypotheses="w ~ N(0, Σ⋆⁻¹), x ~ N(0, Σ⋆), no noise",
        erratum_class="false",
        erratum=(
            "The outer factors come from the means of wwᵀ and x_q x_qᵀ, which are the"
            " population's: with S in their place the value is wrong in general, for"
            " single S and on average. It is right for u = 0 and A a multiple of Σ⋆⁻¹,"
            " where all factors commute."
        ),
        counterexample=(
            "One layer, d = 1, n = 2, Σ⋆ = 1, A = 1, u = 1. S is half a χ² of two"
            " degrees, so that E Sᵏ = k!: E S² = 2 and E S³ = 6. The loss is E(1 − S)²"
            " + E S² = 1 + 2 = 3; with S^{½} for Σ⋆^{½} in the second norm it is 1 + 6"
            " = 7. The first norm is wrong for A = diag(1, 2) (Lemma 4.1)."
        ),
        correction=(
            "E‖Σ⋆^{−½}Π(I − SA_i)Σ⋆^{½}‖² + E‖Σ u_iᵀSA_iΠ_{j>i}(I − SA_j)Σ⋆^{½}‖²,"
            " also before the mean over S."
        ),
    ),
    Entry(
        "gatmiry2024/lemma-a.5",
        "claim",
        "Lemma A.5, displays of the proof",
        "For inputs of any covariance E Sᵏ = n⁻ᵏ Σ_p n^{C(𝒢_p)} Π_c tr(Σ⋆^{|c|})"
        " Σ⋆^{|c*|}, over the pairings p of Lemma A.2, with the product over the"
        " cycles c of 𝒢′ other than c*, that of the place (1, 2k).",
        hypotheses="x ~ N(0, Σ⋆), any n and d",
        erratum_class="misprint",
        remark=(
            "In our copy the lemma has δλ₁ᵏ for the δᵏλ₁ᵏ of Lemma 4.2, which it"
            " restates, and its bound on the eigenvalues drops λ₁ and λ_j for one"
            " another between two lines. What the bound says is in Lemma 4.2."
        ),
        formula=(
            r"\mathbb{E}\,S^k=n^{-k}\sum_pn^{C(G_p)}\Big(\prod_{c\neq c^*}\operatorna"
            r"me{tr}\Sigma_\star^{|c|}\Big)\Sigma_\star^{|c^*|}"
        ),
    ),
    Entry(
        "gatmiry2024/lemma-a.6",
        "claim",
        "Lemma A.6",
        "E tr(I − A^{½}SA^{½})^{2L} = tr E(I − S̃)^{2L} with S̃ the sample"
        " covariance of inputs x̃ ~ N(0, A^{½}Σ⋆A^{½}).",
        hypotheses="positive definite A, Gaussian inputs",
        formula=(
            r"\mathbb{E}\operatorname{tr}(I-A^{1/2}SA^{1/2})^{2L}=\operatorname{tr}\ma"
            r"thbb{E}(I-\tilde S)^{2L}"
        ),
    ),
    Entry(
        "gatmiry2024/equation-21",
        "claim",
        "Lemma A.7, (21)",
        "E(A^{½}SA^{½} − I)ᵏ = Σ_{i=0}ᵏ (−1)^{k−i}C(k,i) E(A^{½}SA^{½})ⁱ.",
        hypotheses="positive definite A, Gaussian inputs",
        erratum_class="misprint",
        remark="In our copy the sum begins at i = 1 and has (−1)ⁱ for (−1)^{k−i}.",
        formula=(
            r"\mathbb{E}(A^{1/2}SA^{1/2}-I)^k=\sum_{i=0}^k(-1)^{k-i}\binom ki\mathbb{E}"
            r"(A^{1/2}SA^{1/2})^i"
        ),
    ),
    Entry(
        "gatmiry2024/optimal-u",
        "claim",
        "Corollary A.4, second term; Theorems 3.2 and A.8, u^opt = 0",
        "u adds a quadratic form without a linear part to the loss, positive for u"
        " ≠ 0: E‖uᵀΣ_{i<L} SA(I − SA)ⁱΣ⋆^{½}‖², the sum being I − (I − SA)^L. So u"
        " = 0 is best for every A ≠ 0, symmetric or not; Σ⋆ stands where the"
        " corollary prints the sample covariance (Lemma A.3).",
        hypotheses="A ≠ 0, w ~ N(0, Σ⋆⁻¹), Gaussian inputs, no noise",
        formula=r"\sum_{i<L}SA(I-SA)^i=I-(I-SA)^L",
    ),
    Entry(
        "gatmiry2024/lemma-a.9",
        "claim",
        "Lemma A.9",
        "L(A, 0) ≤ ε^{2L} − δ^{2L}(ε+2)^{2L} implies that A is within 4ε +"
        " 16δd^{1/(2L)} of A^opt in spectral distance.",
        hypotheses=(
            "ε > 2δ, and so large that the left-hand side is positive; symmetric A"
        ),
        erratum_class="hypothesis",
        remark=(
            "That A is symmetric, as the proof takes it to be, is not said (Theorem 4.4"
            " shows what happens otherwise)."
        ),
        formula=(
            r"(1-e)A^{\mathrm{opt}}\preceq A\preceq(1+e)A^{\mathrm{opt}},\qquad e=4\va"
            r"repsilon+16\delta d^{1/(2L)}"
        ),
    ),
    Entry(
        "gatmiry2024/equation-26",
        "claim",
        "Proof of Lemma A.10, (25), (26)",
        "E[(I − SA)ⁱS(I − SA)ᵐ], m = 2L − 1 − i, is the sum over ℓ₁ ≤ i and ℓ₂ ≤ m of"
        " C(i,ℓ₁)C(m,ℓ₂)(−1)^{ℓ₁+ℓ₂} E[A^{−½}T^{ℓ₁+1}A⁻¹T^{ℓ₂}A^{½}] with T ="
        " A^{½}SA^{½}.",
        hypotheses="positive definite A; Σ⋆ = I in what follows it",
        erratum_class="misprint",
        remark=(
            "Both times it is printed the binomials are exchanged, C(m,ℓ₁)C(i,ℓ₂), with"
            " the sums where they belong; what is concluded, a power of 2L − 1, has"
            " them right."
        ),
    ),
    Entry(
        "gatmiry2024/equation-26-bounds",
        "claim",
        "Proof of Lemma A.10, displays after (26)",
        "For Σ⋆ = I and A with eigenvectors u_j and eigenvalues λ_j,"
        " E[A^{−½}T^{ℓ₁+1}A⁻¹T^{ℓ₂}A^{½}] = Σγ_ju_ju_jᵀ with γ_j from λ_j^{k−1} to"
        " λ_j^{k−1} + (4kd/√n)λ₁^{k−1}, k = ℓ₁ + ℓ₂ + 1; so E[(I − SA)ⁱS(I −"
        " SA)^{2L−1−i}] has the same eigenvectors, and eigenvalues within δ^{2L}(1 +"
        " λ₁)^{2L−1} of (1 − λ_j)^{2L−1}.",
        hypotheses="n ≥ 16k²d², with k = 2L in the second part; positive definite A",
        erratum_class="misprint",
        remark=(
            "The last displays have (λ_j − 1)^{2L−1}, the negative of it, and so has"
            " the proof of Lemma A.10, which squares it. T^{ℓ₁} stands for T^{ℓ₁+1}"
            " where γ_j is introduced, and A⁻¹ is left out of its formula. The gradient"
            " that this is for has a factor −2L, dropped there."
        ),
        credit="in (26), whose terms are right.",
    ),
    Entry(
        "gatmiry2024/lemma-a.10",
        "claim",
        "Lemma A.10",
        "L(A, 0) ≥ ε^{2L} + dδ^{2L}(ε+2)^{2L} implies ‖∇L(A, 0)‖² ≥ ε^{4L−2}/4.",
        hypotheses="Σ⋆ = I, symmetric A, 8δd^{3/(4L)} ≤ ε ≤ 1, 4dδ^{4L−2} ≤ 1",
        erratum_class="false",
        erratum=(
            "The power of d at the end of the proof is missing from the statement. It"
            " fails for d^{(L−1)/L} > 16L², with L = 4 from d = 1626 on«: with d ="
            " 1700, ε = 1, n = 10³⁴ and A = aI at the edge of the hypothesis ‖∇L‖² is"
            " {gradient:.4f}»."
        ),
        counterexample=(
            "L = 2, ε = 1, d = 2¹⁸, n = 2¹²² and A = (61/64)I. Then δ⁴ = 16d/√n = 2⁻³⁹,"
            " both hypotheses on δ are met, and up to less than 2⁻⁶⁰ the loss is"
            " d(3/64)⁴ = 81/64, above 1 + 81dδ⁴ as the lemma asks. Its gradient is"
            " −4(3/64)³I up to as little, and ‖∇L‖² = 16d(3/64)⁶ = 729/16384 < 1/4."
        ),
        correction="‖∇L(A, 0)‖² ≥ L²d^{−(L−1)/L} ε^{4L−2}; 4 times that is sharp.",
    ),
    Entry(
        "gatmiry2024/lemma-a.10-hoelder",
        "claim",
        "Lemma A.10, last display of the proof",
        "By Hölder's inequality Σx^{4L−2} ≥ d^{−(L−1)/(2L−1)} (Σx^{2L})^{(2L−1)/L}"
        " for d numbers x.",
        hypotheses="d ≥ 2, L ≥ 2",
        erratum_class="constant",
        erratum=(
            "The exponent of d is wrong: for d equal numbers the left is d^{−(L−1)/L}"
            " of the power on the right«, {equal:.3f} for d = 100 and L = 2, and the"
            " printed factor is {printed:.3f}». Nor is 1/(2L) − 1/(4L−2), which stands"
            " there first, equal to (L−1)/(2L−1). The factor 2L of the gradient is"
            " dropped, which only weakens the bound."
        ),
        correction="d^{−(L−1)/L}, with equality where all numbers agree.",
        formula=(
            r"\sum_ix_i^{4L-2}\ge d^{-(L-1)/L}\left(\sum_ix_i^{2L}\right)^{(2L-1)/L}"
        ),
    ),
    Entry(
        "gatmiry2024/theorem-a.12-ode",
        "claim",
        "Theorem A.12, (29) and its solution",
        "The solution of (29), printed as g′ = g^{(2L−1)/L}/16, is"
        " (16L/(L−1))^{L/(2L−1)} (t + c)^{−L/(L−1)} with c ="
        " (16L/(L−1))^{(L−1)/(2L−1)} g(0)^{−(L−1)/L}.",
        hypotheses=(
            "L ≥ 2, g(0) > 0; (29) is read as g′ = −g^{(2L−1)/L}/16, with the minus of"
            " the lines before it, f′ = −‖∇L‖²"
        ),
        erratum_class="constant",
        erratum=(
            "Both exponents of 16L/(L−1) are wrong«: with L = 2 and g(0) = 7 the"
            " equation has g(3) = {value:.3f}, the printed solution says"
            " {printed:.3f}»."
        ),
        correction=(
            "g′ = −g^{(2L−1)/L}/16 has g(t) = (16L/(L−1))^{L/(L−1)} (t + c)^{−L/(L−1)}"
            " with c = (16L/(L−1)) g(0)^{−(L−1)/L}."
        ),
        formula=r"g(t)=\left(\frac{16L}{L-1}\right)^{L/(L-1)}(t+c)^{-L/(L-1)}",
    ),
    Entry(
        "gatmiry2024/equation-31",
        "claim",
        "Theorem A.13, (31) and the line before it",
        "If A is within r = 16δd^{1/(2L)} of Σ⋆⁻¹ and ζΣ⋆ ≼ Σ^out ≼ (2 − ζ)Σ⋆,"
        " then −(1 + r − ζ) ≤ I − A^½Σ^outA^½ ≤ 1 + r − ζ.",
        hypotheses="0 < ζ < 1, symmetric positive definite A",
        erratum_class="constant",
        erratum=(
            "The lower side does not follow: (2 − ζ)(1 + r) − 1 exceeds 1 + r − ζ«;"
            " with r = 0.3, ζ = 0.1, A = (1 + r)Σ⋆⁻¹ and Σ^out = (2 − ζ)Σ⋆ it is"
            " {lowest:.3f}, and {allowed:.3f} is claimed». Of the optimum itself, which"
            " is closer to Σ⋆⁻¹, (31) is true; the inference fails."
        ),
        correction=(
            "It follows for A within r/2 = 8δd^{1/(2L)} of Σ⋆⁻¹, which is what (23)"
            " gives«: {right:.3f} in the same example»."
        ),
        credit="in (23), which has the constant 8.",
    ),
    Entry(
        "gatmiry2024/figure-weight-sharing",
        "figure",
        "beyond the paper; Section 5.1",
        "The exact loss of the best looped layer over that of as many layers with"
        " the best steps of their own, for d/n from 1/10 to 2 (d = 10) and in the"
        " Marchenko–Pastur limit. With n ≥ d the price grows with depth, without"
        " bound as far as it goes, and with n«: it is {long:.3g} at the most"
        " layers and examples». With n < d it stays near 1«, {short:.2f} at the"
        " most», because both losses end at what lies outside the span of the"
        " inputs. The limit is reached like 1/d, with n ≥ d from below, so that at"
        " d = 10 sharing costs less than it says.",
        hypotheses=(
            "x ~ N(0, Σ⋆), w ~ N(0, Σ⋆⁻¹), no noise; symmetric A in the loop,"
            " multiples of Σ⋆⁻¹ in the layers."
        ),
        formula=(
            r"\frac{\min_a\int(1-ah)^{2L}\,d\mu(h)}{\min_{a_1,\dots,a_L}\int\prod_i(1-"
            r"a_ih)^2\,d\mu(h)}"
        ),
    ),
)
