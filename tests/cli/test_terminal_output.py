"""Nothing that somebody else wrote reaches a terminal as anything but text."""

import json
import re
import sys
from pathlib import Path

import pytest

from sapwood.api import Sapwood
from tests.cli.calling import Database, Sapwooder
from tests.cli.hostile_text import Terminal, attacks_in, hostile, hostile_conversation
from tests.programs.transcripts.writing import ClaudeFile

RUN = """
import json, sys
from sapwood.cli.entry import run
for args in json.loads(sys.argv[1]):
    print(f"\\n=== {args[:2]}", flush=True)
    run(args)
"""
AGENT = "hostile"
COMMANDS = [
    ["agents", "--all"],
    ["agents", "--json"],
    ["show", AGENT],
    ["show", AGENT, "--whole", "--everything"],
    ["show", AGENT, "--json"],
    ["show", f"{AGENT}:3"],
    ["log", AGENT],
    ["log", AGENT, "--json"],
    ["export", AGENT, "--everything"],
    ["export", AGENT, "-f", "text"],
    ["export", AGENT, "-f", "json"],
    ["search", "PWN"],
    ["search", "PWN", "--json"],
    ["diff", AGENT, "START"],
    ["do", AGENT, "/context", "/agents", "/check-mail --peek", "/pin", "/config"],
    ["do", AGENT, f"/rewind {hostile('mark')}"],
    ["show", hostile("unknown")],
    [hostile("command")],
    ["config", "get", hostile("setting")],
    ["context", AGENT],
    ["context", "estimate", "--session", AGENT],
    ["context", "breakdown", "--session", AGENT],
    ["context", "focus", hostile("topic"), "--session", AGENT],
    ["context", "drift", "--session", AGENT],
    ["context", "ledger", "--session", AGENT],
    ["context", "ledger", "--session", AGENT, "--json"],
    ["context", "prune", "--session", AGENT],
    ["context", "search", "PWN", "--session", AGENT],
    ["context", "archive", "--session", AGENT],
    ["context", "resume", "--session", AGENT],
    ["context", "handoff", hostile("receiver"), "--session", AGENT],
    ["import", "transcripts", "-v"],
    ["agents"],
    ["journal"],
    ["doctor"],
]
FIELDS = ["name", "model", "prompt 4", "reply", "tool", "result", "mail", "pin text", "topic"]


@pytest.fixture
def attacked(home: Path, database: Database) -> Path:
    """A home with hostile conversations: one of its own, and a transcript to import."""
    project = home / "project"

    async def make(db: Sapwood) -> None:
        await hostile_conversation(db, str(project))

    database(make)
    transcript = ClaudeFile(project / "transcripts", "5e550000-aaaa-bbbb-cccc-5e5500000000")
    transcript.user(hostile("imported prompt"))
    transcript.says(hostile("imported reply"))
    return home


def test_no_command_lets_a_sequence_pass(attacked: Path) -> None:
    terminal = Terminal([sys.executable, "-c", RUN, json.dumps(COMMANDS)])
    try:
        assert terminal.end() == 0
    finally:
        terminal.close()
    parts = re.split(rb"\n=== ", terminal.written)[1:]
    assert len(parts) == len(COMMANDS)
    passed = {part.split(b"\r\n")[0]: attacks_in(part) for part in parts}
    assert {command: found for command, found in passed.items() if found} == {}
    for field in FIELDS:
        assert f"@{field}@".encode() in terminal.written, field
    assert "␛]0;PWN".encode() in terminal.written
    assert b"\x1b[" in terminal.written  # our own colours still pass


def test_json_escapes_what_a_terminal_would_obey(attacked: Path, sapwood: Sapwooder) -> None:
    printed = sapwood("log", AGENT, "--json").out
    assert attacks_in(printed.encode()) == []
    started = json.loads(printed.splitlines()[0])
    assert started["data"]["name"] == hostile("name")  # programs read exactly what is stored


@pytest.mark.parametrize(
    "how", [["open", AGENT], ["--inline", "open", AGENT]], ids=["full", "inline"]
)
def test_no_screen_lets_a_sequence_pass(attacked: Path, how: list[str]) -> None:
    (attacked / ".config/sapwood").mkdir(parents=True, exist_ok=True)
    terminal = Terminal([sys.executable, "-m", "sapwood.cli", *how])
    try:
        terminal.until(b"@last@")
        for keys, words in (
            (b"/agents\r", b"Agents"),
            (b"/context\r", b"window"),
            (b"\x0c", b"Conversations"),
            (b"\x1bOR", b"Rewind"),
            (b"/recall PWN\r", b"Search"),
            (b"/config\r", b"Settings"),
        ):
            before = len(terminal.written)
            terminal.press(keys)
            terminal.until(words, before)
            before = len(terminal.written)
            terminal.press(b"\x1b[27u")
            terminal.until(b"Message, or / for commands", before)
        terminal.press(b"/exit\r")
        terminal.end()
    finally:
        terminal.close()
    assert attacks_in(terminal.written) == []
    assert b"PWN" in terminal.written


@pytest.mark.parametrize("how", [[], ["--inline"]], ids=["full", "inline"])
def test_ctrl_z_goes_to_the_shell_and_comes_back(home: Path, how: list[str], demo: str) -> None:
    terminal = Terminal([sys.executable, "-m", "sapwood.cli", *how, "open", demo])
    try:
        terminal.until(b"On roofs.")
        terminal.press(b"\x1a")
        for _ in range(1_000):
            if terminal.is_stopped:
                break
            terminal.read(0.1)
        assert terminal.is_stopped
        before = len(terminal.written)
        terminal.go_on()
        terminal.until(b"Message, or / for commands", before)
        terminal.press(b"still here")
        terminal.until(b"still here", before)
        terminal.press(b"\x03/exit\r")
        assert terminal.end() == 0
    finally:
        terminal.close()
