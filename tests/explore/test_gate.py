"""Who gets in: this machine's browser with the token, and nobody else."""

import asyncio
from typing import Any

import pytest

from iclab.explore._gate import Gate

HOST = ("host", "127.0.0.1:2771")
COOKIE = ("cookie", "other=1; iclab-explore-2771=secret")


async def _inside(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})


def _ask(
    *headers: tuple[str, str], query: str = "", kind: str = "http", path: str = "/"
) -> list[dict[str, Any]]:
    scope = {
        "type": kind,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nothing is read")

    asyncio.run(Gate(_inside, "secret", 2771)(scope, receive, send))
    return sent


def _headers(message: dict[str, Any]) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in message["headers"]}


def test_the_token_becomes_a_cookie_and_leaves_the_address():
    start, _ = _ask(HOST, query="seed=3&token=secret&x=a%20b", path="/gpt2/")
    assert start["status"] == 303
    headers = _headers(start)
    assert headers["location"] == "/gpt2/?seed=3&x=a+b"
    assert headers["set-cookie"].startswith("iclab-explore-2771=secret; ")
    assert "HttpOnly; SameSite=Strict" in headers["set-cookie"]


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("//elsewhere.example/", "/elsewhere.example/"),
        ("/\\elsewhere.example", "/%5Celsewhere.example"),
        ("/\t/elsewhere.example", "/%09/elsewhere.example"),
        ("/\r\nset-cookie: a=b", "/%0D%0Aset-cookie%3A%20a%3Db"),
        ("/λ∞/?", "/%CE%BB%E2%88%9E/%3F"),
    ],
)
def test_the_way_back_stays_on_this_host(path, location):
    start, _ = _ask(HOST, query="token=secret", path=path)
    assert start["status"] == 303
    assert _headers(start)["location"] == location


@pytest.mark.parametrize("other", ["a@b=1", 'a={"b":1}', "é=1", "expires=1", "=", "a"])
def test_cookies_of_other_servers_do_no_harm(other):
    both = ("cookie", f"{other}; iclab-explore-2771=secret")
    assert _ask(HOST, both)[0]["status"] == 200
    assert _ask(HOST, ("cookie", other))[0]["status"] == 403


def test_with_the_cookie_everything_opens_and_nothing_comes_from_elsewhere():
    start, body = _ask(HOST, COOKIE)
    assert (start["status"], body["body"]) == (200, b"inside")
    policy = _headers(start)["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "http" not in policy.replace("ws://", "")
    assert _ask(HOST, COOKIE, kind="websocket") == [{"type": "websocket.accept"}]
    near = ("origin", "http://127.0.0.1:2771")
    assert _ask(HOST, COOKIE, near)[0]["status"] == 200


@pytest.mark.parametrize(
    "headers",
    [
        (HOST,),
        (HOST, ("cookie", "iclab-explore-2771=wrong")),
        (HOST, ("cookie", "iclab-explore-2770=secret")),
        (HOST, ("cookie", "\x00;;=")),
        (COOKIE,),
        (("host", "elsewhere.example:2771"), COOKIE),
        (HOST, COOKIE, ("origin", "http://elsewhere.example")),
        (HOST, COOKIE, ("origin", "null")),
    ],
)
def test_others_are_refused(headers):
    start, body = _ask(*headers)
    assert start["status"] == 403
    assert b"open the address that the command printed" in body["body"]
    closed = [{"type": "websocket.close", "code": 1008}]
    assert _ask(*headers, kind="websocket") == closed


@pytest.mark.parametrize("query", ["token=wrong", "token=", "token=secret&token=no"])
def test_other_tokens_are_refused(query):
    assert _ask(HOST, query=query)[0]["status"] == 403


def test_a_token_from_another_site_is_refused():
    far = ("origin", "http://elsewhere.example")
    assert _ask(HOST, far, query="token=secret")[0]["status"] == 403
