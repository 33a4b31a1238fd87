"""Counterexamples to statements of gatmiry2024, by hand: whole numbers and fractions.

Each function checks the one of its entry and gives the numbers that its text quotes.
"""

from fractions import Fraction
from itertools import product
from math import prod


def lemma_4_1():
    """One loop, two white inputs, A = diag(1, 2): 5 E S₁₂² is not 4 E S₁₂²."""
    n, a = 8, (1, 2)
    diagonal, beside = _mean_of_squares(n)
    own = sum(1 - 2 * one + one**2 * diagonal for one in a)
    loss = own + (a[0] ** 2 + a[1] ** 2) * beside
    expression = own + 2 * a[0] * a[1] * beside
    assert loss != expression
    return [diagonal, beside, loss, expression]


def lemma_a_3():
    """One layer, one input: ES² is not ES³ where S has the exponential law."""
    n, A, u = 2, 1, 1
    second, third = _moment(n, 1, 2), _moment(n, 1, 3)
    common = 1 - 2 * A + A**2 * second  # E(1 − SA)², in both
    loss, printed = common + (u * A) ** 2 * second, common + (u * A) ** 2 * third
    assert loss != printed
    return [second, third, loss, printed]


def lemma_a_10():
    """A multiple of the identity in a high dimension, for two loops and ε = 1."""
    d, n, L, a = 2**18, 2**122, 2, Fraction(61, 64)
    root = 2**61  # √n
    noise = Fraction(8 * L * d, root)  # δ⁴
    assert (8**4 * noise) ** 2 * d**3 <= 1  # 8δd^{3/8} ≤ ε = 1, to the eighth
    assert (4 * d) ** 2 * noise**3 <= 1  # 4dδ⁶ ≤ 1, squared
    m = [_moment(n, d, k) for k in range(5)]
    loss = d * (1 - 4 * a * m[1] + 6 * a**2 * m[2] - 4 * a**3 * m[3] + a**4 * m[4])
    assert loss >= 1 + d * noise * 3**4  # the hypothesis with ε = 1
    slope = -4 * (m[1] - 3 * a * m[2] + 3 * a**2 * m[3] - a**3 * m[4])
    squared = d * slope**2  # ∇L = slope · I
    assert squared < Fraction(1, 4)
    limits = Fraction(3**4, 64), Fraction(3**6, 2**14)
    for found, limit in zip((loss, squared), limits, strict=True):
        assert abs(found - limit) < Fraction(1, 2**60)
    return [*limits]


def theorem_3_3():
    """From A = 0 in 1024 dimensions: 1/b² grows by 8.1 a unit of time at most."""
    d, n, L, xi = 2**10, 2**46, 2, 1
    assert 2 * 4**4 * Fraction(8 * L * d, 2**23) <= xi  # ξ ≥ 2(4δ)⁴
    time = Fraction(16, 5)
    assert time**3 > 16 * L  # later than the printed ξ^{−1/2}(16L/(L−1))^{1/3}
    m = [_moment(n, d, k) for k in range(5)]
    # With A = (1 − b)I, ḃ differs from −4b³ by less than this for 0 ≤ b ≤ 1 …
    eta = 4 * sum(c * (m[k] - 1) for k, c in ((2, 3), (3, 3), (4, 1)))
    # … so that (1/b²)˙ ≤ 8 + 2η/b³, and while 1/b² ≤ 27 that is at most 8.1.
    fastest = Fraction(81, 10)
    assert ((fastest - 8) / (2 * eta)) ** 2 > 27**3
    square = 1 + fastest * time
    assert square < 27
    least = d / square**2  # L ≥ db⁴, since x ↦ (1 − ax)⁴ is convex and ES = I
    assert least > xi
    return [time, square, least]


