"""Every kind of row that a program writes, made by the real program.

Each function adds one piece to an open session: a turn, or something that waits for the next
prompt. The words of piece 7 are `WORD7p` (its prompt), `WORD7c` (a call), `WORD7r` and `WORD7s`
(results) and `WORD7a` (the answer), so that a request and a view can be compared by them.
"""

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any  # the programs' JSON

from proofs.agents_e2e.claude import Claude
from proofs.agents_e2e.codex import Codex
from proofs.agents_e2e.home import Home
from proofs.providers_e2e.open_program import OpenProgram

_DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)
_HOOK = (
    "grep -q HOOKED && echo '"
    '{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"from a hook"}}'
    "' || true"
)


def prepare_project(home: Home) -> None:
    """Commands, a skill, a file, a picture and hooks of the user."""
    commands = home.project / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "review.md").write_text("Review $ARGUMENTS now. [[say: reviewed]]\n")
    shell = "---\nallowed-tools: Bash(echo:*)\n---\n!`echo $ARGUMENTS` [[say: shelled]]\n"
    (commands / "shell.md").write_text(shell)
    skill = home.project / ".claude" / "skills" / "greet"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: greet\ndescription: greets\n---\nSay hello.\n")
    (home.project / "notes.txt").write_text("some notes\n")
    (home.project / "dot.png").write_bytes(base64.b64decode(_DOT))
    settings: dict[str, Any] = json.loads((home.claude / "settings.json").read_text())
    hook = {"hooks": [{"type": "command", "command": _HOOK}]}
    stop = {"hooks": [{"type": "command", "command": "true"}]}
    settings["hooks"] = {"UserPromptSubmit": [hook], "Stop": [stop]}
    settings["permissions"]["allow"].append("Skill")
    (home.claude / "settings.json").write_text(json.dumps(settings))


class OpenClaude(Claude):
    """A session of Claude Code that is open."""

    def __init__(self, home: Home, session: str = "") -> None:
        super().__init__(home, resume=session)
        self._project = home.project

    def say(self, text: str) -> None:
        """Types a prompt or a command, and waits for its end."""
        self.ask(text)

    def start(self, content: object) -> None:
        """Sends a prompt and does not wait."""
        self.send({"type": "user", "message": {"role": "user", "content": content}})

    def finish(self) -> None:
        """Waits for the end of the turn."""
        *_, last = self.read_until(lambda line: line.get("type") == "result")
        self.session = last.get("session_id", self.session)

    def until_call(self) -> None:
        """Waits until the model has called a tool."""
        for _ in self.read_until(lambda line: '"tool_use"' in json.dumps(line)):
            pass

    def path(self, name: str) -> str:
        """A file of the project."""
        return str(self._project / name)


class OpenCodex(Codex):
    """A thread of Codex that is open."""

    def __init__(self, home: Home, thread: str = "") -> None:
        super().__init__(home)
        self._project = home.project
        if thread:
            self.call("thread/resume", threadId=thread)
        self.session = thread or self.start()

    def say(self, text: str) -> None:
        """Types a prompt, and waits for the end of its turn."""
        self.ask(self.session, text)

    def begin(self, text: str) -> str:
        """Sends a prompt and returns the id of its turn."""
        content = [{"type": "text", "text": text}]
        told = self.call("turn/start", threadId=self.session, input=content)
        return told["turn"]["id"]

    def until(self, method: str) -> None:
        """Waits for a message of this thread."""

        def is_it(line: dict[str, Any]) -> bool:
            return line.get("method") == method and line["params"]["threadId"] == self.session

        for _ in self.read_until(is_it):
            pass

    def until_call(self) -> None:
        """Waits until a command of the model runs."""

        def is_it(line: dict[str, Any]) -> bool:
            return line.get("method") == "item/started" and "commandExecution" in json.dumps(line)

        for _ in self.read_until(is_it):
            pass

    def path(self, name: str) -> str:
        """A file of the project."""
        return str(self._project / name)


