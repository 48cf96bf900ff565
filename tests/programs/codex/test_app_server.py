"""The client of the app server: lines of any length, refusals, and a server that ends."""

import asyncio
import os
import stat
import sys
from pathlib import Path

import pytest

from sapwood.programs.codex.app_server import (
    AppServer,
    CodexEnded,
    CodexRefused,
    Notification,
    ServerRequest,
)

SERVER = """\
import json, os, subprocess, sys
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    def answer(**what): print(json.dumps({"id": message["id"], **what}), flush=True)
    if method == "initialize": answer(result={})
    elif method == "echo":
        print("this line is no JSON")
        answer(result=params)
    elif method == "refuse": answer(error={"code": 1, "message": "not today"})
    elif method == "tell":
        print(json.dumps({"method": "told", "params": params}))
        print(json.dumps({"id": "q", "method": "asked", "params": {}}))
        answer(result=None)
    elif method == "child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        answer(result=child.pid)
    elif method == "fall silent":
        os.close(1)
    elif method == "die":
        print("out of memory", file=sys.stderr, flush=True)
        os._exit(3)
if "linger" in os.environ: import time; time.sleep(600)
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    path = tmp_path / "codex"
    path.write_text(f"#!/bin/sh\nexec {sys.executable} {script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


async def start(program: str, **environ: str) -> AppServer:
    return await AppServer.start(program, os.path.dirname(program), {**os.environ, **environ})


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


async def test_a_long_answer_comes_whole(program: str) -> None:
    server = await start(program)
    text = "x" * 3_000_000
    assert await server.call("echo", text=text) == {"text": text}
    await server.close(5)
    assert not server.is_running


async def test_answers_find_their_questions(program: str) -> None:
    server = await start(program)
    answers = await asyncio.gather(*(server.call("echo", n=n) for n in range(20)))
    assert [answer["n"] for answer in answers] == list(range(20))
    with pytest.raises(CodexRefused, match="not today"):
        await server.call("refuse")
    await server.close(5)


async def test_notifications_and_questions_are_events(program: str) -> None:
    server = await start(program)
    await server.call("tell", n=1)
    told, asked = await server.events.get(), await server.events.get()
    assert isinstance(told, Notification)
    assert isinstance(asked, ServerRequest)
    assert (told.method, bytes(told.params), asked.id) == ("told", b'{"n": 1}', "q")
    await server.close(5)
    assert await server.events.get() is None


async def test_a_server_that_ends_fails_what_waits(program: str) -> None:
    server = await start(program)
    with pytest.raises(CodexEnded, match="ended"):
        await server.call("die")
    assert await server.events.get() is None
    with pytest.raises(CodexEnded):
        await server.call("echo")
    await server.close(5)


async def test_a_server_that_closed_its_output_is_asked_nothing(program: str) -> None:
    server = await start(program)
    with pytest.raises(CodexEnded, match="ended"):
        await server.call("fall silent")
    assert server.is_running
    async with asyncio.timeout(5):
        with pytest.raises(CodexEnded, match="ended"):
            await server.call("echo")
    await server.close(5)


async def test_a_server_that_does_not_end_is_killed_with_its_children(program: str) -> None:
    server = await start(program, linger="1")
    child = await server.call("child")
    assert is_alive(child)
    await server.close(0.2)
    assert not server.is_running
    for _ in range(100):
        if not is_alive(child):
            break
        await asyncio.sleep(0.02)
    assert not is_alive(child)


async def test_a_program_that_is_no_server_is_an_error() -> None:
    with pytest.raises(CodexEnded):
        await AppServer.start("/bin/true", "/", dict(os.environ))
