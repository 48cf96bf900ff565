"""`/v1/responses` for OpenAI clients: they send what is new, and the log has the rest.

A response is what comes of a prompt, or of the results of functions, until the model has answered
or calls functions of the client. A turn with such calls stays open until their results are there.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing, suppress

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sapwood.app.prompt_end import DriveFailure, PromptEnd, PromptProgress, StreamedWords
from sapwood.app.removal import eraser_for
from sapwood.conversation.agent_lookup import agent_at
from sapwood.conversation.configured_models import KNOWN_MODELS
from sapwood.core.errors import accepted
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure
from sapwood.core.tags import Tags
from sapwood.turns.command_batch import request_text
from sapwood_server.access.rate_limit import OpenStreams
from sapwood_server.event_stream import sse_message
from sapwood_server.problems import Problem
from sapwood_server.protocols.caller_calls import NO_ID, RequestId, known_event
from sapwood_server.protocols.openai_input import ResponseRequest
from sapwood_server.protocols.openai_prompt import NOT_STORED, begin_response
from sapwood_server.protocols.openai_stream import (
    Fields,
    ResponseHead,
    ResponsePlace,
    ResponseStream,
)
from sapwood_server.request_context import Endpoint, Handler, RequestContext, json_response

_MAX_BYTES = 25_000_000
_PAGE = 200
_NOT_ASKED = frozenset({"id", "stream", "stream_options", "background"})
_STATUS = ("id", "object", "created_at", "status")
_NOT_AGAIN = {"x-should-retry": "false"}
"""Tells clients not to repeat a request whose prompt is stored."""

_FAILURE_STATUS = {"too_long": 400, "refused": 400, "budget": 402, "overloaded": 503}
_FAILURE_CODE = {"too_long": "context_length_exceeded", "budget": "insufficient_quota"}


def _create(streams: OpenStreams) -> Handler:
    erasing: set[asyncio.Task[None]] = set()

    async def erase(call: RequestContext, agent: AgentId) -> None:
        """Erases the conversation of a response that is not stored, also if the client left."""
        task = asyncio.ensure_future(_erase(call, agent))
        erasing.add(task)
        task.add_done_callback(erasing.discard)
        await asyncio.shield(task)

    async def create(call: RequestContext) -> Response:
        """Sends a prompt or results of functions, and answers with what comes of them."""
        body = await call.body()
        request = ResponseRequest.read(body)
        given = await call.command_id()
        known = RequestId(given, _asked(body)) if given else NO_ID
        async with AsyncExitStack() as ending:

            def on_start(agent: AgentId) -> None:
                if request.store is False:
                    ending.push_async_callback(erase, call, agent)

            place = await _known_place(call, known)
            if place is None:
                place = await begin_response(call, request, known, on_start)
            else:
                on_start(place.agent)
            head = await _head(call, place)
            if request.background:
                return json_response(ResponseStream(head).response("queued"))
            if request.stream:
                return _streamed(call, head, streams, after=-1, ending=ending)
            return await _whole(call, head, streams)

    return create


async def _erase(call: RequestContext, agent: AgentId) -> None:
    await call.space.agents.runner.interrupt(agent, "the response is not stored")
    await eraser_for(call.space.connection).erase([agent], by=str(call.principal.actor))


def _asked(body: dict[str, object]) -> str:
    """What a request asks for. A retry may want the answer in another way, such as a stream."""
    kept = {name: body[name] for name in sorted(body.keys() - _NOT_ASKED)}
    return request_text("response", kept)


async def _known_place(call: RequestContext, given: RequestId) -> ResponsePlace | None:
    """The place of the response to a request that was sent before."""
    last = await known_event(call, given)
    return ResponsePlace(last.agent, last.version) if last else None


def _show(streams: OpenStreams) -> Handler:
    async def show(call: RequestContext) -> Response:
        """The response as it is now, or its stream from any event on."""
        head = await _head(call, _named_place(call))
        if call.query("stream") == "true":
            after = call.number("starting_after", 0) if call.query("starting_after") else -1
            return _streamed(call, head, streams, after=after, ending=AsyncExitStack())
        return json_response(await _so_far(call, head))

    return show


async def cancel_response(call: RequestContext) -> Response:
    """Interrupts the open turn of the response. What had arrived is kept.

    Who may not read the response gets its status only.
    """
    head = await _head(call, _named_place(call))
    state = (await call.space.connection.dispatcher.open(head.place.agent)).state
    if state.open is not None and state.open.first <= head.place.version:
        accepted(
            await call.space.agents.runner.interrupt(head.place.agent, "the client cancelled it")
        )
    shown = await _so_far(call, head)
    if "read" not in call.principal.scopes:
        shown = {name: shown[name] for name in _STATUS}
    return json_response(shown)


def _named_place(call: RequestContext) -> ResponsePlace:
    typed = call.request.path_params["response"]
    place = ResponsePlace.parse(typed)
    if place is None:
        raise _unknown(typed)
    return place


def _unknown(typed: str) -> Problem:
    detail = f"There is no response '{typed[:80]}'."
    return Problem(404, "Unknown response", detail, fields={"code": "not_found"})


async def _head(call: RequestContext, place: ResponsePlace) -> ResponseHead:
    """What the log says of the response before its first word. Raises `Problem`."""
    log, space = call.space.connection.log, call.space.connection.space
    summary = await log.summary(space, place.agent)
    if summary is None or not 0 < place.version <= summary.version:
        raise _unknown(place.id)
    opened = await agent_at(call.space.connection, place.agent, place.version)
    turn, state = opened.live.open, opened.state
    if turn is None or state.open is None:
        raise _unknown(place.id)
    [begun] = await log.read(space, place.agent, place.version, place.version)
    own, tags = state.open.params, summary.tags or Tags()
    params = state.settings.params if own is None else own.over(state.settings.params)
    return ResponseHead(
        place,
        begun.at,
        state.settings.model,
        state.settings.system,
        params,
        turn.open_calls,
        tags,
        NOT_STORED not in tags.labels,
    )


# Answers


async def _events(
    call: RequestContext, head: ResponseHead, stream: ResponseStream, ends: list[PromptEnd]
) -> AsyncGenerator[list[Fields]]:
    """The events of the response, until it or the server ends. An end is put into `ends`."""
    yield stream.begin()
    progress = PromptProgress(call.space.connection, head.place.agent)
    async with aclosing(call.space.watch(head.place.agent, head.place.version)) as shown:
        async for what in shown:
            if what is None:
                yield []
                continue
            if not isinstance(what, DriveFailure):
                yield stream.add(what)
            end = await progress.end_after(what)
            if end is not None or stream.waits:
                ends.append(end or PromptEnd("completed"))
                yield stream.end(end)
                return


def _streamed(
    call: RequestContext,
    head: ResponseHead,
    streams: OpenStreams,
    *,
    after: int,
    ending: AsyncExitStack,
) -> StreamingResponse:
    """The events of the response after one. What is to happen at the end happens after them."""
    principal = call.principal.id
    streams.enter(principal)
    ended = ending.pop_all()

    async def messages() -> AsyncGenerator[bytes]:
        try:
            async for events in _events(call, head, ResponseStream(head), []):
                chosen = [_rest_of(each, after) for each in events if _number(each) > after]
                if chosen:
                    yield b"".join(sse_message(str(each["type"]), each) for each in chosen)
                elif not events:
                    yield b": here\n\n"
        finally:
            streams.leave(principal)
            await ended.aclose()

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(messages(), headers=headers, media_type="text/event-stream")


def _number(event: Fields) -> int:
    number = event["sequence_number"]
    assert isinstance(number, int)
    return number


def _rest_of(event: Fields, after: int) -> Fields:
    """The event without the words that a client has which saw all events up to a number."""
    words = event.get("delta")
    if not isinstance(words, str) or not str(event["type"]).endswith("_text.delta"):
        return event
    seen = after - (_number(event) - len(words))
    return {**event, "delta": words[seen:]} if seen > 0 else event


async def _whole(call: RequestContext, head: ResponseHead, streams: OpenStreams) -> Response:
    """The whole response, when it has ended. Raises `Problem` if it failed."""
    principal = call.principal.id
    streams.enter(principal)
    making = asyncio.ensure_future(_made(call, head))
    leaving = asyncio.ensure_future(_left(call.request))
    try:
        await asyncio.wait({making, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not making.done():
            raise Problem(499, "Disconnected", "The client disconnected. The turn continues.")
        final, end = making.result()
    finally:
        for task in (making, leaving):
            task.cancel()
        await asyncio.gather(making, leaving, return_exceptions=True)
        streams.leave(principal)
    if end is None:
        raise Problem(
            503,
            "Server shutting down",
            f"The server is shutting down. The turn continues: GET /v1/responses/{head.place.id}",
            headers=_NOT_AGAIN,
        )
    if end.status in ("failed", "stuck", "killed"):
        raise _failed(head.place, end)
    return json_response(final)


async def _made(call: RequestContext, head: ResponseHead) -> tuple[Fields, PromptEnd | None]:
    stream, ends = ResponseStream(head), list[PromptEnd]()
    async with aclosing(_events(call, head, stream, ends)) as events:
        async for _ in events:
            pass
    return stream.final, ends[0] if ends else None


async def _left(request: Request) -> None:
    """Returns when the client has closed the connection. Its body was read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _so_far(call: RequestContext, head: ResponseHead) -> Fields:
    """The response as the log has it now."""
    log, space = call.space.connection.log, call.space.connection.space
    stream = ResponseStream(head)
    progress = PromptProgress(call.space.connection, head.place.agent)
    words, following = StreamedWords(), head.place.version + 1
    while page := await log.read(space, head.place.agent, following, limit=_PAGE):
        for recorded in page:
            for what in (*words.deltas_of(recorded), recorded):
                stream.add(what)
            end = await progress.end_after(recorded)
            if end is not None or stream.waits:
                stream.end(end)
                return stream.final
        following = page[-1].version + 1
    if (arriving := await log.words(space, head.place.agent)) is not None:
        for delta in words.deltas_of(arriving):
            stream.add(delta)
    return stream.response("in_progress")


