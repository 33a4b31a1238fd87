"""Counterexamples to statements of ahn2023, by hand: whole numbers and fractions.

Each function checks the one of its entry and gives the numbers that its text quotes.
"""

from fractions import Fraction


def lemma_2():
    """Two weights, one example: A₁ has no part in the answer of one layer."""
    A = (Fraction(-1, 2), Fraction(-1, 2))
    x, weight, query = 1, 1, 1
    y, label, w = Fraction(x * weight), Fraction(0), [Fraction(0)]
    found = []
    for one in A:
        label += query * one * x * y
        y += x * one * x * y
        # ∇R(w) = x(xw − xw⋆) for one example
        w.append(w[-1] + one * x * (x * w[-1] - x * weight))
        found.append(-label)
    assert found == w[1:]
    assert found[0] != w[2]

    def R(w):
        return Fraction((w * x - weight * x) ** 2, 2)

    curvature = R(2) - 2 * R(1) + R(0)  # exact: R is a quadratic polynomial
    assert curvature == x**2 != Fraction(x**2, 2)
    return [*w[1:], curvature]


def equation_35():
    """One input of variance 4: the printed flow of B does a quarter of what it must."""
    Sigma, a = 4, Fraction(-1, 5)
    moments = (1, 1, 3, 15, 105, 945)  # of x²/4, the square of a standard normal

    def mean(polynomial):
        return sum(c * m for c, m in zip(polynomial, moments, strict=False))

    def loss(b):
        # (1 + ah)²(1 + ah(1 + bah)²)² up to the first power of b
        plain = (1, 4 * a, 6 * a**2, 4 * a**3, a**4)
        turned = _product((1, 3 * a, 3 * a**2, a**3), (0, 0, 4 * a**2))
        return mean(plain) + b * mean(turned)

    slope = loss(1) - loss(0)
    asked, printed = slope**2, slope**2 / Sigma  # dB/dt = −slope/Σ
    assert 0 < printed < asked
    return [a / Sigma, a, slope, printed, asked]


def section_5_2_distorted_view():
    """A quarter turn: Σ^{−1/2}w̄ does not explain the label, W^{−ᵀ}w̄ does."""
    W, one = ((0, -1), (1, 0)), (1, 0)
    Sigma = [[_inner(left, right) for right in W] for left in W]
    assert Sigma == [[1, 0], [0, 1]]  # and so Σ^{−1/2} = I
    y, x = _inner(one, one), [_inner(row, one) for row in W]
    transposed = list(zip(*W, strict=True))
    explains = (0, 1)
    assert [_inner(row, explains) for row in transposed] == list(one)  # Wᵀw⋆ = w̄
    assert _inner(x, explains) == y != _inner(x, one)
    return [y, f"({x[0]}, {x[1]})", _inner(x, one), _inner(x, explains)]


def _inner(left, right):
    return sum(a * b for a, b in zip(left, right, strict=True))


def _product(left, right):
    found = [Fraction(0)] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            found[i + j] += a * b
    return found
