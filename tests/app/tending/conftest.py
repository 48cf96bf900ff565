"""A data folder of one's own, a transcript in it, and hooks whose later work is done at once."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sapwood.app.tending import hooks, indexing
from sapwood.app.tending.hooks import run_hook
from sapwood.garden.journal import Act, read_acts
from sapwood.testing.transcripts import ClaudeTranscript


class Tended:
    """A home in which hooks are called as the programs call them."""

    def __init__(self, home: Path, environ: dict[str, str]) -> None:
        self.home = home
        self.data = home / "data"
        self.environ = environ

    def transcript(self, name: str = "s1") -> ClaudeTranscript:
        """A new transcript of Claude Code."""
        return ClaudeTranscript(self.home / "projects" / f"{name}.jsonl")

    def call(self, hook: str, transcript: ClaudeTranscript | None = None, **more: object) -> Any:
        """What the hook answers, read as the program reads it; None for nothing."""
        said = self.call_raw(hook, transcript, **more)
        return json.loads(said) if said else None

    def call_raw(
        self, hook: str, transcript: ClaudeTranscript | None = None, **more: object
    ) -> bytes:
        """What the hook writes."""
        told: dict[str, object] = {"hook_event_name": hook, "cwd": "/srv/wood"}
        if transcript is not None:
            told |= {"session_id": transcript.session, "transcript_path": str(transcript.path)}
        return run_hook(hook, json.dumps({**told, **more}).encode(), self.environ)

    def archives(self) -> list[str]:
        """The texts of all archives, the newest last."""
        files = sorted(
            (self.data / "archives").glob("*.txt"), key=lambda file: file.stat().st_mtime_ns
        )
        return [file.read_text() for file in files]

    def acts(self, *, indexed: bool = False) -> list[Act]:
        """What is in the journal; of imports only if they are asked for."""
        acts = read_acts(self.data / "journal.jsonl")
        return [act for act in acts if indexed or act.did != "indexed"]


@pytest.fixture
def tended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tended:
    """Hooks in this process; what they would leave to another is done before they go on."""

    def at_once(args: list[str], environ: Mapping[str, str]) -> None:
        path, session, folder = args
        indexing.main(path, session, folder, environ)

    environ = {"HOME": str(tmp_path), "SAPWOOD_CONFIG": str(tmp_path / "config.toml")}
    monkeypatch.setenv("SAPWOOD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(indexing, "start", at_once)
    monkeypatch.setattr(hooks, "SECONDS", 60)  # a slow machine is no failure here
    return Tended(tmp_path, environ)
