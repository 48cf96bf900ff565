"""The events of a run in the form of AG-UI, made of the events of the log."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from sapwood.app.prompt_end import PromptEnd
from sapwood.core.content import Usage
from sapwood.core.events import (
    ContextRedone,
    ContextReverted,
    ContextRewound,
    ContextSummarized,
    ContextTrimmed,
    ContextUndone,
    ModelCalled,
    Recorded,
    ReplyAdded,
    ReplyLost,
    ToolFinished,
)
from sapwood.core.model_calls import Delta
from sapwood.display.json_values import event_value
from sapwood_server.protocols.caller_calls import CallerCalls

Fields = dict[str, object]

_CONTEXT = (
    ContextTrimmed,
    ContextSummarized,
    ContextRewound,
    ContextReverted,
    ContextUndone,
    ContextRedone,
)


class RunName(Struct, frozen=True):
    """By which names the client knows a run."""

    thread: str
    run: str


class RunStream:
    """Turns what comes of a prompt into events of AG-UI, each a dictionary with its `type`."""

    def __init__(self, name: RunName, calls: CallerCalls) -> None:
        self._name = name
        self.calls = calls
        self._usage: Usage | None = None
        self._model = ""
        self._open = ""
        self._message = ""
        self._messages = 0

    def begin(self) -> Fields:
        """The first event of the run."""
        return self._run_event("RUN_STARTED", protocolVersion="1.0")

    def add(self, what: Delta | Recorded) -> list[Fields]:
        """The events of a piece of a reply, or of an event of the log."""
        if isinstance(what, Delta):
            return list(self._add_words(what)) if what.text and what.kind != "call" else []
        match what.event:
            case ModelCalled(instruction="") | ReplyLost():
                return self._close()
            case ReplyAdded() as reply:
                return self._add_reply(reply)
            case ToolFinished() as result:
                call = self.calls.add_result(result)
                if call is None:
                    return []
                return [
                    {
                        "type": "TOOL_CALL_RESULT",
                        "messageId": f"result-{call.id}",
                        "toolCallId": call.id,
                        "role": "tool",
                        "content": result.content,
                    }
                ]
            case event if isinstance(event, _CONTEXT):
                return [{"type": "CUSTOM", "name": "sapwood.context", "value": _value(what)}]
            case _:
                return []

    def end(self, end: PromptEnd | None) -> list[Fields]:
        """The last events of a run; None: the client has to run tools."""
        closing = self._close()
        if end is not None and end.status in ("failed", "stuck", "killed"):
            code = end.failure or end.status
            failed: Fields = {"type": "RUN_ERROR", "message": end.message, "code": code}
            return [*closing, failed]
        if end is not None and end.status == "interrupted":
            outcome: Fields = {"type": "cancelled"}
        else:
            outcome = {"type": "success"}
            if self.calls.asked:
                outcome["pendingToolCallIds"] = list(self.calls.asked)
        return [*closing, self._finished(outcome)]

    def interrupted(self, interrupts: list[Fields]) -> list[Fields]:
        """The last events of a run that waits for answers of a person."""
        return [*self._close(), self._finished({"type": "interrupt", "interrupts": interrupts})]

    def _finished(self, outcome: Fields) -> Fields:
        usage = self._usage
        used: list[Fields] = []
        if usage is not None:
            used = [
                {
                    "model": self._model,
                    "inputTokens": usage.input,
                    "outputTokens": usage.output,
                    "totalTokens": usage.input + usage.output,
                }
            ]
        more: Fields = {"usage": used} if used else {}
        return self._run_event("RUN_FINISHED", outcome=outcome, **more)

    def _run_event(self, kind: str, **fields: object) -> Fields:
        return {"type": kind, "threadId": self._name.thread, "runId": self._name.run, **fields}

    # Words

    def _add_words(self, delta: Delta) -> Iterable[Fields]:
        if self._open != delta.kind:
            yield from self._close()
            self._open = delta.kind
            self._messages += 1
            self._message = f"{self._name.run}-{self._messages}"
            if delta.kind == "text":
                yield self._message_event("TEXT_MESSAGE_START", role="assistant")
            else:
                yield self._message_event("REASONING_START")
                yield self._message_event("REASONING_MESSAGE_START", role="reasoning")
        kind = "TEXT_MESSAGE_CONTENT" if delta.kind == "text" else "REASONING_MESSAGE_CONTENT"
        yield self._message_event(kind, delta=delta.text)

    def _close(self) -> list[Fields]:
        opened, self._open = self._open, ""
        match opened:
            case "text":
                return [self._message_event("TEXT_MESSAGE_END")]
            case "thinking":
                return [
                    self._message_event("REASONING_MESSAGE_END"),
                    self._message_event("REASONING_END"),
                ]
            case _:
                return []

    def _message_event(self, kind: str, **fields: object) -> Fields:
        return {"type": kind, "messageId": self._message, **fields}

    def _add_reply(self, reply: ReplyAdded) -> list[Fields]:
        events = self._close()
        self._model = reply.model or self._model
        if reply.usage is not None:
            self._usage = reply.usage if self._usage is None else self._usage + reply.usage
        for call, _ in self.calls.add_reply(reply):
            place: Fields = {"toolCallId": call.id}
            events += [
                {"type": "TOOL_CALL_START", **place, "toolCallName": call.name},
                {"type": "TOOL_CALL_ARGS", **place, "delta": call.args},
                {"type": "TOOL_CALL_END", **place},
            ]
        return events


def _value(recorded: Recorded) -> object:
    return msgspec.to_builtins(event_value(recorded), enc_hook=str)
