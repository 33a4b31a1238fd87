"""The user's own cache: private, bounded, and nobody else's."""

import importlib.metadata
import os
import stat

import platformdirs
import pytest

from iclab.runs import Cache, EngineProblem, _cache


def test_only_its_user_can_write_there(tmp_path):
    before = os.umask(0)
    try:
        cache = Cache(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    for folder in (cache.root, cache.root / "programs", cache.root / "notes"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_programs_are_kept_by_what_they_were_made_for(tmp_path, monkeypatch):
    cache, names = Cache(tmp_path), set()
    names.add(cache.programs.name)
    for package in ("iclab", "jax"):
        with monkeypatch.context() as patch:
            version = importlib.metadata.version
            patch.setattr(
                importlib.metadata,
                "version",
                lambda name, package=package, version=version: (
                    "0" if name == package else version(name)
                ),
            )
            names.add(cache.programs.name)
    monkeypatch.setattr(_cache, "_processor", lambda: "another")
    names.add(cache.programs.name)
    assert len(names) == 4


def test_programs_for_more_cores_are_kept_apart(tmp_path, monkeypatch):
    cache, places = Cache(tmp_path), []
    for cores in (1, 2):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=cores: set(range(n)))
        places.append(cache.threaded_programs)
    assert [place.name for place in places] == ["1-cores", "2-cores"]
    assert {place.parent for place in places} == {cache.programs}


def test_the_variable_names_the_default(tmp_path, monkeypatch):
    monkeypatch.setenv("ICLAB_CACHE", str(tmp_path / "here"))
    assert Cache().root == tmp_path / "here"
    monkeypatch.delenv("ICLAB_CACHE")
    standard = tmp_path / "standard"
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *_, **__: standard)
    assert Cache().root == standard


@pytest.mark.parametrize("inside", ["", "programs", "notes"])
def test_what_others_can_write_is_refused(tmp_path, inside):
    root = tmp_path / "cache"
    Cache(root)
    (root / inside).chmod(0o770)
    with pytest.raises(EngineProblem, match="others can write there, and it holds pro"):
        Cache(root)


def test_a_link_to_elsewhere_is_refused(tmp_path):
    root = tmp_path / "cache"
    Cache(root)
    (root / "programs").rmdir()
    (root / "programs").symlink_to(tmp_path)
    with pytest.raises(EngineProblem, match=r"will not use .*programs"):
        Cache(root)


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(EngineProblem, match="name an empty or a new folder"):
        Cache(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    file = tmp_path / "thesis.tex"
    with pytest.raises(EngineProblem, match=r"cannot use the cache .*: File exists"):
        Cache(file)


def _program(name: str) -> str:
    """A name as JAX gives it to a compiled program."""
    return f"jit_{name}-{'0' * 64}-cache"


def test_what_was_used_longest_ago_goes_first(tmp_path):
    cache = Cache(tmp_path)
    old, new = cache.programs / _program("old"), cache.programs / _program("new")
    cache.programs.mkdir()
    for path, used in ((new, 2000), (old, 1000)):
        path.write_bytes(bytes(100))
        os.utime(path, (used, used))
    assert cache.size == 200
    cache.trim(200)
    assert old.exists()
    cache.trim(150)
    assert [path.name for path in cache.programs.iterdir()] == [new.name]


def test_notes(tmp_path):
    cache = Cache(tmp_path)
    assert cache.note("jobs") is None
    cache.keep("jobs", {"a": [1]})
    assert Cache(tmp_path).note("jobs") == {"a": [1]}
    (note,) = (tmp_path / "notes").iterdir()
    note.write_text("{")
    assert cache.note("jobs") is None
    assert cache.clear() > 0
    cache.keep("jobs", 1)  # the folder is gone: nothing is kept, and nothing breaks
    assert cache.note("jobs") is None
