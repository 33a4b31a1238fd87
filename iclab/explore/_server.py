"""A server for the pages, on this machine and for this machine."""

import importlib.util
import os
import secrets
import socket
import sys
import threading
import time
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from iclab.explore._gate import Gate
from iclab.explore._pages import PAGES, Page

HOST = "127.0.0.1"
# Tried first, so that links keep working; any other if it is taken.
USUAL_PORT = 2771

_NEEDED = ("marimo", "anywidget")


class CannotServe(Exception):
    """Why there is no playground, in a line."""


def serve(page: Page | None, settings: str, *, port: int | None, browser: bool) -> None:
    """Serve all pages until Ctrl-C, and open one in the browser."""
    _require_extra()
    # marimo reads settings where it is started and above, and they may name folders
    # from which modules are loaded: those of a stranger must not count.
    os.chdir(Path(__file__).parent)
    import uvicorn

    listening = _listen(port)
    number = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    config = uvicorn.Config(
        application(token, number),
        log_level="error",
        # Open pages hold a connection each; they are not waited for.
        timeout_graceful_shutdown=1,
        lifespan="off",
    )
    server = uvicorn.Server(config)
    address = address_of(number, page, settings, token)
    print(f"iclab explore: {address}\nCtrl-C ends it.", flush=True)
    if browser:
        threading.Thread(target=_open, args=(server, address), daemon=True).start()
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()


def application(token: str, port: int) -> Gate:
    """All pages behind the gate, as an ASGI application."""
    import marimo

    builder = marimo.create_asgi_app(quiet=True, include_code=True)
    for one in PAGES:
        builder = builder.with_app(path=f"/{one.name}", root=str(one.file))
    start = Path(__file__).parent / "start.py"
    app: Any = builder.with_app(path="/", root=str(start)).build()
    return Gate(app, token, port)


def address_of(port: int, page: Page | None, settings: str, token: str) -> str:
    """Address of a page with settings, and with the token that opens it."""
    words = [pair for pair in parse_qsl(settings) if pair[0] != "token"]
    place = "" if page is None else f"{page.name}/"
    query = urlencode([*words, ("token", token)], safe=",:")
    return f"http://{HOST}:{port}/{place}?{query}"


def _require_extra() -> None:
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise CannotServe(
            f"needs {' and '.join(missing)}: pip install 'iclab[explore]'"
        )


def _listen(port: int | None) -> socket.socket:
    """A socket on this machine alone."""
    wanted, problem = [USUAL_PORT, 0] if port is None else [port], ""
    for one in wanted:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if sys.platform != "win32":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, one))
        except OSError as error:
            listening.close()
            reason = error.strerror or str(error)
            problem = f"port {one} of {HOST} cannot be used: {reason}"
        else:
            return listening
    raise CannotServe(problem)


def _open(server: Any, address: str) -> None:
    while not server.started:
        time.sleep(0.05)
    webbrowser.open(address)
