"""The real program in a terminal, in its own home, with the scripted model."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from proofs.tui_tmux.terminal import Failed, Terminal
from scripted_model import ScriptedModel

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "NO_COLOR")

DEFECT = """
from sapwood.cli import main
from sapwood.tui.conversation_screen import ConversationScreen
from sapwood.tui.inline.inline_screen import InlineScreen

def fail(self):
    raise ZeroDivisionError("provoked")

ConversationScreen.action_sidebar = InlineScreen.action_sidebar = fail
main()
"""


class Program:
    """The start of a session. Each method of a session tests one thing."""

    def __init__(self, terminal: Terminal, folder: Path, server: ScriptedModel) -> None:
        self._terminal = terminal
        self._folder = folder
        self._server = server

    def open(self, *args: str) -> None:
        """Starts the program."""
        self._start(sys.executable, "-m", "sapwood.cli", *args)

    def _start(self, *command: str, **env: str) -> None:
        project = self._folder / "project"
        project.mkdir(exist_ok=True)
        without = [name for name in KEYS if name not in env]
        self._terminal.start(command, str(project), {**self._env(), **env}, without)

    def _env(self) -> dict[str, str]:
        return {
            "HOME": str(self._folder),
            "XDG_CONFIG_HOME": str(self._folder / "config"),
            "XDG_DATA_HOME": str(self._folder / "data"),
            "XDG_STATE_HOME": str(self._folder / "state"),
        }

    def _configure(self) -> None:
        """Configures the scripted model as the address of Anthropic."""
        config = self._folder / "config" / "sapwood"
        config.mkdir(parents=True)
        url = self._server.anthropic_url
        (config / "config.toml").write_text(f'[base_urls]\nanthropic = "{url}"\n', encoding="utf-8")

    def _is_given_back(self) -> None:
        if self._terminal.in_full_screen():
            raise Failed("the terminal was not given back")


D = TypeVar("D", bound=Program)


def play(day: D, steps: Sequence[Callable[[D], None]]) -> None:
    """Runs a session, and prints each step that has worked."""
    for step in steps:
        step(day)
        print(f"  {step.__name__.replace('_', ' ')}: {(step.__doc__ or '').strip()}", flush=True)
