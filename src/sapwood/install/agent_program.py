"""The programs that Sapwood can be connected with: Claude Code and Codex."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from sapwood.install.claude_code import ClaudeCode
from sapwood.install.codex import Codex
from sapwood.install.file_edits import FileEdit


class AgentProgram(Protocol):
    """A program that Sapwood can be connected with. It describes the changes and writes nothing."""

    name: str
    program: str

    def home(self, environ: Mapping[str, str]) -> Path:
        """The folder of its settings."""
        ...

    def settings_file(self, environ: Mapping[str, str]) -> Path:
        """The user's settings file that has to name Sapwood."""
        ...

    def folders(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """The folders that get a copy of the plugin."""
        ...

    def settings(
        self, environ: Mapping[str, str], command: Sequence[str]
    ) -> tuple[FileEdit | None, tuple[str, ...]]:
        """The change to the user's settings, None if there is none, and notes for the user.

        Raises `InstallError` if the settings file cannot be edited.
        """
        ...

    def without_sapwood(self, path: Path, text: bytes) -> bytes:
        """A settings file without Sapwood's entries and with everything else.

        Raises `InstallError` if the file cannot be edited.
        """
        ...

    def same_settings(self, one: bytes, other: bytes) -> bool:
        """Whether two versions of the settings file have the same values."""
        ...

    def leftovers(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Folders that the program makes for a plugin, to be removed if they are empty."""
        ...


AGENT_PROGRAMS: tuple[AgentProgram, ...] = (ClaudeCode(), Codex())


def program_named(name: str) -> AgentProgram:
    """The program of that name, which must be one of `AGENT_PROGRAMS`."""
    return next(agent for agent in AGENT_PROGRAMS if agent.name == name)
