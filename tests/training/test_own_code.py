"""What counts as another code of a user's own class, and what does not."""

import textwrap
from typing import Any

import jax.numpy as jnp
import pytest

from iclab.algorithms import Ridge
from iclab.tasks import LinearRegression
from iclab.training import Plan
from iclab.training._own_code import code_differs, own_code
from iclab.training._plan import described, differences

SOURCE = '''
import jax
import jax.numpy as jnp
from iclab.core import AbstractPredictor

RATE, UNUSED, TABLE = 0.5, 1, jnp.ones(2)
seen = []


@jax.jit
def shrink(w):
    return w / (1 + jnp.sum(w * w))


class Base(AbstractPredictor):
    """A base."""

    @property
    def half(self):
        return 0.5

    def last(self, w, query):
        return w @ query


class Mine(Base):
    """A model."""

    size: int = 2

    def __call__(self, prompt):
        """Its answer."""
        seen.append(1)
        step = lambda w: shrink(w) * RATE + TABLE.sum()
        return self.last(step(prompt.correlation()), prompt.query)  # done
'''
HARMLESS = {
    "docstrings": [('"""A model."""', '"""Another."""'), ("Its answer", "Words")],
    "comments": [("# done", "# and done\n\n        # really")],
    "layout": [("0.5, 1, jnp", "0.5,    1, jnp"), ("class Base", "\n\n\nclass Base")],
    "a default": [("size: int = 2", "size: int = 3")],
    "another name": [("UNUSED, TABLE = 0.5, 1", "OTHER, TABLE = 0.5, 7")],
    "what changes by itself": [("seen = []", "seen = [1, 2]")],
}
OTHER = {
    "a method": [("prompt.correlation()", "-prompt.correlation()")],
    "a lambda inside": [("* RATE +", "* RATE -")],
    "a number": [("TABLE = 0.5", "TABLE = 0.25")],
    "an array": [("jnp.ones(2)", "jnp.zeros(2)")],
    "a compiled function": [("(1 +", "(2 +")],
    "a base": [("w @ query", "query @ w * 2")],
    "a property": [("return 0.5", "return 0.1")],
}


def _mine(changes: Any = ()) -> Any:
    text = textwrap.dedent(SOURCE)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    found: dict[str, Any] = {"__name__": "a_script"}
    exec(compile(text, "a_script.py", "exec"), found)
    return found["Mine"]


@pytest.mark.parametrize("case", [*HARMLESS, *OTHER])
def test_only_what_it_does_counts(case):
    before, after = own_code(_mine()), own_code(_mine({**HARMLESS, **OTHER}[case]))
    assert before is not None
    assert after is not None
    assert code_differs(before, after) == (case in OTHER)


def test_libraries_are_not_gone_into():
    assert own_code(Ridge) is own_code(jnp.sum) is own_code(dict) is None


def test_a_run_is_another_one_if_the_code_of_a_part_is():
    task = LinearRegression(jnp.eye(2))
    there = described(Plan(1), task, _mine()())
    assert there["model"] == "Mine"
    assert differences(there, described(Plan(1), task, _mine()())) == []
    here = described(Plan(1), task, _mine(OTHER["a method"])())
    assert differences(there, here) == ["the code of `model` is another one"]
    # What another Python compiled, or an earlier iclab left out, says nothing.
    older = {name: one for name, one in there.items() if name != "model.code()"}
    assert differences(older, here) == []
    other = there | {"model.code()": "CPython-3.99 0123456789abcdef"}
    assert differences(other, here) == []
