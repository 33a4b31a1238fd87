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
        "ahn2023/section-3-nonconvex",
        "claim",
        "Section 3, (i)",
        "The loss is not convex in P and Q, not even for one layer: halfway from the"
        " global minimum (8) to its negative, the same network, it is higher by"
        " tr(Σ²Γ⁻¹).",
        hypotheses="x ~ N(0, Σ), w⋆ ~ N(0, I), no noise",
    ),
    Entry(
        "ahn2023/equation-6",
        "claim",
        "Section 4, (6)",
        "The loss of one layer is f(P, Q) = E([Z₀ + (1/n)Attn(Z₀)]_{d+1,n+1} +"
        " w⋆ᵀx⁽ⁿ⁺¹⁾)².",
        hypotheses="x ~ N(0, Σ), w⋆ ~ N(0, I), no noise",
        erratum_class="misprint",
        remark=(
            "(6) has no square in our copy. The error is linear in the query, whose"
            " mean is 0: without it the expectation is 0 for every P and Q, while the"
            " loss (5) is tr Σ at P = Q = 0."
        ),
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
        "The loss of one layer sees only the last row of P and the first d columns of"
        " Q; the first d rows of P and the last column of Q have no effect.",
        hypotheses="one layer with the mask M; the query's label entry is 0",
        erratum_class="misprint",
        remark=(
            "n is printed for d, of rows and of columns: P and Q are (d+1)×(d+1),"
            " whatever the number n of examples. With d = 2 and n = 1 both columns of Q"
            " that meet the query have an effect, and two rows of P have none."
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
        "ahn2023/theorem-1-singular",
        "claim",
        "Theorem 1, (8), for a singular Σ",
        "(8) is a global minimum for singular Σ too, as the theorem allows: its loss"
        " tr Σ − tr(Σ²Γ⁻¹) is least. What A does to directions that no input has is"
        " free then.",
        hypotheses="x ~ N(0, Σ), w⋆ ~ N(0, I), no noise, Σ ≠ 0",
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
        "For large n, A tends to Σ⁻¹ up to its sign, at rate 1/n, and the covariance"
        " is close to the Gram matrix of the examples: −A times (1/n) Σ xxᵀ is close"
        " to I.",
        hypotheses="n → ∞ at fixed Σ",
        erratum_class="misprint",
        remark="A sign is lost: A in (8) is negative, and tends to −Σ⁻¹.",
        credit="in Section 5, which calls −A_k the preconditioner.",
        formula=r"A=-\Sigma^{-1}+O(1/n)",
    ),
    Entry(
        "ahn2023/section-4-speed",
        "claim",
        "Section 4, first remark after Theorem 1, second sentence",
        "Preconditioned by A of (8), gradient descent converges much faster where Σ is"
        " ill-conditioned«: at condition number 10,000 two steps with A leave a risk of"
        " {ours:.4f}, the best two equal plain steps one of {plain:.3f}».",
        hypotheses="x ~ N(0, Σ), w⋆ ~ N(0, I), n = 50, axes that are nobody's",
    ),
    Entry(
        "ahn2023/section-4-remark-2",
        "claim",
        "Section 4, second remark after Theorem 1",
        "tr(Σ)/n in Γ is a regulariser: of the i-th eigenvalue of Γ it is the share tr"
        " Σ/((n+1)λᵢ + tr Σ), more for few examples and for directions of little"
        " variance.",
        hypotheses="x ~ N(0, Σ), w⋆ ~ N(0, I), no noise",
        erratum_class="wording",
        remark=(
            "The remark has it more significant when the variance is high. That is true"
            " of the term itself, which grows with Σ; its share, and with it all that"
            " it does to a prediction, is the same for Σ and for 100 Σ."
        ),
        formula=(
            r"\frac{\operatorname{tr}\Sigma/n}{\frac{n+1}n\lambda_i+\frac1n"
            r"\operatorname{tr}\Sigma}=\frac{\operatorname{tr}\Sigma}{(n+1)\lambda_i+"
            r"\operatorname{tr}\Sigma}"
        ),
    ),
    Entry(
        "ahn2023/lemma-2",
        "claim",
        "Lemma 2, (9)–(11); Section 5.2; Appendix C.2, (56)–(64)",
        "After i layers with weights (9) the query's entry is y_i = −⟨x, w_i⟩ with"
        " w_{i+1} = w_i + A_i∇R(w_i), w_0 = 0, R(w) = (1/2n) Σ (wᵀx_i − w⋆ᵀx_i)², whose"
        " Hessian is XXᵀ/n.",
        hypotheses="any prompt with noiseless labels; symmetric A_i",
        erratum_class="misprint",
        remark=(
            "A_0 … A_k are k + 1 layers, which the paper calls k: the output after k of"
            " them is −⟨x, w_k⟩, in which A_k has no part. Section 5.2 prints the"
            " Hessian as XXᵀ/(2n), half of it. In our copy (11) has R with index w_k"
            " for w⋆, (61) has x⁽ⁿ⁺¹⁾ where x⁽ⁱ⁾ is meant, the text before it ⟨y⁽ⁱ⁾,"
            " w⋆⟩ for ⟨x⁽ⁱ⁾, w⋆⟩, and the text before (64) calls that equation"
            " equivalent to itself: (63) is meant."
        ),
        counterexample=(
            "d = n = 1, x₁ = x = 1, w⋆ = 1, A_0 = A_1 = −1/2: w₁ = 0 − (1/2)(0 − 1) ="
            " 1/2 and w₂ = 1/2 − (1/2)(1/2 − 1) = 3/4. One layer answers with 1/2, in"
            " which A_1 has no part. R(w) = (w − 1)²/2 has second derivative 1 = x₁²,"
            " not x₁²/2."
        ),
        credit=(
            "in the next part of the lemma, from layer i to layer i + 1, and in (10),"
            " whose Hessian is XXᵀ/n."
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
        erratum_class="hypothesis",
        erratum=(
            "It needs W = Σ^{1/2}: ⟨Wx̄, Σ^{−1/2}w̄⟩ is ⟨x̄, w̄⟩ for every x̄ only if"
            " WᵀΣ^{−1/2} = I. For another W the labels determine another weight. In law"
            " it is true: W = Σ^{1/2}O with O orthogonal, and prompts with x̄ and Ox̄"
            " have one joint law, so that nothing that follows changes."
        ),
        correction=(
            "w⋆ = W^{−ᵀ}w̄ explains the labels for every W; its law is N(0, Σ⁻¹) as"
            " stated."
        ),
        counterexample=(
            "d = 2, W = (0 −1; 1 0), a quarter turn, so that Σ = WWᵀ = I and Σ^{−1/2}w̄"
            " = w̄. With x̄ = w̄ = (1, 0): y = ⟨x̄, w̄⟩ = 1, but x = Wx̄ = (0, 1) and ⟨x,"
            " w̄⟩ = 0. W^{−ᵀ}w̄ = (0, 1) gives ⟨x, W^{−ᵀ}w̄⟩ = 1."
        ),
        formula=r"w_\star=W^{-\top}\bar w\;\sim\;N(0,\Sigma^{-1}),\qquad\Sigma=WW^\top",
    ),
    Entry(
        "ahn2023/theorem-4",
        "claim",
        "Theorem 4",
        "Among Aᵢ = aᵢΣ⁻¹ the gradient of the loss in all entries of all Aᵢ gets"
        " arbitrarily small, for any number of layers. It does vanish: −1/aᵢ are the"
        " Gauss nodes of λ dμ, μ the mean spectrum of the whitened sample covariance,"
        " and training from random matrices ends there.",
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
        "With P = diag(Bᵢ, 1), among Aᵢ = aᵢΣ⁻¹, Bᵢ = bᵢI the gradient of the loss in"
        " all entries of all Aᵢ and Bᵢ gets arbitrarily small, for any number of"
        " layers. It vanishes at the best point of that set.",
        hypotheses="x ~ N(0, Σ), w ~ N(0, Σ⁻¹), Σ ≻ 0, layers of the form (13)",
        erratum_class="hypothesis",
        remark=(
            "The theorem begins with any PSD Σ, for which Σ⁻¹ need not exist; its next"
            " sentence asks for Σ ≻ 0."
        ),
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
        "ahn2023/section-6.1-global",
        "claim",
        "Sections 1 and 6.1",
        "With B free the best point of S may be the global minimum: with two inputs it"
        " is a minimum in all entries of all matrices, and no descent over them ends"
        " lower«. With {layers} layers {best} of {starts} end there, the next at"
        " {next:.3f} times its loss».",
        hypotheses=(
            "d = 2, n = 10, Σ = I, two and three layers of the form (13), Gaussian"
            " starts; a search and no proof. Ends that are no minima, too, are above."
        ),
    ),
    Entry(
        "ahn2023/section-6.1-update",
        "claim",
        "Section 6.1, first observation",
        "At the weights that training finds, a layer turns X_k into X_k(I −"
        " |a_kb_k|MX_kᵀΣ⁻¹X_k/n): on S that is exact, and a_kb_k < 0.",
        hypotheses="d = 5, where training multiples of Σ⁻¹ and I ends; any prompt",
        erratum_class="misprint",
        remark=(
            "Printed without Σ⁻¹ and without the 1/n of (4), which the appendix drops,"
            " too; with whitened inputs it is as printed. X_k has n + 1 columns, not n,"
            " where M meets it."
        ),
        formula=(
            r"X_{k+1}=X_k\left(I-\tfrac1n\,|a_kb_k|\,MX_k^\top\Sigma^{-1}X_k\right)"
        ),
    ),
    Entry(
        "ahn2023/section-6.1-magnitudes",
        "claim",
        "Section 6.1, second observation, and Figure 4",
        "With B free, the three learned matrices grow from layer to layer: ‖A₀‖"
        " < ‖A₁‖ < ‖A₂‖.",
        hypotheses=(
            "d = 5, where training multiples of Σ⁻¹ and I on the exact loss ends; no"
            " law for all sizes (d = 3, n = 10 has |a₀| > |a₁| at its best point)"
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
        erratum_class="misprint",
        remark=(
            "After the proof X_j is said to follow from Lemma 6, and to be the unique"
            " minimum: Lemma 7 is meant, and what is flat there is flat here. In our"
            " copy the last A of Step 1 has 1/(n+1) for (n+1)/n and no zero row, and"
            " Step 2 has ⟨Ux⁽ⁱ⁾, w⋆⟩ for ⟨Ux̃⁽ⁱ⁾, w⋆⟩."
        ),
        credit="in Lemma 7 and in the last display of Step 2, which have (n+1)/n.",
        formula=(
            r"X_j=-\left[\frac{n+1}{n}\lambda_j+\frac1n"
            r"\sum_k\lambda_k\right]^{-1}E_{d+1,j}"
        ),
    ),
    Entry(
        "ahn2023/appendix-b.1-loss",
        "claim",
        "Appendix B.1, first display",
        "f(A₀, A₁) = E Tr[(I − M) Π(I + X₀ᵀAᵢX₀M) X₀ᵀX₀ Π(I + M X₀ᵀAᵢX₀) (I − M)],"
        " the weights w averaged out, the inner factors being those of A₀ (1/n absorbed"
        " into Aᵢ); it holds prompt by prompt.",
        hypotheses="isotropic inputs and weights, two layers of the form (9)",
        erratum_class="misprint",
        remark=(
            "In our copy both lines of the display lack the projector I − M on both"
            " sides, so that errors on the n examples are added to the error on the"
            " query«: for d = 2, n = 8, A₀ = diag(−0.9, −0.2), A₁ = diag(−0.3, −1.2)"
            " the trace, with Aᵢ/n in it, is {times:.1f} times the loss». The indices"
            " of the products disagree between the two lines."
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
        "Labels after the layers are Y₀ Π(I + M X₀ᵀA_ℓX₀); G(X) = X Π(I + M XᵀAᵢX)"
        " obeys G(U_ΣX) = U_ΣG(X) on S, and its derivative along R_j turns into"
        " that along U_ΣᵀR_jU_Σ. Hence R̃ᵢ = rᵢΣ⁻¹, rᵢ = Tr(Σ^½RᵢΣ^½)/d, changes the"
        " loss no slower than R does, (25): in fact just as fast.",
        hypotheses=(
            "Aᵢ = aᵢΣ⁻¹, x ~ N(0, Σ), w ~ N(0, Σ⁻¹), U_Σ = Σ^½UΣ^{−½}, U orthogonal"
        ),
        erratum_class="misprint",
        remark=(
            "G is printed with I − M… above (28): with it the labels of a random prompt"
            " come out wrong. R̃ᵢ = rᵢI right after (25) is a slip for rᵢΣ⁻¹, and in our"
            " copy wᵀw stands for wwᵀ in the display after (27)."
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
        "ahn2023/equation-34",
        "claim",
        "Appendix B.3, (34)",
        "All matrices moved at once from a point of S: R̃ᵢ = rᵢΣ⁻¹ and S̃ᵢ = sᵢI change"
        " the loss no slower than any directions Rᵢ, Sᵢ do; in fact just as fast.",
        hypotheses="Aᵢ = aᵢΣ⁻¹, Bᵢ = bᵢI, x ~ N(0, Σ), w ~ N(0, Σ⁻¹)",
        erratum_class="misprint",
        remark="The sentence after (34) has R̃ᵢ = rᵢI for rᵢΣ⁻¹, as that after (25).",
        credit="in (36) and at the end of Step 5.",
    ),
    Entry(
        "ahn2023/equation-35",
        "claim",
        "Appendix B.3, (35)",
        "Along dAᵢ/dt = −Tr(Σ^½∇_{Aᵢ}f Σ^½) Σ⁻¹, dBᵢ/dt = −Tr(∇_{Bᵢ}f) I, which"
        " stays in S, the loss falls at least at the rate Σ‖∇_{Aᵢ}f‖² + ‖∇_{Bᵢ}f‖²;"
        " the rate is d times that.",
        hypotheses="Aᵢ = aᵢΣ⁻¹, Bᵢ = bᵢI, x ~ N(0, Σ), w ~ N(0, Σ⁻¹)",
        erratum_class="misprint",
        remark=(
            "The flow is printed with dBᵢ/dt = −sᵢΣ⁻¹, which leaves S unless Σ is a"
            " multiple of I, and whose share of the rate is tr(Σ⁻¹)‖∇_{Bᵢ}f‖²: less"
            " than (35) has where tr Σ⁻¹ < 1. With I in place of Σ⁻¹, as right after"
            " (34), the proof goes through."
        ),
        counterexample=(
            "d = n = 1, Σ = 4, two layers, B₀ = 0 and A₀ = A₁ = −1/20, that is a₀ = a₁"
            " = a = −1/5. With h = x²/4, E hᵏ = 1, 3, 15, 105, 945 for k = 1 … 5, the"
            " derivative of f = E[(1 + ah)²(1 + ah(1 + B₀ah)²)²] in B₀ is 4a²E[h²(1 +"
            " ah)³] = −96/625. Along the printed flow B₀ lowers the loss at the rate"
            " (96/625)²/4 = 2304/390625, while (35) asks for (96/625)² = 9216/390625 of"
            " it; A₀ and A₁ give just what it asks of them."
        ),
        credit="right after (34), which has S̃ᵢ = sᵢI.",
        formula=(
            r"\dot A_i=-\operatorname{tr}(\Sigma^{1/2}\nabla_{A_i}f\,\Sigma^{1/2})"
            r"\,\Sigma^{-1},\quad\dot B_i=-\operatorname{tr}(\nabla_{B_i}f)\,I"
            r"\quad\Longrightarrow\quad\dot f=-d\sum_i\big({\lVert\nabla_{A_i}f"
            r"\rVert}_F^2+{\lVert\nabla_{B_i}f\rVert}_F^2\big)"
        ),
    ),
    Entry(
        "ahn2023/equation-31",
        "claim",
        "Appendix B.3, (31), (36), (37), (39)–(52)",
        "With B too, rotating inputs by U_Σ rotates X_i and G(X) = X Π(I + M"
        " X_iᵀA_iX_i) on S; derivatives along R_j and S_j turn into those along"
        " U_ΣᵀR_jU_Σ and U_Σ⁻¹S_jU_Σ. Hence R̃_j = r_jΣ⁻¹ and S̃_j = s_jI, s_j ="
        " Tr(Σ^{−½}S_jΣ^½)/d, change the loss just as fast as R_j and S_j do.",
        hypotheses="Aᵢ = aᵢΣ⁻¹, Bᵢ = bᵢI, x ~ N(0, Σ), w ~ N(0, Σ⁻¹)",
        erratum_class="misprint",
        remark=(
            "G is printed with I − M… for I + M… above (38), and (37) is announced for"
            " S̃_j = s_jΣ⁻¹, which leaves S unless Σ is a multiple of I. In our copy"
            " (42) has a trailing X_j inside the direction and lacks one outside, and"
            " the display before (49) has A_j where R_jX_j belongs."
        ),
        credit=(
            "in (31) and (44), which have I + M…, and right after (34) and at the end"
            " of Step 4, which have S̃ᵢ = sᵢI."
        ),
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
