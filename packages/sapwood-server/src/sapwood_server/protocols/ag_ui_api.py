"""`/ag-ui`: front ends that speak AG-UI run a conversation of Sapwood.

The client sends all messages that it knows. Only those after the last reply are new; the log has
the others, and decides what the model sees.

The events of a run in the form of AG-UI, made of the events of the log.
"""

import hashlib
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing

import msgspec
from msgspec import Struct
from starlette.responses import Response, StreamingResponse

from sapwood.app.permission_questions import PostedQuestion, waiting_questions
from sapwood.app.prompt_end import DriveFailure, PromptEnd, PromptProgress
from sapwood.conversation.agent_lookup import agent_at
from sapwood.core.commands import AddPin
from sapwood.core.content import File, PromptPart, RecordedResult, Text, Usage
from sapwood.core.errors import accepted
from sapwood.core.events import (
    ContextRedone,
    ContextReverted,
    ContextRewound,
    ContextSummarized,
    ContextTrimmed,
    ContextUndone,
    ModelCalled,
    QuestionAsked,
    Recorded,
    ReplyAdded,
    ReplyLost,
    ToolFinished,
)
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Delta
from sapwood.core.tags import Tags, entries_of
from sapwood.core.turn_params import CallerTool, TurnParams
from sapwood.display.json_values import event_value
from sapwood.display.permission_text import answer_choices, request_sentence
from sapwood.turns.command_batch import request_text
from sapwood.turns.open_agent import OpenAgent
from sapwood_server.access.rate_limit import OpenStreams
from sapwood_server.problems import Problem
from sapwood_server.protocols.caller_calls import (
    CallerCalls,
    RequestId,
    known_event,
    send_results,
    waiting_calls,
)
from sapwood_server.protocols.openai_prompt import start_conversation
from sapwood_server.request_context import Endpoint, Handler, RequestContext
from sapwood_server.routes.command_api import answer_question

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


_MAX_BYTES = 25_000_000
_encode = msgspec.json.Encoder(enc_hook=str).encode


class _Source(Struct, frozen=True, rename="camel"):
    type: str
    value: str
    mime_type: str = ""


class _Part(Struct, frozen=True):
    type: str
    text: str = ""
    source: _Source | None = None


class _Message(Struct, frozen=True, rename="camel"):
    role: str
    content: str | list[_Part] | None = None
    tool_call_id: str = ""
    error: str | None = None


class _Tool(Struct, frozen=True):
    name: str
    description: str = ""
    parameters: Fields | None = None


class _Context(Struct, frozen=True):
    description: str
    value: str


class _Resume(Struct, frozen=True, rename="camel"):
    interrupt_id: str
    status: str
    payload: Fields | None = None


class _Run(Struct, frozen=True, rename="camel"):
    thread_id: str
    run_id: str
    messages: list[_Message]
    state: object = None
    tools: list[_Tool] | None = None
    context: list[_Context] | None = None
    resume: list[_Resume] | None = None


def _bad(detail: str) -> Problem:
    return Problem(400, "Bad request", detail)


def _runs(streams: OpenStreams) -> Handler:
    async def run(call: RequestContext) -> Response:
        """Runs the conversation with what is new, and streams what comes of it."""
        body = await call.body()
        try:
            asked = msgspec.convert(body, _Run)
        except msgspec.ValidationError as error:
            raise _bad(f"The body is not valid: {error}.") from None
        if "agent" in call.request.path_params:
            agent = await call.agent()
        else:
            agent = await _agent_of_thread(call, asked)
        given = RequestId(_command_id(call, agent, asked.run_id), _request(agent, asked))
        known = await known_event(call, given)
        after = known.version if known else await _begin(call, agent, asked, given)
        return _streamed(call, agent, asked, after, streams)

    return run


