"""Who may speak with the server: this machine's browser, with the token.

One token opens all pages. Pages of other sites, which a browser may have open at the
same time, are refused by their origin, and names that lead here from elsewhere by the
host that they ask for.
"""

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_REFUSED = (
    "iclab explore: open the address that the command printed; it carries the token"
    " that this page asks for.\n"
)


class Gate:
    """An ASGI application that lets an application be reached with a token only."""

    def __init__(self, app: App, token: str, port: int):
        self._app, self._token = app, token
        self._cookie = f"iclab-explore-{port}"
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self._origins = {f"http://{host}" for host in self._hosts}
        # The browser itself sees to it that nothing comes from elsewhere.
        sockets = " ".join(f"ws://{host}" for host in sorted(self._hosts))
        self._policy = (
            "default-src 'self' data: blob:;"
            " script-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:;"
            " style-src 'self' 'unsafe-inline' data:;"
            f" connect-src 'self' data: blob: {sockets};"
            " frame-ancestors 'none'; form-action 'self'; base-uri 'self'"
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        near = headers.get("host") in self._hosts
        near = near and headers.get("origin") in {None, *self._origins}
        asked = parse_qsl(scope["query_string"].decode("latin-1"), True)
        given = [value for name, value in asked if name == "token"]
        if near and self._known(given[-1:]) and scope["type"] == "http":
            await self._enter(scope, asked, send)
        elif near and self._known(self._kept(headers.get("cookie", ""))):
            await self._app(scope, receive, self._guarded(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await _answer(send, 403, _REFUSED, [])

    def _known(self, tokens: list[str]) -> bool:
        return any(
            secrets.compare_digest(one.encode(), self._token.encode()) for one in tokens
        )

    def _kept(self, cookies: str) -> list[str]:
        # Those of other servers on this machine come along, however they are written.
        pairs = (one.strip().partition("=") for one in cookies.split(";"))
        return [value for name, _, value in pairs if name == self._cookie]

    async def _enter(
        self, scope: Scope, asked: list[tuple[str, str]], send: Send
    ) -> None:
        """Keep the token in a cookie, and take it out of the address."""
        rest = urlencode([(name, value) for name, value in asked if name != "token"])
        # One slash: two would name another host, and a backslash is one to browsers.
        place = "/" + quote(scope["path"].lstrip("/")) + (f"?{rest}" if rest else "")
        cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        headers = [("location", place), ("set-cookie", cookie)]
        await _answer(send, 303, "", headers)

    def _guarded(self, send: Send) -> Send:
        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = [
                    (b"content-security-policy", self._policy.encode()),
                    (b"referrer-policy", b"no-referrer"),
                    (b"x-content-type-options", b"nosniff"),
                ]
                message = {**message, "headers": [*message.get("headers", []), *own]}
            await send(message)

        return guarded


async def _answer(
    send: Send, status: int, text: str, headers: list[tuple[str, str]]
) -> None:
    every = [("content-type", "text/plain; charset=utf-8"), *headers]
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in every]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": text.encode()})
