"""The database goes away in mid-turn: the turn goes on when it is back, and the user was told."""

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from sapwood.api import open
from scripted_model import ModelRequest, Reply, ScriptedModel, call
from tests.cli.calling import Sapwooder
from tests.cli.test_worker import answered
from tests.postgres_session import CUT, execute
from tools.postgres import Cluster, cluster

AWAY = "The database is not responding: "
BACK = "The database is back. Work in progress resumes."


@pytest.fixture(scope="module")
def server() -> Generator[Cluster]:
    """A server that nobody else uses."""
    with cluster() as ours:
        yield ours


def restarted(server: Cluster, heard: "Heard", go_on: Callable[[], None]) -> None:
    """The server crashes, and comes back when that was said."""
    server.stop(at_once=True)
    heard.until(AWAY)
    go_on()
    server.start()


def cut(server: Cluster, heard: "Heard", go_on: Callable[[], None]) -> None:
    """The server ends every session. New ones can be opened at once, so nothing need be said."""
    execute(server.dsn, CUT)
    go_on()


Outage = Callable[[Cluster, "Heard", Callable[[], None]], None]


class Den(ScriptedModel):
    """A model that looks around, thinks until it is allowed to go on, and answers."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = threading.Event()
        self.script(self._answer)

    def _answer(self, asked: ModelRequest) -> Reply:
        replies = sum(message.role == "assistant" for message in asked.messages)
        if replies == 0:
            return Reply.of(call("list_files", path="."))
        if replies == 1:
            self.may_go_on.wait(60)
            return Reply.of(call("slash", command="mark", args="HERE"))
        return Reply.of("In the roof.")

    def go_on(self) -> None:
        """Ends the thinking, and returns when the reply is sent."""
        self.may_go_on.set()
        self.wait_for(2, 60, answered=True)


@pytest.fixture
def den() -> Generator[Den]:
    model = Den()
    with model:
        yield model


class Heard:
    """A program whose words are read as they come."""

    def __init__(self, *arguments: str) -> None:
        self.program = subprocess.Popen(
            [sys.executable, "-m", "sapwood.cli", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.said = ""

    def until(self, words: str) -> None:
        """Reads its stderr up to these words."""
        assert self.program.stderr is not None
        while words not in self.said:
            piece = os.read(self.program.stderr.fileno(), 1000)
            assert piece, self.said
            self.said += piece.decode()

    def end(self) -> str:
        """Waits for its end; returns what it wrote to stdout."""
        out, rest = self.program.communicate(timeout=60)
        self.said += rest.decode()
        return out.decode()


@pytest.fixture
def space(server: Cluster, den: Den, sapwood: Sapwooder, monkeypatch: pytest.MonkeyPatch) -> str:
    """A space of this server, whose agents have the model."""
    name = f"outage-{secrets.token_hex(4)}"
    monkeypatch.setenv("SAPWOOD_DATABASE", server.dsn)
    monkeypatch.setenv("SAPWOOD_SPACE", name)
    monkeypatch.setenv("SAPWOOD_MODEL", "den:qwen3")
    sapwood("config", "set", "base_urls.den", den.openai_url)
    return name


@pytest.mark.parametrize(
    "outage", [restarted, pytest.param(cut, marks=pytest.mark.night)], ids=["restarted", "cut"]
)
def test_a_run_waits_for_the_database_and_says_so(
    server: Cluster, den: Den, space: str, outage: Outage
) -> None:
    run = Heard("run", "--agent", "lead", "--new", "-p", "Where is the leak?")
    den.wait_for(2, 60)

    outage(server, run, den.go_on)
    assert run.end().strip() == "In the roof."
    assert run.program.returncode == 0
    told = (run.said.count(AWAY), run.said.count(BACK))
    assert told == (1, 1) or (outage is cut and told == (0, 0)), run.said
    assert "Traceback" not in run.said
    assert len(den.requests) == 3
    assert den.rejections == []


@pytest.mark.night
@pytest.mark.parametrize("outage", [restarted, cut], ids=["restarted", "cut"])
def test_a_worker_waits_for_the_database_and_says_so(
    server: Cluster, den: Den, space: str, outage: Outage
) -> None:
    worker = Heard("worker")
    worker.until("Running the agents of")
    asyncio.run(_start(server.dsn, space))
    subprocess.run(
        [
            sys.executable,
            "-m",
            "sapwood.cli",
            "fork",
            "lead",
            "--name",
            "leak",
            "--goal",
            "Find it.",
        ],
        check=True,
        timeout=60,
        capture_output=True,
    )
    den.wait_for(2, 60)

    outage(server, worker, den.go_on)
    assert asyncio.run(answered(server.dsn, space, "leak")) == "In the roof."
    if outage is restarted:
        worker.until(BACK)
    worker.program.send_signal(signal.SIGTERM)
    worker.end()
    assert worker.program.returncode == 0
    told = (worker.said.count(AWAY), worker.said.count(BACK))
    assert told == (1, 1) or (outage is cut and told == (0, 0)), worker.said
    assert "Traceback" not in worker.said
    assert len(den.requests) == 3


async def _start(address: str, space: str) -> None:
    async with open(address, space=space) as db:
        await db.start("lead", model="den:qwen3", folder=str(Path.cwd()))
