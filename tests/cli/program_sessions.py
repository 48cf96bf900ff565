"""Sessions of other programs in the test's home, with small programs in the place of the real."""

import json
import re
from pathlib import Path

import pytest

from sapwood.config.folders import data_folder
from tests.cli.calling import Sapwooder
from tests.programs.proved import keep_proof
from tests.programs.transcripts.writing import ClaudeFile, CodexFile

SESSION = "4cfa198d-2bff-4ecc-8825-6583da7ea71a"
THREAD = "01a1e0eb-8813-7583-9b11-411efef3d821"


def install_claude(home: Path, version: str = "2.1.325") -> None:
    """Puts a program there that says it is this version of Claude Code."""
    program = home / "claude"
    program.write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
    program.chmod(0o755)


def claude_session(home: Path, monkeypatch: pytest.MonkeyPatch) -> ClaudeFile:
    """A session of Claude Code with four turns, in the present folder; the program was proved."""
    install_claude(home)
    monkeypatch.setenv("SAPWOOD_CLAUDE", str(home / "claude"))
    keep_proof(data_folder(), "claude-code", home / "claude")
    folder = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(Path.cwd()))
    file = ClaudeFile(folder, SESSION)
    for number in range(1, 5):
        file.user(f"Ask {number}.", cwd=str(Path.cwd()))
        file.says(f"Answer {number}.")
    return file


def codex_thread(home: Path) -> CodexFile:
    """A thread of Codex with three turns."""
    file = CodexFile(home / ".codex" / "sessions" / "2026" / "11" / "14", THREAD)
    for number in range(1, 4):
        file.event("task_started")
        file.user(f"Ask {number}.")
        file.says(f"Answer {number}.")
        file.event("task_complete")
    return file


def boundaries(transcript: Path) -> list[list[str]]:
    """The rows that each boundary in a transcript of Claude Code keeps."""
    rows = [json.loads(line) for line in transcript.read_text().splitlines()]
    found = [row["compactMetadata"] for row in rows if row.get("subtype") == "compact_boundary"]
    return [each["preservedMessages"]["uuids"] for each in found]


def in_view(sapwood: Sapwooder, session: str) -> list[str]:
    """The requests that `sapwood show` prints."""
    shown = sapwood("show", session).out
    return [f"Ask {n}." for n in range(1, 9) if f"Ask {n}." in shown]
