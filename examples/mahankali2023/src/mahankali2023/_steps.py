r"""Sizes of the best single step, in closed form.

With $X$ the n×d matrix of examples, the best multiple of $X^\top y$ has
$\eta=\mathbb{E}\langle u,X^\top y\rangle/\mathbb{E}\|X^\top y\|^2$, where
$u=\mathbb{E}[f(x)x]$ given f, because the query is drawn anew.
"""


def one_step(dimension: int, examples: int, noise_variance: float) -> float:
    r"""$\eta=1/(n+d+1+\sigma^2)$ for $x,w\sim N(0,I)$.

    $u=w$, so the numerator is $\mathbb{E}\,w^\top X^\top Xw=nd$ (with the ridge
    solution, the mean of w given the data, it is the same), and for the Wishart matrix
    $X^\top X$ the denominator is $nd(n+d+1)+\sigma^2nd$.
    """
    d, n = dimension, examples
    return 1 / (n + d + 1 + noise_variance)


def one_step_loss(dimension: int, examples: int, noise_variance: float) -> float:
    r"""$d\,(1-n\eta)$: what the best step leaves, without the query's own noise."""
    return dimension * (1 - examples * one_step(dimension, examples, noise_variance))


def nonlinear_step(
    dimension: int,
    examples: int,
    noise_variance: float,
    fit_power: float,
    weighted_power: float,
) -> float:
    r"""The step for labels f(x) + noise.

    Of the n² pairs of examples in $\mathbb{E}\|\sum_iy_ix_i\|^2$ the n with equal
    members have $\mathbb{E}y^2\|x\|^2$, and the others $\mathbb{E}\|u\|^2$.
    `fit_power` is $\mathbb{E}\|u\|^2$ and `weighted_power` $\mathbb{E}f(x)^2\|x\|^2$.
    """
    diagonal = weighted_power + noise_variance * dimension
    return fit_power / (diagonal + (examples - 1) * fit_power)


def sine_powers(dimension: int, scale: float) -> tuple[float, float, float]:
    r"""$\mathbb{E}\|u\|^2$, $\mathbb{E}f^2\|x\|^2$ and $\mathbb{E}f^2$ of sin⟨w, x⟩.

    $w\sim N(0,s^2I)$ with s = `scale`. Given w, $u=e^{-\|w\|^2/2}w$ and
    $\mathbb{E}\cos(2\langle w,x\rangle)\|x\|^2=(d-4\|w\|^2)e^{-2\|w\|^2}$, and
    $\mathbb{E}e^{-c\|w\|^2}=(1+2cs^2)^{-d/2}$.
    """
    d, s2 = dimension, scale**2
    fit = s2 * d * (1 + 2 * s2) ** (-d / 2 - 1)
    decay = (1 + 4 * s2) ** (-d / 2)
    weighted = (d - d * decay + 4 * s2 * d * decay / (1 + 4 * s2)) / 2
    return fit, weighted, (1 - decay) / 2


def bent_powers(dimension: int, bend: float) -> tuple[float, float, float]:
    r"""The same of ⟨w, x⟩ + b(⟨v, x⟩² − ‖v‖²), $w,v\sim N(0,I)$, b = `bend`.

    The square is even and drops out of u. Along v, t = ⟨v, x⟩/‖v‖ has
    $\mathbb{E}(t^2-1)^2(t^2+d-1)=10+2(d-1)$, and $\mathbb{E}\|v\|^4=d(d+2)$.
    """
    d, b2 = dimension, bend**2
    fourth = d * (d + 2)
    return float(d), fourth + b2 * fourth * (2 * d + 8), d + 2 * b2 * fourth
