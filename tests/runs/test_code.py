"""Names of jobs see every source that the job can reach."""

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from iclab.runs import (
    Cache,
    Job,
    Outcome,
    Store,
    _code,
    _parsed,
    code_digest,
    function_digest,
    parsed_sources,
    reread_sources,
    run_jobs,
)

FILES = {
    "papers_of_tests/__init__.py": "SHIFT = 0\n",
    "papers_of_tests/top.py": """
        import iclab
        import beside_of_tests
        from . import below
        from .inner.deep import HEIGHT
        from papers_of_tests import drawn

        def work(config, seed):
            from papers_of_tests._late import LATE
            return {"sum": below.VALUE + HEIGHT + LATE + beside_of_tests.VALUE}

        def hidden():
            import importlib
            return importlib.import_module("papers_of_tests.named"), iclab.algorithms
    """,
    "papers_of_tests/below.py": "VALUE = 1\n",
    "papers_of_tests/inner/__init__.py": "",
    "papers_of_tests/inner/deep.py": "from ..far import HEIGHT\n",
    "papers_of_tests/far.py": "HEIGHT = 1\n",
    "papers_of_tests/_late.py": "LATE = 1\n",
    "papers_of_tests/named.py": "",
    "papers_of_tests/drawn.py": "from . import pens\n__computes__ = False\n",
    "papers_of_tests/pens.py": "",
    "papers_of_tests/contents.py": "ENTRIES = ()\n",
    "beside_of_tests.py": "VALUE = 1\n",
}
JOB = Job("papers_of_tests.top:work", {})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A package, and a module beside it, that have nothing to do with iclab."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    reread_sources()
    yield tmp_path
    reread_sources()
    for name in [n for n in sys.modules if "_of_tests" in n]:
        del sys.modules[name]


def _digest() -> str:
    reread_sources()
    return Job(JOB.function, JOB.config).digest


@pytest.mark.parametrize(
    "name",
    [
        *("__init__.py", "top.py", "below.py", "inner/__init__.py", "inner/deep.py"),
        *("far.py", "_late.py", "named.py", "../beside_of_tests.py"),
    ],
)
def test_a_change_in_reach_renames(folder, name):
    before = _digest()
    path = folder / "papers_of_tests" / name
    path.write_text(path.read_text() + "# changed\n")
    assert _digest() != before


@pytest.mark.parametrize("name", ["contents.py", "drawn.py", "pens.py"])
def test_what_computes_nothing_renames_nothing(folder, name):
    before, picture = _digest(), code_digest(("papers_of_tests.top",), drawing=True)
    path = folder / "papers_of_tests" / name
    path.write_text(path.read_text() + "# changed\n")
    assert _digest() == before
    changed = code_digest(("papers_of_tests.top",), drawing=True) != picture
    assert changed == (name != "contents.py")


@pytest.mark.parametrize(
    ("file", "renames"),
    [
        ("algorithms/_least_squares.py", True),  # by its name in `iclab.algorithms`
        ("core/_prompt.py", True),  # which that imports
        ("papers/zhang2023/contents.py", False),
        ("report/_build.py", False),
    ],
)
def test_iclab_itself_is_in_reach(folder, monkeypatch, file, renames):
    before = _digest()
    read = Path.read_bytes
    changed = lambda path: b"\n" if path.as_posix().endswith(f"iclab/{file}") else b""  # noqa: E731
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + changed(path))
    assert (_digest() != before) == renames


def test_a_changed_sibling_runs_the_job_again(folder, tmp_path):
    store = Store(tmp_path / "store")

    def outcome():
        reread_sources()
        for name in [n for n in sys.modules if "_of_tests" in n]:
            del sys.modules[name]
        events = run_jobs([Job(JOB.function, JOB.config)], store=store)
        (found,) = [one for one in events if isinstance(one, Outcome)]
        return found.from_store, found.result

    assert outcome() == (False, {"sum": 4})
    assert outcome() == (True, {"sum": 4})
    (folder / "papers_of_tests" / "far.py").write_text("HEIGHT = 100\n")
    assert outcome() == (False, {"sum": 103})


