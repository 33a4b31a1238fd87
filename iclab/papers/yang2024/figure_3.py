"""Figure 3: the ridge regression that training finds, and one with another penalty."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure as Picture

from iclab.core import require
from iclab.evidence import Evidence, Sentence, Tables, at_least, at_most, says, setting
from iclab.papers import _drawing as drawing
from iclab.theory import mean_performance_gap, performance_gap

# Jobs of exact means.
_MEANS = ("means below m", "means above m")


@dataclass(frozen=True)
class Settings:
    """Sizes of Figure 3: those of the paper, except at smoke scale."""

    feature_dim: int = setting("Dimension m of the features.", 100, smoke=20, least=8)
    dictionary_size: int = setting("Tokens in the dictionary, K.", 200, smoke=40)
    noise_variance: float = setting("Variance τ of the label noise.", 0.01)
    draws: int = setting("Tables of features.", 20, smoke=40, paper=200, least=2)
    degree: int = setting("Degree of the quadrature of exact means.", 127, smoke=63)

    def __post_init__(self):
        least = 3 * self.feature_dim // 2 + 1
        rule = f"at least 3/2 `feature_dim` + 1 = {least}"
        K = self.dictionary_size
        require(least <= K, "dictionary_size", rule, K)


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """Gaps by length, and their exact means at a few lengths in two jobs."""
    s, m = settings, settings.feature_dim
    sizes = {
        "feature_dim": m,
        "dictionary_size": s.dictionary_size,
        "noise_variance": s.noise_variance,
    }
    means = sizes | {"kind": "mean", "degree": s.degree}
    lengths = list(range(m // 2, 3 * m // 2 + 1))
    return {
        "tables": sizes | {"kind": "tables", "lengths": lengths, "draws": s.draws},
        "means below m": means | {"lengths": [m // 2, 3 * m // 4, m]},
        "means above m": means | {"lengths": [5 * m // 4, 3 * m // 2]},
    }


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """By length N: gaps in and out of domain and losses, or the mean of the gap."""
    return _means(settings) if settings["kind"] == "mean" else _tables(settings, key)


def draw(tables: Tables) -> Picture:
    """The gap by length, and next to it the loss, which has no dip at N = m."""
    table = tables["tables"]
    N, m = table["lengths"], int(table["feature_dim"])
    picture = drawing.sheet(
        4.9,
        "The gap vanishes at N = m, where the two ridge regressions are the same one",
        f"m = {m}, K = {int(table['dictionary_size'])}, $\\tau$ = "
        f"{float(table['noise_variance']):g}; no training. $\\hat y^\\star$ is ridge "
        "regression with penalty $m\\tau$ (what training finds), "
        "$\\hat y^{best}$ with penalty $N\\tau$.\nExact means over "
        r"$\lambda$ and noise, for "
        f"{len(table['in_domain'])} Gaussian tables of features: lines are means over "
        "tables, bands reach from the smallest to the\nlargest. Diamonds: exact "
        "means over all tables. At N = m the gap is 0, below every logarithmic axis.",
    )
    (page,) = drawing.parts(picture, 1, 1)
    left, right = page.subplots(1, 2)
    y = r"$\mathbb{E}\,\|\hat y^\star-\hat y^{best}\|^2/K$"
    drawing.panel(left, "(a) performance gap", "N (examples in the prompt)", y)
    y = r"$\mathbb{E}\,\|\hat y-y\|^2/2K$"
    drawing.panel(right, "(b) expected loss", "N (examples in the prompt)", y)
    for name, label, color, line in (
        ("in_domain", r"gap in domain, $\lambda\sim N(0,I)$", drawing.BLUE, "-"),
        (
            "out_of_domain",
            r"gap out of domain, $\lambda\sim N(1,4I)$",
            drawing.VERMILION,
            "--",
        ),
    ):
        gaps = np.where(table[name] > 0, table[name], np.nan)
        drawing.band(left, gaps, label, color, N, linestyle=line)
    for one in (name for name in _MEANS if name in tables):
        means = np.where(tables[one]["mean"] > 0, tables[one]["mean"], np.nan)
        style = {
            "color": drawing.BLACK,
            "markersize": 6,
            "label": "in domain, all tables",
        }
        left.plot(tables[one]["lengths"], means, "D", fillstyle="none", **style)
    label = r"loss of $\hat y^\star$; that of $\hat y^{best}$ is half the gap above"
    drawing.band(right, table["losses"], label, drawing.GREEN, N, linestyle="-.")
    for axis in (left, right):
        axis.axvline(m, color=drawing.GREY, linestyle=":", linewidth=1.2, label="N = m")
        axis.set_yscale("log")
    drawing.legend_below(page, [left, right], 3)
    return picture


def paper_statements(tables: Tables) -> list[Sentence]:
    """What Section 4 and the caption say that a reader sees."""
    table = tables["tables"]
    N, m = np.asarray(table["lengths"]), int(table["feature_dim"])
    gap, loss = table["in_domain"].mean(0), table["losses"].mean(0)
    # Outwards from m, on both sides, and not m itself, where the gap is 0.
    sides = [gap[np.less(N, m)][::-1], gap[np.greater(N, m)]]
    return [
        says(
            "The closer N is to m, the closer ŷ* is to ŷ_best.",
            "Section 4, text on Figure 3",
            *(
                at_least(
                    f"Gap over that one step nearer to m, N {sign} m, smallest",
                    side[1:] / side[:-1],
                    1.0,
                    "no smaller farther away; exact but for the tables drawn",
                )
                for sign, side in zip("<>", sides, strict=True)
            ),
            note="confirmed within a tenth of m",
        ),
        says(
            "The closer N is to m, the better the transformer's prediction.",
            "caption, and Section 4",
            Evidence(
                "Length at the smallest expected loss, in units of m",
                float(N[loss.argmin()] / m),
                "=",
                1.0,
                reason="best at N = m",
            ),
            note="predictions improve with N",
        ),
    ]


def expect(tables: Tables) -> list[Evidence]:
    """The dip, why it is there, and what it does not say."""
    table = tables["tables"]
    N, m = table["lengths"], int(table["feature_dim"])
    gap, out, loss = (
        table[name].mean(0) for name in ("in_domain", "out_of_domain", "losses")
    )
    at = {int(n): float(g) for n, g in zip(N, gap, strict=True)}
    reach = max(2, m // 10)
    sides = [[at[m + side * k] for k in range(1, reach + 1)] for side in (-1, 1)]
    errors = table["in_domain"].std(0, ddof=1) / np.sqrt(len(table["in_domain"]))
    error = {int(n): float(e) for n, e in zip(N, errors, strict=True)}
    means = {
        int(n): float(mean)
        for one in (name for name in _MEANS if name in tables)
        for n, mean in zip(tables[one]["lengths"], tables[one]["mean"], strict=True)
    }
    aside = np.abs(N - m) > 0
    worse = table["losses_best"] - table["losses"]
    return [
        Evidence(
            "The gap is smallest at N = m: length at its smallest, in units of m",
            float(N[gap.argmin()] / m),
            "=",
            1.0,
            reason="at N = m",
        ),
        at_most("There it is 0: largest gap at N = m", at[m], 0.0, "exactly"),
        at_least(
            "It rises on both sides of N = m: smallest ratio of neighbours within a "
            "tenth of m",
            min(b / a for side in sides for a, b in itertools.pairwise(side)),
            1.0,
            "no smaller",
        ),
        at_most(
            "Means over tables are the exact ones: largest difference at the "
            "diamonds, in standard errors",
            [abs(at[n] - mean) / error[n] for n, mean in means.items() if n != m],
            4.0,
            "four standard errors",
        ),
        at_most(
            "The second regression is not the best: its loss exceeds that of the first "
            "by half the gap; largest difference of the two over the loss",
            np.abs(worse - table["in_domain"] / 2) / table["losses"],
            1e-9,
            "round-off",
        ),
        at_most(
            "Predictions do not get better as N comes closer to m, they get better "
            "with N: largest ratio of mean losses at neighbouring lengths",
            loss[1:] / loss[:-1],
            1.0,
            "no higher",
        ),
        at_least(
            "Out of domain the gap is at least four times as large: smallest ratio",
            out[aside] / gap[aside],
            4.0,
            "that of the covariance 4I",
        ),
        at_most(
            "The package's closed form says the same at one table: relative difference",
            table["closed_form_difference"],
            1e-8,
            "round-off of a nearly singular system",
        ),
    ]


def _tables(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Gaps and losses of drawn tables, averaged exactly over λ and noise."""
    s = settings
    m, tau = s["feature_dim"], s["noise_variance"]
    shape = (s["draws"], s["dictionary_size"], m)
    seed = np.asarray(jax.random.key_data(key)).ravel().tolist()
    features = np.random.default_rng(seed).normal(size=shape)
    rows = [_at_length(features, N, tau) for N in s["lengths"]]
    columns = ("in_domain", "out_of_domain", "losses", "losses_best")
    named = dict(zip(columns, np.moveaxis(np.array(rows), 0, -1), strict=True))
    closed = float(performance_gap(jnp.asarray(features[0]), s["lengths"][0], tau))
    return {
        **named,
        "lengths": s["lengths"],
        "closed_form_difference": abs(named["in_domain"][0, 0] / closed - 1),
        "feature_dim": m,
        "dictionary_size": s["dictionary_size"],
        "noise_variance": tau,
    }


