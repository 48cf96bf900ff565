"""A terminal to type into and read from: a separate tmux server."""

import os
import secrets
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_GLANCE = 0.1
_READING = 2.0
"""Longer than a permission question takes no answer, after it was shown or a letter was typed."""

_STILL = 0.6
"""The screen is complete if it has not changed for this many seconds."""


class Failed(AssertionError):
    """The expected text is not on the screen."""


class Terminal:
    """One window of a tmux server. Each start has its own server, which ends with the window."""

    def __init__(self, columns: int, lines: int, *, patience: float = 120.0) -> None:
        if shutil.which("tmux") is None:
            raise Failed("tmux is not installed. On Debian: apt-get install tmux")
        self._name = ""
        self.size = (columns, lines)
        self.patience = patience

    def start(
        self, command: Sequence[str], folder: str, env: Mapping[str, str], without: Sequence[str]
    ) -> None:
        """Runs a command in the window; the window stays when it has ended."""
        self._name = f"sapwood-{os.getpid()}-{secrets.token_hex(3)}"  # none that is just ending
        columns, lines = self.size
        changes = [*(f"--unset={name}" for name in without), *(f"{n}={v}" for n, v in env.items())]
        run = shlex.join(["env", *changes, *command])
        line = f"cd {shlex.quote(folder)} && {run}; echo left=$?; cat"
        size = ("-x", str(columns), "-y", str(lines))
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "sh", "-c", line)

    def keys(self, *keys: str) -> None:
        """Presses keys, by tmux's names for them."""
        self._tmux("send-keys", *keys)

    def answer(self, key: str) -> None:
        """Answers a permission question, after the time that a person needs to read it."""
        time.sleep(_READING)
        self.keys(key)

    def type(self, text: str, *, enter: bool = True) -> None:
        """Types a text, and sends it."""
        self._tmux("send-keys", "-l", "--", text)
        if enter:
            self.keys("Enter")

    def paste(self, text: str) -> None:
        """Pastes a text, with the marks of a bracketed paste."""
        subprocess.run(
            ["tmux", "-L", self._name, "load-buffer", "-"], input=text.encode(), check=True
        )
        self._tmux("paste-buffer", "-p")

    def resize(self, columns: int, lines: int) -> None:
        """Changes the size of the window."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def screen(self) -> str:
        """The text on the screen."""
        return self._tmux("capture-pane", "-p")

    def coloured(self) -> str:
        """The text on the screen with its colours and trailing spaces."""
        return self._tmux("capture-pane", "-p", "-e", "-N")

    def cursor(self) -> tuple[int, int] | None:
        """The column and line of the cursor, unless it is hidden."""
        told = self._tmux("display", "-p", "#{cursor_flag} #{cursor_x} #{cursor_y}")
        shown, column, line = map(int, told.split())
        return (column, line) if shown else None

    def everything(self, *args: str) -> str:
        """The text on the screen and in the scrollback."""
        return self._tmux("capture-pane", "-p", "-S", "-", *args)

    def sees(self, *words: str) -> str:
        """Waits until all of these are on the screen."""
        return self.waits(lambda shown: all(word in shown for word in words), f"to see {words}")

    def misses(self, *words: str) -> str:
        """Waits until none of these is on the screen."""
        return self.waits(
            lambda shown: not any(word in shown for word in words), f"not to see {words}"
        )

    def waits(self, seen: Callable[[str], bool], wanted: str) -> str:
        """Waits until the screen is as wanted, and returns it."""
        end = time.monotonic() + self.patience
        while True:
            shown = self.screen()
            if seen(shown):
                return shown
            if time.monotonic() > end:
                raise Failed(f"waited {self.patience:.0f} s {wanted}; this is shown:\n{shown}")
            time.sleep(_GLANCE)

    def agrees(self, fault: Callable[[str], str]) -> None:
        """Waits until scrollback and screen are right and no longer change.

        `fault` returns what is wrong with the text, or an empty text.
        """
        end, before = time.monotonic() + self.patience, ""
        while True:
            text = self.everything()
            wrong = fault(text)
            if time.monotonic() > end:
                wrong = wrong or "it still moves"
                raise Failed(f"waited {self.patience:.0f} s; {wrong}; this is there:\n{text}")
            if not wrong and text == before:
                return
            before = text
            time.sleep(_STILL)

    def in_full_screen(self) -> bool:
        """Whether the program has taken the whole screen."""
        return self._tmux("display", "-p", "#{alternate_on}").strip() == "1"

    def terminate(self) -> None:
        """Sends SIGTERM to the program in the window."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Sends SIGKILL to the program in the window."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        shell = self._tmux("display", "-p", "#{pane_pid}").strip()
        children = Path(f"/proc/{shell}/task/{shell}/children").read_text(encoding="ascii").split()
        for child in children:
            os.kill(int(child), number)

    def close(self) -> None:
        """Ends the server and every program in it."""
        subprocess.run(["tmux", "-L", self._name, "kill-server"], capture_output=True, check=False)

    def _tmux(self, *args: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._name, *args], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Failed(f"tmux {args[0]}: {done.stderr.strip()}")
        return done.stdout
