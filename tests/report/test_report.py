"""The report's pages, from a small folder of results."""

import itertools
import json
import os
import re
import shutil
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import pytest

from iclab import papers
from iclab._files import signed
from iclab.evidence import ERRATUM_CLASSES
from iclab.report import build_report
from iclab.results import NoResults
from tests.report import example
from tests.report.example import FIGURE

PAGES = ("index", "errata", *(opened.key for opened in papers.every_paper()))


class _Page(HTMLParser):
    """Tags, texts and addresses of a page; complains about tags that do not match."""

    EMPTY = frozenset(["meta", "link", "input", "img", "br"])

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def ids(self) -> list[str]:
        found = (attributes.get("id") for _, attributes in self.tags)
        return [id for id in found if id]


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    folder = example.write_results(tmp_path_factory.mktemp("results") / "a folder")
    return build_report(folder).parent


@pytest.fixture(scope="module")
def text(report) -> dict[str, str]:
    return {name: (report / f"{name}.html").read_text("utf-8") for name in PAGES}


@pytest.fixture(scope="module")
def pages(text) -> dict[str, _Page]:
    return {name: _Page(page) for name, page in text.items()}


def _words(page: str) -> str:
    """A page's text without its tags."""
    return " ".join(re.sub(r"<[^>]*>", "", page).split())


def _item(text: dict[str, str], id: str) -> str:
    """The part of a paper's page that is about one item."""
    paper, _, name = id.partition("/")
    return _article(text[paper], name)


def _article(page: str, name: str) -> str:
    return page[page.index(f'<article id="{name}"') :].partition("</article>")[0]


def test_every_link_leads_somewhere(report, pages):
    for page in pages.values():
        for _, attributes in page.tags:
            address = attributes.get("href") or attributes.get("src") or ""
            if re.match(r"data:|https://arxiv.org/abs/", address):
                continue
            file, _, place = address.partition("#")
            if file:
                assert (report / file).is_file(), address
            if place and (not file or file.endswith(".html")):
                target = pages[file.removesuffix(".html")] if file else page
                assert place in target.ids, address


