"""Counterexamples to statements of yang2024, by hand: whole numbers and fractions.

Each function checks the one of its entry and gives the numbers that its text quotes.
"""

from fractions import Fraction

_HALF = Fraction(1, 2)


def _missed(labels, penalty):
    """E(ŷ − y)² over λ² with f = 1 everywhere and τ = 1: ŷ = Σy_i/(N + penalty).

    y = λ(1 + ε) is asked for, so that ŷ − y = λ(share·N − 1 + share·Σε_i − ε).
    """
    share = Fraction(1, labels + penalty)
    return (share * labels - 1) ** 2 + labels * share**2 + 1


def equation_23():
    """Two labels, one feature: penalty mτ = 1 against penalty Nτ = 2."""
    ours, theirs = _missed(2, penalty=1), _missed(2, penalty=2)
    assert ours < theirs
    return [ours, theirs]


def section_3_2_closer():
    """One feature, penalty mτ = 1: one label, which is m, against two."""
    nearest, farther = _missed(1, penalty=1), _missed(2, penalty=1)
    assert farther < nearest
    return [nearest, farther]


def lemma_5():
    """Two tokens with f = 1, one of them shown, τ = 1: L* as printed, and the least."""
    N, K, gram = 1, 2, 1 + 1
    shown = -Fraction((1 + 1) ** 2, gram) + 1 + 1
    other = -Fraction(1, gram) + 1
    printed = (shown + other) / (2 * K)

    def loss(copied, asked):
        """(9) for ŷ₁ = copied·y₁ and ŷ₂ = asked·y₁."""
        first = (copied - 1) ** 2 * gram
        second = (asked - 1) ** 2 + asked**2 + 1
        return (first + second) / Fraction(2 * K)

    least = loss(1, _HALF)
    # A sum of squares of copied − 1 and asked − ½, and a constant: nothing is lower.
    for copied in range(-2, 4):
        for asked in range(-2, 4):
            gap = loss(copied, asked) - least
            assert gap == ((copied - 1) ** 2 + (asked - _HALF) ** 2) * gram / (2 * K)
    assert printed < least
    assert N < K
    return [printed, least]
