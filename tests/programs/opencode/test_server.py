"""The server of opencode as a process, with a program that only says that it listens."""

import asyncio
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from sapwood.programs.opencode.server import OpencodeEnded, OpencodeServer

LISTENS = """#!/bin/sh
exec 9>"$PLACE"
echo "opencode server listening on http://127.0.0.1:1"
exec sleep 600
"""
STARTS = """
import asyncio, os, sys
from sapwood.programs.opencode.server import OpencodeServer

async def start():
    await OpencodeServer.start(sys.argv[1], ".", os.environ)
    print("started", flush=True)
    await asyncio.sleep(600)

asyncio.run(start())
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A pipe that the program has open while it runs."""
    os.mkfifo(tmp_path / "place")
    return tmp_path / "place"


def written(folder: Path, script: str) -> str:
    path = folder / "opencode"
    path.write_text(script)
    path.chmod(0o755)
    return str(path)


def has_ended(end: int) -> bool:
    """Waits until nobody has the other end of a pipe open."""
    ready, _, _ = select.select([end], [], [], 20.0)
    return bool(ready) and os.read(end, 1) == b""


def test_a_server_ends_with_the_process_that_started_it(tmp_path: Path, place: Path) -> None:
    end = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    process = subprocess.Popen(
        [sys.executable, "-c", STARTS, written(tmp_path, LISTENS)],
        env={**os.environ, "PLACE": str(place)},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"started\n"
    process.kill()
    process.wait()
    process.stdout.close()
    assert has_ended(end)
    os.close(end)


async def test_a_closed_server_leaves_nothing_behind(tmp_path: Path, place: Path) -> None:
    end = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    environ = {**os.environ, "PLACE": str(place)}
    server = await OpencodeServer.start(written(tmp_path, LISTENS), str(tmp_path), environ)
    assert server.is_running
    await server.close()
    assert not server.is_running
    assert await asyncio.to_thread(has_ended, end)
    os.close(end)


async def test_a_program_that_ends_at_once_is_reported_with_its_words(tmp_path: Path) -> None:
    path = written(tmp_path, "#!/bin/sh\necho no such option\nexit 1\n")
    with pytest.raises(OpencodeEnded, match="no such option"):
        await OpencodeServer.start(path, str(tmp_path), os.environ)
