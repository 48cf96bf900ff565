"""A home of one's own for each test, the program in it, and conversations to look at."""

import asyncio
import io
import subprocess
import sys
from collections.abc import Callable, Coroutine, Generator
from pathlib import Path
from typing import Any

import pytest

from sapwood.api import Sapwood, open
from sapwood.cli.entry import run
from scripted_model import ScriptedModel
from tests.cli.calling import KEY, Database, Ran, Sapwooder

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
OURS = ("CONFIG", "DATA", "DATABASE", "SPACE", "MODEL", "DEBUG")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home; configuration, data and logs all go there."""
    folder = tmp_path / "home"
    work = folder / "project"
    work.mkdir(parents=True)
    for variable in (*KEYS, *(f"SAPWOOD_{name}" for name in OURS), "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    for variable, place in {
        "HOME": "",
        "XDG_CONFIG_HOME": ".config",
        "XDG_DATA_HOME": ".local/share",
        "XDG_STATE_HOME": ".local/state",
        "XDG_CACHE_HOME": ".cache",
    }.items():
        monkeypatch.setenv(variable, str(folder / place))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(work)
    return folder


@pytest.fixture
def model(home: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[ScriptedModel]:
    """A model that answers what the test says, configured as that of new agents."""
    with ScriptedModel(retry_after=0.01) as server:
        file = home / ".config/sapwood/config.toml"
        file.parent.mkdir(parents=True)
        file.write_text(
            'model = "claude-sonnet-5-5"\n'
            "[base_urls]\n"
            f'anthropic = "{server.anthropic_url}"\n'
            f'openai = "{server.openai_url}"\n'
            f'google = "{server.gemini_url}"\n'
            f'den = "{server.openai_url}"\n'
        )
        for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
            monkeypatch.setenv(variable, KEY)
        yield server
        assert server.rejections == []


@pytest.fixture
def sapwood(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Sapwooder:
    """The program, in this process: quick."""

    def call(*args: str, stdin: str | None = None) -> Ran:
        piped = io.BytesIO((stdin or "").encode())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(piped, encoding="utf-8"))
        capsys.readouterr()
        code = run(args)
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err)

    return call


@pytest.fixture
def program(home: Path) -> Sapwooder:
    """The program, in a process of its own: slow and real."""

    def call(*args: str, stdin: str | None = None) -> Ran:
        command = [sys.executable, "-m", "sapwood.cli", *args]
        done = subprocess.run(
            command, input=stdin or "", capture_output=True, text=True, timeout=120, check=False
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def database(home: Path) -> Database:
    """Runs what a test does to the database that the program uses by default."""
    address = home / ".local" / "share" / "sapwood" / "sapwood.db"

    def use(work: Callable[[Sapwood], Coroutine[Any, Any, None]]) -> None:
        async def within() -> None:
            address.parent.mkdir(parents=True, exist_ok=True)
            async with open(address) as db:
                await work(db)

        asyncio.run(within())

    return use


@pytest.fixture
def demo(database: Database) -> str:
    """An agent `demo` with two turns, a mark START before the second, and a pin."""

    async def talk(db: Sapwood) -> None:
        agent = await db.start("demo", id="abc123", model="gpt-5", system="Be brief.")
        async with agent.turn("Where do herons nest?") as turn:
            await turn.call()
            await turn.reply("In tall trees.")
        await agent.mark("START")
        await agent.record("And storks?", "On roofs.")
        await agent.pin("style", "One sentence.")

    database(talk)
    return "demo"
