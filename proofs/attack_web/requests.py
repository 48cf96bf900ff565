"""Attacks by requests alone. Each function raises `AssertionError` if it succeeds."""

import json
import re
import socket
import time
from collections.abc import Callable

import msgspec

from bench.served import ServedProcess
from proofs.attack_web.raw_http import Answer, Target, send
from proofs.attack_web.routes import ROUTES, attempts, filled
from sapwood.config.server_tokens import TokenStore
from sapwood.core.command_table import TABLE


def _patient(target: Target, method: str, path: str, body: bytes, timeout: float = 20.0) -> Answer:
    """The answer to a request of the token for everything, after as many waits as it asks for."""
    while True:
        answer = send(target, method, path, token=target.token, body=body, timeout=timeout)
        if answer.status != 429:
            return answer
        time.sleep(1)


def rebinding(target: Target) -> None:
    """A host name that was pointed at this machine."""
    for host in ("evil.example", f"evil.example:{target.port}", "127.0.0.1.evil.example", "[::]"):
        for path in ("/", "/v1/agents", "/sign-in", "/healthz"):
            answer = send(target, "GET", path, token=target.token, host=host)
            assert answer.status in (400, 421), (host, path, answer.status)


def forged_origin(target: Target) -> None:
    """A page of another origin, with the cookie of the browser."""
    cookie = {"Cookie": f"sapwood_session={target.cookie}"}
    body = b'{"args": "STOLEN"}'
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{target.port + 1}"):
        for kind in ("application/json", "text/plain", "multipart/form-data"):
            answer = send(
                target,
                "POST",
                f"/v1/agents/{target.agent}/commands/mark",
                headers={**cookie, "Origin": origin, "Content-Type": kind},
                body=body,
            )
            assert answer.status in (403, 415), (origin, kind, answer.status)
    bare = send(
        target, "POST", f"/v1/agents/{target.agent}/commands/mark", headers=cookie, body=body
    )
    assert bare.status == 403
    log = send(target, "GET", f"/v1/agents/{target.agent}/log", token=target.token)
    assert "STOLEN" not in log.body


def no_token(target: Target) -> None:
    """Every route without a token, and with a wrong one."""
    for token in (None, "", "sw_wrong", target.token[:-1], target.token.upper(), target.expired):
        for each in ROUTES:
            answer = send(
                target, each.method, filled(each.path, target.agent), token=token, body=b"{}"
            )
            assert answer.status == 401, (token, each.path, answer.status)


def stolen_cookie_as_token(target: Target) -> None:
    """A cookie sent as a bearer token, and a token sent as a cookie."""
    assert send(target, "GET", "/v1/agents", token=target.cookie).status == 401
    cookie = {"Cookie": f"sapwood_session={target.token}"}
    assert send(target, "GET", "/v1/agents", headers=cookie).status == 401


def other_scopes(target: Target) -> None:
    """A token for reading that tries to change something."""
    for each in ROUTES:
        if each.scope != "read":
            answer = send(
                target,
                each.method,
                filled(each.path, target.agent),
                token=target.reader,
                body=b"{}",
            )
            assert answer.status == 403, (each.path, answer.status)


def foreign_space(target: Target) -> None:
    """An agent, the words and the name of another space, in every place of every request."""
    tried = 0
    for endpoint in ROUTES:
        is_stream = endpoint.answers == "text/event-stream"
        for each in attempts(endpoint, target.hidden, "other", "heron"):
            tried += 1
            timeout = 2.0 if is_stream and not each.names_agent else 20.0
            answer = _patient(target, each.method, each.path, each.body, timeout)
            assert target.secret not in answer.body, each
            assert answer.status < 500, (each, answer.status)
            assert answer.status >= 400 or not each.names_agent, (each, answer.status)
    for space in ("other", "*", "local,other", "../other"):
        chosen = {"Sapwood-Space": space}
        answer = send(target, "GET", "/v1/agents", token=target.token, headers=chosen)
        assert answer.status == 403, (space, answer.status)
    assert tried > 100
    print(f"       {tried} requests to {len(ROUTES)} routes", flush=True)


def stolen_token(target: Target) -> None:
    """A stolen token and its open stream, after the owner has revoked it."""
    store = TokenStore(target.tokens)
    value, record = store.create("stolen", "local", ("read",))
    with socket.create_connection(("127.0.0.1", target.port), timeout=30) as link:
        link.sendall(
            f"GET /v1/agents/{target.agent}/events?after=100000 HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{target.port}\r\nAuthorization: Bearer {value}\r\n\r\n".encode()
        )
        assert b" 200 " in link.recv(4096)
        store.revoke(record.id)
        assert send(target, "GET", "/v1/agents", token=value).status == 401
        began = time.monotonic()
        while not link.recv(4096).endswith(b"0\r\n\r\n"):  # how a stream ends
            assert time.monotonic() - began < 30, "the stream goes on"


