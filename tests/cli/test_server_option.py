"""The command line with a real server of another home: keys, files and conversations are there."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from sapwood.cli import root as root_module
from scripted_model import ModelRequest, ScriptedModel
from tests.cli.calling import KEY, Ran, Sapwooder


def _environ(folder: Path) -> dict[str, str]:
    """The environment of the machine of the server."""
    return {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / ".config")} | {
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_STATE_HOME": str(folder / "state"),
        "ANTHROPIC_API_KEY": KEY,
    }


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    """The model of the server. The client has none."""
    with ScriptedModel(retry_after=0.01) as scripted:
        yield scripted
        assert scripted.rejections == []


@pytest.fixture
def server(tmp_path: Path, home: Path, model: ScriptedModel) -> Generator[str]:
    """The address of a server to which the client is signed in."""
    folder = tmp_path / "there"
    (folder / ".config/sapwood").mkdir(parents=True)
    (folder / ".config/sapwood/config.toml").write_text(
        f'model = "claude-sonnet-5-5"\n[base_urls]\nanthropic = "{model.anthropic_url}"\n'
    )
    environ = _environ(folder)
    sapwood = [sys.executable, "-m", "sapwood.cli"]
    scopes = [word for each in ("read", "write", "approve") for word in ("--scope", each)]
    token = subprocess.run(
        [*sapwood, "token", "new", "ada", *scopes],
        env=environ,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    process = subprocess.Popen(
        [*sapwood, "serve", "--port", "0"],
        env=environ,
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        address = process.stderr.readline().split()[2].rstrip(".")
        assert address.startswith("http://127.0.0.1:")
        login = subprocess.run(
            [*sapwood, "login", address], input=token, capture_output=True, text=True, check=True
        )
        assert "Signed in to the space 'local'" in login.stderr
        kept = home / ".config/sapwood/logins.json"
        assert token in kept.read_text()
        assert kept.stat().st_mode & 0o077 == 0
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stderr.close()


def test_conversations_of_a_server_are_used_as_those_of_here(
    sapwood: Sapwooder, server: str, model: ScriptedModel, home: Path
) -> None:
    seen: list[ModelRequest] = []
    model.script(seen.append)
    model.replies(["Hello to you.", "Once.", "A dot."])

    def there(*args: str) -> Ran:
        return sapwood(*args, "--server", server)

    first = there("run", "--agent", "demo", "--new", "-p", "Hello!", "--system", "Be brief.")
    assert (first.out, first.code) == ("Hello to you.\n", 0), first.err
    assert there("run", "--agent", "demo", "-p", "What did I say?").out == "Once.\n"
    assert [message.text for message in seen[-1].messages][-1] == "What did I say?"
    assert "Be brief." in seen[-1].system
    Path("dot.gif").write_bytes(b"GIF89a\2\0\1\0")
    shown = there("run", "--agent", "demo", "-p", "What is it?", "--file", "dot.gif")
    assert shown.out == "A dot.\n", shown.err
    assert "[image: dot.gif, image/gif, 10 bytes, 2 x 1]" in there("show", "demo").out
    assert "demo" in there("agents").out
    assert "What did I say?" in there("show", "demo").out
    done = there("do", "demo", "/mark START", "/clear 1", "/context")
    assert "Marked 'START'." in done.out, done.err
    assert "tokens" in done.out
    assert "Hello to you." in there("search", "Hello").out
    assert "human:ada" in there("log", "demo", "--json").out
    assert "matches" in there("replay", "demo").out
    undone = there("do", "demo", "/undo")
    assert undone.code == 0, undone.err
    assert there("do", "demo", "/rewind STRAT").err.count("Did you mean START?") == 1
    fork = there("fork", "demo", "--name", "child")
    assert fork.code == 0, fork.err
    assert there("kill", "child").code == 0
    assert "Everything" not in there("export", "demo").err
    assert not (home / ".local/share/sapwood/sapwood.db").exists()


@pytest.mark.night
def test_the_screen_opens_on_the_last_conversation_of_the_server(
    sapwood: Sapwooder, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sapwood.app.connection import Connection
    from sapwood.config.config_file import Config
    from sapwood.tui import launcher
    from sapwood.tui.launcher import ScreenExit

    opened: list[str] = []

    async def screen(connection: Connection, config: Config, *_: str, inline: bool) -> ScreenExit:
        opened.append(connection.address)
        return ScreenExit(None)

    monkeypatch.setattr(launcher, "open_screen", screen)
    monkeypatch.setattr(root_module, "sys", _Terminal())
    assert sapwood("--server", server) == Ran(0, "", "")
    assert sapwood("open", "--server", server) == Ran(0, "", "")
    assert opened == [server, server]


class _Terminal:
    """Stands for `sys` at a terminal."""

    class _Stream:
        def isatty(self) -> bool:
            return True

    stdin = stdout = _Stream()


@pytest.mark.night
def test_a_configured_server_is_for_conversations_only(
    sapwood: Sapwooder, server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SAPWOOD_SERVER", server)
    assert sapwood("agents").code == 0
    local = sapwood("agents", "--database", str(tmp_path / "own.db"))
    assert local.code == 0
    assert (tmp_path / "own.db").exists()
    refused = sapwood("worker", "--server", server)
    assert refused.code != 0
    assert "only works on the server's own machine" in refused.err
    model = sapwood("run", "-p", "Hi.", "--allow", "shell(ls)")
    assert "--allow only affects tools on this machine" in model.err


def test_a_wrong_token_and_a_silent_server_are_named(
    sapwood: Sapwooder, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_TOKEN", "sw_wrong")
    assert "does not recognize this token" in sapwood("agents", "--server", server).err
    away = sapwood("agents", "--server", "http://127.0.0.1:9")
    assert "The server at http://127.0.0.1:9 is not responding" in away.err
    assert "Traceback" not in away.err
    assert "must start with https://" in sapwood("agents", "--server", "sapwood.example").err
