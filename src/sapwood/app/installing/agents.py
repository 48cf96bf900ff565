"""What an agent's program must offer to be connected, and the two that are known."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from sapwood.app.installing.claude_code import ClaudeCode
from sapwood.app.installing.codex import Codex
from sapwood.app.installing.edits import Edit

__all__ = ["AGENTS", "Agent", "agent_named"]


class Agent(Protocol):
    """A program that Sapwood can be connected with. It knows its files and writes none."""

    name: str
    program: str

    def home(self, environ: Mapping[str, str]) -> Path:
        """The folder of its settings."""
        ...

    def settings_file(self, environ: Mapping[str, str]) -> Path:
        """The user's own file in which it has to be named."""
        ...

    def folders(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Where copies of the plugin go."""
        ...

    def settings(
        self, environ: Mapping[str, str], command: Sequence[str]
    ) -> tuple[Edit | None, tuple[str, ...]]:
        """What changes in the user's own settings, if anything, and what to say about it."""
        ...

    def without_us(self, path: Path, text: bytes) -> bytes:
        """A settings file with all that is ours taken out, and nothing else."""
        ...

    def same(self, one: bytes, other: bytes) -> bool:
        """Whether two texts of its settings say the same."""
        ...

    def leftovers(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Folders that the program makes for a plugin, removed when they are empty."""
        ...


AGENTS: tuple[Agent, ...] = (ClaudeCode(), Codex())


def agent_named(name: str) -> Agent:
    """The agent of that name, which must be one of them."""
    return next(agent for agent in AGENTS if agent.name == name)
