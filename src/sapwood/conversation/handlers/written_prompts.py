"""The handlers of prompts that are written already, and of questions on the side.

Sapwood has written the prompts of `/init` and `/review`. `/use`, which people type as `/NAME`,
sends custom commands and skills. The model does the work by its ordinary tools, within its
permissions. A child answers a question on the side, and nothing of it is in view.
"""

import asyncio

from msgspec import structs

from sapwood.conversation.answers import Changed, Prompted
from sapwood.conversation.call import Call, Person
from sapwood.core.commands import Archive, Fork, InterruptTurn, RecordSideAnswer
from sapwood.core.content import Text
from sapwood.core.errors import RefusedError
from sapwood.core.ids import AgentId, title_of
from sapwood.core.refusals import ModelNeeded, Refusal, nearest
from sapwood.core.settings import SettingsChange
from sapwood.core.turn import Turn
from sapwood.turns.clock_and_ids import command_meta, new_agent_id
from sapwood.workspace.custom_commands import CODEX_PREFIX, CustomCommand, prompt_of

_HERE = "--here"

_INIT = """Write the file AGENTS.md in the workspace: what an agent needs to know to work here, \
and nothing that it can see at a glance. Read the README, the build files, the CI files and a few \
source files first. Say in short sections how to set up, build, run the tests (all of them, and a \
single one), lint and format; how the source is organised; and the conventions that are not \
obvious. Take commands from files of the workspace, and invent none. Keep it under 100 lines. If \
there is an AGENTS.md or CLAUDE.md already, improve it and keep what still holds."""

_REVIEW = """Review the changes in the working tree that are not committed. Look at `git status` \
and `git diff HEAD` (new files too), and at the code around the changes. Report bugs, missing \
cases, security problems and missing tests, the most serious first, each with file and line, why \
it is a problem, and what to do. Leave out matters of taste. If there is nothing to report, say \
so. Change nothing."""


async def init(call: Call) -> Prompted:
    """Has the model write an AGENTS.md. Raises `RefusedError`."""
    return await call.open_turn((Text(_with(_INIT, call.run.args)),))


async def review(call: Call) -> Prompted | Changed:
    """Has the changes in the working tree reviewed, on the side or here. Raises `RefusedError`."""
    first, rest = call.first_and_rest
    if first == _HERE:
        return await call.open_turn((Text(_with(_REVIEW, rest)),))
    question = _with(_REVIEW, call.run.args)
    return await ask_on_the_side(call, question, shown=call.run.line, reads_only=False)


async def use(call: Call) -> Prompted | Changed:
    """Sends the text of a custom command or skill as a prompt; without a name, lists them.

    Shell commands in the text do not run. Raises `RefusedError` if there is none of that name.
    """
    workspace = call.services.workspace_of((await call.opened()).state)
    read = await call.services.read_custom_commands(workspace)
    known = tuple(each for each in read if each.for_people)
    name, arguments = call.first_and_rest
    if not name:
        return Changed(call.agent, _listed(known))
    by_name = {each.name: each for each in known}
    command = by_name.get(name) or by_name.get(name.removeprefix(CODEX_PREFIX))
    if command is None:
        close = ", ".join(nearest(name, tuple(by_name), 0.6)) or "type /use to list them"
        raise call.misused(f"There is no custom command or skill '{name[:60]}': {close}.")
    text = prompt_of(command, arguments)
    answer = await call.open_turn((Text(text),))
    notes = (*_notes(command), answer.message)
    return structs.replace(answer, message="\n".join(filter(None, notes)))


def _with(text: str, words: str) -> str:
    return f"{text}\n\nIn particular: {words}" if words else text


def _listed(known: tuple[CustomCommand, ...]) -> str:
    lines = [f"/{each.name}  {each.about}  ({each.kind}, {each.path})" for each in known]
    return "\n".join(lines) or "There are no custom commands and no skills here."


def _notes(command: CustomCommand) -> list[str]:
    """What a person who knows the file from another program has to know."""
    notes: list[str] = []
    if command.shell_lines:
        shown = ", ".join(f"`{each}`" for each in command.shell_lines)
        notes.append(f"Not run: {shown}. The model can run it by its tool, if you allow it.")
    if command.ignored:
        notes.append(f"{command.path}: {', '.join(command.ignored)} has no effect here.")
    return notes


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
    the child is interrupted and archived, and nothing is recorded. Raises `RefusedError`, and
    `Failure` if the model cannot be called.
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
        await asyncio.shield(_stop(call, child))
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


async def _stop(call: Call, child: AgentId) -> None:
    await _give(call, InterruptTurn(child, "by the user"), "stop")
    await _give(call, Archive(child), "archive")


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
