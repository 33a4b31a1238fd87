"""The report in a real browser, on a phone's width and on a desk's."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from iclab import papers
from iclab.report import build_report, write_compare_page
from iclab.results import compare, read_run
from tests.report import example
from tests.report.browser import Browser, find_chromium

pytestmark = pytest.mark.everything

PAGES = ("index", "errata", *(opened.key for opened in papers.every_paper()))
PHONE, DESK = 360, 1400
VERDICTS = "[...document.querySelectorAll('#results tbody tr:not([hidden])')]"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        reason = "no Chromium on the path: the report's pages are not seen in a browser"
        if os.environ.get("ICLAB_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with Browser(program) as browser:
        yield browser


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    folder = example.write_results(tmp_path_factory.mktemp("results") / "a folder")
    return build_report(folder).parent


def _shown(browser: Browser, what: str) -> list[str]:
    return browser.run(f"{VERDICTS}.map(row => {what})")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_quietly_and_fits(browser, report, page, width, dark):
    browser.open(report / f"{page}.html", width, dark=dark)
    assert browser.complaints == []
    assert browser.requests
    for address in browser.requests:
        assert re.match(r"file:|data:|about:", address)
    assert browser.run("document.documentElement.scrollWidth") <= width
    # Nothing sticks out of its card either, unless it can be scrolled there.
    assert (
        browser.run("""
        [...document.querySelectorAll("main *")].filter((one) =>
          !one.closest(".scroll, .formula, pre, svg, .sr, details:not([open])")
          && one.getBoundingClientRect().right > innerWidth + 1
        ).map((one) => one.outerHTML.slice(0, 80))""")
        == []
    )
    # Open folds too, as a reader would.
    browser.run(
        "document.querySelectorAll('details').forEach((d) => { d.open = true })"
    )
    assert browser.run("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_pictures_load_and_have_a_size(browser, report, width):
    browser.open(report / "ahn2023.html", width)
    (size,) = browser.run(
        "[...document.images].map((one) => [one.naturalWidth, one.width])"
    )
    assert size[0] > 0
    assert 200 < size[1] <= width
    sizes = browser.run(
        "[...document.querySelectorAll('svg.case, .formula > math')].map((one) =>"
        " one.getBoundingClientRect().width)"
    )
    assert sizes
    assert min(sizes) > 10


def test_formulas_are_drawn(browser, report):
    browser.open(report / "zhang2023.html", DESK)
    heights = browser.run(
        "[...document.querySelectorAll('mfrac')].map((one) =>"
        " one.getBoundingClientRect().height)"
    )
    assert heights
    assert min(heights) > 12


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_filters(browser, report, width):
    browser.open(report / "index.html", width)
    every = len(papers.select())
    status = "document.querySelector('#shown').textContent"
    assert browser.run(status) == f"{every} of {every} shown"

    def choose(name: str, value: str) -> None:
        browser.run(
            f"{{ const field = document.querySelector('#filter-{name}');"
            f" field.value = '{value}';"
            " field.dispatchEvent(new Event('input', { bubbles: true })); }"
        )

    choose("verdict", "fails")
    assert _shown(browser, "row.dataset.verdict") == ["fails", "fails"]
    assert browser.run(status) == f"2 of {every} shown"
    choose("kind", "figure")
    assert _shown(browser, "row.cells[1].firstChild.textContent") == ["figure-1"]
    choose("paper", "zhang2023")
    assert _shown(browser, "row.dataset.paper") == []
    browser.run("document.querySelector('form.filters button').click()")
    browser.run("new Promise((go) => setTimeout(go, 20))")
    assert browser.run(status) == f"{every} of {every} shown"
    choose("text", "THEOREM 4.1")
    names = _shown(browser, "row.cells[1].firstChild.textContent")
    assert "theorem-4.1" in names
    assert len(names) < every


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_sorting_by_keyboard(browser, report, width):
    browser.open(report / "index.html", width)
    in_order = _shown(browser, "row.cells[1].dataset.sort")
    sort = "[...document.querySelectorAll('#results th')].map((one) => one.ariaSort)"
    assert browser.run(sort)[:2] == ["none", "ascending"]

    browser.run("document.querySelector('#results thead button').focus()")
    browser.press("Enter", 13)
    assert browser.run(sort)[:2] == ["ascending", "none"]
    verdicts = _shown(browser, "row.dataset.verdict")
    worst_first = ("fails", "undecided", "missing", "exploratory", "corrected", "holds")
    assert verdicts == sorted(verdicts, key=worst_first.index)
    browser.press("Enter", 13)
    assert browser.run(sort)[:2] == ["descending", "none"]
    assert _shown(browser, "row.dataset.verdict")[0] == "holds"

    browser.run("document.querySelector('#results th:last-child button').click()")
    times = [float(time) for time in _shown(browser, "row.cells[4].dataset.sort")]
    assert times == sorted(times)
    browser.run("document.querySelectorAll('#results thead button')[1].click()")
    assert _shown(browser, "row.cells[1].dataset.sort") == in_order


def test_light_and_dark_by_hand(browser, report):
    ground = "getComputedStyle(document.body).backgroundColor"
    browser.open(report / "index.html", DESK, dark=True)
    browser.run("localStorage.clear()")
    browser.open(report / "index.html", DESK, dark=True)
    dark = browser.run(ground)
    browser.run("document.querySelector('button.theme').click()")
    light = browser.run(ground)
    assert light != dark
    browser.open(report / "errata.html", DESK, dark=True)
    assert browser.run(ground) == light
    browser.run("document.querySelector('button.theme').click()")
    assert browser.run(ground) == dark
    browser.run("localStorage.clear()")


def test_a_link_in_the_table_leads_to_its_item(browser, report):
    browser.open(report / "index.html", DESK)
    href = browser.run("document.querySelector('#results a').getAttribute('href')")
    file, _, place = href.partition("#")
    browser.open(report / file, DESK)
    browser.run(f"location.hash = '{place}'")
    top = browser.run(f"document.getElementById('{place}').getBoundingClientRect().top")
    bar = browser.run("document.querySelector('.top').getBoundingClientRect().bottom")
    assert bar <= top < 400


def test_paper_is_light_and_unfolded(browser, report):
    browser.open(report / "zhang2023.html", DESK, dark=True)
    browser.send("Emulation.setEmulatedMedia", media="print")
    ink = browser.run("getComputedStyle(document.querySelector('main')).color")
    assert ink == "rgb(30, 35, 40)"
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("document.querySelectorAll('details:not([open])').length") == 0
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run("document.querySelectorAll('details:not([open])').length") > 0
    assert len(browser.send("Page.printToPDF")["data"]) > 10_000
    browser.send("Emulation.setEmulatedMedia", media="")


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_the_report_of_a_real_run(browser, reproduced, width):
    report = reproduced.folder / "report"
    for page in PAGES:
        browser.open(report / f"{page}.html", width)
        assert browser.complaints == []
        assert all(re.match(r"file:|data:|about:", one) for one in browser.requests)
        assert browser.run("document.documentElement.scrollWidth") <= width
        sizes = browser.run("[...document.images].map((one) => one.naturalWidth)")
        figures = [e for e in papers.select() if (e.paper, e.kind) == (page, "figure")]
        assert len(sizes) == len(figures)
        assert all(size > 0 for size in sizes)
    browser.open(report / "index.html", width)
    verdicts = set(_shown(browser, "row.dataset.verdict"))
    assert verdicts == {"holds", "corrected", "exploratory"}


def test_no_other_program_runs(browser, report, tmp_path):
    """A page in which someone has put programs, in its own text or from elsewhere."""
    other = tmp_path / "other"
    shutil.copytree(report, other)
    page = (other / "index.html").read_text("utf-8")
    odd = (
        "<script>document.title = 'ran'</script>"
        "<img src='none.png' onerror=\"document.title = 'ran'\">"
        "<svg onload=\"document.title = 'ran'\"></svg>"
        "<iframe src='zhang2023.html'></iframe>"
        "<script src=\"data:text/javascript,document.title='ran'\"></script>"
    )
    (other / "index.html").write_text(page.replace("<body>", f"<body>{odd}"), "utf-8")
    browser.open(other / "index.html", DESK)
    assert browser.run("document.title") == "Report · iclab"
    assert browser.run("document.querySelectorAll('#shown')[0].textContent")  # ours did
    assert [one for one in browser.complaints if "Content Security Policy" in one]


def test_a_comparison_shows_its_pictures(browser, tmp_path):
    one, other = (example.write_results(tmp_path / name) for name in ("a", "b"))
    change = {"value": 0.02}
    example.edit(other, lambda one: one["evidence"][0].update(change), example.FIGURE)
    runs = read_run(one), read_run(other)
    page = write_compare_page(compare(*runs), ("A", "B"), tmp_path / "page.html")
    browser.open(page, DESK)
    assert browser.complaints == []
    widths = browser.run("[...document.images].map((one) => one.naturalWidth)")
    assert widths == [400, 400]
