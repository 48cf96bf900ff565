"""Requests as an attacker sends them: byte by byte, over a socket."""

import re
import socket
from pathlib import Path

from msgspec import Struct


class Answer(Struct, frozen=True):
    """The answer of the server; status 0 if it closed the connection without one."""

    status: int
    head: str
    body: str


class Target(Struct, frozen=True):
    """The server, and the tokens that the attacker has or tries.

    `hidden` is an agent of another space, and only it says `secret`. `tokens` is the file of the
    server's tokens, which only the owner can write.
    """

    port: int
    token: str
    reader: str
    expired: str
    foreign: str
    cookie: str
    agent: str
    hidden: str
    secret: str
    tokens: Path


def send(
    target: Target,
    method: str,
    path: str,
    *,
    token: str | None = None,
    headers: dict[str, str] | None = None,
    body: bytes = b"",
    host: str = "",
    timeout: float = 20.0,
    sender: str = "127.0.0.1",
) -> Answer:
    """Sends one request from the address `sender` and reads the answer."""
    lines = {"Host": host or f"127.0.0.1:{target.port}", "Connection": "close"}
    if token is not None:
        lines["Authorization"] = f"Bearer {token}"
    if body or method == "POST":
        lines |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    lines |= headers or {}
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items())
    place = ("127.0.0.1", target.port)
    with socket.create_connection(place, timeout=timeout, source_address=(sender, 0)) as link:
        received = b""
        try:
            link.sendall(head.encode("latin-1", "replace") + b"\r\n" + body)
            while piece := link.recv(65_536):
                received += piece
                if len(received) > 2_000_000:
                    break
        except (ConnectionError, TimeoutError):
            pass
    top, _, rest = received.decode("utf-8", "replace").partition("\r\n\r\n")
    found = re.match(r"HTTP/1\.[01] (\d{3})", top)
    return Answer(int(found[1]) if found else 0, top, rest)
