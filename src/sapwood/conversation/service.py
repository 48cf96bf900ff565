"""The conversation service: every face sends prompts and commands here and gets typed answers.

The service looks a command up in the table, checks what the table says of it, and calls the handler
that is bound to it. Refusals are returned as values. `Failure` (a model that cannot be called) and
`LogError` (a database that does not answer) are raised.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct, structs

from sapwood.conversation import answers
from sapwood.conversation.agent_lookup import find
from sapwood.conversation.call import (
    Call,
    Caller,
    HeldSession,
    ModelCall,
    Person,
    ProgramSessions,
    Services,
)
from sapwood.conversation.handlers import (
    agents,
    context,
    goal,
    inspection,
    plans,
    settings,
    shell,
    written_prompts,
)
from sapwood.conversation.prompt_checks import finish_revert, hook_objection
from sapwood.conversation.script import (
    CommandStep,
    Script,
    TextStep,
    chunks,
    names_no_command,
    parse,
)
from sapwood.conversation.session_changes import lags_behind
from sapwood.conversation.turn_search import search_turns
from sapwood.core import commands, refusals
from sapwood.core.checkpoint import Unsaved
from sapwood.core.command_table import SLASH, TABLE, CommandTable
from sapwood.core.content import PromptPart, Text, ToolCall
from sapwood.core.errors import LogError, RefusedError, accepted
from sapwood.core.events import HUMAN, Actor, InstructionText, Pin
from sapwood.core.ids import AgentId
from sapwood.core.log_values import DECLARATIONS, Order
from sapwood.core.settings import Settings, SettingsChange, Workspace
from sapwood.core.state import State
from sapwood.core.tags import Tags
from sapwood.core.turn import Turn
from sapwood.core.turn_numbers import NumberedCall
from sapwood.core.turn_params import TurnParams
from sapwood.programs.registry import program_executor, runs_turns
from sapwood.turns.clock_and_ids import command_meta, new_agent_id, new_mail_id
from sapwood.turns.command_batch import request_text
from sapwood.turns.dispatch import Done
from sapwood.turns.open_agent import OpenAgent
from sapwood.turns.program_sessions import session_in
from sapwood.turns.replay import numbered_calls
from sapwood.workspace.custom_commands import custom_names

_log = logging.getLogger("sapwood.commands")

Handler = Callable[[Call], Awaitable[answers.Answer]]

_MODULES = (agents, context, goal, inspection, plans, settings, shell, written_prompts)
HANDLERS: dict[str, Handler] = {
    name.strip("_").replace("_", "-"): handler
    for module in _MODULES
    for name, handler in vars(module).items()
    if not name.startswith("_")
    if list(getattr(handler, "__annotations__", {})) == ["call", "return"]
}
"""The handler of each row of the table, by its name: every public function of a call."""


def require_bound(table: CommandTable, handlers: Mapping[str, Handler]) -> None:
    """Raises `AssertionError` unless each row has a handler and each handler a row."""
    rows = {row.name for row in table.rows}
    if unbound := rows ^ set(handlers):
        raise AssertionError(f"not in both the table and the handlers: {sorted(unbound)}")


require_bound(TABLE, HANDLERS)


class Outcome(Struct, frozen=True):
    """What came of one step of a submission. `agent` is the one that the next step is for.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     for outcome in db.start("demo").run_command("/mark START\\n/help mark"):
    ...         print(outcome.step.command.name, outcome.message)
    mark Marked 'START'.
    help /mark [NAME]               Bookmark this point to rewind to or fork from
    """

    step: TextStep | CommandStep
    answer: answers.Answer | refusals.Refusal
    agent: AgentId | None

    @property
    def message(self) -> str:
        """The sentence for a person."""
        if isinstance(self.answer, refusals.Refusal):
            return self.answer.sentence
        return self.answer.message


async def _read_pins_again(services: Services, state: State) -> str:
    if not any(pin.source for pin in state.pins):
        return ""
    from sapwood.conversation.prompt_files import read_pins_again

    return await read_pins_again(services, state)


async def _offer(
    services: Services, before: OpenAgent, prompt: tuple[PromptPart, ...]
) -> answers.LoadOffer | None:
    """What the prompt names, or else the last tool calls, that only turns out of view have."""
    if _has_all_turns(before):
        return None
    from sapwood.conversation.load_offers import load_offer, offer_for_calls

    with suppress(LogError):  # the prompt was sent, whatever the search does
        offer = await load_offer(services.space, before, prompt)
        return offer or await offer_for_calls(services.space, before)
    return None


async def _bring_back(
    services: Services, before: OpenAgent, prompt: tuple[PromptPart, ...]
) -> answers.LoadOffer | None:
    """Brings back what the prompt names, within the budget, and takes out what nobody used."""
    if _has_all_turns(before):
        return None
    from sapwood.conversation.load_offers import bring_back, take_out_unused

    if await take_out_unused(services.space, before, prompt):
        before = await services.space.dispatcher.open(before.state.agent)
    return await bring_back(services.space, before, prompt, services.bring_tokens)


def _has_all_turns(opened: OpenAgent) -> bool:
    """Whether all turns of an agent are in view."""
    state = opened.state
    return state.turns <= sum(turn.agent == state.agent for turn in opened.live.turns)


class ConversationService:
    """Answers prompts and commands for the agents of one space."""

    def __init__(self, services: Services) -> None:
        self.services = services

    async def answer(
        self,
        agent: AgentId | None,
        run: CommandStep,
        *,
        caller: Caller | None = None,
        goal: str = "",
    ) -> answers.Answer | refusals.Refusal:
        """Carries out one command. `agent` is None before there is a conversation."""
        call = Call(self.services, run, agent, caller or Person(), goal, prompt=self.prompt)
        try:
            await self._require_allowed(call)
            sessions = await self._sessions_for(call)
            if sessions is None:
                answer = await HANDLERS[run.command.name](call)
            else:
                answer = await _on_session(sessions, call)
        except RefusedError as refused:
            _note_without_effect(call, f"was refused: {type(refused.refusal).__name__}")
            return refused.refusal
        if isinstance(answer, answers.Changed | answers.Compacted) and not answer.events:
            _note_without_effect(call, "changed nothing")
        if agent is not None and not call.by_model:
            await self._bring_session(agent)
        return answer

    async def _bring_session(self, agent: AgentId) -> None:
        """Brings the session of the agent's program to the live path, if a command moved it."""
        sync_session = self.services.sync_session
        if sync_session is None:
            return
        if lags_behind((await self.services.space.dispatcher.last_seen(agent)).state):
            await sync_session(agent)

    async def prompt(
        self,
        agent: AgentId,
        prompt: str | tuple[PromptPart, ...],
        *,
        actor: Actor = HUMAN,
        command_id: str | None = None,
        params: TurnParams | None = None,
        reads_instructions: bool = True,
        request: str = "",
        checked: bool = False,
    ) -> answers.Prompted | refusals.Refusal:
        """Opens a turn with a prompt; pinned files that changed are read again before it.

        The same `command_id` given twice opens one turn. `params` are for this turn alone. Without
        `reads_instructions`, the default prompt and the workspace's instructions are not read.
        `request` is what was asked for, if the prompt was made from it. `checked`: the person's
        hooks saw this prompt already. Raises `Failure` if the agent's model cannot be called.
        """
        services = self.services
        dispatcher = services.space.dispatcher
        opened = await dispatcher.open(agent)
        state = opened.state
        if state.origin is not None:
            return refusals.Imported(agent, state.origin.source)
        if services.models is not None:
            services.models.require(state.settings.model)
        runs_in = program_executor(state.settings.model)
        if runs_in and params is not None and params.caller_tools:
            return refusals.BadSetting(
                "params.caller_tools", f"left out: {runs_in.title} has its own tools"
            )
        if runs_in and services.sessions and session_in(state, runs_in.program):
            await services.sessions.prepare(agent, changes=False)
            opened = await dispatcher.open(agent)
            state = opened.state
        if (refused := await finish_revert(services, state)) is not None:
            return refused
        notice = await _read_pins_again(services, state)
        parts = (Text(prompt),) if isinstance(prompt, str) else prompt
        if actor.role == "human" and not checked:
            refused = await hook_objection(services, state, parts)
            if refused is not None:
                return refused
        brought = None
        if services.bring_tokens and runs_in is None and state.open is None:
            opened = await dispatcher.open(agent)  # a hook may have taken seconds
            brought = await _bring_back(services, opened, parts)
        read = await self._instructions(state) if reads_instructions else None
        start = commands.StartTurn(agent, parts, read, params=params)
        why = command_meta(actor, command=command_id, request=request)
        done = await dispatcher.dispatch(start, why)
        if isinstance(done, refusals.Refusal):
            return done
        if services.start_work is not None:
            services.start_work()
        offer = brought or await _offer(services, opened, parts)
        message = "\n".join(filter(None, (notice, offer.sentence if offer else "")))
        return answers.Prompted(agent, done.events[-1].version, message, offer)

    async def start(
        self,
        folder: str = "",
        *,
        name: str = "",
        model: str = "",
        settings: Settings | None = None,
        pins: tuple[Pin, ...] = (),
        agent: AgentId | None = None,
        has_prompt: bool = True,
        script: bool = False,
        tags: Tags | None = None,
        actor: Actor = HUMAN,
        command_id: str | None = None,
        request: str = "",
    ) -> AgentId:
        """Starts a conversation in a folder, by default with the configured model and settings.

        `model` is another one than the configured one; `settings` replace both.
        Without a prompt, which a command such as `/model` does not have, no model is needed yet.
        `script`: it is a run of a script, which the screen does not open by itself. `request` is
        what was asked for, if the settings were made from it.
        Raises `Failure` when the configured model cannot be called, and `RefusedError`.
        """
        given = model or settings
        asked = request or request_text("start", agent, folder, name, given, pins, script, tags)
        models = self.services.models
        if settings is None and models is not None:
            if has_prompt or model:
                await asyncio.to_thread(models.require, model or models.default)
            settings = models.first_settings(model)
        agent = agent or new_agent_id()
        workspace = Workspace(folder=folder)
        first = Settings()
        if settings is not None:
            from sapwood.conversation.configured_models import with_window

            first = with_window(settings)
        command = commands.StartAgent(agent, name, first, workspace, pins, script=script, tags=tags)
        done = await self.dispatch(command, actor, command_id=command_id, request=asked)
        return done.events[0].agent if done.events else agent

    async def dispatch(
        self,
        command: commands.Command,
        actor: Actor = HUMAN,
        *,
        call: str | None = None,
        command_id: str | None = None,
        holder: str = "",
        request: str = "",
    ) -> Done:
        """Carries out a command of the core. Raises `RefusedError`.

        The same `command_id` given twice acts once and returns the first answer; for another
        command it is refused. `holder` is the name under which the sender has the lease of the open
        turn. `request` is what was asked for, if the command was made from more than that.
        """
        why = command_meta(actor, call=call, command=command_id, holder=holder, request=request)
        return accepted(await self.services.space.dispatcher.dispatch(command, why))

    async def configure(
        self,
        agent: AgentId,
        change: SettingsChange,
        *,
        actor: Actor = HUMAN,
        command_id: str | None = None,
    ) -> answers.Changed:
        """Changes settings; another model has to fit what is in view. Raises `RefusedError`."""
        from sapwood.conversation.configured_models import with_fitting_model

        fitting = await with_fitting_model(self.services, agent, change)
        command, asked = (
            commands.Configure(agent, fitting),
            request_text("configure", agent, change),
        )
        done = await self.dispatch(command, actor, command_id=command_id, request=asked)
        return answers.Changed(agent, done.message, done.events)

    async def send(
        self,
        to: AgentId,
        text: str,
        *,
        sender: AgentId | None = None,
        actor: Actor = HUMAN,
        command_id: str | None = None,
    ) -> answers.MailSent:
        """Sends mail to an agent by its id. Raises `RefusedError`."""
        command = commands.Send(to, new_mail_id(), text, sender=sender)
        asked = request_text("send", to, text, sender)
        done = await self.dispatch(command, actor, command_id=command_id, request=asked)
        return answers.MailSent(to, done.message, done.events)

    async def interrupt(
        self, agent: AgentId, reason: str = ""
    ) -> answers.Changed | refusals.Refusal:
        """Stops the open turn, whichever process runs it, and keeps what was there."""
        dispatcher = self.services.space.dispatcher
        done = await dispatcher.dispatch(commands.InterruptTurn(agent, reason), command_meta())
        return (
            done
            if isinstance(done, refusals.Refusal)
            else answers.Changed(agent, done.message, done.events)
        )

    async def checkpoint(
        self, agent: AgentId, *, actor: Actor = HUMAN, command_id: str | None = None
    ) -> answers.Changed:
        """Saves the files of the workspace, as they were before the open turn or after the last.

        Raises `RefusedError` if they cannot be saved.
        """
        assert self.services.checkpoints is not None, "this service does not save files"
        state = (await self.services.space.dispatcher.open(agent)).state
        saved = await self.services.checkpoints().save(state.workspace, agent)
        if isinstance(saved, Unsaved):
            raise RefusedError(refusals.NotSaved(saved.reason))
        tip = state.context.tip
        if state.open is not None:
            command = commands.MakeCheckpoint(agent, saved, state.open.first, "before")
        else:
            turn = tip.first if tip is not None and tip.agent == agent else 0
            command = commands.MakeCheckpoint(agent, saved, turn)
        asked = request_text("checkpoint", agent)
        done = await self.dispatch(command, actor, command_id=command_id, request=asked)
        return answers.Changed(agent, done.message, done.events)

    async def fork(
        self,
        agent: AgentId,
        mark: str | None = None,
        *,
        goal: str = "",
        name: str = "",
        branch: str | None = None,
        change: SettingsChange | None = None,
        caller: Person | None = None,
    ) -> answers.Forked:
        """Makes a child with a name of its own. Raises `RefusedError`.

        With a `branch`, the child gets a git worktree; an empty name is made from its id. `change`
        are settings that differ from those of the parent, such as another model.
        """
        asked = request_text("fork", agent, mark, goal, name, branch, change)
        step = CommandStep(TABLE["fork"])
        call = Call(self.services, step, agent, caller or Person(), request=asked)
        command = commands.Fork(agent, new_agent_id(), mark, goal, name=name, change=change)
        return await agents.forked(call, command, branch=branch)

    async def branch(
        self, agent: AgentId, turn: Turn, *, actor: Actor = HUMAN, command_id: str | None = None
    ) -> AgentId:
        """Makes a conversation of its own with the context before a turn.

        Raises `RefusedError`.
        """
        fork = commands.Fork(agent, new_agent_id(), continues=True)
        asked = request_text("branch", agent, turn.first)
        done = await self.dispatch(fork, actor, command_id=command_id, request=asked)
        child = next(each.agent for each in done.events if each.agent != agent)
        caller = Person(actor, f"{command_id}:rewind" if command_id else None)
        place = f"{turn.agent}/{turn.number}"
        accepted(await self.answer(child, CommandStep(TABLE["rewind"], place), caller=caller))
        return child

    async def compare(
        self, agent: AgentId, left: str, right: str | None = None
    ) -> answers.ContextsCompared:
        """The difference between two contexts, each a mark or a turn; or between one and now.

        Raises `RefusedError`.
        """
        return await inspection.compare(self.services.space, agent, left, right)

    async def replay(self, agent: AgentId, version: int | None = None) -> answers.RequestReplayed:
        """What the model saw at a call, by default at the last. Raises `RefusedError`."""
        return await inspection.replayed(self.services.space, agent, version)

    async def model_calls(self, agent: AgentId, limit: int = 100) -> list[NumberedCall]:
        """The model calls of an agent, newest first, each with its turn."""
        from sapwood.conversation.imported_requests import imported_calls

        space = self.services.space
        imported = await imported_calls(space, agent)
        if imported is not None:
            return imported[-limit:][::-1]
        return await numbered_calls(space.log, space.space, agent, limit)

    async def search(
        self, query: str, *, agents: Sequence[AgentId] | None = None, limit: int = 20
    ) -> answers.SearchResults:
        """Searches everything said, by these agents or by all. Raises `RefusedError`."""
        hits = await search_turns(self.services.space, query, agents=agents, limit=limit)
        return answers.SearchResults(query, tuple(hits))

    async def list_agents(
        self,
        *,
        limit: int = 50,
        all_states: bool = False,
        owner: str = "",
        label: str = "",
        order: Order = "created",
    ) -> answers.AgentTree:
        """The newest agents: those that run, or all; of one owner or label, if one is given."""
        space = self.services.space
        found = await space.log.agents(
            space.space,
            limit=limit,
            status=None if all_states else "running",
            owner=owner,
            label=label,
            order=order,
        )
        return answers.AgentTree(tuple([each for each in found if each.source not in DECLARATIONS]))

    async def step(
        self,
        agent: AgentId | None,
        chunk: Script,
        *,
        by_model: bool = False,
        person: Person | None = None,
    ) -> Outcome:
        """Carries out one piece of a script: text, a command, or a goal and its fork.

        With `by_model`, a command is the model's own, as if it came by a tool call. Otherwise it
        is that of `person`, by default of somebody without a name.
        """
        step, person = chunk[-1], person or Person()
        if isinstance(step, TextStep):
            if agent is None:
                return Outcome(step, refusals.NoConversation(), agent)
            answer = await self.prompt(
                agent, step.parts, actor=person.actor, command_id=person.command_id
            )
            return Outcome(step, answer, agent)
        goal = chunk[0].text if isinstance(chunk[0], TextStep) else ""
        caller = await self._model_of(agent, step) if by_model and agent else person
        answer = await self.answer(agent, step, caller=caller, goal=goal)
        return Outcome(step, answer, _next_agent(agent, answer))

    async def _instructions(self, state: State) -> tuple[InstructionText, ...] | None:
        """The instructions as they are now; none if they were switched off since the last time."""
        read = self.services.instructions
        if read is None:
            return None
        runs_itself = program_executor(state.settings.model) is not None  # and reads them itself
        workspace = self.services.workspace_of(state)
        texts = None if runs_itself else await asyncio.to_thread(read, workspace)
        return () if texts is None and state.instructions else texts

    async def _model_of(self, agent: AgentId, step: CommandStep) -> ModelCall:
        state = (await self.services.space.dispatcher.open(agent)).state
        call = ToolCall(f"shell-{new_mail_id()}", SLASH, step.line)
        return ModelCall(state, call, state.settings.model, parks=False)

    async def submit(self, agent: AgentId, text: str) -> list[Outcome]:
        """Carries out a whole submission without waiting for the answers of models.

        Stops at the first refusal, so that no step runs in a state that its author did not expect.
        Raises `RefusedError` if the text cannot be parsed.
        """
        return await self.play(agent, await self.parsed(agent, text))

    async def parsed(
        self, agent: AgentId | None, text: str, *, folder: str = "", shell: bool = False
    ) -> Script:
        """The steps of a submission, in which `/NAME` of a custom command is `/use NAME`.

        `folder` is where a conversation would start if there is no agent. With `shell`, a text
        after `!` is a shell command. Raises `RefusedError` if the text cannot be parsed.
        """
        custom: frozenset[str] = frozenset()
        if names_no_command(text):
            workspace = Workspace(folder)
            if agent is not None:
                state = (await self.services.space.dispatcher.open(agent)).state
                workspace = self.services.workspace_of(state)
            custom = custom_names(await self.services.read_custom_commands(workspace))
        return accepted(parse(text, shell=shell, custom=custom))

    async def question_before(self, agent: AgentId, script: Script) -> str:
        """What a screen says before it runs these steps, and runs them if it is confirmed; or ''.

        Raises `RefusedError` if a step that has to be confirmed names an agent that there is not.
        """
        question = ""
        space = self.services.space
        for step in script:
            if not isinstance(step, CommandStep) or not step.confirm:
                continue
            question = question or step.confirm
            for argument, word in zip(step.command.arguments, step.args.split(), strict=False):
                if argument.kinds == ("agent",):
                    own = await space.log.summary(space.space, agent)
                    await find(space, word, parent=own.parent if own else None)
        return question

    async def play(
        self, agent: AgentId, script: Script, person: Person | None = None
    ) -> list[Outcome]:
        """Carries out a script as `submit` does. The id of `person` is that of the whole script."""
        person = person or Person()
        outcomes: list[Outcome] = []
        current: AgentId | None = agent
        for number, chunk in enumerate(chunks(script)):
            given = person.command_id
            caller = structs.replace(person, command_id=f"{given}:{number}") if given else person
            outcome = await self.step(current, chunk, person=caller)
            outcomes.append(outcome)
            current = outcome.agent
            if isinstance(outcome.answer, refusals.Refusal):
                break
        return outcomes

    async def _sessions_for(self, call: Call) -> ProgramSessions | None:
        """What changes the session of the agent in another program after this command.

        None if the command does nothing with sessions, or if the agent has none, or if this face
        runs the agent: then its driver changes the session. Raises `RefusedError` if sessions
        cannot be changed here.
        """
        row = call.run.command
        if not row.on_session or call.current is None or call.by_model:
            return None
        state = (await call.opened()).state
        if state.session is None or not runs_turns(state.session.session.program):
            return None
        runs = self.services.start_work is not None or self.services.sync_session is not None
        is_run_here = runs and state.origin is None
        if self.services.sessions is None and state.origin and row.on_session == "changes":
            raise RefusedError(refusals.Imported(state.agent, state.origin.source))
        return None if is_run_here else self.services.sessions

    async def _require_allowed(self, call: Call) -> None:
        """Checks what the table says of a command before its handler sees it."""
        row = call.run.command
        if isinstance(call.caller, ModelCall):
            if row.who != "both":
                raise RefusedError(refusals.HumanOnly(row.typed))
        elif not row.during_turn and call.current and await _waits_for_turn(call):
            raise RefusedError(refusals.TurnIsOpen(row.typed))
        if call.run.args and not row.arguments:
            raise RefusedError(refusals.BadArguments(row.line, f"{row.typed} takes no arguments."))