def _failed(place: ResponsePlace, end: PromptEnd) -> Problem:
    return Problem(
        _FAILURE_STATUS.get(end.failure, 502),
        "Turn failed",
        end.message,
        headers=_NOT_AGAIN,
        fields={"code": _FAILURE_CODE.get(end.failure, "server_error"), "response": place.id},
    )


async def list_models(call: RequestContext) -> Response:
    """The models that can be called: the configured one, and those that are often wanted."""
    models = call.service.services.models
    found: list[Fields] = []
    if models is not None:
        for name in dict.fromkeys((models.default, *KNOWN_MODELS)):
            with suppress(Failure):
                models.require(name)
                found.append(_model(name))
    return json_response({"object": "list", "data": found})


async def show_model(call: RequestContext) -> Response:
    """One model, if it can be called."""
    name, models = call.request.path_params["model"], call.service.services.models
    try:
        if models is None:
            raise Failure("no_model", "No model is available here.")
        models.require(name)
    except Failure as failure:
        raise Problem(
            404, "Unknown model", str(failure), fields={"code": "model_not_found"}
        ) from None
    return json_response(_model(name))


def _model(name: str) -> Fields:
    return {"id": name, "object": "model", "created": 0, "owned_by": "sapwood"}


def response_endpoints(streams: OpenStreams) -> tuple[Endpoint, ...]:
    """The routes for responses and models."""
    one = "/v1/responses/{response}"
    return (
        Endpoint(
            "POST",
            "/v1/responses",
            "write",
            _create(streams),
            "Create a response in a conversation (OpenAI API)",
            max_bytes=_MAX_BYTES,
            errors="openai",
        ),
        Endpoint(
            "GET",
            one,
            "read",
            _show(streams),
            "Show a response, or resume its stream",
            errors="openai",
        ),
        Endpoint(
            "POST", f"{one}/cancel", "write", cancel_response, "Stop a response", errors="openai"
        ),
        Endpoint("GET", "/v1/models", "read", list_models, "List models", errors="openai"),
        Endpoint("GET", "/v1/models/{model}", "read", show_model, "Show a model", errors="openai"),
    )