def slow_heads(target: Target) -> None:
    """Many connections that never finish their headers; others are served meanwhile."""
    links: list[socket.socket] = []
    try:
        for _ in range(200):
            link = socket.create_connection(("127.0.0.1", target.port), timeout=20)
            link.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
            links.append(link)
        began = time.monotonic()
        assert send(target, "GET", "/v1/agents", token=target.token).status == 200
        assert time.monotonic() - began < 10
        with socket.create_connection(("127.0.0.1", target.port), timeout=20) as link:
            link.sendall(b"GET / HTTP/1.1\r\nX-Long: ")
            sent = 0
            try:
                while sent < 20_000_000:
                    link.sendall(b"x" * 65_536)
                    sent += 65_536
            except OSError:
                pass
            assert sent < 20_000_000, "headers without end are taken"
    finally:
        for link in links:
            link.close()


def path_tricks(target: Target) -> None:
    """Files outside of the page's own, and addresses that mean others."""
    for path in (
        "/static/../application.py",
        "/static/..%2fapplication.py",
        "/static/%2e%2e/%2e%2e/identity.py",
        "/static/.hidden",
        "//etc/passwd",
        "/static//etc/passwd",
        "/c/../../v1/agents",
        f"/v1/agents/{target.agent}/../../{target.hidden}",
        "/page/%00/rows",
        "/v1/agents/" + "a" * 5000,
        "/v1/agents/%F0%9F%98%80/rows",
    ):
        answer = send(target, "GET", path, token=target.token)
        assert answer.status in (400, 404, 414, 431), (path, answer.status)
        assert "root:" not in answer.body
        assert "import" not in answer.body


def hostile_bodies(target: Target) -> None:
    """Bodies that are too large, of another kind, deep, or not what they say."""
    path = f"/v1/agents/{target.agent}/turns"
    for body in (
        b'{"text": "' + b"x" * 1_200_000 + b'"}',
        b"[" * 100_000,
        b'{"text": 7}',
        b"\xff\xfe",
        b'{"text": "\\ud800"}',
        b'{"text": "a", "id": "' + b"i" * 500 + b'"}',
        b"null",
    ):
        answer = send(target, "POST", path, token=target.token, body=body)
        assert 400 <= answer.status < 500, (body[:20], answer.status)
    for number in ("-1", "9" * 40, "1e9", "NaN", "0x10", "\u0661"):
        answer = send(
            target, "GET", f"/v1/agents/{target.agent}/rows?limit={number}", token=target.token
        )
        assert answer.status in (200, 400), (number, answer.status)


def slow_body(target: Target) -> None:
    """A body that never ends; others are served meanwhile."""
    with socket.create_connection(("127.0.0.1", target.port), timeout=30) as link:
        head = (
            f"POST /v1/agents/{target.agent}/turns HTTP/1.1\r\nHost: 127.0.0.1:{target.port}\r\n"
            f"Authorization: Bearer {target.token}\r\nContent-Type: application/json\r\n"
            "Content-Length: 100\r\n\r\n{"
        )
        link.sendall(head.encode())
        assert send(target, "GET", "/healthz").status == 200
        began = time.monotonic()
        answer = link.recv(4096).decode()
        assert " 408 " in answer, answer
        assert time.monotonic() - began < 25


def header_tricks(target: Target) -> None:
    """Smuggled lines and doubled headers."""
    for headers in (
        {"X-A": "b\r\nAuthorization: Bearer " + "x"},
        {"Transfer-Encoding": "chunked", "Content-Length": "5"},
        {"Idempotency-Key": "k" * 60_000},
    ):
        answer = send(
            target, "POST", f"/v1/agents/{target.agent}/commands/mark", headers=headers, body=b"{}"
        )
        assert answer.status in (0, 400, 401, 431), answer.status
    for last in ("-5", "1; DROP", "9" * 30, "\u0663"):
        answer = send(
            target,
            "GET",
            f"/v1/agents/{target.agent}/events",
            token=target.token,
            headers={"Last-Event-ID": last},
            timeout=3,
        )
        assert answer.status == 400, (last, answer.status)


def stream_flood(target: Target) -> None:
    """Many streams that nobody reads; others are served meanwhile."""
    links: list[socket.socket] = []
    try:
        for _ in range(200):
            link = socket.create_connection(("127.0.0.1", target.port), timeout=20)
            link.sendall(
                f"GET /v1/agents/{target.agent}/events HTTP/1.1\r\n"
                f"Host: 127.0.0.1:{target.port}\r\n"
                f"Authorization: Bearer {target.reader}\r\n\r\n".encode()
            )
            links.append(link)
        began = time.monotonic()
        assert send(target, "GET", "/v1/agents", token=target.token).status == 200
        assert time.monotonic() - began < 10
    finally:
        for link in links:
            link.close()


