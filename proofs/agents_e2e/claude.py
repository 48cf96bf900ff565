"""Drives Claude Code through its JSON lines interface."""

import json
from typing import Any

from proofs.agents_e2e.home import Home
from proofs.agents_e2e.lines import Talker

_TOOLS = "Bash,Write,Read,Task,mcp__plugin_sapwood_sapwood__context"


class Claude(Talker):
    """A session, new or resumed."""

    def __init__(self, home: Home, *, resume: str = "") -> None:
        command = ["claude", "-p", "--verbose", "--include-hook-events", "--allowedTools", _TOOLS]
        command += ["--input-format", "stream-json", "--output-format", "stream-json"]
        command += ["--resume", resume] if resume else []
        command[0] = str(home.root / "bin" / "claude")
        super().__init__(command, home.project, home.environ)
        self.session = resume

    def ask(self, text: str) -> str:
        """Sends a prompt or a slash command; returns all output until its result, as text."""
        self.send({"type": "user", "message": {"role": "user", "content": text}})
        heard = list(self.read_until(_is_result))
        self.session = heard[-1].get("session_id", self.session)
        return "\n".join(json.dumps(each, ensure_ascii=False) for each in heard)


def _is_result(line: dict[str, Any]) -> bool:
    return line.get("type") == "result"
