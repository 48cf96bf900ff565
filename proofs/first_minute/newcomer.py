"""A new user: a clean home, a fresh environment, and a shell in a terminal of 80×24."""

import re
from collections.abc import Mapping
from pathlib import Path

from proofs.tui_tmux.terminal import Failed, Terminal

_PROMPT = "newcomer$ "
_COLUMNS, _LINES = 80, 24
_PATIENCE = 40.0


class Newcomer:
    """Types into the shell and reads the screen. Nothing of our own environment is inherited."""

    def __init__(
        self,
        home: Path,
        environment: Path,
        variables: Mapping[str, str],
        screens: Path | None,
    ) -> None:
        self.home = home
        self.project = home / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        self.terminal = Terminal(_COLUMNS, _LINES, patience=_PATIENCE)
        self._screens = screens
        self._seen = 0
        self._variables = {
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            **variables,
        }
        programs = self._variables.get("PATH", "/usr/bin:/bin")
        self._variables["PATH"] = f"{environment}/bin:{programs}"

    def send_models_to(self, address: str) -> None:
        """Makes this the address of Anthropic: the only setting of the otherwise clean home."""
        file = self.home / ".config" / "sapwood" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'[base_urls]\nanthropic = "{address}"\n', encoding="utf-8")

    def open_shell(self) -> None:
        """Opens the terminal."""
        variables = [f"{name}={value}" for name, value in self._variables.items()]
        shell = ["bash", "--noprofile", "--norc", "-i"]
        self.terminal.start(
            ["env", "-i", *variables, f"PS1={_PROMPT}", *shell], str(self.project), {}, ()
        )
        self.terminal.sees(_PROMPT.rstrip())

    def close(self) -> None:
        """Closes the terminal with all that runs in it."""
        self.terminal.close()

    def types(self, line: str) -> None:
        """Types a line and presses Enter."""
        self.terminal.type(line)

    def presses(self, *keys: str) -> None:
        """Presses keys, by tmux's names for them."""
        self.terminal.keys(*keys)

    def sees(self, *words: str) -> str:
        """Waits until the words are on the screen; line breaks of the terminal do not count."""
        wanted = [_joined(each) for each in words]
        try:
            shown = self.terminal.waits(
                lambda text: all(word in _joined(text) for word in wanted), f"to see {words}"
            )
        finally:
            self._keep()
        if "Traceback (most recent call last)" in shown:
            raise Failed(f"a traceback is on the screen:\n{shown}")
        return shown

    def runs(self, command: str, *words: str, code: int = 0) -> None:
        """Runs a command on a cleared screen; waits for its exit code and these words."""
        self.terminal.keys("C-l")
        self.types(f"{command}; echo [ended with $?]")
        self.sees(f"[ended with {code}]", *words)

    def _keep(self) -> None:
        if self._screens is not None:
            self._seen += 1
            self._screens.mkdir(parents=True, exist_ok=True)
            name = f"{self.home.name}-{self._seen:02}.txt"
            (self._screens / name).write_text(self.terminal.screen(), encoding="utf-8")


def _joined(text: str) -> str:
    """The text without white space and frames, which the width of a terminal decides."""
    return re.sub(r"[\s│┃║▌▐]+", "", text)
