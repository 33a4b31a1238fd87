"""The index of the theory by question, from `theory.toml` and the docstrings."""

import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from docs._ext import public, reference

_FILE = Path(__file__).parents[1] / "theory.toml"


@dataclass(frozen=True)
class Answer:
    """A question, the functions that answer it, and what each of them costs."""

    question: str
    costs: Mapping[str, str]


@functools.cache
def answers() -> dict[str, list[Answer]]:
    """All questions by the subject that they belong to."""
    subjects = tomllib.loads(_FILE.read_text(encoding="utf-8"))["subject"]
    return {
        subject["title"]: [
            Answer(one["question"], one["functions"]) for one in subject["answer"]
        ]
        for subject in subjects
    }


def page() -> str:
    """The questions first, then each with its functions."""
    return "\n".join([*_contents(), *_subjects()])


def _anchor(subject: int, answer: int) -> str:
    return f"question-{subject + 1}-{answer + 1}"


def _contents() -> Iterator[str]:
    for i, (title, asked) in enumerate(answers().items()):
        yield f"**{title}**\n"
        for j, answer in enumerate(asked):
            yield f"- [{answer.question}](#{_anchor(i, j)})"
        yield ""


def _subjects() -> Iterator[str]:
    known = {name.name: name for name in public.names("iclab.theory")}
    for i, (title, asked) in enumerate(answers().items()):
        yield f"## {title}\n"
        for j, answer in enumerate(asked):
            yield f"({_anchor(i, j)})=\n### {answer.question}\n"
            for function, cost in answer.costs.items():
                yield _entry(known[function], cost)


def _entry(name: public.Name, cost: str) -> str:
    parts = reference.parts(name.docstring)
    lines = [f"`iclab.theory.{name.name}`", f": {parts['summary']}"]
    if parts["formulas"]:
        lines += ["", *(f"  {line}" for line in parts["formulas"].splitlines())]
    lines.append("")
    for label, text in (
        ("Assumes", parts.get("Assumes", "")),
        ("Source", parts.get("Source", "")),
        ("Cost", cost),
    ):
        if text:
            lines.append(f"  :{label}: {text}")
    return "\n".join(lines) + "\n"
