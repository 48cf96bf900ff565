"""The server as a process: its socket, its printed address, its stop."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from sapwood.core.errors import SapwoodError
from sapwood_server.http_server import open_listener, serve


def test_answers_are_sent_at_once() -> None:
    with open_listener("127.0.0.1", 0) as listener:
        address = listener.getsockname()
        with socket.create_connection(address), listener.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


def test_a_taken_port_is_named() -> None:
    with (
        open_listener("127.0.0.1", 0) as listener,
        pytest.raises(SapwoodError, match="Choose another port: --port N"),
    ):
        open_listener("127.0.0.1", listener.getsockname()[1])


async def test_an_open_address_needs_a_name(tmp_path: Path) -> None:
    from sapwood.app.connection import connect
    from sapwood.config.config_file import Config

    async def never() -> None:
        raise AssertionError

    connection = await connect(":memory:", secrets=())
    with pytest.raises(SapwoodError, match="--host-name NAME"):
        await serve(
            connection,
            Config(),
            {},
            host="0.0.0.0",
            port=0,
            on_ready=lambda _, __: None,
            stopped=never,
        )
    await connection.close()


def test_it_prints_an_address_that_works_once_and_stops_by_a_signal(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    server = subprocess.Popen(
        [sys.executable, "-m", "sapwood.cli", "serve", "--port", "0", "--no-agents"],
        cwd=tmp_path,
        env=environ,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    try:
        assert server.stderr.readline().startswith("Serving on http://127.0.0.1:")
        address = server.stderr.readline().split()[-1]
        page, _, token = address.partition("#token=")
        headers = {"Sec-Fetch-Site": "same-origin", "Origin": page.removesuffix("/sign-in")}
        signed_in = [
            httpx2.post(page, json={"token": token}, headers=headers).status_code for _ in range(2)
        ]
        assert signed_in == [200, 401]
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
        server.stderr.close()
