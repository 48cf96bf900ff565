"""Handlers of commands about agents: children, mail, and which conversation comes next.

`/wait`: ends when mail arrives, when agents are idle, or when its time is up.

One rule for people and models. A person's wait looks again until it ends. A model's wait looks once
and is parked: the call stays open in the log, and the runtime looks again when the agent is woken.
"""

import asyncio
import re

from msgspec import Struct, structs

from sapwood.conversation.agent_lookup import find, find_for_model
from sapwood.conversation.answers import (
    AgentsKilled,
    AgentTree,
    ArgumentNeeded,
    Changed,
    ConversationStarted,
    Forked,
    MailRead,
    MailSent,
    MailShown,
    StillWaiting,
    Switched,
    Waited,
)
from sapwood.conversation.call import Call, ModelCall, OpenSpace
from sapwood.core import commands
from sapwood.core.command_table import TABLE
from sapwood.core.errors import RefusedError, accepted
from sapwood.core.events import ToolStarted
from sapwood.core.events.agent import inherited_pins
from sapwood.core.ids import AgentId, title_of
from sapwood.core.refusals import FolderNotAllowed
from sapwood.core.settings import SettingsChange, Workspace
from sapwood.turns.clock_and_ids import new_agent_id, new_mail_id, now
from sapwood.turns.dispatch import Done

_GOAL = re.compile(r"(?:^|\s)--(?:\s|$)")
_WORKTREE = "--worktree"
_WITH = "--with"
_LISTED = 50
_MAX_SHARING = 1_000


async def fork(call: Call) -> Forked:
    """Makes a child, also in a worktree. The text before the command and the text behind `--` are
    its goal.
    """
    dashes = _GOAL.search(call.run.args)
    before = call.run.args[: dashes.start()] if dashes else call.run.args
    typed = call.run.args[dashes.end() :].strip() if dashes else ""
    words, model = _split_model(call, before.split())
    marks, branch = _split_worktree(call, words)
    if len(marks) > 1:
        raise call.misused("Give only one mark; put a goal after --.")
    mark = marks[0] if marks else None
    goal = "\n\n".join(text for text in (call.goal, typed) if text)
    delegated = bool(call.goal)
    command = commands.Fork(call.agent, new_agent_id(), mark, goal, delegated, title_of(goal))
    if model:
        command = structs.replace(command, change=await _model_change(call, model))
    return await forked(call, command, branch=branch)


def _split_model(call: Call, words: list[str]) -> tuple[list[str], str]:
    """The words without `--with MODEL`, and the model; empty if none is named."""
    if _WITH not in words:
        return words, ""
    place = words.index(_WITH)
    if call.by_model:
        raise call.misused("Only a person can choose another model for a child.")
    if place + 1 == len(words):
        raise call.misused("Name a model or a program after --with, such as codex.")
    return [*words[:place], *words[place + 2 :]], words[place + 1]


async def _model_change(call: Call, model: str) -> SettingsChange:
    """The settings of a child with another model. Raises `RefusedError` and `Failure`."""
    from sapwood.conversation.configured_models import with_fitting_model

    return await with_fitting_model(call.services, call.agent, SettingsChange(model=model))


async def forked(call: Call, command: commands.Fork, *, branch: str | None = None) -> Forked:
    """Carries a fork out; one of an imported or ended one is where that conversation continues.

    With a `branch`, the child gets a git worktree with that branch; an empty name stands for one
    that is made from the id of the child.
    """
    if branch is None:
        return await _forked(call, command)
    workspace, made = await _worktree(call, command.child, branch)
    command = structs.replace(
        command, workspace=workspace, name=command.name or title_of(workspace.branch)
    )
    try:
        answer = await _forked(call, command)
    except BaseException:
        await _drop_worktree(workspace)
        raise
    return structs.replace(answer, message=f"{answer.message} {made}")


async def _forked(call: Call, command: commands.Fork) -> Forked:
    services = call.services
    if services.start_work is not None:
        services.start_work()
    if services.take_over is not None and not call.by_model:
        state = (await call.opened()).state
        if state.origin is not None:
            child = await services.take_over(command)
            message = f"Forked. This is {child}; the imported conversation does not change."
            return Forked(call.agent, child, message, command.mark or "", taken_over=True)
    if not call.by_model and (await call.opened()).state.status == "killed":
        done = await call.give(structs.replace(command, continues=True))
        child = _other(done, call.agent)
        message = f"Forked. This is {child}; the agent that was ended does not change."
        return Forked(call.agent, child, message, command.mark or "", taken_over=True)
    done = await call.give(command)
    return Forked(call.agent, _other(done, call.agent), done.message, command.mark or "")


async def send(call: Call) -> MailSent:
    """Sends mail to another agent."""
    to, text = call.first_and_rest
    if not text:
        raise call.misused("Mail needs a recipient and a message.")
    receiver = await _named(call, to)
    done = await call.give(commands.Send(receiver, new_mail_id(), text, sender=call.current))
    return MailSent(receiver, done.message)


