"""Table of contents of ahn2023, in the paper's order."""

from iclab.evidence import Entry, Paper

PAPER = Paper(
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
)

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "ahn2023/equation-6",
        "claim",
        "Section 4, (6)",
        "The loss of one layer, as printed in our copy, is f(P, Q) = E[[Z₀ +"
        " (1/n)Attn(Z₀)]_{d+1,n+1} + w⋆ᵀx⁽ⁿ⁺¹⁾].",
        hypotheses="x ~ N(0, Σ), w⋆ ~ N(0, I), no noise",
        erratum_class="misprint",
        erratum=(
            "The square is missing. The error is linear in the query, whose mean is"
            " 0, so the printed expectation is 0 for every P and Q, while the loss"
            " (5) is tr Σ already at P = Q = 0."
        ),
        correction="f(P, Q) = E([Z₀ + (1/n)Attn(Z₀)]_{d+1,n+1} + w⋆ᵀx⁽ⁿ⁺¹⁾)².",
        credit="in (5) and in Appendix A.1, which have the square.",
        formula=(
            r"f(P,Q)=\mathbb{E}\left(\left[Z_0+\frac1n\operatorname{Attn}(Z_0)\right"
            r"]_{d+1,n+1}+w_\star^\top x^{(n+1)}\right)^2"
        ),
    ),
    Entry(
        "ahn2023/section-4-parameters",
        "claim",
        "Section 4, text before (7)",
        "The loss of one layer sees only the last row of P and the first n columns of"
        " Q; the first n rows of P and the last column of Q have no effect.",
        hypotheses="one layer with the mask M; the query's label entry is 0",
        erratum_class="misprint",
        erratum=(
            "n is printed for d: P and Q are (d+1)×(d+1), whatever the number n of"
            " examples. With d = 2 and n = 1 both columns of Q that meet the query have"
            " an effect, not one, and two rows of P have none."
        ),
        correction=(
            "The last row of P and the first d columns of Q matter; the first d rows of"
            " P and the last column of Q do not."
        ),
        credit="in (7), whose shapes are right, and in Appendix A.1.",
    ),
    Entry(
        "ahn2023/theorem-1",
        "claim",
        "Theorem 1, (8)",
        "b = e_{d+1}, A = −[Γ⁻¹; 0] with Γ = (n+1)/n Σ + tr(Σ)/n I is a global"
        " minimum of the one-layer loss over all (b, A), and so is b → γb, A → A/γ."
        " The least loss is tr Σ − tr(Σ²Γ⁻¹).",
        hypotheses="x ~ N(0, Σ), w⋆ ~ N(0, I), no noise, Σ positive definite",
        erratum_class="wording",
        remark=(
            "Section 1 calls this optimum unique, and Appendix A those of the"
            " components f_j. Up to rescaling it is, for d ≥ 2 and Σ ≻ 0. For d = 1"
            " there are two families: b = e₁, A = (0, −1/Γ)ᵀ is no rescaling of (8) and"
            " has the same loss. Of the weights only cA₁ + pqᵀ meets the labels, where"
            " b = (p, c) and A has rows A₁ and qᵀ, and in one dimension pqᵀ can do all"
            " of it."
        ),
        credit="in the theorem itself, which says a global minimum.",
        formula=(
            r"b=e_{d+1},\quad A=-\begin{pmatrix}\Gamma^{-1}\\0\end{pmatrix},\quad"
            r"\Gamma=\frac{n+1}{n}\Sigma+\frac{\operatorname{tr}\Sigma}{n}I,\quad\min "
            r"f=\operatorname{tr}\Sigma-\operatorname{tr}(\Sigma^2\Gamma^{-1})"
        ),
    ),
    Entry(
        "ahn2023/section-4-isotropic",
        "claim",
        "Section 4, display after Theorem 1; Appendix A.2",
        "For Σ = I the best A is −[(n−1)/n + (d+2)/n]⁻¹ [I; 0], one step of"
        " plain gradient descent of size n/(n+d+1), with loss d(d+1)/(n+d+1).",
        hypotheses="x ~ N(0, I), w⋆ ~ N(0, I), no noise",
        formula=(
            r"A=-\frac{n}{n+d+1}\begin{pmatrix}I\\0\end{pmatrix},\qquad\min f="
            r"\frac{d(d+1)}{n+d+1}"
        ),
    ),
    Entry(
        "ahn2023/section-4-remark-1",
        "claim",
        "Section 4, first remark after Theorem 1",
        "For large n, A ≈ Σ⁻¹, the inverse of the covariance, which is also close"
        " to the Gram matrix of the examples.",
        hypotheses="n → ∞ at fixed Σ",
        erratum_class="wording",
        erratum=(
            "The sign is lost, since A in (8) is negative: A tends to −Σ⁻¹. (What is"
            " close to the Gram matrix is the covariance, if the sentence is read"
            " kindly.)"
        ),
        correction=(
            "A → −Σ⁻¹ at rate 1/n, so that −A times the Gram matrix (1/n) Σ xxᵀ is"
            " close to I."
        ),
        credit="in Section 5, which calls −A_k the preconditioner.",
        formula=r"A=-\Sigma^{-1}+O(1/n)",
    ),
    Entry(
        "ahn2023/lemma-2",
        "claim",
        "Lemma 2, (9)–(11); Section 5.2; Appendix C.2, (56)–(64)",
        "A k-layer transformer with weights (9), A_0 … A_k, has query entries"
        " y_i = −⟨x, w_i⟩ with w_{i+1} = w_i + A_i∇R(w_i), w_0 = 0, R(w) ="
        " (1/2n) Σ (wᵀx_i − w⋆ᵀx_i)²; the Hessian of R is printed as XXᵀ/(2n).",
        hypotheses="any prompt with noiseless labels; symmetric A_i",
        erratum_class="misprint",
        erratum=(
            "A_0 … A_k are k + 1 layers: the k-layer output is −⟨x, w_k⟩, in which A_k"
            " has no part. The Hessian of R is XXᵀ/n, twice the printed one. (11) has R"
            " with index w_k for w⋆, and (61) has x⁽ⁿ⁺¹⁾ where x⁽ⁱ⁾ is meant."
        ),
        correction=(
            "k layers are A_0 … A_{k−1} and take k steps w_{i+1} = w_i +"
            " A_i∇R(w_i); ∇²R = XXᵀ/n."
        ),
        formula=(
            r"w_{i+1}=w_i+A_i\nabla R(w_i),\quad w_0=0,\qquad R(w)=\frac1{2n}"
            r"\sum_{j=1}^n\left(w^\top x_j-w_\star^\top x_j\right)^2"
        ),
    ),
    Entry(
        "ahn2023/theorem-3",
        "claim",
        "Theorem 3",
        "With two layers of the form (9) and isotropic inputs, diagonal A₀ and"
        " A₁ minimise the in-context loss over all symmetric matrices. Every"
        " search over all matrices finds more: the minimisers are multiples of"
        " I, the best two step sizes of gradient descent.",
        hypotheses=(
            "x ~ N(0, I), w ~ N(0, I), two layers, P = diag(0, 1), Q = diag(A, 0)"
        ),
        formula=r"\min_{A_0,A_1}f(A_0,A_1)=\min_{a_0,a_1}f(a_0I,a_1I)",
    ),
    Entry(
        "ahn2023/section-5.2-distorted-view",
        "claim",
        "Section 5.2, 'Linear regression with distorted view of the data'",
        "If x = Wx̄, y = ⟨x̄, w̄⟩ and Σ = WWᵀ, then w⋆ = Σ^{−1/2}w̄ has y = ⟨x,"
        " w⋆⟩ and the law N(0, Σ⁻¹).",
        hypotheses="W invertible, w̄ ~ N(0, I)",
        erratum_class="false",
        erratum=(
            "⟨Wx̄, Σ^{−1/2}w̄⟩ is ⟨x̄, w̄⟩ for every x̄ only if WᵀΣ^{−1/2} = I, that is"
            " W = Σ^{1/2}. For a random or a triangular W the labels determine another"
            " weight. In law it is true: W = Σ^{1/2}O with O orthogonal, and prompts"
            " with x̄ and Ox̄ have one joint law, so that nothing that follows changes."
        ),
        correction=(
            "w⋆ = W^{−ᵀ}w̄ explains the labels; its law is N(0, Σ⁻¹) as stated."
        ),
        formula=r"w_\star=W^{-\top}\bar w\;\sim\;N(0,\Sigma^{-1}),\qquad\Sigma=WW^\top",
    ),
    Entry(
        "ahn2023/theorem-4",
        "claim",
        "Theorem 4",
        "Among Aᵢ = aᵢΣ⁻¹ the gradient of the loss in all entries of all Aᵢ"
        " gets arbitrarily small. It does vanish: −1/aᵢ are the Gauss nodes of"
        " λ dμ, μ the mean spectrum of the whitened sample covariance, and"
        " training from random matrices ends there.",
        hypotheses="x ~ N(0, Σ), w ~ N(0, Σ⁻¹), Σ ≻ 0, layers of the form (9)",
        formula=(
            r"A_i=a_i\Sigma^{-1},\qquad-1/a_i\;\text{ the Gauss nodes of }\lambda\,d"
            r"\mu(\lambda)"
        ),
    ),
    Entry(
        "ahn2023/section-5.3-loss",
        "claim",
        "Section 5.3 and Figure 1(d)",
        "Training three layers of the form (9) with d = 5, n = 20 converges to an"
        " almost 0 value: the least loss of three steps along Σ⁻¹, d times the"
        " Christoffel number of the mean Wishart spectrum«, {loss:.4f} or"
        " {share:.1%} of predicting 0».",
        hypotheses="x ~ N(0, Σ), w ~ N(0, Σ⁻¹), Σ = UᵀD²U with D = (1, 1, ½, ¼, 1)",
        erratum_class="wording",
        remark=(
            "Only the caption of Figure 1 says 0. Descents over all entries of A₀, A₁,"
            " A₂ end at this loss, errors on fresh prompts agree, and so does the"
            " paper's conclusion: training finds the best point of S."
        ),
        credit="in Section 5.3, almost 0, and in Section 1, close to 0.",
        formula=r"\min f=\frac{12138645}{90852389}=0.13360843\ldots",
    ),
    Entry(
        "ahn2023/section-5.3-distance",
        "claim",
        "Section 5.3, Dist",
        "Dist(M, I) = min_α ‖M − αI‖/‖M‖_F is attained at α = tr M/d. For Σ⁻¹"
        " of the experiment it is 0.7844, the red line of Figure 1.",
        hypotheses="Frobenius norm in the numerator too",
        formula=(
            r"\operatorname{Dist}(M,I)=\min_\alpha\frac{{\lVert M-\alpha I\rVert}_F}{{"
            r"\lVert M\rVert}_F},\qquad\alpha=\frac{\operatorname{tr}M}{d}"
        ),
    ),
    Entry(
        "ahn2023/figure-1",
        "figure",
        "Figure 1, Section 5.3",
        "Three layers with B = 0 trained by L-BFGS (d = 5, n = 20), on a batch and"
        " on the exact loss: Σ^½A_iΣ^½ approaches a multiple of I, while A_i"
        " itself, after an early dip, ends as far from multiples of I as Σ⁻¹ is. On"
        " the exact loss the distance goes on falling, on a batch it stops at a few"
        " hundredths. The loss ends at the exact optimum, almost 0«: {share:.1%} of the"
        " zero predictor's 5».",
        hypotheses="x ~ N(0, Σ), w ~ N(0, Σ⁻¹), no noise, Σ = UᵀD²U.",
    ),
    Entry(
        "ahn2023/figure-2",
        "figure",
        "Figure 2, Section 5.3",
        "Heat maps of Σ^½A_iΣ^½ learned on a batch with B = 0, above the exact"
        " optimum: both are multiples of I, with the exact steps in the order in"
        " which the run found them, which does not matter to the loss.",
        hypotheses="As in Figure 1; its first run.",
    ),
    Entry(
        "ahn2023/theorem-5",
        "claim",
        "Theorem 5, (14)",
        "With P = diag(Bᵢ, 1), among Aᵢ = aᵢΣ⁻¹, Bᵢ = bᵢI the gradient of the"
        " loss in all entries of all Aᵢ and Bᵢ gets arbitrarily small. It"
        " vanishes at the best point of that set.",
        hypotheses="x ~ N(0, Σ), w ~ N(0, Σ⁻¹), Σ ≻ 0, layers of the form (13)",
        formula=(
            r"\nabla_{A_i}f=0,\quad\nabla_{B_i}f=0\quad\text{at the best}\quad A_i"
            r"=a_i\Sigma^{-1},\quad B_i=b_iI"
        ),
    ),
    Entry(
        "ahn2023/section-6.1-loss",
        "claim",
        "Section 6.1 and Figure 3(c)",
        "With B free, the loss of three layers with d = 5, n = 10 appears to be"
        " converging to 0: on S the least found is far below that of B = 0«,"
        " {loss:.4f} or {share:.1%} of predicting 0, against {plain:.3f}».",
        hypotheses="x ~ N(0, Σ), w ~ N(0, Σ⁻¹), layers of the form (13)",
        erratum_class="wording",
        remark=(
            "Only the caption of Figure 3 says 0. No weights reach it: the error on the"
            " query is a polynomial in the sample covariance that is 1 at 0. On"
            " finitely many prompts the training loss can be smaller than the least"
            " loss while the true one is huge (Figure 3). «With n = 20 the least found"
            " is {more:.2e}.»"
        ),
        credit="in Section 6.1, which says that it appears to.",
    ),
    Entry(
        "ahn2023/section-6.1-magnitudes",
        "claim",
        "Section 6.1, second observation, and Figure 4",
        "With B free, the three learned matrices grow from layer to layer: ‖A₀‖"
        " < ‖A₁‖ < ‖A₂‖.",
        hypotheses=(
            "d = 5, n = 10, at the best point of S; no law for all sizes (d = 3, n"
            " = 10 has |a₀| > |a₁| at its best point)"
        ),
        formula=r"\lVert A_0\rVert<\lVert A_1\rVert<\lVert A_2\rVert",
    ),
    Entry(
        "ahn2023/footnote-3",
        "claim",
        "Section 6.1, footnote 3",
        "The loss does not depend on B of the last layer (B₂ of three layers);"
        " it does depend on the others.",
        hypotheses="weights of the form (13)",
    ),
    Entry(
        "ahn2023/figure-3",
        "figure",
        "Figure 3, Section 6.1",
        "Three layers with A and B free (d = 5, n = 20), trained as in the authors'"
        " public code: the loss falls to almost nothing«, {share:.3%} of predicting 0»,"
        " and B_i and Σ^½A_iΣ^½ end near multiples of I. What decides is that a batch"
        " serves for many steps: with other prompts at every step training is often"
        " stuck. With the text's n = 10 and L-BFGS on one batch the pattern is not"
        " there«: distances up to {text:.2f}». «The exact loss of the nearest multiples"
        " is {hidden:.1f} times that in training and more, because prompts that are"
        " rare there carry it.» «Draws of a mixture that has them often, weighted, lead"
        " to the multiples of least exact loss, up to {best:.0%}.» The median prompt"
        " shows nothing of this.",
        hypotheses=(
            "x ~ N(0, Σ), w ~ N(0, Σ⁻¹), no noise; AdamW (0.99, 0.9), clipped by matrix"
            " at 0.01; sample covariances in place of prompts, w and query integrated"
            " out."
        ),
    ),
    Entry(
        "ahn2023/figure-4",
        "figure",
        "Figure 4, Section 6.1",
        "Heat maps of B_0, B_1 and Σ^½A_iΣ^½ where training ends, above the best"
        " multiples of I, and condition numbers of the layers' inputs. A_i grows from"
        " layer to layer in both. With n = 20, the length in the authors' code, the"
        " inputs of every layer are better conditioned than those before; at the best"
        " multiples for n = 10, the text's, X_2 is worse than X_1«, {short:.1f} times»,"
        " and better again from n = 20 on.",
        hypotheses="As in Figure 3; its first run.",
    ),
    Entry(
        "ahn2023/figure-optimal-steps",
        "figure",
        "beyond the paper; the sets S of Theorems 4 and 5",
        "The best networks of one to eight layers with B = 0, and of one to four with"
        " B, exactly (d = 5, n = 20): their weights, the residual that they leave on"
        " every eigenvalue of the whitened sample covariance over its mean spectrum,"
        " and the loss by depth. Free steps beat the best constant step by a factor of"
        " 12 at eight layers; Chebyshev steps for the Marchenko–Pastur interval get"
        " worse after three, because eigenvalues leave the interval; B takes another"
        " factor of 4,900 off the loss at four layers, where the sizes of the A_i no"
        " longer increase. Least squares has no error.",
        hypotheses="x ~ N(0, Σ), w ~ N(0, Σ⁻¹), no noise, n ≥ d.",
    ),
    Entry(
        "ahn2023/equation-15",
        "claim",
        "Appendix A.1, (15)",
        "f(P, Q) = E[(bᵀCA + w⋆ᵀ)x⁽ⁿ⁺¹⁾]² with bᵀ the last row of P, A the"
        " first d columns of Q and C = (1/n) Σ z⁽ⁱ⁾z⁽ⁱ⁾ᵀ over the n examples.",
        hypotheses="one layer with the mask M; any P, Q",
        formula=(
            r"f(P,Q)=\mathbb{E}\left[(b^\top CA+w_\star^\top)\,x^{(n+1)}\right]^2,"
            r"\qquad C=\frac1n\sum_{i=1}^nz^{(i)}z^{(i)\top}"
        ),
    ),
    Entry(
        "ahn2023/lemma-6",
        "claim",
        "Appendix A.2, Lemma 6, (16)–(19)",
        "For Σ = I, f_j(X) = E(⟨C, X⟩ + w⋆[j])² is least at X_j = −[(n−1)/n +"
        " (d+2)/n]⁻¹ E_{d+1,j}, by (17) and (19).",
        hypotheses="x ~ N(0, I), w⋆ ~ N(0, I)",
        erratum_class="misprint",
        remark=(
            "In our copy ⟨C, E_{d+1,j}⟩ lacks its 1/n, and the last block of C and"
            " E[w⋆[j](y⁽ⁱ⁾)²] = 0 lack squares of y. After the proof X_j is called the"
            " unique minimum. C is symmetric, so that f_j is the same at X and Xᵀ and"
            " flat along the d(d+1)/2 antisymmetric matrices; the proof needs a minimum"
            " only."
        ),
        credit=(
            "in the next displays of the proof, which have the 1/n and the squares."
        ),
        formula=(
            r"X_j=-\left[\frac{n-1}{n}+\frac{d+2}{n}\right]^{-1}E_{d+1,j}+K,"
            r"\qquad K^\top=-K"
        ),
    ),
    Entry(
        "ahn2023/lemma-7",
        "claim",
        "Appendix A.3, Lemma 7, (20), (21)",
        "For Σ = diag(λ), E[w⋆[j]C] = λ_j(E_{d+1,j} + E_{j,d+1}), E[⟨C,"
        " E_{d+1,j}⟩C] = ((n+1)/n λ_j² + λ_j/n Σλ)(E_{d+1,j} + E_{j,d+1}), and"
        " f_j has a global minimum at X_j = −[(n+1)/n λ_j + Σλ/n]⁻¹ E_{d+1,j}.",
        hypotheses="x ~ N(0, diag(λ)), w⋆ ~ N(0, I)",
        formula=(
            r"X_j=-\left[\frac{n+1}{n}\lambda_j+\frac1n"
            r"\sum_k\lambda_k\right]^{-1}E_{d+1,j}"
        ),
    ),
    Entry(
        "ahn2023/appendix-b.1-loss",
        "claim",
        "Appendix B.1, first display",
        "f(A₀, A₁) = E Tr[Π(I + X₀ᵀAᵢX₀M) X₀ᵀX₀ Π(I + M X₀ᵀAᵢX₀)], the weights"
        " w averaged out.",
        hypotheses="isotropic inputs and weights, two layers of the form (9)",
        erratum_class="misprint",
        erratum=(
            "As printed in our copy the projector I − M on both sides is missing, so"
            " that errors on the n examples are added to the error on the query«: for d"
            " = 2, n = 8, A₀ = diag(−0.9, −0.2), A₁ = diag(−0.3, −1.2) the trace, with"
            " Aᵢ/n in it, is {times:.1f} times the loss». The indices of the products"
            " disagree between the two lines."
        ),
        correction=(
            "f(A₀, A₁) = E Tr[(I − M) Π(I + X₀ᵀAᵢX₀M) X₀ᵀX₀ Π(I + M X₀ᵀAᵢX₀) (I −"
            " M)], the inner factors being those of A₀ (1/n absorbed into Aᵢ); it"
            " holds prompt by prompt."
        ),
        credit="in Lemma 9, which it cites, and in (23) and (32).",
        formula=(
            r"f(A_0,A_1)=\mathbb{E}\operatorname{tr}\Big[(I-M)\prod_i(I+X_0^\top "
            r"A_iX_0M)\;X_0^\top X_0\prod_i(I+MX_0^\top A_iX_0)\,(I-M)\Big]"
        ),
    ),
    Entry(
        "ahn2023/equation-22",
        "claim",
        "Appendix B.2, (22)–(25), (29), (30)",
        "Labels after the layers are Y₀ Π(I + M X₀ᵀA_ℓX₀); G(X) = X Π(I − M XᵀAᵢX)"
        " obeys G(U_ΣX) = U_ΣG(X) on S, and its derivative along R_j turns into"
        " that along U_ΣᵀR_jU_Σ. Hence R̃ᵢ = rᵢΣ⁻¹, rᵢ = Tr(Σ^½RᵢΣ^½)/d, changes"
        " the loss no slower than R does, (25).",
        hypotheses=(
            "Aᵢ = aᵢΣ⁻¹, x ~ N(0, Σ), w ~ N(0, Σ⁻¹), U_Σ = Σ^½UΣ^{−½}, U orthogonal"
        ),
        erratum_class="misprint",
        erratum=(
            "As printed in our copy G has I − M… above (28): with it the labels of a"
            " random prompt come out wrong. R̃ᵢ = rᵢI right after (25) is a slip for"
            " rᵢΣ⁻¹, and in the display after (27) wᵀw stands for wwᵀ."
        ),
        correction=(
            "G(X) = X Π(I + M XᵀAᵢX). The slope of f along rᵢΣ⁻¹ equals the slope along"
            " R."
        ),
        credit=(
            "in (22), (29) and (30), which have I + M…, and in three other lines of the"
            " proof, which have rᵢΣ⁻¹."
        ),
        formula=(
            r"G(X)=X\prod_i(I+MX^\top A_iX),\qquad G(U_\Sigma X)"
            r"=U_\Sigma G(X),\qquad\tilde R_i=r_i\Sigma^{-1}"
        ),
    ),
    Entry(
        "ahn2023/equation-26",
        "claim",
        "Appendix B.2, (26)",
        "Along dAᵢ/dt = −Tr(Σ^½∇_{Aᵢ}f Σ^½) Σ⁻¹, which stays in S, the loss"
        " falls at least at the rate Σ‖∇_{Aᵢ}f‖². The rate is exactly d times"
        " that, because ∇_{Aᵢ}f is a multiple of Σ on S.",
        hypotheses="Aᵢ = aᵢΣ⁻¹, x ~ N(0, Σ), w ~ N(0, Σ⁻¹)",
        formula=(
            r"\dot A_i=-\operatorname{tr}\big(\Sigma^{1/2}\,\nabla_{A_i}f\,\Sigma"
            r"^{1/2}\big)\,\Sigma^{-1}\quad\Longrightarrow\quad\dot f=-d"
            r"\sum_i{\lVert\nabla_{A_i}f\rVert}_F^2"
        ),
    ),
    Entry(
        "ahn2023/equation-31",
        "claim",
        "Appendix B.3, (31), (36), (37), (39)–(52)",
        "With B too, rotating inputs by U_Σ rotates X_i and G(X) = X Π(I − M"
        " X_iᵀA_iX_i) on S; derivatives along R_j and S_j turn into those along"
        " U_ΣᵀR_jU_Σ and U_Σ⁻¹S_jU_Σ. Hence R̃_j = r_jΣ⁻¹ and S̃_j = s_jΣ⁻¹, s_j ="
        " Tr(Σ^{−½}S_jΣ^½)/d, change the loss no slower than R_j and S_j do.",
        hypotheses="Aᵢ = aᵢΣ⁻¹, Bᵢ = bᵢI, x ~ N(0, Σ), w ~ N(0, Σ⁻¹)",
        erratum_class="misprint",
        erratum=(
            "As printed in our copy G has I − M… for I + M…, and S̃_j = s_jΣ⁻¹, as in"
            " the flow dBᵢ/dt = −sᵢΣ⁻¹, leaves S unless Σ is a multiple of I: for d = 2"
            " and a random S_j the slope along it is not the slope along S_j. The"
            " sentence after (34) has R̃ᵢ = rᵢI for rᵢΣ⁻¹. (42) has a trailing X_j"
            " inside the direction and lacks one outside."
        ),
        correction=(
            "G(X) = X Π(I + M X_iᵀA_iX_i), S̃_j = s_jI and dBᵢ/dt = −sᵢI; slopes"
            " along r_jΣ⁻¹ and s_jI equal those along R_j and S_j."
        ),
        credit="right after (34) and at the end of Step 4, which have S̃ᵢ = sᵢI.",
        formula=(
            r"G(X)=X\prod_i(I+MX_i^\top A_iX_i),\qquad\tilde R_j"
            r"=r_j\Sigma^{-1},\qquad\tilde S_j=s_jI"
        ),
    ),
    Entry(
        "ahn2023/lemma-8",
        "claim",
        "Lemma 8",
        "If all Aᵢ are multiples of Σ⁻¹, two layers may change places without changing"
        " the loss. Matrices that are not multiples of one another may not.",
        hypotheses="the setting of Theorem 4, A in S",
        formula=r"f(\ldots,A_i,\ldots,A_j,\ldots)=f(\ldots,A_j,\ldots,A_i,\ldots)",
    ),
    Entry(
        "ahn2023/lemma-9",
        "claim",
        "Appendix C.1, Lemmas 9 and 10, (53)–(55)",
        "With the true label in the query's place the loss is E"
        " Tr((I−M)Ȳ_kᵀȲ_k(I−M)): that label is added to the query's entry of"
        " Y_k and moves no other entry of Z_k.",
        hypotheses="weights of the form (13); any laws of x and w⋆",
        formula=(
            r"f=\mathbb{E}\operatorname{tr}\big((I-M)\,\bar Y_k^\top\bar Y_k\,(I-M)"
            r"\big)"
        ),
    ),
)
