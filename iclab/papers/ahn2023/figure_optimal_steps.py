"""Beyond the paper: the best step sizes for every depth, and what they achieve."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from iclab.algorithms import LeastSquares
from iclab.evaluation import sampled_risk
from iclab.evidence import Evidence, Tables, at_least, at_most, setting
from iclab.models import LinearTransformer
from iclab.papers import _drawing as drawing
from iclab.papers.ahn2023._experiments import whitened_draws
from iclab.tasks import LinearRegression
from iclab.theory import optimal_gd_plus_plus, optimal_steps, wishart_quadrature

# Where residual polynomials are drawn, and the bins of the spectrum.
_GRID = np.linspace(0, 4, 401)
_EDGES = np.linspace(0, 4, 81)

# Depths whose losses are simulated as well.
_SIMULATED = 3

# Depths whose residual polynomials are drawn, with their colours.
_SHOWN = {
    1: drawing.ORANGE,
    2: drawing.GREEN,
    3: drawing.BLUE,
    4: drawing.VERMILION,
    8: drawing.PURPLE,
}


@dataclass(frozen=True)
class Settings:
    """Sizes: those of the paper's Figure 1."""

    dimension: int = setting("Dimension d of the inputs.", 5)
    samples: int = setting("Examples in a prompt, n.", 20)
    layers: int = setting("Layers with B = 0, up to.", 8, smoke=4)
    free_layers: int = setting("Layers with B free, up to.", 4, smoke=2)
    draws: int = setting(
        "Sample covariances in the histogram.",
        50_000,
        smoke=2_000,
        paper=2_000_000,
        least=2,
    )


def jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """Without B, with B, and the spectrum by simulation."""
    s = settings
    sizes = {"dimension": s.dimension, "samples": s.samples}
    return {
        "B = 0": sizes | {"kind": "plain", "layers": s.layers},
        "B free": sizes | {"kind": "free", "layers": s.free_layers},
        "spectrum": sizes | {"kind": "spectrum", "draws": s.draws},
    }


