"""`iclab probe`: which algorithm does this model run?"""

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from iclab.cli._numbers import seed, whole_number
from iclab.lab import Mistake, mistakes
from iclab.show import Display, display, of

if TYPE_CHECKING:
    from iclab.core import AbstractPredictor
    from iclab.tasks import AbstractTask

_ALGORITHMS = (
    "zero, averaging, least-squares, ridge:PENALTY, gd:STEPS[:SIZE], newton:ITERATIONS"
)
# Dimension for algorithms, which have none, and the size of a step that has no size.
_DIMENSION, _STEP = 5, 0.25
# Of the inputs; covariances have as many rows. And steps of an algorithm.
_dimension = whole_number(1, 4096)
_MOST_STEPS = 10_000


class _Named(NamedTuple):
    """A model, and what is known of its training."""

    predictor: "AbstractPredictor"
    context: int | None = None
    covariance: str | None = None
    dimension: int | None = None


def add_probe(commands: Any) -> None:
    """Add the command to the others."""
    text = "Say which algorithm a model runs, with error bars."
    end = "FILE.py:FUNCTION runs the file: do that with files that you trust. The"
    end += " function gets NumPy arrays (B, n, d), (B, n), (B, d) and returns (B,)."
    parser = commands.add_parser("probe", help=text, description=text, epilog=end)
    parser.set_defaults(run=probe)
    add = parser.add_argument
    text = (
        "a name from `iclab list --weights`, the folder of a run, a safetensors file,"
    )
    text += " a Hugging Face folder, FILE.py:FUNCTION, or an algorithm: "
    add("model", metavar="MODEL", help=text + _ALGORITHMS)
    text = "of the inputs (the model's own)"
    add("--dimension", type=_dimension, metavar="D", help=text)
    text = "examples in a prompt (d, 2d and 4d, no more than in training)"
    add("--context", type=int, nargs="+", metavar="M", help=text)
    text = "x ~ N(0, I), or a covariance of its own for every prompt (as the model was"
    text += " trained, or fixed)"
    add("--task", choices=("fixed", "random"), help=text)
    text = "of the inputs' coordinates, in place of 1 (with --task fixed)"
    add("--variances", type=float, nargs="+", metavar="V", help=text)
    add("--noise", type=float, default=0.0, metavar="S", help="on the labels (0)")
    text = "the longest prompt that the model takes (found by trying)"
    add("--max-context", type=int, metavar="M", help=text)
    text = "noise of the second verdict (a quarter of the labels' deviation, or none if"
    text += " the task has some)"
    add("--second-noise", type=float, metavar="S", help=text)
    text = "families of your own: a `Family`, or f(X, y, q, *, parameter=(low, high))"
    add("--family", nargs="+", default=[], metavar="FILE.py:NAME", help=text)
    text = "share of E ŷ² below which a distance means *is* (0.001)"
    add("--resolution", type=float, default=1e-3, metavar="R", help=text)
    text = "other models or algorithms that compete with the families"
    add("--against", nargs="+", default=[], metavar="MODEL", help=text)
    add("--heads", type=int, metavar="N", help="of a GPT-2 whose file does not say it")
    add("--prompts", type=int, default=2048, metavar="N", help="(2048)")
    add("--seed", type=seed, default=0, help="random seed (0)")
    add("--out", metavar="DIR", help="write a page, pictures and data to this folder")
    add("--json", action="store_true", help="print one JSON object")


def probe(options: argparse.Namespace) -> int:
    """Measure, print, and write a page if a folder is named."""
    import jax

    from iclab.probes import probe as measure

    try:
        named = _named(options.model, options.heads)
        task = _task(options, named)
        with display(out=sys.stderr) as show:
            found = measure(
                named.predictor,
                task,
                contexts=options.context,
                max_context=options.max_context,
                against={word: _named(word).predictor for word in options.against},
                families=[_from_file(word) for word in options.family],
                noise=options.second_noise,
                resolution=options.resolution,
                training_context=named.context,
                prompts=options.prompts,
                name=options.model,
                key=jax.random.key(options.seed),
                report=_report(show),
                say=show.note,
            )
    except ValueError as mistake:
        raise Mistake(str(mistake).removeprefix("probe: ")) from None
    record, page = found.json(), None
    if options.out is not None:
        from iclab.report import write_probe_page

        with mistakes(options.out):
            page = write_probe_page(record, options.out)
    if options.json:
        from iclab.cli._commands import print_json

        print_json(record)
    else:
        print(found.summary() + ("" if page is None else f"\n\npage: {page}"))
    return 0


def _named(word: str, heads: int | None = None) -> _Named:
    """The model that a word means."""
    from iclab import models

    path = Path(word)
    if heads is not None and not path.exists():
        raise Mistake(f"--heads is for the file of a GPT-2, got {word}")
    if ".py:" in word:
        return _Named(_function(word))
    if path.suffix == ".py":
        raise Mistake(
            f"{word} is a file of Python: say which function predicts, as in"
            f" {word}:predict"
        )
    algorithm = _algorithm(word)
    if algorithm is not None:
        return _Named(algorithm, dimension=_DIMENSION)
    if path.is_dir() or path.is_file():
        return _from_disk(path, heads)
    short = word.removeprefix("zhang2023/")
    shipped = models.shipped_manifests()
    if short in shipped:
        settings = shipped[short]["settings"]
        return _Named(models.shipped(short), *_training(settings))
    names = ", ".join(shipped)
    raise Mistake(
        f"no model {word!r}: give a folder, a safetensors file, FILE.py:FUNCTION, one"
        f" of {names}, or an algorithm ({_ALGORITHMS})"
    )


