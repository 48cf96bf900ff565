"""Makes the events of a turn from the lines of a running Claude Code. Pure: it does no I/O.

A message comes block by block. It becomes one reply when it is complete; results and questions that
arrive before that wait for it. Lines of subagents are left out.
"""

from typing import Literal

import msgspec
from msgspec import Raw, Struct

from sapwood.core.content import Ended, ReplyPart, Usage
from sapwood.core.model_calls import Delta
from sapwood.programs.agent_provider import ProviderQuestion, ProviderReply, ProviderResult
from sapwood.programs.claude_code import rows
from sapwood.programs.transcripts.row_file import raw_text, row_decoder


class ContentBlock(Struct, gc=False):
    """The block that begins in a message."""

    type: str = ""
    name: str = ""


class StreamDelta(Struct, gc=False):
    """A piece of a block, or the end of a message."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class StreamMessage(Struct, gc=False):
    """The message that begins."""

    id: str = ""
    model: str = ""


class StreamEvent(Struct, gc=False):
    """An event of the model's own stream."""

    type: str = ""
    message: StreamMessage | None = None
    content_block: ContentBlock | None = None
    delta: StreamDelta | None = None
    usage: rows.ClaudeTokens | None = None


class ToolQuestion(Struct, gc=False):
    """A request of the program to its client: may this tool run?"""

    subtype: str = ""
    tool_name: str = ""
    tool_use_id: str = ""
    input: Raw = Raw(b"{}")


class ControlAnswer(Struct, gc=False):
    """The answer to a request of the client."""

    subtype: str = ""
    request_id: str = ""
    error: str | None = None
    response: Raw = Raw(b"{}")