def test_nothing_comes_from_the_network(text):
    for page in text.values():
        found = re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?(https?:[^"')]*)""", page)
        assert all(address.startswith("https://arxiv.org/abs/") for address in found)
    for name in ("report.css", "report.js"):
        asset = resources.files("iclab.report") / "templates" / name
        assert "http" not in asset.read_text("utf-8")


def test_ids_are_unique_and_pictures_have_words(pages):
    for page in pages.values():
        assert len(set(page.ids)) == len(page.ids)
        assert all(image["alt"] for image in page.all("img"))
        for picture in page.all("svg"):
            assert picture.get("aria-hidden") or picture.get("aria-label")


def test_the_table_has_a_row_an_item(pages, text):
    rows = [row for row in pages["index"].all("tr") if "data-verdict" in row]
    assert len(rows) == len(papers.select())
    verdicts = [row["data-verdict"] for row in rows]
    assert verdicts.count("holds") == 1
    assert verdicts.count("fails") == 2
    assert verdicts.count("missing") == len(rows) - 5
    for entry in papers.select():
        name = entry.id.partition("/")[2]
        assert f'href="{entry.paper}.html#{name}"' in text["index"]


def test_the_run_is_described(text):
    for words in (
        "Run at smoke scale with seed 3 on 4 March 2025, 05:06 UTC in 2.0 min, on"
        " Linux x86_64, 4 cores, by iclab 0.1.0.",
        f"5 of {len(papers.select())} results in {len(papers.every_paper())} papers",
        "iclab 0.1.0, jax 0.10.2</dd>",
        "0123456789ab, with changes on top",
    ):
        assert words in text["index"]
    command = "Command iclab reproduce zhang2023 ahn2023 --scale smoke --seed 3"
    assert command.replace(" ", "", 1) in _words(text["index"])


def test_a_run_may_say_less_of_itself(tmp_path):
    run = {"format": 2, "results": [*map(signed, example.records()[:3])]}
    (tmp_path / "results.json").write_text(json.dumps(run))
    page = build_report(tmp_path).read_text("utf-8")
    assert "Run at desk scale with seed 0. Of another scale or seed: 3" in page
    assert "<dt>Commit</dt>" not in page


def test_a_run_from_the_store_does_not_pass_for_a_quick_one(tmp_path):
    run = {"format": 2, "results": [*map(signed, example.records()[:3])]}
    run |= {"scale": "smoke", "seed": 3, "seconds": 1.4, "processes": 2}
    (tmp_path / "results.json").write_text(json.dumps(run))
    page = build_report(tmp_path).read_text("utf-8")
    assert "with seed 3 in 1.4 s, mostly with cached results." in page


def test_results_of_another_scale_say_so(tmp_path):
    folder = example.write_results(tmp_path / "results")
    path = folder / "results.json"
    run = json.loads(path.read_text())
    run["results"][0] |= {"scale": "paper", "seed": 7, "finished": None, "iclab": None}
    run["results"][0] = signed(run["results"][0])
    del run["finished"], run["seconds"]
    path.write_text(json.dumps(run))
    page = build_report(folder).read_text("utf-8")
    assert "by iclab 0.1.0. Of another scale or seed: 1 result." in page
    assert " (paper, seed 7)</small>" in page
    assert "<dt>Finished</dt><dd>stopped before its end</dd>" in page
    paper = (folder / "report" / "zhang2023.html").read_text("utf-8")
    item = _words(_article(paper, "theorem-4.1"))
    assert "Scalepaper" in item
    assert "iclab check zhang2023/theorem-4.1 --scale paper --seed 7" in item
    assert "Computed" not in item


def test_an_item_says_when_and_by_what_it_was_computed(text):
    item = _item(text, example.HOLDS)
    assert "<dt>Computed</dt><dd>4 March 2025, 05:07 UTC</dd>" in item
    assert "<dt>By</dt><dd>iclab 0.1.0, 0123456789ab, with changes on top</dd>" in item


def test_papers_keep_their_own_order(pages):
    for paper in [opened.paper for opened in papers.every_paper()]:
        names = [
            e.id.partition("/")[2] for e in papers.select() if e.paper == paper.key
        ]
        articles = [article["id"] for article in pages[paper.key].all("article")]
        assert articles == names


def test_a_claim_shows_all_of_itself(text):
    item = _item(text, example.HOLDS)
    for words in (
        "tr(Γ⁻²)<sup>−1/4</sup>",
        "<math ",
        "<b>Assumes</b> y = ⟨w, x⟩",
        "W<sub>KQ</sub>, d=0",
        "2 more cases",
        "decoy off by 5×10⁸ error bars",
        "<dd>90 s</dd>",
        "How it is checked",
        "because",
    ):
        assert words in item
    assert item.count('class="case"') == 8
    assert "iclab check zhang2023/theorem-4.1 --scale smoke --seed 3" in _words(item)


def test_the_most_telling_cases_come_first(text):
    item = _words(_item(text, example.FAILS))
    assert item.index("exactly") < item.index("not a number")


def test_a_corrected_claim_shows_both_sides(text):
    erratum = _article(text["errata"], example.CORRECTED.replace("/", "-"))
    for item in (_item(text, example.CORRECTED), erratum):
        printed, _, corrected = item.partition("What holds")
        assert "Bound broken by 4.3×10⁴ error bars" in printed
        assert "Bound kept; decoy broken by 40 error bars" in corrected
        assert "<math " in corrected


def test_errata_are_all_there_the_heaviest_first(pages, text):
    wrong = [entry for entry in papers.select() if entry.erratum]
    beside = [entry for entry in papers.select() if entry.remark]
    assert len(pages["errata"].all("article")) == len(wrong) + len(beside) > 0
    weights = {name: weight for weight, name in enumerate(ERRATUM_CLASSES)}
    expected = [
        f'<article id="{entry.id.replace("/", "-")}"'
        for some in (wrong, beside)
        for entry in sorted(some, key=lambda one: weights[one.erratum_class or "false"])
    ]
    assert re.findall(r'<article id="[^"]*"', text["errata"]) == expected


def test_an_erratum_has_its_class_and_its_credit(text):
    item = _words(_item(text, example.CORRECTED))
    assert "What is wrong (hypothesis)" in item
    assert "The paper has it right in the argument before" in item
    assert "gives 3 negative eigenvalues" not in item  # this folder has no such number
    assert "«" not in text["errata"]


def test_a_figure_shows_what_its_paper_says(text):
    item = _words(_item(text, example.FIGURE))
    for words in (
        "The loss goes to 0.",
        "caption · a main sentence",
        "not confirmed",
        "perhaps because of the size",
        "nine (bound chosen with results in view)",
    ):
        assert words in item


def test_a_figure_shows_picture_evidence_and_data(text, report):
    item = _item(text, example.FIGURE)
    for kind in ("svg", "pdf", "png", "csv"):
        assert f'href="figures/ahn2023/figure-1.{kind}"' in item
        assert (report / "figures" / "ahn2023" / f"figure-1.{kind}").is_file()
    assert 'alt="Figure 1, Section 5.3: Three layers' in item
    assert "holds: </span>A<sub>i</sub> falls" in item
    assert "fails: </span>B<sub>i</sub> stays" in item
    assert "iclab reproduce ahn2023/figure-1 --scale smoke --seed 3" in _words(item)


def test_what_stopped_shows_its_traceback(text):
    item = _item(text, example.STOPPED)
    assert "The program stopped with an error." in item
    assert "RuntimeError: &lt;b&gt;no &amp; never&lt;/b&gt;" in item


def test_what_is_missing_says_how_to_run_it(text):
    item = _item(text, example.MISSING)
    assert "missing</span>" in item
    assert "<dt>Run it</dt>" in item
    assert 'class="case"' not in item


def test_a_picture_that_is_gone_is_said_to_be(tmp_path):
    folder = example.write_results(tmp_path / "results")
    (folder / "figures" / f"{example.FIGURE}.svg").unlink()
    build_report(folder)
    page = (folder / "report" / "ahn2023.html").read_text("utf-8")
    assert "The picture is not in the results folder." in page
    assert "figure-1.csv" in page


def test_the_report_is_complete_in_its_folder(report, tmp_path):
    moved = shutil.copytree(report, tmp_path / "elsewhere")
    assert json.loads((moved / "results.json").read_text("utf-8"))["results"]
    bibliography = (moved / "references.bib").read_text("utf-8")
    assert bibliography.count("@") == len(papers.every_paper())
    assert not list(moved.rglob(".*"))


def test_building_again_changes_nothing(report):
    def contents():
        return {p: p.read_bytes() for p in sorted(report.rglob("*")) if p.is_file()}

    before = contents()
    build_report(report.parent)
    assert contents() == before


def test_a_folder_without_results(tmp_path):
    with pytest.raises(NoResults):
        build_report(tmp_path)
    assert os.listdir(tmp_path) == []


def _channel(value: int) -> float:
    share = value / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def _luminance(colour: tuple[float, ...]) -> float:
    red, green, blue = (_channel(round(part)) for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    dark, light = sorted([_luminance(one), _luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def _mixed(colour: tuple[float, ...], ground: tuple[float, ...], share: float):
    pairs = zip(colour, ground, strict=True)
    return tuple(share * a + (1 - share) * b for a, b in pairs)


def test_every_text_can_be_read_in_light_and_dark(report):
    css = (report / "report.css").read_text("utf-8")
    pairs = re.findall(r"--(\w+): light-dark\(#(\w{6}), #(\w{6})\);", css)
    tint = int(re.search(r"--tint: (\d+)%", css)[1]) / 100  # type: ignore[index]
    for theme in (1, 2):
        colours = {
            pair[0]: tuple(int(pair[theme][i : i + 2], 16) for i in (0, 2, 4))
            for pair in pairs
        }
        verdicts = (
            "holds",
            "corrected",
            "fails",
            "undecided",
            "exploratory",
            "missing",
        )
        words = ("ink", "quiet", "link", *verdicts)
        for word, ground in itertools.product(words, ("ground", "raised")):
            assert _contrast(colours[word], colours[ground]) >= 4.5, (word, ground)
        for verdict in verdicts:
            badge = _mixed(colours[verdict], colours["raised"], tint)
            assert _contrast(colours[verdict], badge) >= 4.5, verdict
            note = _mixed(colours[verdict], colours["raised"], 0.05)
            assert _contrast(colours["ink"], note) >= 4.5, verdict
        for mark in ("link", "decoy", "ink"):
            assert _contrast(colours[mark], colours["ground"]) >= 3, mark


_SCRIPT = (
    '<svg xmlns="http://www.w3.org/2000/svg"><script>document.title=1</script></svg>'
)


def _published(folder: Path) -> set[str]:
    """Files of the figure that the report has, copied or named."""
    build_report(folder)
    page = (folder / "report" / "ahn2023.html").read_text("utf-8")
    kinds = {"svg", "pdf", "png", "csv"}
    copied = {k for k in kinds if (folder / f"report/figures/{FIGURE}.{k}").exists()}
    assert copied == {k for k in kinds if f"figure-1.{k}" in page}
    return copied


def test_a_picture_for_which_nothing_vouches_is_not_published(tmp_path):
    folder = example.write_results(tmp_path / "results")
    (folder / "figures" / f"{FIGURE}.json").unlink()
    assert _published(folder) == set()
    problems = []
    build_report(folder, problems.append)
    assert problems == [
        f"{folder}: the pictures of {FIGURE} have no checksums and are left out;"
        f" `iclab reproduce {FIGURE}` draws them again"
    ]


def test_a_picture_that_was_put_there_later_is_not_published(tmp_path):
    folder = example.write_results(tmp_path / "results")
    (folder / "figures" / f"{FIGURE}.svg").write_text(_SCRIPT)
    assert _published(folder) == {"pdf", "png", "csv"}


def test_a_picture_with_a_script_is_not_published_whoever_signs_it(tmp_path):
    folder = example.write_results(tmp_path / "results")
    (folder / "figures" / f"{FIGURE}.svg").write_text(_SCRIPT)
    example.vouch(folder)
    problems = []
    build_report(folder, problems.append)
    path = folder / "figures" / f"{FIGURE}.svg"
    assert problems == [f"{path}: it has an element <script>, and is left out"]
    assert _published(folder) == {"pdf", "png", "csv"}


def test_pages_allow_their_own_files_only(report):
    pages = sorted(report.glob("*.html"))
    assert pages
    for page in pages:
        (policy,) = re.findall(
            r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">',
            page.read_text("utf-8"),
        )
        allowed = dict(rule.split(maxsplit=1) for rule in policy.split("; "))
        assert allowed.pop("default-src") == "'none'"
        assert allowed["script-src"] == "'self' file:"
        words = {word for rule in allowed.values() for word in rule.split()}
        assert words == {"'self'", "file:", "data:", "'none'"}
