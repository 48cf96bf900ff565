"""Questions on the side: a child answers, and nothing of it is in view."""

import asyncio

from sapwood.conversation.answers import Changed
from sapwood.conversation.call import Call, Person
from sapwood.core.commands import Archive, Fork, InterruptTurn, RecordSideAnswer
from sapwood.core.errors import RefusedError
from sapwood.core.ids import AgentId, title_of
from sapwood.core.refusals import ModelNeeded, Refusal
from sapwood.core.settings import SettingsChange
from sapwood.core.turn import Turn
from sapwood.turns.clock_and_ids import command_meta, new_agent_id

_LOOK_AGAIN = 0.2


async def btw(call: Call) -> Changed:
    """Answers a question of a person on the side. Raises `RefusedError`."""
    question = call.run.args.strip()
    if not question:
        raise call.misused("Which question?")
    return await ask_on_the_side(call, question)


async def ask_on_the_side(
    call: Call, question: str, *, shown: str = "", reads_only: bool = True
) -> Changed:
    """Has a child with the present context answer, and records its answer for the screens.

    The child is archived with its answer. Unless `reads_only` is false, it can run no command and
    change nothing. `shown` is what the row says instead of the question. If the call is cancelled,
    the child is interrupted. Raises `RefusedError`, and `Failure` if the model cannot be called.
    """
    services = call.services
    if services.start_work is None:
        raise RefusedError(ModelNeeded(call.run.command.typed, call.agent))
    if services.models is not None:
        services.models.require((await call.opened()).state.settings.model)
    change = SettingsChange(permission_mode="read-only") if reads_only else None
    name = title_of(shown or question)
    child = await _child(
        call,
        Fork(call.agent, new_agent_id(), goal=question, name=name, change=change, side=True),
    )
    try:
        turn = await _end_of_turn(call, child)
    except asyncio.CancelledError:
        await asyncio.shield(_give(call, InterruptTurn(child, "by the user"), "stop"))
        raise
    is_answered = turn.status == "completed"
    answer = turn.answer if is_answered else f"[{turn.status}] {turn.reason}".rstrip()
    record = RecordSideAnswer(call.agent, child, shown or question, answer, not is_answered)
    done = await call.give(record)
    await _give(call, Archive(child), "archive")
    message = f"To bring the answer into the context, type: /bring {child}/1" if is_answered else ""
    return Changed(call.agent, message, done.events)


async def _child(call: Call, fork: Fork) -> AgentId:
    """The child that answers, also if an earlier command of the same id made it."""
    made = await _give(call, fork, "fork")
    assert call.services.start_work is not None
    call.services.start_work()
    return next((each for each in made if each != call.agent), fork.child)


async def _end_of_turn(call: Call, child: AgentId) -> Turn:
    """The turn of a child, once it has ended."""
    space = call.space
    while True:
        summary = await space.log.summary(space.space, child)
        if summary is None or not summary.working:
            return (await space.dispatcher.open(child)).live.turns[-1]
        await asyncio.sleep(_LOOK_AGAIN)


async def _give(call: Call, command: Fork | Archive | InterruptTurn, step: str) -> list[AgentId]:
    """Dispatches a step of the command. Returns the agents whose logs it changed."""
    assert isinstance(call.caller, Person)
    once = f"{call.caller.command_id}:{step}" if call.caller.command_id else None
    why = command_meta(call.caller.actor, command=once, request=f"{step} {call.run.line}")
    done = await call.space.dispatcher.dispatch(command, why)
    if isinstance(done, Refusal):
        if isinstance(command, Fork):
            raise RefusedError(done)
        return []
    return [each.agent for each in done.events]