def _from_disk(path: Path, heads: int | None) -> _Named:
    from iclab import models

    settings: dict[str, Any] = {}
    manifest = path / "manifest.json"
    if manifest.is_file():
        try:
            settings = json.loads(manifest.read_text(encoding="utf-8"))["settings"]
        except (ValueError, KeyError, TypeError, OSError, RecursionError):
            settings = {}
    if heads is not None:
        model = models.GPT2.from_huggingface(path, heads=heads)
    else:
        model = models.load(path)
    from iclab.core import AbstractPredictor

    if not isinstance(model, AbstractPredictor):
        raise Mistake(
            f"{path} holds a {type(model).__name__}, which answers no single prompt:"
            " `models.OnPrompts` makes it a predictor"
        )
    return _Named(model, *_training(settings))


def _training(settings: Any) -> tuple[int | None, str | None]:
    """Context length and covariance of a training run, where they are believable."""
    if not isinstance(settings, dict):
        return None, None
    context, covariance = settings.get("context"), settings.get("covariance")
    whole = isinstance(context, int) and 1 <= context <= 10_000
    known = covariance if covariance in ("fixed", "random") else None
    return (context if whole else None), known


def _function(word: str) -> Any:
    """The function FILE.py:FUNCTION as a predictor; this runs the file."""
    from iclab.core import Foreign

    function = _from_file(word)
    if not callable(function):
        file, _, name = word.rpartition(":")
        raise Mistake(f"{file} has no function {name!r}")
    return Foreign(function)


def _from_file(word: str) -> Any:
    """What FILE.py:NAME is, or None; this runs the file."""
    file, _, name = word.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise Mistake(f"no file {file}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # What lies beside it can be imported, and hides no library.
    sys.path.append(str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        words = " ".join(f"{type(error).__name__}: {error}".split())
        raise Mistake(f"{file} cannot be run: {words}") from None
    return getattr(module, name, None)


def _algorithm(word: str) -> "AbstractPredictor | None":
    """An algorithm by its word, or None if the word is none's."""
    import jax.numpy as jnp

    from iclab import algorithms

    name, *numbers = word.split(":")
    makers: dict[str, tuple[range, Callable[..., Any]]] = {
        "zero": (range(1), algorithms.Zero),
        "averaging": (range(1), algorithms.Averaging),
        "least-squares": (range(1), algorithms.LeastSquares),
        "ridge": (range(1, 2), algorithms.Ridge),
        "newton": (range(1, 2), lambda k: algorithms.IterativeNewton(_whole(k))),
        "gd": (
            range(1, 3),
            lambda k, size=_STEP: algorithms.GradientDescent(jnp.full(_whole(k), size)),
        ),
    }
    if name not in makers:
        return None
    count, make = makers[name]
    try:
        values = [float(number) for number in numbers]
    except ValueError:
        values = None
    if values is None or len(values) not in count:
        raise Mistake(f"{word!r} is no algorithm: they are {_ALGORITHMS}")
    return make(*values)


def _whole(value: float) -> int:
    if not 1 <= value <= _MOST_STEPS or value != int(value):
        raise Mistake(
            f"a number of steps must be a whole number from 1 to {_MOST_STEPS},"
            f" got {value:g}"
        )
    return int(value)


def _task(options: argparse.Namespace, named: _Named) -> "AbstractTask":
    import jax.numpy as jnp

    from iclab.tasks import Exponential, LinearRegression, RandomCovariance

    own = getattr(named.predictor, "dimension", named.dimension)
    d = options.dimension
    if d is None:
        d = len(options.variances) if options.variances else own
    if d is None:
        raise Mistake("give --dimension: a function does not say it")
    law = options.task or named.covariance or "fixed"
    if options.variances:
        if len(options.variances) != d:
            found = len(options.variances)
            raise Mistake(f"--variances must be {d} numbers, got {found}")
        if options.task == "random":
            raise Mistake("--variances belong to --task fixed")
        covariance = jnp.diag(jnp.array(options.variances))
        return LinearRegression(covariance, noise_std=options.noise)
    if law == "fixed":
        return LinearRegression(jnp.eye(d), noise_std=options.noise)
    return RandomCovariance((Exponential(),) * d, noise_std=options.noise)


def _report(show: Display) -> Callable[[int, int, str], None]:
    """What tells the display which step has begun."""

    def report(done: int, total: int, text: str) -> None:
        if not done:
            show.begin(total, unit="step")
        else:
            show.ended(str(done))
        if done < total:
            show.progressed("", 1.0, text)
            show.note(f"{of(done + 1, total)}: {text}", minor=True)

    return report