def _at_length(features: np.ndarray, N: int, tau: float) -> np.ndarray:
    """Gap in domain, gap out of it, loss of ŷ*, loss of ŷ_best; a column per table.

    Shown labels are copied by both, so only the others count. With ρ the penalty,
    ŷ = F P_ρ y for them, P_ρ = (Z Zᵀ + ρI)⁻¹Z, and E yyᵀ = ZᵀMZ + τ tr(M) I.
    """
    _, K, m = features.shape
    shown, F = features[:, :N], features[:, N:]
    Z = np.swapaxes(shown, 1, 2)
    P = [np.linalg.solve(Z @ shown + p * tau * np.eye(m), Z) for p in (m, N)]
    difference = F @ (P[0] - P[1])
    gaps = []
    for M in (np.eye(m), 4 * np.eye(m) + np.ones((m, m))):
        power = shown @ M @ Z + tau * np.trace(M) * np.eye(N)
        gaps.append(np.sum((difference @ power) * difference, axis=(1, 2)) / K)
    losses = []
    for weights in (F @ P[0], F @ P[1]):
        missed = np.sum((weights @ shown - F) ** 2, axis=(1, 2))
        noise = m * tau * (np.sum(weights**2, axis=(1, 2)) + K - N)
        losses.append((missed + noise) / (2 * K))
    return np.array([*gaps, *losses])


def _means(settings: Mapping[str, Any]) -> dict[str, Any]:
    s = settings
    m, K, tau = s["feature_dim"], s["dictionary_size"], s["noise_variance"]
    mean = [
        float(mean_performance_gap(m, N, K, tau, degree=s["degree"]))
        for N in s["lengths"]
    ]
    return {"lengths": s["lengths"], "mean": mean}
