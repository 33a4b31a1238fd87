"""`iclab train`: a long run that may be stopped and continued."""

import argparse
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iclab.cli._numbers import seed
from iclab.lab import Mistake, mistakes
from iclab.show import tell

# What is left in the folder at the end, beside metrics and checkpoints.
_FILES = ("model.safetensors", "manifest.json")


def add_train(commands: Any) -> None:
    """Add the command to the others."""
    text = "Train a model; the run may be stopped at any time and continued."
    parser = commands.add_parser("train", help=text, description=text)
    parser.set_defaults(run=train)
    add = parser.add_argument
    add("id", metavar="ID", help="what to train: attention or zhang2023/gpt2")
    add("--out", metavar="DIR", required=True, help="folder of the run")
    add("--resume", action="store_true", help="continue from the last checkpoint")
    layers = parser.add_argument_group("model of attention")
    names = "softmax|identity|relu|gelu|tanh|sigmoid|exp"
    layers.add_argument("--activation", metavar=names, help="(softmax)")
    _number(layers, "--heads", int, "heads in a layer (1)")
    _number(layers, "--layers", int, "layers with weights of their own (1)")
    _number(layers, "--loops", int, "how often one layer is applied (no loop)")
    kinds, text = "separate|merged|sparse", "W^K W^Q W^V W^P, P Q or A (separate)"
    layers.add_argument("--weights", metavar=kinds, help=text)
    _number(layers, "--key-width", int, "size of separate keys and values (d + 1)")
    _number(layers, "--hidden", int, "units of a network after attention (none)")
    text = "of scores: examples, root of the key's size, a number (softmax 1, others n)"
    layers.add_argument("--divisor", metavar="n|root|N", help=text)
    text = "what the query is among the keys (absent)"
    layers.add_argument("--query", metavar="absent|masked|key", help=text)
    layers.add_argument(
        "--no-residual", dest="residual", action="store_false", default=None,
        help="leave the residual connections out",
    )  # fmt: skip
    model = parser.add_argument_group("model of zhang2023/gpt2")
    model.add_argument("--size", metavar="tiny|small|standard", help="(standard)")
    model.add_argument(
        "--no-positions", dest="positional", action="store_false", default=None,
        help="leave the positional encoding out",
    )  # fmt: skip
    _number(model, "--longest", int, "examples that positions exist for (2 × context)")
    data = parser.add_argument_group("prompts (in brackets, what gpt2 has; attention)")
    data.add_argument("--covariance", metavar="fixed|random", help="(fixed)")
    _number(data, "--context", int, "examples in a prompt (40; 20)")
    _number(data, "--dimension", int, "dimension of the inputs (20; 5)")
    _number(
        data,
        "--curriculum-every",
        int,
        "gpt2: steps between more dimensions and points; 0: all from the start (2000)",
    )
    run = parser.add_argument_group("training")
    _number(
        run, "--steps", int, "steps in all, with those before --resume (500000; 4000)"
    )
    _number(run, "--batch", int, "prompts a step (64; 1024)")
    _number(run, "--redraw-every", int, "steps that see the same prompts (1)")
    run.add_argument("--method", metavar="adam|adamw|sgd", help="(adam)")
    _number(run, "--learning-rate", float, "of the method (1e-4; 1e-2)")
    kinds = "constant|linear|cosine|halving"
    run.add_argument("--schedule", metavar=kinds, help="(constant; cosine)")
    _number(
        run, "--halve-every", int, "steps after which the rate is half, for halving"
    )
    _number(run, "--warmup", int, "steps until the learning rate is reached (0)")
    text = "of Adam (0.9,0.999)"
    run.add_argument("--betas", type=_numbers, metavar="N,N", help=text)
    _number(run, "--weight-decay", float, "of AdamW (0)")
    _number(run, "--momentum", float, "of SGD (0)")
    _number(run, "--clip", float, "bound on the gradient's norm (none)")
    text = "what the bound is for: all of it, or every matrix on its own (whole)"
    run.add_argument("--clip-by", metavar="whole|matrix", help=text)
    _number(run, "--start-scale", float, "factor of the first weights (1)")
    run.add_argument(
        "--loss", metavar="all|final", help="gpt2: positions that count (all)"
    )
    run.add_argument(
        "--precision", metavar="float32|float64|bfloat16", help="(float32)"
    )
    _number(run, "--seed", seed, "random seed (0)")
    _number(run, "--checkpoint-every", int, "steps between checkpoints (1000)", 1000)
    _number(run, "--log-every", int, "steps a line of metrics (100)", 100)
    text = "write for TensorBoard too"
    run.add_argument("--tensorboard", action="store_true", help=text)
    settings = [one.dest for group in (layers, model, data, run)
                for one in group._group_actions if one.default is None]  # fmt: skip
    parser.set_defaults(settings=settings)
    many = parser.add_argument_group("several processes (one command for each)")
    many.add_argument(
        "--distributed", action="store_true",
        help="join the processes that the cluster's environment names",
    )  # fmt: skip
    many.add_argument("--coordinator", metavar="HOST:PORT", help="address of process 0")
    _number(many, "--processes", int, "how many there are")
    _number(many, "--process-id", int, "which one this is, from 0")


