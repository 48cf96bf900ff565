"""Begins a response: finds or starts its conversation, and stores what the client sent."""

from collections.abc import Callable, Iterable, Sequence

from msgspec import structs

from sapwood.conversation.call import ModelChoice
from sapwood.conversation.model_requests import lease_for, new_holder
from sapwood.core import commands
from sapwood.core.content import RecordedReply, RecordedResult, ToolCall
from sapwood.core.errors import accepted
from sapwood.core.events import SYSTEM
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure
from sapwood.core.settings import Settings, SettingsChange
from sapwood.core.tags import Tags, entries_of
from sapwood.core.turn import Turn
from sapwood.core.turn_params import TurnParams
from sapwood_server.problems import Problem
from sapwood_server.protocols.caller_calls import NO_ID, RequestId, send_results, waiting_calls
from sapwood_server.protocols.openai_input import (
    InputTurn,
    ResponseInput,
    ResponseRequest,
    bad_request,
    read_input,
)
from sapwood_server.protocols.openai_stream import ResponsePlace
from sapwood_server.request_context import RequestContext

_LEASE = 30.0
NOT_STORED = "not-stored"
"""The label of a conversation that is erased after its answer. One that a crash left has it too."""


async def begin_response(
    call: RequestContext,
    request: ResponseRequest,
    given: RequestId,
    on_start: Callable[[AgentId], None],
) -> ResponsePlace:
    """Stores what the client sent and returns where its response begins. Raises `Problem`.

    `given` is the id of the request. Calls `on_start` with a conversation that it has started.
    """
    request.require_possible()
    given_input = read_input(request.input)
    params = request.params()
    agent = await _conversation(call, request, given)
    if agent is None:
        if given_input.results:
            raise _no_call(given_input.results[0].call)
        _require_prompt(given_input.turns)
        labels = (NOT_STORED,) if request.store is False else ()
        tags = Tags(request.user or "", labels, entries_of(request.metadata or {}))
        models = call.service.services.models
        assert models is not None
        _require(models, request.model or models.default)
        agent = await start_conversation(
            call, tags, request.model or "", _system(request, given_input), given
        )
        on_start(agent)
    else:
        opened = await call.space.connection.dispatcher.open(agent)
        turn, waiting = opened.live.open, waiting_calls(opened)
        if turn is not None and (waiting or given_input.results):
            return await _send_results(call, turn, waiting, given_input, given)
        if given_input.results:
            raise _no_call(given_input.results[0].call)
        _require_prompt(given_input.turns)
        await _tag(call, agent, opened.state.tags or Tags(), request)
        await _configure(call, agent, opened.state.settings, request, given_input, given)
    return await _prompt(call, agent, given_input.turns, params, given)


async def start_conversation(
    call: RequestContext,
    tags: Tags,
    model: str = "",
    system: str | None = None,
    given: RequestId = NO_ID,
) -> AgentId:
    """Starts a conversation without tools of the server and without a folder."""
    models = call.service.services.models
    assert models is not None
    settings = models.first_settings(model, system=system)
    return await call.service.start(
        settings=structs.replace(settings, params=TurnParams(tools=())),
        script=True,
        tags=tags if tags != Tags() else None,
        actor=call.principal.actor,
        command_id=given.part("start"),
        request=given.request,
    )


async def record_turns(
    call: RequestContext, agent: AgentId, turns: Iterable[InputTurn], given: RequestId = NO_ID
) -> None:
    """Records turns that the client had before. Raises `RefusedError`."""
    for number, turn in enumerate(turns):
        await call.service.dispatch(
            commands.RecordTurn(
                agent,
                tuple(turn.prompt),
                tuple(turn.items),
                "completed" if turn.is_answered else "interrupted",
            ),
            call.principal.actor,
            command_id=given.part(f"turn{number}"),
        )


async def _conversation(
    call: RequestContext, request: ResponseRequest, given: RequestId
) -> AgentId | None:
    """The conversation that the request continues with; None for a new one. Raises `Problem`."""
    named, previous = request.conversation_id, request.previous_response_id
    if named and previous:
        raise bad_request(
            "previous_response_id", "Give a conversation or a previous response, not both."
        )
    place = ResponsePlace.parse(previous) if previous else None
    if previous and place is None:
        raise _unknown("response", previous, "previous_response_id")
    if place is None:
        if named and await _is_missing(call, AgentId(named)):
            raise _unknown("conversation", named, "conversation")
        return AgentId(named) if named else None
    if await _is_missing(call, place.agent):
        raise _unknown("response", place.id, "previous_response_id")
    return await _branch(call, place, given)


async def _is_missing(call: RequestContext, agent: AgentId) -> bool:
    connection = call.space.connection
    return await connection.log.summary(connection.space, agent) is None


async def _branch(call: RequestContext, place: ResponsePlace, given: RequestId) -> AgentId:
    """The conversation after a response: its own, or a fork if more was said there since."""
    live = (await call.space.connection.dispatcher.open(place.agent)).live
    turns = live.all_turns
    at = [n for n, turn in enumerate(turns) if _holds(turn, place)]
    if not at:
        raise bad_request(
            "previous_response_id",
            "This response is no longer in the context. Use the conversation instead: "
            f"{place.agent}",
        )
    if at[0] == len(turns) - 1:
        return place.agent
    return await call.service.branch(
        place.agent,
        turns[at[0] + 1],
        actor=call.principal.actor,
        command_id=given.part("branch"),
    )


def _holds(turn: Turn, place: ResponsePlace) -> bool:
    ended = turn.last if turn.status != "open" else place.version
    return turn.agent == place.agent and turn.first <= place.version <= ended