async def check_mail(call: Call) -> MailRead | MailShown:
    """Reads unread mail, or shows it and leaves it unread."""
    match call.words:
        case []:
            if call.by_model:
                done = await call.give(commands.ReadMail(call.agent, "tool"))
                return MailRead(call.agent, done.message)
            unread = await _unread(call)
            done = await call.give(commands.ReadMail(call.agent, "prompt"))
            return MailRead(call.agent, done.message if done.repeated else unread.message)
        case ["--peek"]:
            return await _unread(call)
        case _:
            raise call.misused("Mail is read all at once.")


async def _unread(call: Call) -> MailShown:
    """The unread mail, with the names of its senders."""
    space, inbox = call.space, (await call.opened()).state.inbox
    senders: list[str] = []
    for letter in inbox:
        summary = await space.log.summary(space.space, AgentId(letter.sender))
        name = f"'{summary.name}'" if summary and summary.name else letter.sender
        senders.append(f"{name} ({letter.sender})" if summary and summary.name else name)
    return MailShown(call.agent, inbox, tuple(senders))


async def kill(call: Call) -> AgentsKilled:
    """Ends an agent and its descendants."""
    if len(call.words) != 1:
        raise call.misused("Which agent?")
    done = await call.give(commands.Kill(await _named(call, call.words[0]), by=call.current))
    return AgentsKilled(tuple(dict.fromkeys(ref.agent for ref in done.events)), done.message)


async def new(call: Call) -> ConversationStarted:
    """Archives the agent and starts a fresh one in its place."""
    done = await call.give(commands.StartSuccessor(call.agent, new_agent_id()))
    return ConversationStarted(call.agent, _other(done, call.agent), done.message)


async def start(call: Call) -> ConversationStarted:
    """Starts another conversation with the same model, settings, folder and pins, but no plan.

    It may have a worktree of its own.
    """
    words, branch = _split_worktree(call, call.words)
    if words:
        raise call.misused("The only option here is --worktree.")
    state = (await call.opened()).state
    agent, workspace, made = new_agent_id(), state.workspace, ""
    if branch is not None:
        workspace, made = await _worktree(call, agent, branch)
    try:
        pins = inherited_pins(state.pins)
        await call.give(
            commands.StartAgent(agent, settings=state.settings, workspace=workspace, pins=pins)
        )
    except BaseException:
        if branch is not None:
            await _drop_worktree(workspace)
        raise
    back = f"{TABLE['switch'].typed} {call.agent}"
    message = f"Started {agent} alongside {state.name or call.agent}. {back} goes back. {made}"
    return ConversationStarted(None, agent, message.rstrip())


async def archive(call: Call) -> Changed:
    """Archives the agent, and removes its worktree if that is clean and nobody else works there."""
    from sapwood.workspace.worktrees import remove_worktree

    workspace = call.services.workspace_of((await call.opened()).state)
    done = await call.give(commands.Archive(call.agent))
    removed = ""
    if workspace.worktree and not done.repeated:
        if await _is_shared(call, workspace):
            removed = (
                f"The worktree {workspace.worktree} is kept because another agent is working there."
            )
        else:
            removed = await asyncio.to_thread(remove_worktree, workspace)
    return Changed(call.agent, f"{done.message} {removed}".rstrip(), done.events)


async def unarchive(call: Call) -> Changed:
    """Makes an archived agent running again, and its worktree if that was removed."""
    from sapwood.workspace.worktrees import restore_worktree

    done = await call.give(commands.Unarchive(call.agent))
    workspace = call.services.workspace_of((await call.opened()).state)
    restored = await asyncio.to_thread(restore_worktree, workspace)
    return Changed(call.agent, f"{done.message} {restored}".rstrip(), done.events)


async def rename(call: Call) -> Changed:
    """Gives the agent another name."""
    if not call.run.args:
        raise call.misused("Which name?")
    return await call.changed(commands.Rename(call.agent, call.run.args))


async def agents(call: Call) -> AgentTree:
    """Lists the running agents."""
    space = call.space
    return AgentTree(tuple(await space.log.agents(space.space, status="running", limit=_LISTED)))


async def switch(call: Call) -> Switched | ArgumentNeeded:
    """Goes to another agent."""
    if not call.run.args:
        command = call.run.command
        message = call.misused("Which agent?").refusal.sentence
        return ArgumentNeeded(command.name, command.arguments[0], message)
    return Switched(await find(call.space, call.run.args))


async def _named(call: Call, typed: str) -> AgentId:
    """The agent that was typed; `parent` is that of the agent that calls."""
    space = call.space
    if isinstance(call.caller, ModelCall):
        return await find_for_model(space, call.caller.state, typed)
    own = await space.log.summary(space.space, call.current) if call.current else None
    return await find(space, typed, parent=own.parent if own else None)


def _split_worktree(call: Call, words: list[str]) -> tuple[list[str], str | None]:
    """The other words, and the branch of a worktree: empty without a name, None without a wish."""
    if _WORKTREE not in words:
        return words, None
    if call.by_model:
        raise call.misused("Only a person may ask for a worktree.")
    place = words.index(_WORKTREE)
    named = words[place + 1 : place + 2]
    return words[:place] + words[place + 2 :], "".join(named)


