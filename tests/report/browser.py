"""A headless Chromium, driven through its DevTools protocol over a pair of pipes.

This needs Chromium and a shell, and no package, port or driver program.
"""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # inside a container there is nothing to sandbox with
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
)
_PATIENCE = 60.0


def find_chromium() -> str | None:
    """Path of a Chromium, if there is one."""
    found = (shutil.which(name) for name in _NAMES)
    return next((path for path in found if path), None)


class Browser:
    """One page, what it asked for and what it complained about."""

    def __init__(self, program: str):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        # The protocol is spoken over descriptors 3 and 4.
        redirected = 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1'
        flags = (*_FLAGS, f"--user-data-dir={self._profile.name}", "about:blank")
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", redirected, program, *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._numbers = itertools.count(1)
        self._unread = b""
        self._session: str | None = None
        self.requests: list[str] = []
        self.complaints: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._session = None
            self.send("Browser.close")
        except (OSError, TimeoutError):
            self._process.kill()
        finally:
            self._process.stdin.close()
            self._process.stdout.close()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._profile.cleanup()

    def open(self, page: Path, width: int, *, dark: bool = False) -> None:
        """Show a file at a width, as a phone would below 600 pixels."""
        self.requests.clear()
        self.complaints.clear()
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        # A blank page in between, so that no answer can come from the page before.
        self._go("about:blank")
        self._go(page.resolve().as_uri())

    def _go(self, address: str) -> None:
        self._loaded = False
        self.send("Page.navigate", url=address)
        deadline = time.monotonic() + _PATIENCE
        while not self._loaded:
            self._read(deadline)

    def run(self, script: str) -> Any:
        """Value of a JavaScript expression on the page."""
        answer = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Press a key of the keyboard."""
        text = {"text": "\r"} if key == "Enter" else {}
        shared = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.send("Input.dispatchKeyEvent", type="keyDown", **shared, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **shared)

    def screenshot(self, *, whole: bool = False) -> bytes:
        """The page as PNG: what is in view, or all of it."""
        answer = self.send(
            "Page.captureScreenshot", format="png", captureBeyondViewport=whole
        )
        return base64.b64decode(answer["data"])

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and wait for its answer."""
        number = next(self._numbers)
        message: dict[str, Any] = {
            "id": number,
            "method": method,
            "params": parameters,
        }
        if self._session:
            message["sessionId"] = self._session
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\0")
        self._process.stdin.flush()
        deadline = time.monotonic() + _PATIENCE
        while True:
            answer = self._read(deadline)
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def _read(self, deadline: float) -> Mapping[str, Any]:
        """The next message; events leave their traces on the way."""
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        while b"\0" not in self._unread:
            if not select.select([pipe], [], [], deadline - time.monotonic())[0]:
                raise TimeoutError("Chromium did not answer")
            data = os.read(pipe, 1 << 20)
            if not data:
                raise OSError("Chromium has stopped")
            self._unread += data
        text, _, self._unread = self._unread.partition(b"\0")
        message = json.loads(text)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, method: str | None, event: Mapping[str, Any]) -> None:
        match method:
            case "Page.loadEventFired":
                self._loaded = True
            case "Network.requestWillBeSent":
                self.requests.append(event["request"]["url"])
            case "Network.loadingFailed":
                self.complaints.append(f"not loaded: {event['errorText']}")
            case "Runtime.exceptionThrown":
                self.complaints.append(event["exceptionDetails"]["text"])
            case "Runtime.consoleAPICalled":
                if event["type"] in ("error", "warning", "assert"):
                    self.complaints.append(f"console: {event['args']}")
            case "Log.entryAdded":
                self.complaints.append(event["entry"]["text"])
