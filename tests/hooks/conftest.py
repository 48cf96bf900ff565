"""A data folder for each test, and hooks whose background work is done at once."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sapwood.hooks import background_work, runner, watched_session
from sapwood.hooks.runner import run_hook
from sapwood.journal import JournalEntry, read_entries
from sapwood.testing.claude_transcript import ClaudeTranscript


class HookCaller:
    """Calls hooks as Claude Code and Codex call them, in a home of its own."""

    def __init__(self, home: Path, environ: dict[str, str]) -> None:
        self.home = home
        self.data = home / "data"
        self.environ = environ

    def transcript(self, name: str = "s1") -> ClaudeTranscript:
        """A new transcript of Claude Code."""
        return ClaudeTranscript(self.home / "projects" / f"{name}.jsonl")

    def call(self, hook: str, transcript: ClaudeTranscript | None = None, **more: object) -> Any:
        """The decoded answer of a hook; None if it answers nothing."""
        output = self.call_raw(hook, transcript, **more)
        return json.loads(output) if output else None

    def call_raw(
        self, hook: str, transcript: ClaudeTranscript | None = None, **more: object
    ) -> bytes:
        """The output of a hook."""
        fields: dict[str, object] = {"hook_event_name": hook, "cwd": "/srv/wood"}
        if transcript is not None:
            fields |= {"session_id": transcript.session, "transcript_path": str(transcript.path)}
        return run_hook(hook, json.dumps({**fields, **more}).encode(), self.environ)

    def archives(self) -> list[str]:
        """The texts of all archives, the newest last."""
        files = sorted(
            (self.data / "archives").glob("*.txt"), key=lambda file: file.stat().st_mtime_ns
        )
        return [file.read_text() for file in files]

    def entries(self, *, indexed: bool = False) -> list[JournalEntry]:
        """The journal; entries of imports only with `indexed`."""
        entries = read_entries(self.data / "journal.jsonl")
        return [entry for entry in entries if indexed or entry.kind != "indexed"]


@pytest.fixture
def caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HookCaller:
    """Runs hooks in this process, and their background work before they continue."""

    def at_once(args: list[str], environ: Mapping[str, str]) -> None:
        path, session, folder = args
        background_work.main(path, session, folder, environ)

    environ = {"HOME": str(tmp_path), "SAPWOOD_CONFIG": str(tmp_path / "config.toml")}
    monkeypatch.setenv("SAPWOOD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(watched_session, "start_process", at_once)
    monkeypatch.setattr(runner, "SECONDS", 60.0)  # the background work counts here too
    return HookCaller(tmp_path, environ)
