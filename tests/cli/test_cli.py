"""The command line, as a user meets it."""

import errno
import functools
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import iclab
from iclab import cli, papers
from iclab.evidence import Claim, Entry, Measured
from iclab.runs import Cache, EngineProblem, here
from tests.cli.cheap import complaints
from tests.report import example

CLAIMS = [entry for entry in papers.select() if entry.kind == "claim"]
QUICK = "zhang2023/section-5.1-determinant"
# In this process: others would load JAX once more for each test.
main = functools.partial(cli.main, engine=here)


def _run(*words: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "iclab", *words]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        timeout=120,
    )


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """Replace the claim behind QUICK by one that ends as told."""
    # What it predicts is nobody else's business.
    monkeypatch.setenv("ICLAB_CACHE", str(tmp_path / "cache"))

    def use(value: float = 1.0, error: float = 0.1, raises: str | None = None):
        def measure(case, key, scale):
            if raises:
                raise RuntimeError(raises)
            return Measured(value, error, "because")

        claim = Claim(
            QUICK,
            cases=lambda scale: {"only": 0},
            predict=lambda case: 1.0,
            measure=measure,
            decoy=lambda case: 2.0,
        )
        (entry,) = papers.select([QUICK])
        module = importlib.import_module(papers.module_name(entry))
        monkeypatch.setattr(module, "CLAIM", claim, raising=False)

    return use


def test_list_names_every_claim(capsys):
    assert main(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["id"] for one in listed] == [entry.id for entry in papers.select()]
    assert set(listed[0]) == {
        "id",
        "kind",
        "paper",
        "locator",
        "statement",
        "hypotheses",
        "erratum",
        "correction",
        "formula",
        "erratum_class",
        "remark",
        "credit",
        "counterexample",
        "quote",
    }


def test_list_as_text_has_a_line_each(capsys):
    assert main(["list", "zhang2023"]) == 0
    lines, legend = capsys.readouterr().out.split("\n\n")
    assert len(lines.splitlines()) == len(papers.select(["zhang2023"]))
    assert all(len(line) <= 100 for line in lines.splitlines())
    assert re.search(r"^zhang2023/corollary-4.3 +\* ", lines, re.MULTILINE)
    assert re.search(r"^zhang2023/lemma-a.3 +u₋₁", lines, re.MULTILINE)
    assert legend.startswith("! fails as printed")
    assert re.search(r"^zhang2023/corollary-4.3 +\* misprint ", lines, re.MULTILINE)


