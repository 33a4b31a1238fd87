"""Counterexamples to statements of zhang2023, by hand: whole numbers and fractions.

Each function checks the one of its entry and gives the numbers that its text quotes.
"""

from fractions import Fraction


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
