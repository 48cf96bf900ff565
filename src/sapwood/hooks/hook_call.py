"""One call of a hook: its input, the sessions it concerns, and its answer."""

import os
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from sapwood.context_actions.hook_memory import (
    HookMemory,
    hook_memory_folder,
    last_session,
    remember_session,
)
from sapwood.hooks.watched_session import WatchedSession
from sapwood.programs.registry import program, program_of_transcript


class HookInput(Struct, frozen=True):
    """What a program writes to a hook's standard input.

    These are the fields that Sapwood uses, of all hooks of all programs. Others are ignored.
    """

    hook_event_name: str | None = None
    session_id: str | None = None
    transcript_path: str | None = None
    cwd: str | None = None
    source: str | None = None
    trigger: str | None = None
    reason: str | None = None
    last_assistant_message: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    agent_transcript_path: str | None = None

    @property
    def session(self) -> str:
        """The id of the session."""
        return self.session_id or ""

    @property
    def folder(self) -> str:
        """The folder that the session works in."""
        return self.cwd or ""

    @property
    def transcript(self) -> str:
        """The path of the session's transcript, empty if there is none."""
        return self.transcript_path or ""

    @property
    def program(self) -> str:
        """The program that calls, known by the name of the transcript; empty if it is not known."""
        return program_of_transcript(self.transcript)


class HookAnswer(Struct, frozen=True):
    """A message for the user and a text for the model's context; both may be empty.

    `words` are for the program's own summariser, which takes plain text instead.
    """

    message: str = ""
    context: str = ""
    words: str = ""

    def encode(self, event: str) -> bytes:
        """The answer as JSON that the programs read; nothing if there is no answer."""
        if self.words:
            return f"{self.words}\n".encode("utf-8", "replace")
        fields: dict[str, object] = {}
        if self.message:
            fields["systemMessage"] = self.message
        if self.context:
            fields["hookSpecificOutput"] = {
                "hookEventName": event,
                "additionalContext": self.context,
            }
        return msgspec.json.encode(fields) + b"\n" if fields else b""


def read_hook_input(content: bytes) -> HookInput:
    """Decodes the input of a hook. Raises if it is not JSON; missing fields are None."""
    return msgspec.json.decode(content or b"{}", type=HookInput, strict=False)


class HookCall:
    """One call of a hook."""

    def __init__(self, hook: str, content: bytes, environ: Mapping[str, str]) -> None:
        self.input: HookInput = read_hook_input(content)
        self.environ = environ
        self._hook = hook
        self._earlier = last_session(hook_memory_folder(), self.input.folder)

    @property
    def project(self) -> str:
        """The folder whose settings hold for the session, which may work in another one."""
        name = self.input.program
        variable = program(name).project_variable if name else ""
        return self.environ.get(variable, "") or self.input.folder

    def remember(self) -> None:
        """Remembers that the hook ran, and which session is active in the project."""
        called = self.input
        HookMemory(hook_memory_folder(), "ran").put(f"{called.program}.{self._hook}", "")
        if called.agent_id is None and called.session and called.transcript:
            HookMemory(hook_memory_folder(), called.session).put("transcript", called.transcript)
            remember_session(hook_memory_folder(), called.folder, called.session, called.transcript)

    def session(self) -> WatchedSession | None:
        """The session, also while one of its subagents works; None without a transcript."""
        path = self.input.transcript if self.input.agent_id is None else ""
        path = path or HookMemory(hook_memory_folder(), self.input.session).get("transcript")
        return self._watched(path, self.input.session)

    def subagent(self) -> WatchedSession | None:
        """The subagent that the call is about; its transcript may not be written yet.

        None for the program's own summariser, which has no type.
        """
        called = self.input
        if not called.agent_type or not called.agent_transcript_path:
            return None
        return WatchedSession(called.agent_transcript_path, called.agent_id or "", called.folder)

    def earlier_session(self) -> WatchedSession | None:
        """The session that was active in this project before this one."""
        session, path = self._earlier
        return None if session == self.input.session else self._watched(path, session)

    def _watched(self, path: str, session: str) -> WatchedSession | None:
        if not path or not os.path.exists(path):
            return None
        return WatchedSession(path, session, self.input.folder)