def test_list_names_trained_models(capsys):
    assert main(["list", "--weights"]) == 0
    lines, _ = capsys.readouterr().out.split("\n\n")
    names = [line.split()[0] for line in lines.splitlines()]
    assert "gpt2-fixed-18" in names
    assert all(len(line) <= 100 for line in lines.splitlines())
    assert main(["list", "--weights", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in listed] == names
    assert listed[0]["settings"]["size"] == "tiny"
    assert main(["list", "--weights", "zhang2023"]) == 2


def test_show_says_what_and_how(capsys):
    assert main(["show", "zhang2023/section-5.1-sign-count"]) == 0
    text = capsys.readouterr().out
    for field in ("statement", "erratum", "correction", "predict", "measure", "decoy"):
        assert f"  {field} " in text
    assert "iclab check zhang2023/section-5.1-sign-count" in text


def test_show_as_json(capsys):
    assert main(["show", QUICK, "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert shown["id"] == QUICK
    assert shown["method"]["measure"]


def test_iclab_itself_is_cited(capsys):
    assert main(["cite", "iclab", QUICK, "iclab"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("@software{iclab,\n")
    assert text.count("@software") == 1
    assert "@article{zhang2023," in text
    cff = (Path(iclab.__file__).parents[1] / "CITATION.cff").read_text("utf-8")
    (title,) = re.findall(r'^title: "(.*)"$', cff, re.M)
    (version,) = re.findall(r"^version: (.*)$", cff, re.M)
    assert f"title   = {{{title}}}" in text
    assert f"version = {{{version}}}" in text
    assert version == iclab.__version__


def test_cite_prints_each_paper_once(capsys):
    assert main(["cite", "zhang2023", QUICK]) == 0
    assert capsys.readouterr().out.count("@article{zhang2023,") == 1


def test_check_as_json_is_one_array_with_the_fixed_keys(capsys):
    assert main(["check", QUICK, "--scale", "smoke", "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    keys = ["id", "kind", "verdict", "statement", "correction", "cases"]
    made = ["scale", "finished", "iclab", "commit"]
    new = ["numbers", "slips", "erratum", "erratum_class", "remark", "credit"]
    assert list(record) == [*keys, "seconds", "seed", *new, *made]
    assert record["scale"] == "smoke"
    assert {"case", "predicted", "measured", "error", "decoy"} <= set(
        record["cases"][0]
    )
    assert record["verdict"] == "holds"


def test_check_as_text(capsys):
    assert main(["check", QUICK, "--scale", "smoke"]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"holds      {QUICK}  ")
    assert last.startswith("1 item: 1 holds, 0 corrected, 0 fails, 0 undecided (")


def test_a_claim_that_fails_exits_with_1_and_says_why(capsys, fake):
    fake(value=1.5)
    assert main(["check", QUICK]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("fails ")
    assert lines[1].strip() == "only: predicted = 1, measured 1.5 ± 0.1, decoy 2"


def test_a_claim_that_cannot_tell_exits_with_1(capsys, fake):
    fake(value=1.0, error=5.0)
    assert main(["check", QUICK]) == 1
    assert capsys.readouterr().out.startswith("undecided ")


def test_a_crash_is_one_line_and_undecided(capsys, fake):
    fake(raises="the sky fell")
    assert main(["check", QUICK]) == 1
    line, _ = capsys.readouterr().out.splitlines()
    assert re.fullmatch(
        rf"undecided  {QUICK}  [0-9.]+ s  RuntimeError: the sky fell", line
    )
    fake(raises="the sky fell")
    assert main(["check", QUICK, "--json"]) == 1
    (record,) = json.loads(capsys.readouterr().out)
    assert record["error"].startswith("Traceback")


def test_results_are_kept_and_reused(tmp_path, capsys, fake):
    out = str(tmp_path / "a folder with spaces")
    fake(value=1.0)
    assert main(["check", QUICK, "--out", out, "--json"]) == 0
    before = json.loads(capsys.readouterr().out)
    fake(raises="not run again")
    assert main(["check", QUICK, "--out", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == before
    assert main(["check", QUICK, "--out", out, "--force"]) == 1
    assert "RuntimeError: not run again" in capsys.readouterr().out


def test_reproduce_leaves_its_results(tmp_path, capsys):
    out = tmp_path / "results"
    words = ["reproduce", QUICK, "--scale", "smoke", "--out", str(out)]
    assert main(words) == 0
    item, title, slow, store, results, summary = capsys.readouterr().out.splitlines()
    assert item.startswith(f"holds      {QUICK}  ")
    assert title == "slowest, all jobs of an item together:"
    assert re.fullmatch(rf" +[0-9.]+ s  {QUICK}", slow)
    assert store == "cached: 0 of 1"
    assert results == f"results: {out / 'results.json'}"
    missing = len(papers.select()) - 1
    page = out / "report" / "index.html"
    counts = "1 item: 1 holds, 0 corrected, 0 fails, 0 undecided, "
    counts += f"{missing} missing from this folder"
    assert re.fullmatch(rf"{counts} \([0-9.]+ s\); report: {page}", summary)
    assert page.is_file()
    run = json.loads((out / "results.json").read_text())
    assert run["format"] == 2
    assert run["ids"] == [QUICK]
    assert run["scale"] == "smoke"
    assert run["results"][0]["id"] == QUICK
    assert run["versions"]["jax"]
    assert run["started"] <= run["results"][0]["finished"] <= run["finished"]
    # Once more: nothing is computed, and nothing but times is new.
    assert main(words) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == f"{item}, cached"
    assert rest[0] == "cached: 1 of 1"
    again = json.loads((out / "results.json").read_text())
    assert again["results"] == run["results"]


def test_results_of_another_version_are_left_alone(tmp_path, capsys):
    path = tmp_path / "results.json"
    path.write_text('{"results": []}')
    assert main(["reproduce", QUICK, "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"iclab reproduce: {path} is of another version of iclab (format 1, here 2):"
        " move it away, or use another folder\n"
    )
    assert path.read_text() == '{"results": []}'


@pytest.mark.parametrize("name", [".lock", "results.json", "report/index.html"])
def test_what_is_in_the_way_is_one_line(tmp_path, capsys, fake, name):
    fake()
    (tmp_path / name).mkdir(parents=True)
    assert main(["reproduce", QUICK, "--out", str(tmp_path)]) == 2
    error = complaints(capsys.readouterr().err)
    reason = "Is a directory"
    if name.startswith("report"):
        reason = f"{tmp_path / name} is there, and iclab did not write it: move it away"
    assert re.fullmatch(rf"iclab reproduce: cannot .*: {reason}\n", error)


@pytest.mark.parametrize(
    ("name", "what"), [("results.json", "to "), ("errata.html", "the report in ")]
)
def test_a_full_disk_is_one_line(tmp_path, capsys, fake, monkeypatch, name, what):
    fake()
    replace = os.replace

    def full(draft, path):
        if Path(path).name == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(draft, path)

    monkeypatch.setattr("iclab._files.os.replace", full)
    assert main(["reproduce", QUICK, "--out", str(tmp_path)]) == 2
    assert complaints(capsys.readouterr().err) == (
        f"iclab reproduce: cannot write {what}{tmp_path}: No space left on device\n"
    )
    assert not list(tmp_path.glob("**/.*.draft"))


def test_an_engine_that_fails_keeps_what_was_done(tmp_path, capsys, fake):
    fake()

    def breaks(jobs):
        yield from here(jobs)
        raise EngineProblem("the cluster is gone")

    words = ["reproduce", QUICK, "--out", str(tmp_path)]
    assert cli.main(words, engine=breaks) == 2
    error = complaints(capsys.readouterr().err)
    assert error == "iclab reproduce: the cluster is gone\n"
    (record,) = json.loads((tmp_path / "results.json").read_text())["results"]
    assert record["verdict"] == "holds"


def test_results_and_compiled_programs_lie_apart(tmp_path):
    out, own = tmp_path / "out", tmp_path / "own"
    (out / "compiled").mkdir(parents=True)
    (out / "compiled" / "planted").write_bytes(b"machine code")
    words = ["reproduce", QUICK, "--scale", "smoke", "--out", str(out)]
    assert main([*words, "--cache", str(own)]) == 0
    assert (own / "programs").is_dir()
    assert sorted(path.name for path in out.iterdir() if path.name[0] != ".") == [
        *("compiled", "report", "results.json", "store")
    ]
    assert [path.name for path in (out / "compiled").iterdir()] == ["planted"]


def test_the_cache_is_shown_and_cleared(tmp_path, capsys):
    own = tmp_path / "own"
    cache = Cache(own)
    cache.programs.mkdir()
    (cache.programs / f"jit-{'0' * 64}-cache").write_bytes(bytes(2_000_000))
    assert main(["cache", "--cache", str(own)]) == 0
    expected = f"{own}: 2.0 MB (`iclab cache clear` removes it)\n"
    assert capsys.readouterr().out == expected
    assert main(["cache", "clear", "--cache", str(own)]) == 0
    assert capsys.readouterr().out == f"removed 2.0 MB from {own}\n"
    assert not cache.programs.exists()


def test_a_cache_that_cannot_be_used(tmp_path, capsys, monkeypatch, fake):
    fake()
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    assert main(["check", QUICK, "--cache", str(shared)]) == 2
    reason = f"will not use {shared}: others can write there, and it holds programs"
    assert capsys.readouterr().err.startswith(f"iclab check: {reason}; `chmod ")
    # Nobody has named it: then it is left alone.
    monkeypatch.setenv("ICLAB_CACHE", str(shared))
    assert main(["check", QUICK]) == 0
    said = complaints(capsys.readouterr().err)
    assert said.startswith(f"iclab check: {reason}")
    assert said.endswith("; going on without\n")
    assert list(shared.iterdir()) == []


def test_help_names_the_options_of_a_run(capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", "--help"])
    text = capsys.readouterr().out
    for flag in ("scale", "seed", "out", "force", "jobs", "cluster", "retrain", "json"):
        assert f"--{flag}" in text


def test_report_is_built_again_from_what_is_there(tmp_path, capsys):
    results = example.write_results(tmp_path / "a folder")
    assert main(["report", str(results)]) == 0
    page = results / "report" / "index.html"
    assert capsys.readouterr().out == f"report: {page}\n"
    assert page.is_file()


def test_a_report_of_nothing_is_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["report"]) == 2
    assert capsys.readouterr().err == (
        "iclab report: no results in iclab-results:"
        " `iclab reproduce --out iclab-results` writes them\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_report_that_cannot_be_written_is_one_line(tmp_path, capsys):
    results = example.write_results(tmp_path / "results")
    (results / "report").write_text("in the way")
    assert main(["report", str(results)]) == 2
    expected = f"iclab report: cannot write the report in {results}: File exists\n"
    assert capsys.readouterr().err == expected


def test_show_says_what_the_last_run_found(tmp_path, capsys, monkeypatch):
    example.write_results(tmp_path / "iclab-results")
    monkeypatch.chdir(tmp_path)
    assert main(["show", example.CORRECTED]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "last result corrected (smoke, seed 3, 2.5 s, 2025-03-04)" in text
    assert "holds: worst: predicted <= 1, measured 0.99 ± 0.001, decoy 0.95" in text
    assert "fails: as printed: worst: predicted <= 1, measured 43.9" in text
    assert main(["show", example.FIGURE, example.STOPPED]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "fails: B_i stays: 5, expected >= 9" in text
    assert "RuntimeError: <b>no & never</b>" in text


def test_show_finds_results_elsewhere_or_not_at_all(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["show", example.HOLDS]) == 0
    assert "last result" not in capsys.readouterr().out
    results = example.write_results(tmp_path / "results")
    assert main(["show", example.HOLDS, "--json", "--out", str(results)]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert shown["last_result"]["verdict"] == "holds"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["check", "theorem-4.1"],
            "iclab check: unknown id 'theorem-4.1':"
            " did you mean zhang2023/theorem-4.1?\n",
        ),
        (
            ["check", "zhang2023/theorem4.1"],
            "iclab check: unknown id 'zhang2023/theorem4.1':"
            " did you mean zhang2023/theorem-4.1?\n",
        ),
        (
            ["show", "qqqqqqqq"],
            "iclab show: unknown id 'qqqqqqqq': `iclab list` names all of them, --paper"
            " DIR or ICLAB_PAPERS the folder of a paper of your own\n",
        ),
        (
            ["check", "me2026/theorem-1"],  # which other papers have as well
            "iclab check: unknown id 'me2026/theorem-1': `iclab list` names all of"
            " them, --paper DIR or ICLAB_PAPERS the folder of a paper of your own\n",
        ),
        (
            ["cite", "zang2023"],
            "iclab cite: unknown paper 'zang2023': did you mean zhang2023?\n",
        ),
    ],
)
def test_unknown_ids(words, message, capsys):
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.err == message
    assert captured.out == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["check", "--scale", "dsk"],
            "iclab check: argument --scale: must be smoke, desk or paper, got 'dsk';"
            " did you mean desk? (see `iclab check --help`)\n",
        ),
        (
            ["check", "--scale", "42"],
            "iclab check: argument --scale: must be smoke, desk or paper, got '42'"
            " (see `iclab check --help`)\n",
        ),
        (
            ["check", "--seed", "-1"],
            "iclab check: argument --seed: must be a whole number ≥ 0, got '-1'"
            " (see `iclab check --help`)\n",
        ),
        (
            ["reproduce", "--jobs", "none"],
            "iclab reproduce: argument --jobs: must be a whole number ≥ 1, got 'none'"
            " (see `iclab reproduce --help`)\n",
        ),
        (
            ["reproduce", "--jobs", "2", "--cluster", "tcp://localhost:1"],
            "iclab reproduce: argument --cluster: not allowed with argument --jobs"
            " (see `iclab reproduce --help`)\n",
        ),
        (
            ["check", "--cluster", ""],
            "iclab check: argument --cluster: must be an address or a file, got ''"
            " (see `iclab check --help`)\n",
        ),
        (
            ["check", "--colour"],
            "iclab: unrecognized arguments: --colour (see `iclab --help`)\n",
        ),
    ],
)
def test_bad_flags(words, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert capsys.readouterr().err == message


def test_unwritable_folder(tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("")
    assert main(["check", QUICK, "--out", str(file)]) == 2
    expected = f"iclab check: cannot write to {file / 'store'}: Not a directory\n"
    assert capsys.readouterr().err == expected


def test_checking_a_figure_points_to_reproduce(capsys, monkeypatch):
    figure = Entry("zhang2023/figure-9", "figure", "Figure 9", "A picture.")
    monkeypatch.setattr("iclab.papers.select", lambda ids: (figure,))
    assert main(["check", "zhang2023/figure-9"]) == 2
    assert capsys.readouterr().err == (
        "iclab check: zhang2023/figure-9 is a figure:"
        " use `iclab reproduce zhang2023/figure-9`\n"
    )


def test_no_command_is_help(capsys):
    assert main([]) == 0
    assert capsys.readouterr().out.startswith("usage: iclab ")


def test_interrupt_exits_with_130(capsys):
    def interrupt(jobs):
        raise KeyboardInterrupt

    assert cli.main(["check", QUICK], engine=interrupt) == 130
    assert capsys.readouterr().err == "iclab check: interrupted\n"


def test_as_a_process_from_another_folder(tmp_path):
    done = _run("check", QUICK, "--scale", "smoke", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["verdict"] == "holds"
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_leaves_is_no_error():
    command = f"{shlex.quote(sys.executable)} -m iclab list | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


def test_show_names_the_file_and_the_theory_behind_a_prediction(capsys):
    ids = ["zhang2023/lemma-a.5", "gatmiry2024/theorem-4.4", "ahn2023/figure-4"]
    assert main(["show", *ids, "--json"]) == 0
    found = {one["id"]: one["method"] for one in json.loads(capsys.readouterr().out)}
    assert found[ids[0]]["file"].endswith("papers/zhang2023/lemma_a_5.py")
    assert found[ids[0]]["theory"] == ["last_weight_bound"]
    assert found[ids[1]]["theory"] == ["closeness_bound"]  # through a helper
    assert "optimal_gd_plus_plus" in found[ids[2]]["theory"]
    assert main(["show", ids[0]]) == 0
    text = capsys.readouterr().out
    assert "lemma_a_5.py\n" in text
    assert "  theory      last_weight_bound\n" in text


@pytest.mark.parametrize(
    ("word", "ids"),
    [
        ("zhang2023/equation-4.1", ["zhang2023/theorem-4.1"]),
        ("zhang2023/equation-3.5", ["zhang2023/equation-3.6"]),
        ("zhang2023/eq-C.14", ["zhang2023/lemma-c.8"]),
        ("yang2024/equation-60", ["yang2024/lemma-10"]),
        ("yang2024/equation-62", ["yang2024/equation-62"]),
    ],
)
def test_equations_find_their_entry(word, ids):
    assert [entry.id for entry in papers.select([word])] == ids


@pytest.mark.parametrize("word", ["zhang2023/equation-9.9", "zhang2023/equation-x"])
def test_an_equation_that_is_nowhere_is_unknown(word, capsys):
    assert main(["show", word]) == 2
    assert f"unknown id '{word}'" in capsys.readouterr().err