class StreamRow(Struct, gc=False):
    """A line of any type."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parent_tool_use_id: str | None = None
    is_replay: bool | None = msgspec.field(name="isReplay", default=None)
    message: rows.ClaudeMessage | None = None
    event: StreamEvent | None = None
    request_id: str | None = None
    request: ToolQuestion | None = None
    response: ControlAnswer | None = None
    tool_use_result: rows.StoredOutcome | str | list[Raw] | None = None
    is_error: bool | None = None
    result: str | None = None
    errors: list[str] | None = None
    terminal_reason: str | None = None
    total_cost_usd: float | None = None


decode_stream_row = row_decoder(StreamRow)


TurnEvent = Delta | ProviderReply | ProviderResult | ProviderQuestion

_SYNTHETIC = "<synthetic>"
_ENDED: dict[str, Ended] = {"max_tokens": "length", "refusal": "refused"}
_SUBJECTS = ("command", "file_path", "notebook_path", "path", "url", "pattern", "query", "skill")
_INTERRUPTED = "[Request interrupted by user"


class StreamResult(Struct, frozen=True):
    """How the program says that the turn ended. `cost` is that of the whole process so far."""

    status: Literal["completed", "interrupted", "failed"]
    reason: str = ""
    cost: float | None = None


class ClaudeTurnStream:
    """The lines of one turn.

    `result` is set when the turn has ended. `last_row` is the id of the last row of the turn in
    the transcript, and `usage` the sum over its messages.
    """

    def __init__(self, folder: str) -> None:
        self.result: StreamResult | None = None
        self.last_row = ""
        self.compacted = False
        self.usage: Usage | None = None
        self.last_usage: Usage | None = None
        self._folder = folder
        self._message = ""
        self._model = ""
        self._parts: list[ReplyPart] = []
        self._usage: Usage | None = None
        self._ended: Ended = "done"
        self._held: list[TurnEvent] = []
        self._streams = False
        self._error = ""
        self._interrupted = False

    def feed(self, row: StreamRow) -> list[TurnEvent]:
        """The events that a line makes."""
        if row.parent_tool_use_id or row.is_replay:
            return []
        match row.type:
            case "stream_event" if row.event is not None:
                return self._event(row.event)
            case "assistant" if row.message is not None:
                return self._assistant(row.message, row.uuid or "")
            case "user" if row.message is not None:
                return self._user(row, row.message)
            case "control_request" if row.request and row.request.subtype == "can_use_tool":
                question = _question(row.request_id or "", row.request, self._folder)
                return self._after_reply([question])
            case "system" if row.subtype == "compact_boundary":
                self.compacted = True
                return []
            case "result":
                return self._end(row)
            case _:
                return []

    def flush(self) -> list[TurnEvent]:
        """The reply so far and what waits for it, when no more lines come."""
        return [*self._reply(), *self._release()]

    def _event(self, event: StreamEvent) -> list[TurnEvent]:
        match event.type:
            case "message_start" if event.message is not None:
                done = self.flush()
                self._message, self._model = event.message.id, event.message.model
                self._streams = True
                return done
            case "content_block_start" if event.content_block is not None:
                block = event.content_block
                return [Delta("call", "", block.name)] if block.type == "tool_use" else []
            case "content_block_delta" if event.delta is not None:
                return _delta(event)
            case "message_delta":
                if event.usage is not None:
                    self._usage = rows.usage_of(rows.ClaudeMessage(usage=event.usage))
                reason = event.delta.stop_reason if event.delta else None
                self._ended = _ENDED.get(reason or "", "done")
                return []
            case "message_stop":
                return self.flush()
            case _:
                return []

    def _assistant(self, message: rows.ClaudeMessage, uuid: str) -> list[TurnEvent]:
        self.last_row = uuid or self.last_row
        if message.model == _SYNTHETIC:
            self._error = rows.text_of(message.content)
            return []
        done: list[TurnEvent] = []
        if message.id and message.id != self._message:
            done = self.flush()
            self._message, self._streams = message.id, False
        self._model = message.model or self._model
        self._parts += rows.parts_of(message.content)
        if not self._streams:
            self._usage = rows.usage_of(message) or self._usage
        return done

    def _user(self, row: StreamRow, message: rows.ClaudeMessage) -> list[TurnEvent]:
        self.last_row = row.uuid or self.last_row
        content = message.content
        if isinstance(content, str):
            content = [rows.ClaudeBlock("text", content)]
        results: list[TurnEvent] = []
        for block in content or ():
            if block.type == "tool_result" and block.tool_use_id:
                text, error = rows.text_of(block.content), bool(block.is_error)
                diff = diff_of(row.tool_use_result)
                results.append(ProviderResult(block.tool_use_id, text, error, diff))
            elif (block.text or "").startswith(_INTERRUPTED):
                self._interrupted = True
        return self._after_reply(results)

    def _after_reply(self, events: list[TurnEvent]) -> list[TurnEvent]:
        """Events that must come after the reply that is still arriving."""
        if self._streams:
            self._held += events
            return []
        return [*self._reply(), *events]

    def _reply(self) -> list[TurnEvent]:
        parts, usage = tuple(self._parts), self._usage
        self._parts, self._usage = [], None
        ended, self._ended = self._ended, "done"
        if usage is not None:
            self.last_usage = usage
            self.usage = usage if self.usage is None else self.usage + usage
        return [ProviderReply(parts, self._model, usage, ended)] if parts else []

    def _release(self) -> list[TurnEvent]:
        held, self._held, self._streams = self._held, [], False
        return held

    def _end(self, row: StreamRow) -> list[TurnEvent]:
        done = self.flush()
        aborted = (row.terminal_reason or "").startswith("aborted")
        if aborted or self._interrupted:
            self.result = StreamResult("interrupted", "", row.total_cost_usd)
        elif row.is_error or row.subtype != "success":
            reason = row.result or "; ".join(row.errors or ()) or self._error or row.subtype or ""
            self.result = StreamResult("failed", reason, row.total_cost_usd)
        else:
            self.result = StreamResult("completed", "", row.total_cost_usd)
        return done


def diff_of(outcome: object) -> str:
    """The change of a file that a result contains, as lines with signs."""
    hunks = outcome.hunks if isinstance(outcome, rows.StoredOutcome) else None
    return "\n".join(line for hunk in hunks or () for line in hunk.lines)


def _delta(event: StreamEvent) -> list[TurnEvent]:
    delta = event.delta
    if delta is None:
        return []
    if delta.type == "text_delta":
        return [Delta("text", delta.text)]
    if delta.type == "thinking_delta":
        return [Delta("thinking", delta.thinking)]
    if delta.type == "input_json_delta" and delta.partial_json:
        return [Delta("call", delta.partial_json)]
    return []


def _question(number: str, asked: ToolQuestion, folder: str) -> ProviderQuestion:
    arguments = raw_text(asked.input) or "{}"
    try:
        fields = msgspec.json.decode(arguments, type=dict[str, object])
    except (msgspec.MsgspecError, ValueError):
        fields = {}
    subject = next((str(fields[name]) for name in _SUBJECTS if fields.get(name)), asked.tool_name)
    preview = "\n".join(f"{name}: {value}" for name, value in fields.items())
    return ProviderQuestion(
        number, asked.tool_use_id, asked.tool_name, subject, preview, arguments, folder
    )
