"""`--set` and `--weights`: figures with settings of one's own, beside the standard."""

import json

import pytest

from iclab import papers
from iclab.lab import Mistake, Request
from tests.cli import cheap

pytestmark = pytest.mark.everything

FIGURE = cheap.FIGURE


def _request(id: str, **changes) -> Request:
    return Request(command="reproduce", ids=(id,), scale="smoke", **changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A figure as it is, and twice with other settings."""
    place = tmp_path_factory.mktemp("variants")
    cheap.write_items(place, 1, figure=True)
    for words in ((), ("--set", "slope=3"), ("--set", "lines=b,z", "--set", "slope=1")):
        found = cheap.run(
            place, "reproduce", FIGURE, "--out", str(place / "r"), "--jobs", "1", *words
        )
        assert found.returncode == 0, found.stderr
    return place


def test_a_variant_is_kept_under_its_own_name_and_decides_nothing(folder):
    run = json.loads((folder / "r" / "results.json").read_text())
    found = {one["id"]: one for one in run["results"]}
    # `slope=1` is what the figure has anyway.
    steep, other = f"{FIGURE}@slope=3", f"{FIGURE}@lines=b,z"
    assert set(found) == {FIGURE, steep, other}
    assert found[FIGURE]["verdict"] == "holds"
    assert "settings" not in found[FIGURE]
    assert found[steep]["verdict"] == "exploratory"
    assert found[steep]["settings"] == {"slope": "3"}
    assert found[steep]["evidence"][0]["value"] == 3.0
    for id in found:
        for kind in ("svg", "pdf", "png", "csv"):
            assert (folder / "r" / "figures" / f"{id}.{kind}").is_file()
    rows = (folder / "r" / "figures" / f"{other}.csv").read_text().splitlines()
    assert {row.partition(",")[0] for row in rows[1:]} == {"b", "z"}


def test_in_the_report_it_stands_beside_the_standard_one(folder):
    page = (folder / "r" / "report" / "ahn2023.html").read_text(encoding="utf-8")
    name = FIGURE.partition("/")[2]
    places = [page.index(f'<article id="{name}{rest}"') for rest in ("", "@lines=b,z")]
    assert places == sorted(places)
    assert "<b>slope = 3</b>" in page
    assert "<span>--set</span> <span>slope=3</span>" in page


def test_nothing_is_run_twice(folder):
    out = str(folder / "r")
    found = cheap.run(folder, "reproduce", FIGURE, "--out", out, "--set", "slope=3")
    assert f"exploratory {FIGURE}@slope=3" in found.stdout
    assert "cached: 1 of 1" in found.stdout


def test_show_tells_the_settings(folder):
    found = cheap.run(folder, "show", FIGURE)
    assert "settings    lines = a,b,c: Names of the lines." in found.stdout
    assert "slope = 1 (paper 2): Rise from point to point." in found.stdout
    (record,) = json.loads(cheap.run(folder, "show", FIGURE, "--json").stdout)
    assert record["settings"][1]["values"] == {"smoke": 1, "desk": 1, "paper": 2}


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (["slope"], "--set takes NAME=VALUE, got 'slope'"),
        (["slope=1", "slope=2"], "--set has slope twice"),
        (["slop=2"], f"{FIGURE}: unknown setting 'slop': did you mean slope?"),
        (["slope=x"], f"{FIGURE}: `slope` must be a whole number ≥ 1, got 'x'"),
    ],
)
def test_a_mistake_is_one_line(folder, words, refusal):
    flags = [word for one in words for word in ("--set", one)]
    found = cheap.run(folder, "reproduce", FIGURE, "--out", str(folder / "x"), *flags)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == f"iclab reproduce: {refusal}\n"
    assert not (folder / "x").exists()


def test_a_claim_has_no_settings():
    message = "`settings` are for figures, and zhang2023/theorem-4.1 is a claim"
    with pytest.raises(Mistake, match=message):
        _request("zhang2023/theorem-4.1", settings={"dimension": 3}).entries()


def test_weights_of_ones_own_are_a_part_of_the_figure(tmp_path):
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"not looked into yet")
    own = {"settings": {"groups": 2}, "weights": {"fixed-18": file}}
    request = _request("zhang2023/figure-1", **own)
    (variant,), changes = request.entries(), request.changes
    assert variant.id.startswith("zhang2023/figure-1@groups+weights-")
    jobs = papers.figure_jobs(variant, "smoke", 0, changes=changes)
    assert list(jobs) == ["fixed 18", "least squares"]
    assert jobs["fixed 18"].config["settings"]["file"] == str(file)
    file.write_bytes(b"others")
    again = papers.figure_jobs(variant, "smoke", 0, changes=changes)
    assert again["fixed 18"].digest != jobs["fixed 18"].digest
    assert again["least squares"].digest == jobs["least squares"].digest


def test_long_and_odd_settings_are_named_by_a_hash():
    (entry,) = papers.select(["zhang2023/figure-1"])
    assert entry.variant({"a": (1, 2), "b": 0.5}).id == f"{entry.id}@a=1,2+b=0.5"
    for odd in ("x/../y", "é", "a b", "x" * 100):
        name = entry.variant({"file": odd}).id.removeprefix(f"{entry.id}@")
        assert len(name) == len("file-") + 12
    assert entry.variant({"a": 1}).base == entry.id
