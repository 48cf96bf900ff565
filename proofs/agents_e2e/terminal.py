"""Claude Code on a terminal, with its status line."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from typing import Any

from proofs.agents_e2e.home import Home

_SEQUENCE = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")
_SECONDS = 30.0
_ROWS, _COLUMNS = 40, 160


def status_line_shows(home: Home, prompt: str, words: str) -> bool:
    """Types a prompt; returns whether these words then appear on the screen."""
    answer_first_questions(home)
    child, screen = pty.fork()
    if not child:
        os.chdir(home.project)
        os.execve(home.root / "bin" / "claude", ["claude"], home.environ)
    try:
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        if not _comes(screen, "❯"):
            return False
        os.write(screen, prompt.encode())
        if not _comes(screen, prompt[-12:]):
            return False
        os.write(screen, b"\r")
        return _comes(screen, words)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(screen)


def answer_first_questions(home: Home) -> None:
    """Answers the questions of a first start: theme, key, trust."""
    file = home.claude / ".claude.json"
    settings: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    key = home.environ["ANTHROPIC_API_KEY"][-20:]
    settings |= {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [key], "rejected": []},
    }
    project = settings.setdefault("projects", {}).setdefault(str(home.project), {})
    project["hasTrustDialogAccepted"] = True
    file.write_text(json.dumps(settings))


def _comes(screen: int, words: str) -> bool:
    """Reads the screen until the words appear. Spaces are ignored: they may be cursor moves."""
    wanted = "".join(words.split())
    seen, until = b"", time.monotonic() + _SECONDS
    while time.monotonic() < until:
        ready, _, _ = select.select([screen], [], [], 0.1)
        if ready:
            try:
                seen += os.read(screen, 1 << 16)
            except OSError:
                return False
        text = _SEQUENCE.sub(b"", seen).decode("utf-8", "replace")
        if wanted in "".join(text.split()):
            return True
    return False