async def _worktree(call: Call, agent: AgentId, branch: str) -> tuple[Workspace, str]:
    """Makes a worktree; returns the workspace with it, and a sentence. Raises `RefusedError`."""
    from sapwood.workspace.worktrees import add_worktree

    if call.services.folder is not None:
        raise RefusedError(FolderNotAllowed("a worktree"))
    state = (await call.opened()).state
    added = accepted(
        await asyncio.to_thread(add_worktree, state.workspace, branch or f"sapwood/{agent}")
    )
    workspace = added.workspace
    made = f"It works in {workspace.worktree}, on branch {workspace.branch}. {added.notice}"
    return workspace, made.rstrip()


async def _drop_worktree(workspace: Workspace) -> None:
    """Removes a worktree that no agent got, with its branch."""
    from sapwood.workspace.worktrees import drop_worktree

    await asyncio.to_thread(drop_worktree, workspace)


async def _is_shared(call: Call, workspace: Workspace) -> bool:
    """Whether another running agent works in the same worktree."""
    space = call.space
    running = await space.log.agents(space.space, status="running", limit=_MAX_SHARING)
    for summary in running:
        if summary.folder == workspace.folder and summary.agent != call.agent:
            other = (await space.dispatcher.open(summary.agent)).state.workspace
            if other.worktree == workspace.worktree:
                return True
    return False


def _other(done: Done, agent: AgentId) -> AgentId:
    """The agent that the command made, also where it was made by an earlier call of the same id."""
    return next(ref.agent for ref in done.events if ref.agent != agent)


MAX_WAIT = 3600.0
"""Seconds that a wait lasts at most."""

_USUAL = 60.0
"""Seconds that a model's wait lasts without a number."""

_LOOK_AGAIN = 5.0
_GLANCE = 0.2


class _Wait(Struct, frozen=True):
    agent: AgentId
    agents: tuple[AgentId, ...]
    seconds: float


async def wait(call: Call) -> Waited | StillWaiting:
    """Waits for mail, or for the named agents; a person waits for all descendants by default."""
    if isinstance(call.caller, ModelCall) and call.caller.parks:
        return await _look_for_model(call, call.caller)
    names, seconds = _parsed(call.words, _USUAL if call.by_model else MAX_WAIT)
    space, agent = call.space, call.agent
    caller = call.caller
    if isinstance(caller, ModelCall):
        agents = [await find_for_model(space, caller.state, name) for name in names]
    else:
        agents = [await find(space, name) for name in names]
    agents = agents or await space.log.descendants(space.space, agent)
    wanted = _Wait(agent, tuple(agents), seconds)
    until = asyncio.get_running_loop().time() + seconds
    while True:
        over = await _look(space, wanted, until - asyncio.get_running_loop().time())
        if isinstance(over, Waited):
            return over
        if not agents:
            return Waited(agent, "nobody", "There is nobody to wait for.")
        await asyncio.sleep(min(_GLANCE, over.seconds))


async def _look_for_model(call: Call, caller: ModelCall) -> Waited | StillWaiting:
    names, seconds = _parsed(call.words, _USUAL)
    space, state = call.space, caller.state
    agents = [await find_for_model(space, state, name) for name in names]
    if not names:
        children = await space.log.agents(space.space, parent=state.agent, status="running")
        agents = [each.agent for each in children]
    left = seconds - await _waited(space, caller)
    return await _look(space, _Wait(state.agent, tuple(agents), seconds), left)


async def _look(space: OpenSpace, wanted: _Wait, left: float) -> Waited | StillWaiting:
    """Whether the wait is over with so many seconds left, and what ended it."""
    agent, agents = wanted.agent, wanted.agents
    found = [await space.log.summary(space.space, each) for each in agents]
    own = await space.log.summary(space.space, agent)  # last: a child that has ended has sent mail
    if own is not None and own.unread:
        count = own.unread
        return Waited(agent, "mail", f"Mail has arrived: {count} unread. check-mail reads it.")
    busy = [each.agent for each in found if each is not None and each.working]
    if agents and not busy:
        return Waited(agent, "idle", f"Idle: {', '.join(agents)}.")
    if left <= 0:
        still = f" Still working: {', '.join(busy)}." if busy else ""
        return Waited(agent, "time", f"No mail arrived within {wanted.seconds:g} seconds.{still}")
    return StillWaiting(agent, min(left, _LOOK_AGAIN))


def _parsed(words: list[str], usual: float) -> tuple[list[str], float]:
    if words and words[-1].replace(".", "", 1).isdecimal():
        return words[:-1], min(float(words[-1]), MAX_WAIT)
    return words, usual


async def _waited(space: OpenSpace, caller: ModelCall) -> float:
    """Seconds since the tool call was started, by the log."""
    state = caller.state
    first = state.open.first if state.open else 1
    for recorded in await space.log.read(space.space, state.agent, first):
        if isinstance(recorded.event, ToolStarted) and recorded.event.call == caller.call.id:
            return (now() - recorded.at) / 1_000_000
    return 0.0
