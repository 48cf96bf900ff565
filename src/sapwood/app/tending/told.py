"""What a program tells a hook on its standard input, and what the hook answers."""

import msgspec
from msgspec import Struct

__all__ = ["Answer", "Told", "read_told"]


class Told(Struct, frozen=True):
    """The fields that matter here, of all hooks of both programs. Others are passed over."""

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
        """Which program asks: Codex names its transcripts rollouts."""
        name = self.transcript.replace("\\", "/").rpartition("/")[2]
        return "codex" if name.startswith("rollout-") else "claude-code"


class Answer(Struct, frozen=True):
    """What a hook has to say: to the person, to the model, or nothing."""

    message: str = ""
    context: str = ""

    def written(self, event: str) -> bytes:
        """The answer as both programs read it."""
        said: dict[str, object] = {}
        if self.message:
            said["systemMessage"] = self.message
        if self.context:
            said["hookSpecificOutput"] = {
                "hookEventName": event,
                "additionalContext": self.context,
            }
        return msgspec.json.encode(said) + b"\n" if said else b""


def read_told(content: bytes) -> Told:
    """What was told. Bytes that are not JSON are an error, missing fields are not."""
    return msgspec.json.decode(content or b"{}", type=Told, strict=False)