def test_files_that_a_cache_knows_are_not_parsed_again(folder, monkeypatch):
    parsed = []
    plain = ast.parse
    monkeypatch.setattr(
        ast, "parse", lambda text, *_: parsed.append(text) or plain(text)
    )
    cache = Cache(folder / "cache")

    def digest(cache):
        monkeypatch.setattr(_code, "PARSED", {})
        monkeypatch.setattr(_parsed, "PARSED", _code.PARSED)
        parsed.clear()
        reread_sources()
        with parsed_sources(cache):
            return code_digest(("papers_of_tests.top",))

    alone = digest(None)
    assert len(parsed) > 8
    assert digest(cache) == alone
    assert len(parsed) > 8
    assert digest(cache) == alone
    assert parsed == []
    (folder / "papers_of_tests" / "below.py").write_text("from . import pens\n")
    changed = digest(cache)
    assert parsed == [b"from . import pens\n"]
    assert changed == digest(None) != alone
    for nonsense in ([1], {"a": 1}, {"a": [2, 3]}):
        cache.keep(_parsed._NOTE, nonsense)
        assert digest(cache) == changed


def test_a_module_that_is_not_there_is_an_error():
    for job in (Job("no_such_package.x:f", {}), Job("iclab.runs._nothing:f", {})):
        module = job.function.partition(":")[0]
        with pytest.raises(
            ModuleNotFoundError, match=f"^Job: there is no module {module}$"
        ):
            _ = job.digest
    with pytest.raises(ModuleNotFoundError, match=r"^Job: there is no module gone$"):
        _ = Job("iclab.runs._store:f", {}, code=("gone",)).digest


def test_versions_of_other_libraries_count_and_those_of_iclab_do_not(
    folder, monkeypatch
):
    """pytest is not what iclab computes with; NumPy is, and the manifest has it."""
    import importlib.metadata

    top = folder / "papers_of_tests" / "below.py"
    top.write_text("import numpy\nimport pytest\nVALUE = 1\n")
    before = _digest()
    version = importlib.metadata.version
    for library, renames in (("numpy", False), ("pytest", True)):
        monkeypatch.setattr(
            importlib.metadata,
            "version",
            lambda name, of=library: "0.0" if name == of else version(name),
        )
        assert (_digest() != before) == renames


def test_folders_without_init_are_packages(tmp_path, monkeypatch):
    """One inside the other, which Python itself cannot find without importing them."""
    path = tmp_path / "bare_of_tests" / "inner" / "deep" / "work.py"
    path.parent.mkdir(parents=True)
    path.write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    reread_sources()
    before = Job("bare_of_tests.inner.deep.work:f", {}).digest
    path.write_text("VALUE = 2\n")
    reread_sources()
    assert Job("bare_of_tests.inner.deep.work:f", {}).digest != before


PROGRAM = """
import functools, math, sys
import jax, jax.numpy as jnp, numpy as np
import iclab
from iclab.runs import function_digest

SCALE = {scale}

class Law:
    power = {power}
    def __call__(self, x):
        return x ** self.power

def helper(x):
    return SCALE * x

def work(rate, seed=0):
    return helper(rate) + Law()(seed) + math.pi

@jax.jit
def traced(rate, seed):
    return helper(rate)

def made(offset):
    return lambda rate, seed: rate + offset

unused = {unused}
for f in (work, traced, made({offset}), functools.partial(work, seed={offset}),
          made(np.arange(3.0) + {offset}), made(jnp.ones({offset})), math.sin):
    print(function_digest(f))
"""


def _printed(**values) -> list[str]:
    """Digests of the functions of a script, as a process of its own finds them."""
    values = {"scale": 2.0, "power": 2, "unused": 1, "offset": 1, **values}
    done = subprocess.run(
        [sys.executable, "-"],
        input=PROGRAM.format(**values),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_functions_without_source():
    before = _printed()
    assert len(set(before)) == len(before) == 7
    assert _printed(unused=2) == before

    def changed(**values):
        after = _printed(**values)
        return [a != b for a, b in zip(before, after, strict=True)]

    assert changed(scale=3.0) == [True, True, False, True, False, False, False]
    assert changed(power=3) == [True, False, False, True, False, False, False]
    assert changed(offset=2) == [False, False, True, True, True, True, False]


def test_values_that_are_nested_differently_are_others():
    def made(value):
        return lambda seed: value

    pairs = [(((1, 2), 3), ((1,), 2, 3)), ([[], 1], [[1]]), ({1: (2, 3)}, {1: 2, 3: 0})]
    for one, other in pairs:
        assert function_digest(made(one)) != function_digest(made(other))


def test_functions_of_modules_are_their_sources(folder):
    from papers_of_tests.top import work  # pyright: ignore[reportMissingImports]

    before = function_digest(work)
    (folder / "papers_of_tests" / "far.py").write_text("HEIGHT = 2\n")
    reread_sources()
    assert function_digest(work) != before


def test_what_has_no_lasting_name_is_refused(tmp_path):
    with open(tmp_path / "file", "w") as file:
        message = (
            r"^function_digest: a value that the function uses has no lasting name"
        )
        with pytest.raises(ValueError, match=message):
            function_digest(lambda rate, seed: file)
