"""Where results come from, found out without touching the checkout."""

import os
import subprocess

from iclab.runs import _provenance


def test_a_look_at_the_checkout_takes_no_lock(tmp_path, monkeypatch):
    """Killed in the middle, a `git status` with a lock would leave it behind."""
    real = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    package = tmp_path / "iclab" / "runs"
    package.mkdir(parents=True)
    (package / "file.py").write_text("")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=tmp_path, env=real, check=True)
    monkeypatch.setattr(_provenance, "__file__", str(package / "file.py"))
    # Other times make the index stale: a plain `git status` would write it anew.
    os.utime(package / "file.py", (1, 1))
    index = (tmp_path / ".git" / "index").read_bytes()
    clean = _provenance._commit()
    assert clean is not None
    assert not clean.endswith("+")
    assert (tmp_path / ".git" / "index").read_bytes() == index
    (package / "file.py").write_text("changed")
    assert _provenance._commit() == clean + "+"
