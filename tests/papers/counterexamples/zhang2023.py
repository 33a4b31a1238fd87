"""Counterexamples to statements of zhang2023, by hand: whole numbers and fractions.

Each function checks the one of its entry and gives the numbers that its text quotes.
"""

import itertools
from fractions import Fraction


def corollary_4_3():
    """One dimension, Λ = 1, N from the root of our copy: a risk of 42 times ε."""
    epsilon, d, kappa, trace = Fraction(1, 10_000), 1, 1, 1
    M = 2 * (d + 1) * trace / epsilon
    # ε^{-1/2} = 100 is exact, and N is the least that the printed root allows.
    N = 29
    assert (N - 1) ** 2 < 2 * (1 + 2 * d + d**2 * kappa) * trace * 100 <= N**2
    Gamma = 1 + Fraction(1, N) + Fraction(trace, N)
    # E(x²̂/Γ − 1)² w² x_q² with E x⁴ = 3: the mean of M squares has variance 2/M.
    risk = (Fraction(3 - 1) / M + (1 - Gamma) ** 2) / Gamma**2
    assert 42 * epsilon < risk < 43 * epsilon
    return [M, N, Gamma, risk]


def equation_4_13():
    """Two covariances: a query close to 0 makes the small one more probable."""
    values = (1, 4)
    first, second, third = (sum(Fraction(v**k, 2) for v in values) for k in (1, 2, 3))
    printed = second * first / third
    # Densities of N(0, λ) at 0 are as λ^{-1/2}.
    weights = {1: Fraction(1), 4: Fraction(1, 2)}
    mean = sum(v * weights[v] for v in values) / sum(weights.values())
    small = weights[1] / sum(weights.values())
    given = second * mean / third
    assert given != printed
    return [first, second, third, printed, small, mean, given]


def lemma_c_6():
    """A mean of squares and a square of means, for two equally likely covariances."""
    values = (1, 3)
    left = sum(Fraction(v**2, 2) for v in values)
    right = sum(Fraction(v, 2) for v in values) ** 2
    assert left != right
    return [left, right]


def section_4_1_conditioning():
    """Two covariances of one trace: the worse conditioned has the smaller risk."""

    def trained(eigenvalues, N=1, M=1):
        trace = sum(eigenvalues)
        Gamma = [(1 + Fraction(1, N)) * one + Fraction(trace, N) for one in eigenvalues]
        risk = Fraction(0)
        for one, gamma in zip(eigenvalues, Gamma, strict=True):
            # E tr Λ(I − PΛ̂)(I − PΛ̂)ᵀ, one coordinate, with E Λ̂² = Λ² + (Λ² + trΛ Λ)/M.
            square = one**2 + Fraction(one**2 + trace * one, M)
            risk += one * (1 - 2 * one / gamma + square / gamma**2)
        return Gamma, risk

    skew = (Fraction(3, 2), Fraction(1, 2))
    (Gamma, risk), (other_Gamma, other) = trained((1, 1)), trained(skew)
    assert sum(skew) == 2
    assert other < risk
    return [Gamma[0], risk, *skew, skew[0] / skew[1], *other_Gamma, other]


def section_4_2_orthogonal_query():
    """One example, a query orthogonal to it, and a prediction that is not 0."""
    Lambda, N = (2, 1), 1  # diagonals, and examples in training
    x, w, query = (1, 1), (1, 1), (1, -1)
    assert sum(a * b for a, b in zip(x, query, strict=True)) == 0
    Gamma = [(1 + Fraction(1, N)) * one + Fraction(sum(Lambda), N) for one in Lambda]
    y = sum(a * b for a, b in zip(w, x, strict=True))
    prediction = sum(q / g * y * a for q, g, a in zip(query, Gamma, x, strict=True))
    assert prediction != 0
    return [*Gamma, y, prediction]


def section_5_1_sign_count():
    """One example in two dimensions: two negative eigenvalues, one fewer than d + 1."""
    d, example, query = 2, (1, 0, 1), (0, 1, 0)  # columns of E, N = 1
    EE = [[a * b + p * q for b, q in zip(example, query, strict=True)]
          for a, p in zip(example, query, strict=True)]  # fmt: skip
    X = [[0, 0, query[0]], [0, 0, query[1]], [query[0], query[1], 0]]
    tokens = _eigenvalues(EE, {2: (1, 0, 1), 1: (0, 1, 0), 0: (1, 0, -1)})
    signs = _eigenvalues(X, {1: (0, 1, 1), 0: (1, 0, 0), -1: (0, 1, -1)})
    products = [Fraction(a * b, 2) for a, b in itertools.product(tokens, signs)]
    negative = sorted(one for one in products if one < 0)
    assert len(negative) < d + 1
    return [*EE[0], *tokens, *signs, *negative, len(negative), d + 1]


def _eigenvalues(matrix, vectors):
    """The eigenvalues, once their vectors are seen to be such, and orthogonal."""
    for value, vector in vectors.items():
        image = [sum(m * v for m, v in zip(row, vector, strict=True)) for row in matrix]
        assert image == [value * v for v in vector]
    for one, other in itertools.combinations(vectors.values(), 2):
        assert sum(a * b for a, b in zip(one, other, strict=True)) == 0
    return list(vectors)
