"""Makes the events of a turn from the records of a running pi. Pure: it does no I/O."""

from typing import Literal

import msgspec
from msgspec import Raw, Struct

from sapwood.core.content import Usage
from sapwood.core.model_calls import Delta
from sapwood.programs.agent_provider import ProviderQuestion, ProviderReply, ProviderResult
from sapwood.programs.pi.rows import PiMessage, parts_of, text_of, usage_of
from sapwood.programs.transcripts.row_file import raw_text, row_decoder

TITLE = "sapwood"
"""The title of a question of our extension; questions of others get no answer."""

_SUBJECTS = ("command", "path", "pattern", "url", "query")


class _Details(Struct, gc=False):
    diff: str | None = None


class _Told(PiMessage, rename="camel", gc=False):
    """A message, with what a tool tells beside its result."""

    details: _Details | None = None


class _State(Struct, rename="camel", gc=False):
    session_file: str | None = None
    cancelled: bool | None = None


class _Update(Struct, rename="camel", gc=False):
    """A piece of a message."""

    type: str | None = None
    delta: str | None = None
    tool_name: str | None = None


class _Result(Struct, gc=False):
    summary: str | None = None


class Record(Struct, rename="camel", gc=False):
    """A line of pi: the answer to a call, or what happens."""

    type: str = ""
    id: str = ""
    success: bool = False
    error: str = ""
    data: _State | None = None
    message: _Told | str | None = None
    assistant_message_event: _Update | None = None
    result: _Result | None = None
    method: str | None = None
    title: str | None = None
    placeholder: str | None = None
    event: str | None = None


class _Asked(Struct, rename="camel", gc=False):
    """What our extension asks about."""

    tool_call_id: str = ""
    tool_name: str = ""
    input: Raw = Raw(b"{}")


decode_record = row_decoder(Record)
_decode_asked = row_decoder(_Asked)

TurnEvent = Delta | ProviderReply | ProviderResult | ProviderQuestion


class TurnEvents:
    """The records of one turn.

    `status` is set when the turn has ended. `usage` is the sum over its messages, and `last_usage`
    that of the last one. `refused` are ids of dialogs that nobody here can answer.
    """

    def __init__(self, folder: str) -> None:
        self.status: Literal["completed", "interrupted", "failed"] | None = None
        self.reason = ""
        self.compacted = False
        self.usage: Usage | None = None
        self.last_usage: Usage | None = None
        self.refused: list[str] = []
        self._folder = folder
        self._stop = ""

    def feed(self, record: Record) -> list[TurnEvent]:
        """The events that a record makes."""
        match record.type:
            case "message_update" if record.assistant_message_event:
                return _delta(record.assistant_message_event)
            case "message_end" if isinstance(record.message, PiMessage):
                return self._message(record.message)
            case "extension_ui_request":
                return self._question(record)
            case "extension_error" if record.event == "send_user_message":
                self.status, self.reason = "failed", record.error
            case "compaction_end" if record.result is not None:
                self.compacted = True
            case "agent_settled":
                stops: dict[str, Literal["interrupted", "failed"]] = {
                    "aborted": "interrupted",
                    "error": "failed",
                }
                self.status = stops.get(self._stop, "completed")
            case _:
                pass
        return []

    def _message(self, message: _Told) -> list[TurnEvent]:
        if message.role == "toolResult":
            diff = (message.details and message.details.diff) or ""
            text, error = text_of(message.content), bool(message.is_error)
            return [ProviderResult(message.tool_call_id or "", text, error, diff)]
        if message.role != "assistant":
            return []
        self._stop, self.reason = message.stop_reason or "", message.error_message or ""
        usage, parts = usage_of(message), tuple(parts_of(message))
        if usage is not None:
            self.last_usage = usage
            self.usage = usage if self.usage is None else self.usage + usage
        ended = "length" if self._stop == "length" else "done"
        return [ProviderReply(parts, message.model or "", usage, ended)] if parts else []

    def _question(self, record: Record) -> list[TurnEvent]:
        if record.method not in ("input", "select", "confirm", "editor"):
            return []
        asked = _decode_asked((record.placeholder or "").encode())
        if record.title != TITLE or asked is None:
            self.refused.append(record.id)
            return []
        arguments = raw_text(asked.input) or "{}"
        try:
            fields = msgspec.json.decode(arguments, type=dict[str, object])
        except (msgspec.MsgspecError, ValueError):
            fields = {}
        found = (str(fields[name]) for name in _SUBJECTS if fields.get(name))
        preview = "\n".join(f"{name}: {value}" for name, value in fields.items())
        subject = next(found, asked.tool_name)
        call = (record.id, asked.tool_call_id, asked.tool_name)
        return [ProviderQuestion(*call, subject, preview, arguments, self._folder)]


def _delta(update: _Update) -> list[TurnEvent]:
    match update.type:
        case "text_delta":
            return [Delta("text", update.delta or "")]
        case "thinking_delta":
            return [Delta("thinking", update.delta or "")]
        case "toolcall_start":
            return [Delta("call", "", update.tool_name or "")]
        case "toolcall_delta" if update.delta:
            return [Delta("call", update.delta)]
        case _:
            return []
