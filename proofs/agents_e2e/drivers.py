"""One interface to drive both programs."""

import json

from proofs.agents_e2e.claude import Claude
from proofs.agents_e2e.codex import Codex
from proofs.agents_e2e.environment import ProofError
from proofs.agents_e2e.home import Home
from proofs.agents_e2e.terminal import status_line_shows


def _call(name: str, **args: object) -> str:
    return f"[[tool: {name} {json.dumps(args)}]]"


class ClaudeDriver:
    """Claude Code."""

    name = "claude-code"

    def __init__(self, home: Home) -> None:
        self._home = home
        self._running: Claude | None = None
        self._session = ""

    def connected(self) -> bool:
        folder = self._home.claude / "skills" / "sapwood"
        valid = self._home.run("claude", "plugin", "validate", str(folder)).returncode == 0
        listed = self._home.run("claude", "plugin", "list").stdout
        return valid and "sapwood@skills-dir" in listed and "loaded" in listed

    def open(self, *, again: bool = False) -> None:
        self._running = Claude(self._home, resume=self._session if again else "")

    def ask(self, text: str) -> None:
        self._claude.ask(text)
        self._session = self._claude.session

    def compact(self) -> None:
        self._claude.ask("/compact")

    def clear(self) -> None:
        self._claude.ask("/clear")

    def close(self) -> None:
        self._claude.__exit__(None, None, None)
        self._running = None

    @property
    def _claude(self) -> Claude:
        if self._running is None:
            raise ProofError("Claude Code is not running.")
        return self._running

    def shows_status(self) -> bool:
        prompt = "Look at the status line. [[usage: 50000]] [[say: I see it.]]"
        return status_line_shows(self._home, prompt, "context 50k of 67k, 75%")

    def writes(self, path: str, text: str) -> str:
        return _call("Write", file_path=str(self._home.project / path), content=text)

    def runs(self, command: str) -> str:
        return _call("Bash", command=command)

    def delegates(self, task: str) -> str:
        return _call(
            "Task",
            description="a task",
            prompt=task,
            subagent_type="general-purpose",
            run_in_background=False,
        )

    def looks(self) -> str:
        return _call("mcp__plugin_sapwood_sapwood__context", action="estimate")

    def notes(self, kind: str, text: str) -> str:
        return _call("mcp__plugin_sapwood_sapwood__context", action="note", note=kind, text=text)

    def sessions(self) -> list[str]:
        return sorted(path.stem for path in self._home.claude.glob("projects/*/*.jsonl"))

    @property
    def session(self) -> str:
        return self._session


class CodexDriver:
    """Codex. Before the first session the hooks are trusted, as Codex requires."""

    name = "codex"

    def __init__(self, home: Home) -> None:
        self._home = home
        self._running: Codex | None = None
        self._thread = ""

    def connected(self) -> bool:
        with Codex(self._home) as codex:
            codex.trust_hooks()
            return {hook["trustStatus"] for hook in codex.hooks()} == {"trusted"}

    def open(self, *, again: bool = False) -> None:
        self._running = Codex(self._home)
        self._running.call("mcpServerStatus/list")  # returns when the servers have started
        if again:
            self._running.call("thread/resume", threadId=self._thread)
        else:
            self._thread = self._running.start()

    def ask(self, text: str) -> None:
        self._codex.ask(self._thread, text)

    def compact(self) -> None:
        self._codex.compact(self._thread)

    def clear(self) -> None:
        self._thread = self._codex.start("clear")

    def close(self) -> None:
        self._codex.__exit__(None, None, None)
        self._running = None

    @property
    def _codex(self) -> Codex:
        if self._running is None:
            raise ProofError("Codex is not running.")
        return self._running

    def shows_status(self) -> bool | None:
        return None

    def writes(self, path: str, text: str) -> str:
        return _call("exec_command", cmd=f"echo '{text}' > {path}")

    def runs(self, command: str) -> str:
        return _call("exec_command", cmd=command)

    def delegates(self, task: str) -> str:
        return _call("spawn_agent", message=task, agent_type="default")

    def looks(self) -> str:
        return _call("context", action="estimate")

    def notes(self, kind: str, text: str) -> str:
        return _call("context", action="note", note=kind, text=text)

    def sessions(self) -> list[str]:
        return sorted(path.stem for path in self._home.codex.rglob("rollout-*.jsonl"))

    @property
    def session(self) -> str:
        return self._thread
