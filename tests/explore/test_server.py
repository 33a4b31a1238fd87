"""The command: what it prints, refuses and serves, and how it ends."""

import http.cookiejar
import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from iclab.cli import main
from iclab.explore import _server
from tests.stranger import Stranger

pytest.importorskip("marimo", reason="needs iclab[explore]")

# The command in a process that can reach nothing but this machine.
PROGRAM = """
import socket
connect = socket.socket.connect
def near(self, address):
    if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "localhost"):
        print("OUTSIDE", address, flush=True)
        raise OSError("no network")
    return connect(self, address)
socket.socket.connect = near
from iclab.cli import main
raise SystemExit(main(["explore", "--port", "0", "--no-browser"]))
"""


@pytest.fixture
def server() -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.fullmatch(
        r"iclab explore: (http://127\.0\.0\.1:\d+/\?token=\S+)\n", line
    )
    assert found, line
    yield process, found[1]
    if process.poll() is None:
        process.kill()
    process.stdout.close()
    process.wait()


def _get(address: str) -> tuple[int, str]:
    for _ in range(200):
        try:
            with urllib.request.urlopen(address) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except urllib.error.URLError:
            time.sleep(0.1)  # not yet
    raise AssertionError("no answer")


def test_it_serves_with_the_token_and_ends_with_a_signal(server):
    process, address = server
    page, _, _ = address.partition("?")
    assert _get(page)[0] == 403
    assert _get(page + "gpt2/")[0] == 403
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(address) as answer:
        assert answer.status == 200
        assert "marimo" in answer.read().decode()
    with opener.open(page + "depth/") as answer:  # the cookie opens every page
        assert answer.status == 200
    assert process.stdout is not None
    assert process.stdout.readline() == "Ctrl-C ends it.\n"
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert output.strip() == ""  # no traceback, and nobody was asked outside


def test_the_socket_is_this_machine_s_alone():
    listening = _server._listen(0)
    with listening:
        assert listening.getsockname()[0] == "127.0.0.1"


def test_a_port_that_is_taken(capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["explore", "--port", str(port), "--no-browser"]) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(
        rf"iclab explore: port {port} of 127\.0\.0\.1 cannot be used: .*\n", said
    )


def test_the_usual_port_may_be_taken():
    with socket.socket() as other:
        try:
            other.bind(("127.0.0.1", _server.USUAL_PORT))
            other.listen()
        except OSError:
            pass  # it is taken already, as this test wants it
        with _server._listen(None) as listening:
            assert listening.getsockname()[1] != _server.USUAL_PORT


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["one-layr"], "unknown page 'one-layr': did you mean one-layer?"),
        (["--port", "70000"], "--port must be between 0 and 65535, got 70000"),
    ],
)
def test_mistakes_are_one_line(capsys, words, said):
    assert main(["explore", *words]) == 2
    assert capsys.readouterr().err == f"iclab explore: {said}\n"


def test_without_the_extra(capsys, monkeypatch):
    found = _server.importlib.util.find_spec
    monkeypatch.setattr(
        _server.importlib.util,
        "find_spec",
        lambda name: None if name in ("marimo", "anywidget") else found(name),
    )
    assert main(["explore", "--no-browser"]) == 2
    said = "needs marimo and anywidget: pip install 'iclab[explore]'"
    assert capsys.readouterr().err == f"iclab explore: {said}\n"


def test_addresses_keep_settings_and_drop_old_tokens():
    from iclab.explore import find_page

    page, settings = find_page("gpt2?line=1,0.5&token=old")
    address = _server.address_of(2771, page, settings, "new")
    assert address == "http://127.0.0.1:2771/gpt2/?line=1,0.5&token=new"


def test_nothing_that_lies_in_the_current_folder_runs(tmp_path):
    from websockets.sync.client import connect  # marimo needs it too

    stranger = Stranger(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-m", "iclab", "explore", "--port", "0", "--no-browser"],
        cwd=stranger.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = line.removeprefix("iclab explore: ").strip()
        page, _, _ = address.partition("?")
        _get(page)
        cookies = http.cookiejar.CookieJar()
        keeps = urllib.request.HTTPCookieProcessor(cookies)
        urllib.request.build_opener(keeps).open(address).close()
        cookie = "; ".join(f"{one.name}={one.value}" for one in cookies)
        page = page.replace("http", "ws") + "representation/ws?session_id=s_123456"
        with connect(page, additional_headers={"Cookie": cookie}) as talk:
            # The page is computed, as in a browser.
            while json.loads(talk.recv(timeout=240))["op"] != "completed-run":
                pass
        assert stranger.ran == []
    finally:
        process.kill()
        process.communicate()