class OpenOther(OpenProgram):
    """A session of opencode or pi that is open."""

    def __init__(self, home: Home, program: str, session: str = "") -> None:
        super().__init__(home, program, session)
        self._more = {"description": "try"} if program == "opencode" else {}

    def say(self, text: str) -> None:
        """Types a prompt, and waits for the end of its turn."""
        self.ask(text)

    def call(self, command: str) -> str:
        """A call of its shell tool."""
        return f"bash {json.dumps({'command': command, **self._more})}"


Talk = OpenClaude | OpenCodex | OpenOther


def _asked(n: int, script: str = "") -> str:
    return f"WORD{n}p {script} [[say: WORD{n}a]]"


def _echo(n: int, call: str = "c", result: str = "r") -> str:
    """A command whose own text has the word of a call, and its output that of a result."""
    return f"echo WORD{n}''{result} # WORD{n}{call}"


def _bash(command: str) -> str:
    return f"Bash {json.dumps({'command': command})}"


def _exec(command: str) -> str:
    return f"exec_command {json.dumps({'cmd': command})}"


def _plain(talk: Talk, n: int) -> None:
    talk.say(_asked(n))


def _thinking(talk: Talk, n: int) -> None:
    talk.say(_asked(n, "[[think: hm]]"))


def _error(talk: Talk, n: int) -> None:
    talk.say(f"WORD{n}p [[status: 400]]")


def _claude_calls(talk: OpenClaude, n: int) -> None:
    calls = f"{_bash(_echo(n, 'c', 'r'))} {_bash(_echo(n, 'd', 's'))}"
    talk.say(_asked(n, f"[[think: hm]] [[say: WORD{n}b]] [[and]] [[tools: {calls}]]"))


def _claude_command(talk: OpenClaude, n: int) -> None:
    talk.say(f"/review WORD{n}p")


def _claude_shell_command(talk: OpenClaude, n: int) -> None:
    talk.say(f"/shell WORD{n}p")


def _claude_unknown_command(talk: OpenClaude, n: int) -> None:
    talk.say(f"/nothing WORD{n}p [[say: WORD{n}a]]")


def _claude_local_command(talk: OpenClaude, n: int) -> None:
    talk.say("/context")


def _claude_hook(talk: OpenClaude, n: int) -> None:
    talk.say(_asked(n, "HOOKED"))


def _claude_file(talk: OpenClaude, n: int) -> None:
    talk.say(f"WORD{n}p @notes.txt [[say: WORD{n}a]]")


def _claude_picture(talk: OpenClaude, n: int) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": _DOT}
    talk.start([{"type": "text", "text": _asked(n)}, {"type": "image", "source": source}])
    talk.finish()


def _claude_subagent(talk: OpenClaude, n: int) -> None:
    task: Mapping[str, object] = {
        "description": f"WORD{n}c",
        "prompt": f"[[say: WORD{n}r]]",
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }
    talk.say(_asked(n, f"[[tool: Task {json.dumps(task)}]]"))


def _claude_skill(talk: OpenClaude, n: int) -> None:
    talk.say(_asked(n, '[[tool: Skill {"skill": "greet"}]]'))


def _claude_interrupt(talk: OpenClaude, n: int) -> None:
    talk.start(f"WORD{n}p [[tool: {_bash(f'sleep 20; {_echo(n)}')}]] [[say: WORD{n}a]]")
    talk.until_call()
    request = {"subtype": "interrupt"}
    talk.send({"type": "control_request", "request_id": f"stop-{n}", "request": request})
    talk.finish()


def _claude_queued(talk: OpenClaude, n: int) -> None:
    talk.start(f"WORD{n}p [[tool: {_bash(f'sleep 0.7; {_echo(n)}')}]] [[say: WORD{n}a]]")
    talk.until_call()
    talk.start(f"WORD{n}q, please.")
    talk.finish()


def _claude_compaction(talk: OpenClaude, n: int) -> None:
    talk.say("/compact")


def _codex_calls(talk: OpenCodex, n: int) -> None:
    calls = f"{_exec(_echo(n, 'c', 'r'))} {_exec(_echo(n, 'd', 's'))}"
    talk.say(_asked(n, f"[[think: hm]] [[say: WORD{n}b]] [[and]] [[tools: {calls}]]"))