def theorem_3_4():
    """A = 0 and two loops: the loss is d, and its gradient −4I."""
    d, n, L = 2**18, 2**26, 2
    assert n > d
    assert d * 2**13 >= 16 * L * d * 16**L  # d ≥ 2(4δ)⁴, times √n
    _check_gradient_at_zero()
    squared = d * (2 * L) ** 2
    power = 2**27  # d^{3/2}
    assert power**2 == d**3
    claimed = Fraction(power, 16)
    assert squared < claimed
    return [d, n, squared, int(claimed)]


def section_3_7_tight():
    """One loop and d = 2: a⋆ and its loss exactly, beside the bounds on both."""
    d, quoted = 2, []
    for root in (2**11, 2**15):  # √n
        n = root**2
        assert Fraction(8 * d**2, root) <= Fraction(1, 4)  # the theorem's condition
        # tr E(I − aS)² = d(1 − 2a + a²ES²) is least at a = 1/ES².
        m = _moment(n, d, 2)
        a, loss = 1 / m, d * (1 - 1 / m)
        c_squared = 64 * Fraction(8 * d, root) * d
        quoted += [n, c_squared, 1 - a, Fraction(8 * d**2 * 4, root), loss]
    return quoted


def _moment(n: int, d: int, k: int) -> Fraction:
    """(1/d) E tr Sᵏ for n examples of d white inputs, by Isserlis' theorem.

    A pairing of the 2k places of x x ⋯ x counts with n for every cycle among examples
    and d for every cycle among coordinates.
    """
    total = 0
    for pairs in _pairings(list(range(2 * k))):
        examples = _cycles(k, [(i // 2, j // 2) for i, j in pairs])
        places = _cycles(k, [((i + 1) // 2 % k, (j + 1) // 2 % k) for i, j in pairs])
        total += n**examples * d**places
    return Fraction(total, d * n**k) if k else Fraction(1)


def _pairings(places: list[int]):
    if not places:
        yield []
    for other in places[1:]:
        rest = [one for one in places[1:] if one != other]
        for pairs in _pairings(rest):
            yield [(places[0], other), *pairs]


def _cycles(count: int, edges) -> int:
    label = list(range(count))
    for i, j in edges:
        label = [label[i] if one == label[j] else one for one in label]
    return len(set(label))


def _mean_of_squares(n: int) -> tuple[Fraction, Fraction]:
    """E S₁₁² and E S₁₂², from the moments 1, 0, 1, 0, 3 of a normal number."""
    moments = (1, 0, 1, 0, 3)

    def mean(columns) -> Fraction:
        total = 0
        for i, j in product(range(n), repeat=2):
            powers: dict[tuple[int, int], int] = {}
            for place in [(i, c) for c in columns] + [(j, c) for c in columns]:
                powers[place] = powers.get(place, 0) + 1
            total += prod(moments[power] for power in powers.values())
        return Fraction(total, n**2)

    return mean((0, 0)), mean((0, 1))


def _check_gradient_at_zero() -> None:
    """∂‖(I − SA)²‖²/∂A_ij = −4S_ji at A = 0, whose mean is −4 for i = j, else 0.

    The loss along A = hE_ij has degree 4 in h, so that these differences are exact.
    """
    S = [[Fraction(2), Fraction(1, 3)], [Fraction(1, 3), Fraction(5, 7)]]

    def times(A, B):
        return [
            [sum(A[i][k] * B[k][j] for k in (0, 1)) for j in (0, 1)] for i in (0, 1)
        ]

    def loss(i, j, h):
        A = [[h if (p, q) == (i, j) else 0 for q in (0, 1)] for p in (0, 1)]
        SA = times(S, A)
        G = [[(p == q) - SA[p][q] for q in (0, 1)] for p in (0, 1)]
        return sum(entry**2 for row in times(G, G) for entry in row)

    for i, j in product((0, 1), repeat=2):
        near = loss(i, j, 1) - loss(i, j, -1)
        far = loss(i, j, 2) - loss(i, j, -2)
        assert (8 * near - far) / 12 == -4 * S[j][i]