def _command_id(call: RequestContext, *names: str) -> str:
    whose = "\n".join((call.principal.name, *names))
    return "ag-ui-" + hashlib.sha256(whose.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _request(agent: AgentId, asked: _Run) -> str:
    """What a run asks for: its last message of the user or a tool. A retry may have the reply."""
    sent = [each for each in asked.messages if each.role in ("user", "tool")]
    return request_text("run", agent, sent[-1:])


async def _agent_of_thread(call: RequestContext, asked: _Run) -> AgentId:
    """The conversation of a thread; it is started at the first run."""
    system = [_words(each) for each in asked.messages if each.role in ("system", "developer")]
    return await start_conversation(
        call,
        Tags(metadata=entries_of({"thread": asked.thread_id[:500]} if asked.thread_id else {})),
        system="\n\n".join(system) or None,
        given=RequestId(
            _command_id(call, asked.thread_id), request_text("thread", asked.thread_id)
        ),
    )


async def _begin(call: RequestContext, agent: AgentId, asked: _Run, given: RequestId) -> int:
    """Stores what is new. Returns the version after which the events of the run begin."""
    dispatcher = call.space.connection.dispatcher
    opened = await dispatcher.open(agent)
    after = opened.state.version
    new = _new_messages(asked.messages)
    prompt = [part for each in new if each.role == "user" for part in _parts(each)]
    waiting = waiting_calls(opened)
    results = _results(new, {each.id for each in waiting})
    if not prompt and not results:  # what comes is the answer to somebody else
        call.principal.require("read")
    for entry in asked.resume or ():
        await _answer(call, agent, entry)
    if results:
        if missing := {each.id for each in waiting} - {each.call for each in results}:
            raise _bad(f"The result of the tool call {min(missing)} is missing.")
        assert opened.live.open is not None
        return await send_results(call, opened.live.open, results, given)
    if not prompt:
        return after
    if waiting:  # the person went on without the results
        accepted(
            await call.space.agents.runner.interrupt(agent, "the client went on without results")
        )
    await _pin(call, opened, asked.context or (), given)
    tools = tuple(_caller_tool(tool) for tool in asked.tools or ())
    answer = accepted(
        await call.service.prompt(
            agent,
            tuple(prompt),
            actor=call.principal.actor,
            command_id=given.id,
            request=given.request,
            params=TurnParams(caller_tools=tools) if tools else None,
            reads_instructions=bool(opened.state.workspace.folder),
        )
    )
    return answer.turn


def _new_messages(messages: Sequence[_Message]) -> Sequence[_Message]:
    """The messages after the last reply."""
    replies = [n for n, each in enumerate(messages) if each.role == "assistant"]
    return messages[replies[-1] + 1 :] if replies else messages


def _results(messages: Sequence[_Message], waiting: set[str]) -> list[RecordedResult]:
    return [
        RecordedResult(
            each.tool_call_id,
            each.error or _words(each),
            error=each.error is not None,
            files=tuple(part for part in _parts(each) if isinstance(part, File)),
        )
        for each in messages
        if each.role == "tool" and each.tool_call_id in waiting
    ]


def _words(message: _Message) -> str:
    return "\n".join(part.text for part in _parts(message) if isinstance(part, Text))


def _parts(message: _Message) -> list[PromptPart]:
    if message.content is None or isinstance(message.content, str):
        return [Text(message.content)] if message.content else []
    return [_part(part) for part in message.content]


def _part(part: _Part) -> PromptPart:
    if part.type == "text":
        return Text(part.text)
    if part.source is None or part.source.type != "data":
        raise _bad("Send the data of images and files. URLs are not fetched.")
    file = File(part.source.mime_type, part.source.value)
    try:
        return File.of(file.content, media_type=file.media_type)
    except ValueError:
        raise _bad("The data of a part is not base64.") from None


def _caller_tool(tool: _Tool) -> CallerTool:
    schema = tool.parameters or {"type": "object", "properties": {}}
    return CallerTool(tool.name, tool.description, msgspec.json.encode(schema).decode())


async def _pin(
    call: RequestContext, opened: OpenAgent, context: Sequence[_Context], given: RequestId
) -> None:
    """Pins what the client says of its surroundings, where it has changed."""
    known = {pin.name: pin.text for pin in opened.state.pins}
    for number, each in enumerate(context):
        if known.get(each.description) != each.value:
            await call.service.dispatch(
                AddPin(opened.state.agent, each.description, each.value),
                call.principal.actor,
                command_id=given.part(f"pin{number}"),
            )


async def _answer(call: RequestContext, agent: AgentId, entry: _Resume) -> None:
    """Answers a tool call that waits for approval; one that was answered elsewhere is left."""
    call.principal.require("approve")
    asked = {each.id: each for each in await waiting_questions(call.space.connection, agent)}
    posted = asked.get(entry.interrupt_id)
    if posted is not None:
        payload: Mapping[str, object] = entry.payload or {}
        key = payload.get("key") if entry.status == "resolved" else "n"
        shown = payload.get("hash") if entry.status == "resolved" else posted.hash
        reason = payload.get("reason")
        await answer_question(call, posted, key, shown, reason if isinstance(reason, str) else "")


# Answers


def _streamed(
    call: RequestContext, agent: AgentId, asked: _Run, after: int, streams: OpenStreams
) -> StreamingResponse:
    principal = call.principal.id
    streams.enter(principal)

    async def messages() -> AsyncGenerator[bytes]:
        try:
            async for events in _events(call, agent, asked, after):
                data = [b"data: " + _encode(event) + b"\n\n" for event in events]
                yield b"".join(data) or b": here\n\n"
        finally:
            streams.leave(principal)

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(messages(), headers=headers, media_type="text/event-stream")


async def _events(
    call: RequestContext, agent: AgentId, asked: _Run, after: int
) -> AsyncGenerator[list[Fields]]:
    connection = call.space.connection
    opened = await agent_at(connection, agent, after)
    turn, own = opened.live.open, opened.state.open.params if opened.state.open else None
    names = own.caller_names if own else frozenset[str]()
    calls = CallerCalls(names, turn.open_calls if turn else ())
    stream = RunStream(RunName(asked.thread_id, asked.run_id), calls)
    yield [stream.begin(), *await _state(call, agent, asked)]
    if turn is None:
        yield stream.end(None)
        return
    progress = PromptProgress(connection, agent)
    async with aclosing(call.space.watch(agent, after)) as shown:
        async for what in shown:
            if what is None:
                yield []
                continue
            if not isinstance(what, DriveFailure) and (events := stream.add(what)):
                yield events
            if isinstance(getattr(what, "event", None), QuestionAsked) and (
                questions := await waiting_questions(call.space.connection, agent)
            ):
                yield stream.interrupted([_interrupt(each) for each in questions])
                return
            end = await progress.end_after(what)
            if end is not None or calls.waits:
                yield [*await _state(call, agent, asked), *stream.end(end)]
                return
    yield [
        {
            "type": "RUN_ERROR",
            "message": "The server is shutting down. Run it again.",
            "code": "stopped",
        }
    ]


def _interrupt(posted: PostedQuestion) -> Fields:
    question = posted.question
    choices = answer_choices(question)
    return {
        "id": posted.id,
        "reason": "permission",
        "message": request_sentence(question),
        "responseSchema": {
            "type": "object",
            "required": ["key", "hash"],
            "properties": {
                "key": {
                    "enum": [each.key for each in choices],
                    "description": "; ".join(f"{each.key}: {each.words}" for each in choices),
                },
                "hash": {"const": posted.hash},
                "reason": {"type": "string"},
            },
        },
        "metadata": {"question": msgspec.to_builtins(question, enc_hook=str)},
    }


async def _state(call: RequestContext, agent: AgentId, asked: _Run) -> list[Fields]:
    """The state of the client with what is known of the context, under the name `sapwood`."""
    try:
        base = msgspec.convert(asked.state or {}, Fields)
    except msgspec.ValidationError:
        return []
    connection = call.space.connection
    opened = await connection.dispatcher.open(agent)
    summary = await connection.log.summary(connection.space, agent)
    state = opened.state
    own: Fields = {
        "agent": agent,
        "version": state.version,
        "model": state.settings.model,
        "tokens": summary.tokens if summary else 0,
        "cap": state.settings.cap,
        "window": state.settings.window,
        "turns": len(opened.live.turns),
        "marks": [mark.name for mark in state.marks],
    }
    return [{"type": "STATE_SNAPSHOT", "snapshot": {**base, "sapwood": own}}]


def ag_ui_endpoints(streams: OpenStreams) -> tuple[Endpoint, ...]:
    """The routes of AG-UI."""
    handler = _runs(streams)
    return (
        Endpoint(
            "POST",
            "/ag-ui",
            "write",
            handler,
            "Run a thread's conversation (AG-UI)",
            max_bytes=_MAX_BYTES,
            answers="text/event-stream",
        ),
        Endpoint(
            "POST",
            "/ag-ui/{agent}",
            "write",
            handler,
            "Run a conversation (AG-UI)",
            max_bytes=_MAX_BYTES,
            answers="text/event-stream",
        ),
    )