def train(options: argparse.Namespace) -> int:
    """Train, and leave weights, metrics, checkpoints and a manifest in a folder."""
    import dataclasses

    from iclab import papers, training

    _keep_programs(options)
    recipe = papers.recipe(options.id)
    out = Path(options.out)
    names = [field.name for field in dataclasses.fields(recipe.Settings)]
    given = {name: getattr(options, name) for name in options.settings}
    given = {name: value for name, value in given.items() if value is not None}
    others = [_flag(name) for name in given if name not in names]
    if others:
        raise Mistake(f"{options.id} has no {', '.join(others)}")
    begin = time.perf_counter()
    try:
        recipe.Settings(**given)  # mistakes first: they leave no folder
        places = (options.coordinator, options.processes, options.process_id)
        joins = options.distributed or any(value is not None for value in places)
        if joins:
            if options.process_id in (None, 0):
                _see_place(out, resume=options.resume)  # before the others wait for us
            training.join_processes(*places)
        settings = recipe.Settings(**given)
        problem, model, plan = recipe.build(settings)
        if not joins:
            _see_place(out, resume=options.resume)
        result = training.train(
            problem,
            model,
            plan,
            out=out,
            resume=options.resume,
            checkpoint_every=options.checkpoint_every,
            log_every=options.log_every,
            tensorboard=options.tensorboard,
        )
    except training.Diverged as explosion:
        tell(f"iclab train: {str(explosion).removeprefix('train: ')}")
        return 1
    except ValueError as mistake:
        raise Mistake(str(mistake)) from None
    if result.stopped_by is not None:
        print(
            f"stopped by {result.stopped_by} after step {result.step:,} of"
            f" {plan.steps:,}; the same command with --resume continues"
        )
        return 128 + getattr(signal, result.stopped_by, 0)
    if _first_process():
        seconds = time.perf_counter() - begin
        _finish(out, result.model, dataclasses.asdict(settings), seconds, options.id)
        print(f"trained: {out / 'model.safetensors'}")
    return 0


def _see_place(out: Path, *, resume: bool) -> None:
    """See, before anything is trained, that no file of others is where ours will be."""
    from iclab._files import own
    from iclab.training import Checkpoints

    resumed = resume and bool(Checkpoints(out / "checkpoints").steps())
    with mistakes(f"to {out}"):
        out.mkdir(parents=True, exist_ok=True)
        own(out, _FILES, known=_FILES if resumed else ())


def _keep_programs(options: argparse.Namespace) -> None:
    """Let a run that is killed before its first checkpoint not compile again."""
    import jax

    from iclab.lab import open_cache
    from iclab.runs import keep_programs

    # Whoever has told JAX where to keep its programs is not contradicted.
    told = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    if options.cache is None and told:
        return
    cache = open_cache(options.cache, lambda text: tell(f"iclab train: {text}"))
    if cache is not None:
        keep_programs(cache)


def _finish(
    out: Path, model: Any, settings: Mapping[str, Any], seconds: float, id: str
) -> None:
    """Weights, and a manifest that says where they come from."""
    import hashlib
    import json

    from iclab._files import write_whole
    from iclab.models import save
    from iclab.runs import provenance

    weights = out / _FILES[0]
    try:
        save(model, weights)
        manifest = {
            "id": id,
            "settings": dict(settings),
            "command": _command(id, settings),
            "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
            "seconds_of_the_last_part": round(seconds, 1),
            **provenance(),
        }
        text = json.dumps(manifest, indent=1) + "\n"
        write_whole(out / _FILES[1], text, durable=True)
    except OSError as error:
        raise Mistake(f"cannot write to {out}: {error.strerror}") from None


def _command(id: str, settings: Mapping[str, Any]) -> str:
    """The command line that trains this, every setting spelt out."""
    words = ["iclab train", id]
    for name, value in settings.items():
        if isinstance(value, bool):
            words += [] if value else [_flag(name)]
        elif value is not None:
            text = ",".join(map(str, value)) if isinstance(value, tuple) else value
            words += [f"{_flag(name)} {text}"]
    return " ".join([*words, "--out DIR"])


def _flag(name: str) -> str:
    words = {"positional": "no-positions", "residual": "no-residual"}
    return f"--{words.get(name, name).replace('_', '-')}"


def _first_process() -> bool:
    import jax

    return jax.process_index() == 0


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(map(float, text.split(",")))
    except ValueError:
        rule = f"must be numbers with commas (0.9,0.999), got {text!r}"
        raise argparse.ArgumentTypeError(rule) from None


def _number(group: Any, flag: str, kind: Any, text: str, default: Any = None) -> None:
    group.add_argument(flag, type=kind, metavar="N", help=text, default=default)