def _codex_picture(talk: OpenCodex, n: int) -> None:
    content = [
        {"type": "text", "text": _asked(n)},
        {"type": "localImage", "path": talk.path("dot.png")},
    ]
    talk.call("turn/start", threadId=talk.session, input=content)
    talk.until("turn/completed")


def _codex_interrupt(talk: OpenCodex, n: int) -> None:
    turn = talk.begin(f"WORD{n}p [[tool: {_exec(f'sleep 20; {_echo(n)}')}]] [[say: WORD{n}a]]")
    talk.until_call()
    talk.call("turn/interrupt", threadId=talk.session, turnId=turn)
    talk.until("turn/completed")


def _codex_steered(talk: OpenCodex, n: int) -> None:
    turn = talk.begin(f"WORD{n}p [[tool: {_exec(f'sleep 0.7; {_echo(n)}')}]] [[say: WORD{n}a]]")
    talk.until_call()
    content = [{"type": "text", "text": f"WORD{n}q, please."}]
    talk.call("turn/steer", threadId=talk.session, expectedTurnId=turn, input=content)
    talk.until("turn/completed")


def _codex_compaction(talk: OpenCodex, n: int) -> None:
    talk.compact(talk.session)


def _codex_shell(talk: OpenCodex, n: int) -> None:
    talk.call("thread/shellCommand", threadId=talk.session, command=f"echo WORD{n}p")
    talk.until("turn/completed")


def _other_calls(talk: OpenOther, n: int) -> None:
    calls = f"{talk.call(_echo(n, 'c', 'r'))} {talk.call(_echo(n, 'd', 's'))}"
    talk.say(_asked(n, f"[[think: hm]] [[say: WORD{n}b]] [[and]] [[tools: {calls}]]"))


def _other_compaction(talk: OpenOther, n: int) -> None:
    talk.compact()


CLAUDE_KINDS: Mapping[str, Callable[[OpenClaude, int], None]] = {
    "plain": _plain,
    "thinking": _thinking,
    "calls": _claude_calls,
    "command": _claude_command,
    "shell_command": _claude_shell_command,
    "unknown_command": _claude_unknown_command,
    "local_command": _claude_local_command,
    "hook": _claude_hook,
    "file": _claude_file,
    "picture": _claude_picture,
    "subagent": _claude_subagent,
    "skill": _claude_skill,
    "error": _error,
    "interrupt": _claude_interrupt,
    "queued": _claude_queued,
    "compaction": _claude_compaction,
}
CODEX_KINDS: Mapping[str, Callable[[OpenCodex, int], None]] = {
    "plain": _plain,
    "thinking": _thinking,
    "calls": _codex_calls,
    "picture": _codex_picture,
    "error": _error,
    "interrupt": _codex_interrupt,
    "steered": _codex_steered,
    "compaction": _codex_compaction,
    "shell": _codex_shell,
}
OTHER_KINDS: Mapping[str, Callable[[OpenOther, int], None]] = {
    "plain": _plain,
    "thinking": _thinking,
    "calls": _other_calls,
    "error": _error,
    "compaction": _other_compaction,
}


def open_session(home: Home, program: str, session: str = "") -> Talk:
    """Opens a session of a program, or a new one."""
    match program:
        case "claude-code":
            return OpenClaude(home, session)
        case "codex":
            return OpenCodex(home, session)
        case _:
            return OpenOther(home, program, session)


def kinds_of(program: str) -> list[str]:
    """The names of the pieces that a program has."""
    own = {"claude-code": CLAUDE_KINDS, "codex": CODEX_KINDS}
    return list(own.get(program, OTHER_KINDS))


def add_piece(talk: Talk, name: str, number: int) -> None:
    """Adds a piece to an open session."""
    match talk:
        case OpenClaude():
            CLAUDE_KINDS[name](talk, number)
        case OpenCodex():
            CODEX_KINDS[name](talk, number)
        case OpenOther():
            OTHER_KINDS[name](talk, number)