def compute(settings: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """Columns have a row per depth; rows are filled up with NaN."""
    d, n = settings["dimension"], settings["samples"]
    match settings["kind"]:
        case "plain":
            table = _plain(d, n, settings["layers"])
        case "free":
            table = _free(d, n, settings["layers"])
        case _:
            table = _spectrum(d, n, settings["draws"], key)
    return table | {"dimension": d, "samples": n}


def draw(tables: Tables) -> Picture:
    """Spectrum and residuals above, steps and losses below."""
    plain, free, spectrum = (tables[name] for name in ("B = 0", "B free", "spectrum"))
    draws = int(spectrum["draws"])
    picture = drawing.sheet(
        8.2,
        "The best linear transformer of every depth, exactly",
        f"d = {int(plain['dimension'])}, n = {int(plain['samples'])}, no noise. "
        "Losses, steps and residuals are exact; the spectrum (grey) is a histogram of "
        "the eigenvalues of "
        f"{draws:,} whitened sample covariances.\n"
        "A network's residual multiplies the error along an eigenvector; it should be "
        "small where eigenvalues are. Chebyshev steps are those of the "
        "Marchenko–Pastur interval.",
    )
    axes = picture.subplots(2, 3)
    _residual_panel(axes[0, 0], "(a) residuals, B = 0", plain, spectrum, False)
    _residual_panel(axes[0, 1], "(b) size of residuals, B free", free, spectrum, True)
    _zero_panel(axes[0, 2], plain, spectrum)
    _step_panel(axes[1, 0], plain)
    _free_step_panel(axes[1, 1], free)
    _loss_panel(axes[1, 2], plain, free)
    return picture


def expect(tables: Tables) -> list[Evidence]:
    """What the closed forms promise, as numbers."""
    plain, free, spectrum = (tables[name] for name in ("B = 0", "B free", "spectrum"))
    losses, depth = plain["losses"], len(free["losses"])
    both = min(len(losses), len(spectrum["losses"]))
    deviation = spectrum["losses"][:both] - losses[:both]
    return [
        at_most(
            "The exact losses are those of simulated eigenvalues: largest difference "
            "up to three layers, in standard errors",
            np.abs(deviation / spectrum["errors"][:both]),
            5.0,
            "five standard errors",
        ),
        at_most(
            "Every further layer takes 40 % and more off the loss, B = 0: largest "
            "ratio of neighbours",
            losses[1:] / losses[:-1],
            0.6,
            "two fifths off",
            post_hoc=True,
        ),
        at_least(
            "No depth brings the loss to 0: smallest exact loss",
            min(losses.min(), free["losses"].min()),
            1e-8,
            "above what rounding could leave",
        ),
        at_least(
            "Free steps beat the best constant step, more so with depth: ratio of the "
            "losses at the largest depth",
            plain["constant_losses"][-1] / losses[-1],
            2.0,
            "a factor of two",
            post_hoc=True,
        ),
        at_least(
            "Free steps beat Chebyshev steps: smallest ratio of the losses",
            plain["chebyshev_losses"] / losses,
            1.0,
            "no worse",
        ),
        at_least(
            f"B makes {depth} layers better: ratio of the losses without and with it",
            losses[depth - 1 : depth] / free["losses"][-1],
            5.0,
            "a factor of five",
            post_hoc=True,
        ),
        at_most(
            "Least squares has no error without noise, as n ≥ d: its simulated loss",
            spectrum["least_squares"],
            1e-18,
            "round-off of float64, squared",
        ),
    ]


def _plain(d: int, n: int, deepest: int) -> dict[str, Any]:
    steps = np.full((deepest, deepest), np.nan)
    residuals = np.zeros((deepest, len(_GRID)))
    losses, constant, constant_losses, chebyshev = np.zeros((4, deepest))
    c = d / n
    for k in range(1, deepest + 1):
        eta, losses[k - 1] = optimal_steps(d, n, k)
        steps[k - 1, :k] = eta
        residuals[k - 1] = _residual(np.asarray(eta), _GRID)
        constant[k - 1], constant_losses[k - 1] = _best_constant_step(d, n, k)
        # Reciprocals of the zeros of Chebyshev's polynomial on [(1 − √c)², (1 + √c)²].
        angles = (np.arange(k) + 0.5) * np.pi / k
        steps_k = 1 / (1 + c + 2 * np.sqrt(c) * np.cos(angles))
        chebyshev[k - 1] = _loss(d, n, steps_k)
    return {
        "steps": steps,
        "residuals": residuals,
        "losses": losses,
        "constant_steps": constant,
        "constant_losses": constant_losses,
        "chebyshev_losses": chebyshev,
    }


def _free(d: int, n: int, deepest: int) -> dict[str, Any]:
    a, b = np.full((2, deepest, deepest), np.nan)
    residuals, losses = np.zeros((deepest, len(_GRID))), np.zeros(deepest)
    for k in range(1, deepest + 1):
        a_k, b_k, losses[k - 1] = optimal_gd_plus_plus(d, n, k)
        a[k - 1, :k], b[k - 1, : k - 1] = a_k, b_k[:-1]
        residuals[k - 1] = _network_residual(a_k, b_k, jnp.asarray(_GRID), n)
    return {"a": a, "b": b, "residuals": residuals, "losses": losses}


def _spectrum(d: int, n: int, draws: int, key: Any) -> dict[str, Any]:
    spectrum_key, prompt_key = jax.random.split(key)
    S = np.asarray(whitened_draws(spectrum_key, d, n, draws))
    eigenvalues = np.linalg.eigvalsh(S)
    density, _ = np.histogram(eigenvalues, _EDGES)
    losses, errors = np.zeros((2, _SIMULATED))
    for k in range(1, _SIMULATED + 1):
        eta, _ = optimal_steps(d, n, k)
        sample = np.sum(_residual(np.asarray(eta), eigenvalues) ** 2, axis=1)
        losses[k - 1] = sample.mean()
        errors[k - 1] = sample.std(ddof=1) / np.sqrt(draws)
    task = LinearRegression(jnp.eye(d))
    risks = sampled_risk(
        {"it": LeastSquares()}, task, examples=n, prompts=1_000, key=prompt_key
    )
    least_squares, _ = risks["it"]
    return {
        # Per unit of eigenvalue; what lies beyond the last edge counts as well.
        "density": density / eigenvalues.size / np.diff(_EDGES),
        "losses": losses,
        "errors": errors,
        "least_squares": least_squares,
        "draws": draws,
    }


def _residual(steps: np.ndarray, eigenvalues: np.ndarray) -> np.ndarray:
    """∏ (1 − η_i h), what gradient descent leaves of the error."""
    return np.prod(1 - steps * eigenvalues[..., None], axis=-1)


@functools.partial(jax.jit, static_argnames="n")
def _network_residual(a: Array, b: Array, h: Array, n: int) -> Array:
    """What a network in one dimension leaves of w = 1 at the query 1, when S = h."""
    model = LinearTransformer.sparse(a[:, None, None], b[:, None, None])
    one = jnp.ones(1)
    predict = jax.vmap(lambda h: model.from_moments(h[None, None], h[None], h, one, n))
    return 1 - predict(h)


def _loss(d: int, n: int, steps: np.ndarray) -> float:
    """Exact loss of gradient descent with these steps."""
    h, weight = wishart_quadrature(d, n, 2 * len(steps))
    squares = _residual(steps, np.asarray(h)) ** 2
    return float(d * np.sum(np.asarray(weight) * squares))


def _best_constant_step(d: int, n: int, k: int) -> tuple[float, float]:
    """The best η with η_i = η in all k layers: a zero of the convex loss's slope."""
    h, weight = map(np.asarray, wishart_quadrature(d, n, 2 * k))
    low, high = 0.0, 2.0
    for _ in range(60):
        middle = (low + high) / 2
        falling = np.sum(weight * h * (1 - middle * h) ** (2 * k - 1)) > 0
        low, high = (middle, high) if falling else (low, middle)
    eta = (low + high) / 2
    return eta, _loss(d, n, np.full(k, eta))


def _spectrum_behind(axis: Axes, spectrum: Mapping[str, Any]) -> None:
    """The density of eigenvalues in grey, without a scale of its own."""
    twin = axis.twinx()
    twin.stairs(spectrum["density"], _EDGES, fill=True, color="#E3E3E3")
    twin.set_ylim(bottom=0, top=1.05 * float(np.max(spectrum["density"])))
    twin.set_axis_off()
    axis.set_zorder(twin.get_zorder() + 1)
    axis.patch.set_visible(False)


def _residual_panel(
    axis: Axes,
    title: str,
    table: Mapping[str, Any],
    spectrum: Mapping[str, Any],
    logarithmic: bool,
) -> None:
    y = "|residual factor|" if logarithmic else "residual factor"
    drawing.panel(axis, title, "eigenvalue h of the whitened S", y)
    _spectrum_behind(axis, spectrum)
    for k, residual in enumerate(table["residuals"], start=1):
        if k in _SHOWN:
            label = "1 layer" if k == 1 else str(k)
            shown = np.abs(residual) if logarithmic else residual
            axis.plot(_GRID, shown, color=_SHOWN[k], label=label)
    axis.axhline(0, color=drawing.BLACK, linewidth=0.6)
    axis.set_xlim(0, _GRID[-1])
    axis.set_ylim(-1.05, 1.05)
    if logarithmic:
        axis.set_yscale("log")
        axis.set_ylim(1e-6, 2)
    drawing.below(axis, 5)


def _zero_panel(
    axis: Axes, table: Mapping[str, Any], spectrum: Mapping[str, Any]
) -> None:
    title = "(c) where the residual is 0, B = 0"
    drawing.panel(axis, title, "eigenvalue 1/η of the whitened S", "layers")
    _spectrum_behind(axis, spectrum)
    for k, steps in enumerate(table["steps"], start=1):
        zeros = 1 / steps[:k]
        axis.plot(
            zeros, np.full(k, k), "o", color=_SHOWN.get(k, drawing.GREY), markersize=5
        )
    axis.set_xlim(0, _GRID[-1])
    axis.set_yticks(np.arange(1, len(table["steps"]) + 1))


def _step_panel(axis: Axes, table: Mapping[str, Any]) -> None:
    drawing.panel(
        axis, "(d) step sizes η, B = 0", "layers", "step size, in units of Σ⁻¹"
    )
    depths = np.arange(1, len(table["steps"]) + 1)
    for k, steps in enumerate(table["steps"], start=1):
        label = "best steps" if k == 1 else None
        axis.plot(
            np.full(k, k), steps[:k], "o", color=drawing.BLUE, markersize=5, label=label
        )
    label = "best constant step"
    constant = table["constant_steps"]
    axis.plot(
        depths, constant, "_", color=drawing.VERMILION, markersize=14, label=label
    )
    _decades(axis, (0.2, 0.5, 1, 2, 5))
    axis.set_xticks(depths)
    drawing.below(axis, 1)


def _free_step_panel(axis: Axes, table: Mapping[str, Any]) -> None:
    drawing.panel(axis, "(e) weights, B free", "layers", "size")
    depths = np.arange(1, len(table["a"]) + 1)
    for i in range(len(table["a"])):
        color = (drawing.SKY, drawing.ORANGE, drawing.GREEN, drawing.PURPLE)[i % 4]
        shift = 0.08 * (i - 1.5)
        x = depths + shift
        axis.plot(x, -table["a"][:, i], "o", color=color, label=f"$-a_{i}$")
        if i < len(table["a"]) - 1:
            (squares,) = axis.plot(x, table["b"][:, i], "s", color=color)
            squares.set(markerfacecolor="none", label=f"$b_{i}$")
    _decades(axis, (0.1, 0.3, 1, 3, 10, 30))
    axis.set_xticks(depths)
    axis.set_xlim(0.5, len(depths) + 0.5)
    drawing.below(axis, 4)


def _loss_panel(axis: Axes, plain: Mapping[str, Any], free: Mapping[str, Any]) -> None:
    drawing.panel(axis, "(f) exact loss", "layers", "loss")
    axis.set_yscale("log")
    for label, losses, style, color in (
        ("Chebyshev steps", plain["chebyshev_losses"], "^--", drawing.GREY),
        ("best constant step", plain["constant_losses"], "s--", drawing.VERMILION),
        ("best steps, B = 0", plain["losses"], "o-", drawing.BLUE),
        ("best with B", free["losses"], "D-", drawing.GREEN),
    ):
        depths = np.arange(1, len(losses) + 1)
        axis.plot(depths, losses, style, color=color, label=label, markersize=5)
    axis.plot([], [], " ", label="least squares: 0 (n ≥ d)")
    axis.set_xticks(np.arange(1, len(plain["losses"]) + 1))
    drawing.below(axis, 2)


def _decades(axis: Axes, ticks: tuple[float, ...]) -> None:
    axis.set_yscale("log")
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