async def _waits_for_turn(call: Call) -> bool:
    """Whether a turn is open that the command must not meet. A repeated one only answers again."""
    is_open = (await call.opened()).state.open is not None
    return is_open and await call.first_answer() is None


async def _on_session(sessions: ProgramSessions, call: Call) -> answers.Answer:
    """Carries out a command on the session of another program; the session follows it."""
    changes = call.run.command.on_session == "changes"
    session = HeldSession(sessions, call.agent, changes=changes)
    try:
        await session.take()
        answer = await HANDLERS[call.run.command.name](structs.replace(call, session=session))
        if not session.is_held:  # it was released for a model, and nothing was stored
            return answer
        return await _synced(sessions, call, answer)
    finally:
        await session.release()


async def _synced(sessions: ProgramSessions, call: Call, answer: answers.Answer) -> answers.Answer:
    """The answer, with how to go on in the program whose session was changed."""
    if not isinstance(answer, answers.Changed | answers.Compacted | answers.PromptToEdit):
        return answer
    changes = call.run.command.on_session == "changes"
    how = await sessions.sync_session(call.agent) if changes else ""
    return structs.replace(answer, message=f"{answer.message} {how}".rstrip())


def _note_without_effect(call: Call, what: str) -> None:
    """Writes a command that recorded no event to the program's log, without its arguments."""
    who = "a model" if call.by_model else "a person"
    _log.info("%s of %s on %s %s", call.run.command.typed, who, call.current or "nobody", what)


def _next_agent(agent: AgentId | None, answer: answers.Answer | refusals.Refusal) -> AgentId | None:
    """The agent that the steps after this answer are for."""
    match answer:
        case answers.ConversationStarted(agent=fresh):
            return fresh
        case answers.Switched(other):
            return other
        case answers.Forked(child=child, taken_over=True):
            return child
        case _:
            return agent