async def _tag(call: RequestContext, agent: AgentId, tags: Tags, request: ResponseRequest) -> None:
    """Adds metadata to the conversation. Raises `Problem` if it belongs to another user."""
    if request.user and tags.owner and request.user != tags.owner:
        raise bad_request("user", "This conversation belongs to another user.")
    entries = set(entries_of(request.metadata or {})) - set(tags.metadata)
    owner = request.user if request.user and not tags.owner else None
    if entries or owner:
        command = commands.TagAgent(agent, owner, metadata=tuple(entries))
        await call.service.dispatch(command, call.principal.actor)


async def _configure(
    call: RequestContext,
    agent: AgentId,
    settings: Settings,
    request: ResponseRequest,
    given_input: ResponseInput,
    given: RequestId,
) -> None:
    """Changes the model and the instructions of the conversation, if they differ."""
    models, system = call.service.services.models, _system(request, given_input)
    change = SettingsChange()
    if request.model and request.model != settings.model:
        assert models is not None
        _require(models, request.model)
        change = SettingsChange(model=request.model)
    if system is not None and system != settings.system:
        change = structs.replace(change, system=system)
    if change != SettingsChange():
        await call.service.configure(
            agent,
            change,
            actor=call.principal.actor,
            command_id=given.part("settings"),
        )


def _require(models: ModelChoice, model: str) -> None:
    try:
        models.require(model)
    except Failure as failure:
        raise bad_request("model", str(failure), "model_not_found") from None


def _system(request: ResponseRequest, given_input: ResponseInput) -> str | None:
    """The instructions of a request; None if it has none."""
    texts = [*([request.instructions] if request.instructions else []), *given_input.system]
    return "\n\n".join(texts) if texts else None


async def _send_results(
    call: RequestContext,
    turn: Turn,
    waiting: Sequence[ToolCall],
    given_input: ResponseInput,
    given: RequestId,
) -> ResponsePlace:
    """Records the results of the functions that the model called: the turn continues."""
    results = given_input.results
    ids = {each.call for each in results}
    for each in waiting:
        if each.id not in ids:
            raise bad_request(
                "input", f"No tool output found for function call {each.id}.", "missing_output"
            )
    known = {each.id for each in waiting}
    for each in results:
        if each.call not in known:
            raise _no_call(each.call)
    if given_input.turns:
        raise bad_request(
            "input", "Send the results on their own. Send the message after the model has answered."
        )
    return ResponsePlace(turn.agent, await send_results(call, turn, results, given))


def _require_prompt(turns: Sequence[InputTurn]) -> None:
    """Raises `Problem` unless the model can answer these turns. Nothing is stored before that."""
    if not turns or turns[-1].is_answered:
        raise bad_request("input", "The input must end with a user message or function results.")
    if open_calls := turns[-1].open_calls:
        raise bad_request("input", f"No tool output found for function call {min(open_calls)}.")


async def _prompt(
    call: RequestContext,
    agent: AgentId,
    turns: Sequence[InputTurn],
    params: TurnParams,
    given: RequestId,
) -> ResponsePlace:
    *before, last = turns
    state = (await call.space.connection.dispatcher.open(agent)).state
    await record_turns(call, agent, before, given)
    if last.items:
        return await _go_on(call, agent, last, params, given)
    answer = accepted(
        await call.service.prompt(
            agent,
            tuple(last.prompt),
            actor=call.principal.actor,
            command_id=given.id,
            request=given.request,
            params=params,
            reads_instructions=bool(state.workspace.folder),
        )
    )
    return ResponsePlace(agent, answer.turn)


async def _go_on(
    call: RequestContext, agent: AgentId, turn: InputTurn, params: TurnParams, given: RequestId
) -> ResponsePlace:
    """Opens a turn that the client began elsewhere: with its replies and their results.

    Until all of it is stored, a lease keeps other processes from asking the model.
    """
    service, actor, holder = call.service, call.principal.actor, new_holder()
    models = service.services.models
    if models is not None:
        state = (await call.space.connection.dispatcher.open(agent)).state
        models.require(state.settings.model)
    lease = lease_for(holder, _LEASE)
    start = commands.StartTurn(agent, tuple(turn.prompt), lease=lease, params=params)
    done = await service.dispatch(start, actor, command_id=given.part("start-turn"))
    first = done.events[-1].version
    for item in turn.items[:-1]:
        await _store(call, agent, first, item, holder)
    await service.dispatch(
        commands.LeaseTurn(agent, lease_for(holder, 0.0), turn=first), SYSTEM, holder=holder
    )
    last = turn.items[-1]
    assert isinstance(last, RecordedResult)
    done = await service.dispatch(
        commands.FinishTool(agent, last.call, last.content, files=last.files, turn=first),
        actor,
        command_id=given.id,
        request=given.request,
        holder=holder,
    )
    if service.services.start_work is not None:
        service.services.start_work()
    return ResponsePlace(agent, done.events[-1].version)


async def _store(
    call: RequestContext,
    agent: AgentId,
    first: int,
    item: RecordedReply | RecordedResult,
    holder: str,
) -> None:
    command = (
        commands.AddReply(agent, item.parts, item.model, item.usage, turn=first)
        if isinstance(item, RecordedReply)
        else commands.FinishTool(agent, item.call, item.content, files=item.files, turn=first)
    )
    await call.service.dispatch(command, SYSTEM, holder=holder)


def _no_call(call: str) -> Problem:
    return bad_request("input", f"No tool call found for function call output with call_id {call}.")


def _unknown(what: str, typed: str, param: str) -> Problem:
    return Problem(
        404,
        f"Unknown {what}",
        f"There is no {what} '{typed[:80]}'.",
        fields={"param": param, "code": "not_found"},
    )