def request_flood(target: Target) -> None:
    """More requests than a token may send: the rest are told when to come back, others are not."""
    folder = target.tokens.parent / "flood"
    config = folder / "config/sapwood/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[serve]\nrate = 1\nburst = 100\n")  # slower than a busy machine answers
    with ServedProcess(folder) as served:
        flooding, other = served.token(), served.token()
        flooded = msgspec.structs.replace(target, port=served.port)
        answers = [send(flooded, "GET", "/v1/agents", token=flooding) for _ in range(200)]
        assert send(flooded, "GET", "/v1/agents", token=other).status == 200
    assert {each.status for each in answers} == {200, 429}, "200 requests were all answered"
    refused = next(each for each in answers if each.status == 429)
    assert "retry-after:" in refused.head.lower(), refused.head


def answers_tell_nothing(target: Target) -> None:
    """Errors show neither paths nor traces, and no answer may be framed or sniffed."""
    for path in ("/nowhere", "/v1/agents/nobody", "/", "/static/none.js"):
        answer = send(target, "GET", path)
        assert "Traceback" not in answer.body
        assert "site-packages" not in answer.body
        lower = answer.head.lower()
        assert "frame-ancestors 'none'" in lower, path
        assert "nosniff" in lower
        assert "uvicorn" not in lower
    problem = json.loads(send(target, "GET", "/v1/agents/nobody", token=target.token).body)
    assert problem["status"] == 404


def used_ids(target: Target) -> None:
    """The id of a mark, sent again with every other command, content and conversation."""
    agent = f"/v1/agents/{target.agent}"
    first = _post(target, f"{agent}/commands/mark", {"args": "USED", "id": "used"})
    assert first.status == 200, first.body
    again = _post(target, f"{agent}/commands/mark", {"args": "USED", "id": "used"})
    assert again.status == 200, again.body
    # After an erasure in the space, the log answers, which says so.
    assert json.loads(again.body) | {"repeated": False} == json.loads(first.body)
    started = json.loads(_post(target, "/v1/agents", {"name": "other"}).body)["agent"]
    before = _version(target, target.agent), _version(target, started)
    named = {"agent": started, "name": "USED"}
    mark: dict[str, object] = {"kind": "SetMark", "command": named}
    others: list[tuple[str, dict[str, object]]] = [
        (f"{agent}/commands/mark", {"args": "OTHER"}),
        (f"/v1/agents/{started}/commands/mark", {"args": "USED"}),
        (f"{agent}/submissions", {"text": "/mark USED"}),
        ("/v1/dispatch", mark),
        *((f"{agent}/commands/{row.name}", {"args": "USED"}) for row in TABLE.rows[1:]),
    ]
    for path, body in others:
        answer = _post(target, path, {**body, "id": "used"})
        assert answer.status == 409, (path, answer.status, answer.body[:200])
        assert "Marked" not in answer.body, path
    assert (_version(target, target.agent), _version(target, started)) == before
    print(f"       {len(others)} other requests with the id", flush=True)


def _post(target: Target, path: str, body: dict[str, object]) -> Answer:
    return send(target, "POST", path, token=target.token, body=json.dumps(body).encode())


def _version(target: Target, agent: str) -> int:
    answer = send(target, "GET", f"/v1/agents/{agent}", token=target.token)
    return json.loads(answer.body)["version"]


def guessed_codes(target: Target) -> None:
    """Guesses of the code that pairs a phone, as fast as the server lets them."""
    origin = {"Origin": f"http://127.0.0.1:{target.port}"}

    def sign_in(code: str, sender: str = "127.0.0.1", **more: object) -> Answer:
        body = json.dumps({"token": code, **more}).encode()
        return send(target, "POST", "/sign-in", headers=origin, body=body, sender=sender)

    made = send(target, "POST", "/v1/pairing", token=target.reader, body=b"{}")
    code = json.loads(made.body)["code"]
    guesses = (f"2222-{2000 + number}".replace("0", "9").replace("1", "8") for number in range(60))
    seen = {sign_in(guess, "127.0.0.2").status for guess in guesses}
    assert seen == {401, 429}, seen
    time.sleep(2)
    assert sign_in(code, "127.0.0.2").status == 429, "the address that guessed was let in"
    assert sign_in(code, link=True).status == 401, "a link signed a browser in"
    time.sleep(2)
    signed = sign_in(code)
    cookie = re.search(r"sapwood_session=([^;]+)", signed.head)
    assert cookie is not None, f"the guesses ended the code for others: {signed.status}"
    time.sleep(2)
    assert sign_in(code).status == 401, "a code signed in twice"
    more = {"Cookie": f"sapwood_session={cookie[1]}", **origin}
    path = f"/v1/agents/{target.agent}/commands/mark"
    assert send(target, "POST", path, headers=more, body=b"{}").status == 403, "the scope grew"


ATTACKS: tuple[Callable[[Target], None], ...] = (
    rebinding,
    forged_origin,
    no_token,
    stolen_cookie_as_token,
    other_scopes,
    stolen_token,
    foreign_space,
    path_tricks,
    hostile_bodies,
    slow_body,
    slow_heads,
    header_tricks,
    stream_flood,
    request_flood,
    answers_tell_nothing,
    used_ids,
    guessed_codes,
)
