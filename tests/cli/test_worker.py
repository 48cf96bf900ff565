"""`sapwood worker`: runs agents that others woke, and leaves cleanly."""

import asyncio
import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sapwood.api import open
from scripted_model import ScriptedModel
from tests.cli.calling import Sapwooder

pytest.importorskip("pydantic_ai", reason="the extra 'models' is not installed")
pytest.importorskip("dbos", reason="the extra 'engine' is not installed")


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, home: Path) -> str:
    """A database of either kind."""
    if request.param == "sqlite":
        return str(home / "team.db")
    return str(request.getfixturevalue("postgres_dsn"))


async def answered(address: str, space: str, name: str) -> str:
    """Waits until the agent's turn has ended; returns its last words."""
    async with asyncio.timeout(60), open(address, space=space) as wood:
        agent = await wood.find(name)
        async for recorded in agent.follow():
            if recorded.kind == "turn.completed":
                return (await agent.request()).messages[-1].text
    raise AssertionError("a log is followed for ever")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_takes_work_up_and_leaves_when_it_is_told_to(
    sapwood: Sapwooder, address: str, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    space = f"worker-{secrets.token_hex(4)}"
    monkeypatch.setenv("SAPWOOD_DATABASE", address)
    monkeypatch.setenv("SAPWOOD_SPACE", space)
    with ScriptedModel() as model:
        model.script(lambda _: "In the roof.")
        sapwood("config", "set", "base_urls.den", model.openai_url)
        asyncio.run(start(address, space))
        worker = subprocess.Popen(
            [sys.executable, "-m", "sapwood.cli", "worker"], stderr=subprocess.PIPE
        )
        assert worker.stderr is not None
        heard = b""
        while b"Running the agents of" not in heard:
            piece = os.read(worker.stderr.fileno(), 1000)
            assert piece, heard
            heard += piece
        forked = sapwood("fork", "lead", "--name", "leak", "--goal", "Find the leak.")
        assert forked.code == 0
        assert asyncio.run(answered(address, space, "leak")) == "In the roof."
        worker.send_signal(number)
        _, rest = worker.communicate(timeout=60)
    assert worker.returncode == 0
    assert b"Stopping." in rest
    assert b"Traceback" not in heard + rest


async def start(address: str, space: str) -> None:
    async with open(address, space=space) as wood:
        await wood.start("lead", model="den:qwen3")
