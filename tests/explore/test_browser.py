"""The pages as scripts, and in headless Chromium: they load, sliders move curves,
nothing complains.
"""

import importlib.util
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from iclab.explore import PAGES
from tests.report.browser import find_chromium

pytestmark = pytest.mark.everything

# One process runs the pages as scripts and then serves them: each compiles once.
PROGRAM = """
import importlib
from iclab.cli import main
from iclab.explore import PAGES
for page in PAGES:
    importlib.import_module(f"iclab.explore.{page.file.stem}").app.run()
    print("ran", page.name, flush=True)
raise SystemExit(main(["explore", "--port", "0", "--no-browser"]))
"""
_PATIENCE = 240.0


def _missing(reason: str) -> None:
    if os.environ.get("ICLAB_REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def _need(*names: str) -> None:
    for name in names:
        if importlib.util.find_spec(name) is None:
            _missing(f"{name} is not installed: pages are not tried")


@pytest.fixture(scope="module")
def output() -> Iterator[list[str]]:
    """Lines of the process: what ran, and the address of the server."""
    _need("marimo", "anywidget")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line.strip())
        if line.startswith("iclab explore: "):
            break
    yield lines
    process.terminate()
    process.stdout.close()
    process.wait(60)


@pytest.fixture(scope="module")
def address(output: list[str]) -> str:
    found = re.search(r"http://\S+", output[-1])
    assert found, output
    return found[0]


def test_pages_run_as_scripts(output):
    assert output[:-1] == [f"ran {page.name}" for page in PAGES], output


class Visit:
    """A page, what it asked for and what it complained about."""

    def __init__(self, page: Any):
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda one: self.requests.append(one.url))
        page.on("pageerror", lambda one: self.complaints.append(str(one)))
        page.on("console", self._note)

    def _note(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def curve(self, label: str) -> str | None:
        """Outline of a curve."""
        found = self.page.locator(f"path.curve[data-label='{label}']")
        return found.first.get_attribute("d") if found.count() else None

    def wait(self, what: Callable[[], Any]) -> Any:
        """What something is as soon as it is anything."""
        deadline = time.monotonic() + _PATIENCE
        while not (found := what()):
            assert time.monotonic() < deadline, f"nothing came: {self.complaints}"
            self.page.wait_for_timeout(50)
        return found

    def moves(self, label: str, act: Callable[[], None]) -> None:
        """Something is done, and the curve is another one."""
        before = self.wait(lambda: self.curve(label))
        act()
        self.wait(lambda: self.curve(label) != before)

    def slide(self, label: str) -> None:
        """Move the slider with a label one step, by the keyboard."""
        root = self.page.locator(f"marimo-slider:has-text('{label}')")
        thumb = root.get_by_role("slider").first
        thumb.focus()
        thumb.press("ArrowRight")


@pytest.fixture(scope="module")
def browser(address: str) -> Iterator[Any]:
    _need("playwright")
    program = find_chromium()
    if program is None:
        _missing("no Chromium on the path: pages are not seen in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        flags = ["--no-sandbox", "--disable-dev-shm-usage"]
        found = play.chromium.launch(executable_path=program, args=flags)
        yield found
        found.close()


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Callable[[str], Visit]]:
    context = browser.new_context(viewport={"width": 1400, "height": 1100})
    visits: list[Visit] = []

    def go(place: str) -> Visit:
        page, _, token = address.partition("?")
        one = Visit(context.new_page())
        visits.append(one)
        joint = "&" if "?" in place else "?"
        one.page.goto(f"{page}{place}{joint}{token}")
        assert "token=" not in one.page.url
        return one

    yield go
    for one in visits:
        assert one.complaints == []
        assert one.requests
        for request in one.requests:
            assert re.match(r"http://127\.0\.0\.1:\d+/|data:|blob:", request), request
    context.close()


def test_one_layer(visit):
    one = visit("one-layer/?context_length=12")
    one.moves("exact risk", lambda: one.slide("label noise"))
    one.wait(lambda: "noise_std=0.35" in one.page.url)
    assert "context_length=12" in one.page.url
    one.moves("exact risk", lambda: _drag(one, 0, -60))
    one.wait(lambda: "spectrum=" in one.page.url)
    text = one.page.locator(".iclab-foot pre").text_content()
    assert "trained_lsa(train, 12)" in text
    # A switch brings points for the spectrum of the query, and they bend the risk.
    points = one.page.locator(".iclab-point")
    one.page.get_by_role("switch").nth(1).click()
    one.wait(lambda: points.count() == 10)
    one.moves("exact risk", lambda: _drag(one, 5, -60))
    one.wait(lambda: "query_spectrum=" in one.page.url)


def test_depth(visit):
    one = visit("depth/")
    one.moves("free steps", lambda: one.slide("layers k"))
    one.wait(lambda: "layers=4" in one.page.url)


def test_representation_trains_live(visit):
    one = visit("representation/?tokens=5&shown=3&features=2&heads=3&steps=300")
    one.wait(lambda: one.curve("adam") is not None)
    one.page.get_by_role("button", name="train").click()
    one.wait(lambda: one.page.get_by_text("after 300 steps").count())
    # It is ridge regression, nearly.
    title = one.page.get_by_text("Gap to ridge").first.text_content()
    (apart,) = re.findall(r"is ([\d.e-]+) of", title)
    assert float(apart) < 0.2


def test_gpt2_points_are_dragged_added_and_mislabelled(visit):
    one, name = visit("gpt2/"), "gpt2-fixed-18"
    points = one.page.locator(".iclab-point")
    one.moves(name, lambda: _drag(one, 4, 80))
    one.page.locator("button[data-tool=flip]").click()
    one.moves(name, lambda: points.nth(0).click())
    one.page.locator("button[data-tool=add]").click()
    box = points.nth(2).bounding_box()
    count = points.count()
    one.moves(name, lambda: one.page.mouse.click(box["x"] + 60, box["y"] - 90))
    assert points.count() == count + 1
    one.page.locator("button[data-tool=remove]").click()
    one.moves(name, lambda: points.nth(0).click())
    assert points.count() == count


def test_claims(visit):
    one = visit("claims/")
    one.wait(lambda: one.page.get_by_text("holds", exact=True).count())
    one.slide("samples")
    one.wait(lambda: one.curve("decoy") is not None)
    one.wait(lambda: "changes=samples" in one.page.url)


def test_the_start_leads_to_every_page(visit):
    one = visit("")
    one.wait(lambda: one.page.get_by_text("Choose a page").count())
    one.page.get_by_text("Depth and loops").click()
    one.wait(lambda: one.curve("free steps") is not None)
    assert "/depth/" in one.page.url


def _drag(one: Visit, which: int, down: float) -> None:
    box = one.page.locator(".iclab-point").nth(which).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    one.page.mouse.move(x, y)
    one.page.mouse.down()
    one.page.mouse.move(x, y + down / 2)
    one.page.mouse.move(x, y + down)
    one.page.mouse.up()
