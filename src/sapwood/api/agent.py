"""The class `Agent`: one conversation, for Python programs."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeVar, overload

from msgspec import UNSET

from sapwood.api.arguments import (
    count,
    entries_from,
    flag,
    items,
    label,
    new_id,
    optional,
    prompt_parts,
    reader_of,
    recorded_item,
    who,
    with_schema,
)
from sapwood.api.arguments import text as words
from sapwood.api.results import (
    Configured,
    ContextChanged,
    HistoryCompacted,
    Killed,
    MailTaken,
    Marked,
    Result,
    Tagged,
)
from sapwood.api.turn_recorder import AgentHandle, TurnRecorder
from sapwood.api.turn_stream import TurnStream
from sapwood.app.prompt_end import StreamedWords
from sapwood.conversation.answers import (
    Answer,
    Changed,
    ConversationStarted,
    FilesReverted,
    Prompted,
)
from sapwood.conversation.call import Person
from sapwood.conversation.model_requests import budget_for, history_in_view, request_for
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import Outcome
from sapwood.core import commands
from sapwood.core.budget import Budget
from sapwood.core.command_table import TABLE
from sapwood.core.content import PromptPart, RecordedReply, RecordedResult
from sapwood.core.context_diff import ContextDiff
from sapwood.core.erasure import ArchivedConversation, Erasure
from sapwood.core.errors import LogError, RefusedError, accepted
from sapwood.core.events import (
    HUMAN,
    Actor,
    ContextSummarized,
    MailRead,
    MailReceived,
    MarkSet,
    Recorded,
)
from sapwood.core.ids import AgentId, TurnPlace
from sapwood.core.model_calls import Delta
from sapwood.core.refusals import BadValue
from sapwood.core.settings import SettingsChange
from sapwood.core.state import State, UnreadMail
from sapwood.core.tags import Tags
from sapwood.core.turn_numbers import parse_place
from sapwood.core.turn_params import TurnParams
from sapwood.core.view import Request
from sapwood.turns.dispatch import Done
from sapwood.turns.replay import Replayed

_Value = TypeVar("_Value")
_PAGE = 200


def _result(done: Done) -> Result:
    return Result(message=done.message, events=done.events)


class Agent(AgentHandle):
    """One conversation. `Sapwood.start`, `Sapwood.get` and `Sapwood.find` return it.

    A method that changes something returns a value whose `message` is a sentence for the user. It
    raises `RefusedError` if the change is not allowed; the error says what to do instead. With a
    `command_id` the call can be repeated: the same id acts once in the space and returns the first
    result. For another agent or another call, it is refused.
    `actor` is who acts, by default a user without a name. Every method raises `LogError` if the
    database cannot be read or written.

    >>> import asyncio, sapwood
    >>> async def main() -> None:
    ...     async with sapwood.open(":memory:") as db:
    ...         agent = await db.start("demo")
    ...         await agent.record("What is 6 x 7?", "42")
    ...         await agent.mark("EASY")
    ...         await agent.record("What is the meaning of it?", "That is harder.")
    ...         print(await agent.rewind("EASY"))
    ...         print(await agent.undo())
    >>> asyncio.run(main())
    Rewound to 'EASY'.
    Undone: /rewind.
    """

    def __repr__(self) -> str:
        return f"Agent({self.id!r})"

    # The end

    async def erase(self, *, actor: Actor = HUMAN) -> Erasure:
        """Erases this conversation with all its descendants permanently, and returns the record.

        After it no method, search, tail, snapshot, checkpoint or dump of the database has it. The
        text of mail that it sent is replaced by `[erased]` in the logs of its receivers. `actor` is
        who wanted it. An erasure that is interrupted is finished when the database is opened again.
        Raises `RefusedError` if a legal hold covers the conversation.

        >>> import asyncio, sapwood
        >>> async def main() -> None:
        ...     async with sapwood.open(":memory:") as db:
        ...         agent = await db.start("demo")
        ...         await agent.record("My number is 555.", "Noted.")
        ...         record = await agent.erase()
        ...         print(record.agents, record.events, await db.search("number"))
        >>> asyncio.run(main())
        1 2 []
        """
        from sapwood.app.removal import eraser_for

        return await eraser_for(self.connection).erase([self.id], by=str(who(actor)))

    async def archive_to(self, place: str, *, actor: Actor = HUMAN) -> ArchivedConversation:
        """Moves this conversation with all its descendants to object storage; returns the archive.

        `place` is an address such as `s3://bucket/folder` or `file:///folder`. A stub stays: an
        archived agent with the same id, name, owner and labels; search finds it by the beginnings
        of its prompts. `Sapwood.restore` brings everything back. Needs the extra `archive`. Raises
        `RefusedError` if this is no root, if something was added meanwhile, or if a legal hold
        covers it, and `LogError` if the object cannot be written; then nothing was deleted.
        """
        from sapwood.app.removal import archive_agent

        to = words(place, "place")
        return await archive_agent(self.connection, self.id, to, by=str(who(actor)))

    # Turns

    def turn(
        self,
        prompt: str | Sequence[PromptPart] | None = None,
        *,
        lease: float = 60.0,
        take_over: bool = False,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> TurnRecorder:
        """Returns a recorder: `async with agent.turn("…") as turn: await turn.reply("…")`.

        Entering the block starts a turn with `prompt`. Without a prompt it continues the open turn:
        the goal of a child, a prompt of `prompt`, or the turn of a process that died.

        Inside the block this process has a lease of `lease` seconds, which it renews, so that no
        other process runs the same turn. A process that dies holds the turn until its lease ends;
        `take_over` takes the turn up before that, and the other process can change it no more.
        The same `command_id` given twice starts one turn. `actor` is who asks.

        Entering raises `RefusedError` if a turn is already open, if there is none to continue, or
        if another process runs it.
        """
        return TurnRecorder(
            self, prompt, lease=lease, take_over=take_over, command_id=command_id, actor=actor
        )

    async def record(
        self,
        prompt: str | Sequence[PromptPart],
        *items: str | RecordedReply | RecordedResult,
        status: Literal["completed", "interrupted", "failed"] = "completed",
        reason: str = "",
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Result:
        """Records a whole turn that another program ran, in one transaction.

        `items` are replies and tool results in order; a plain text is a reply. `status` is how the
        turn ended, and `reason` why it was interrupted or failed. Raises `RefusedError` if a turn
        is open or a result belongs to no tool call.

        >>> import asyncio, sapwood
        >>> from sapwood import RecordedResult, RecordedReply, ToolCall
        >>> async def main() -> None:
        ...     async with sapwood.open(":memory:") as db:
        ...         agent = await db.start("weather")
        ...         ask = RecordedReply((ToolCall("1", "weather"),))
        ...         cold = RecordedResult("1", "-3 degrees")
        ...         await agent.record("Is it cold?", ask, cold, "Yes.")
        ...         print([message.role for message in (await agent.request()).messages])
        >>> asyncio.run(main())
        ['user', 'assistant', 'user', 'assistant']
        """
        recorded = tuple(recorded_item(item) for item in items)
        command = commands.RecordTurn(self.id, prompt_parts(prompt), recorded, status, reason)
        return _result(await self._give(command, command_id, actor))

    async def interrupt(
        self,
        reason: str = "",
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Result:
        """Stops the open turn in whatever process runs it. Its replies so far stay in the log.

        `reason` is recorded with it. Raises `RefusedError` if no turn is open.
        """
        return _result(await self._give(commands.InterruptTurn(self.id, reason), command_id, actor))

    @overload
    def ask(
        self,
        prompt: str | Sequence[PromptPart],
        *,
        params: TurnParams | None = None,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> TurnStream[str]: ...

    @overload
    def ask(
        self,
        prompt: str | Sequence[PromptPart],
        *,
        output: type[_Value],
        params: TurnParams | None = None,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> TurnStream[_Value]: ...

    def ask(
        self,
        prompt: str | Sequence[PromptPart],
        *,
        output: type[Any] | None = None,
        params: TurnParams | None = None,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> TurnStream[Any]:
        """Sends a prompt and returns the turn: a stream of words and events, with a result.

        `async for` yields each `Delta` and each event until the turn has ended; `await` returns the
        `TurnResult`. A runtime or a worker answers, in this process or in another one. While there
        is none, the call waits, and says so in the log after 30 s. The text is the prompt, whatever
        it begins with. The same `command_id` given twice sends one prompt.

        `output` is the type of the answer, such as a dataclass: the model gets its JSON Schema, and
        the result has the answer as `value`. `params` are parameters of this turn, and `actor` is
        who asks.

        Raises `RefusedError`, when it is used, if a turn is open or the agent has ended.

        >>> import asyncio, sapwood
        >>> from sapwood.testing import FakeModel
        >>> async def main() -> None:
        ...     model = FakeModel(lambda request, heard: "Herons nest in trees.")
        ...     async with sapwood.open(":memory:") as db, sapwood.runtime(db, models=model):
        ...         agent = await db.start("demo", model="planned")
        ...         turn = agent.ask("Where do herons nest?")
        ...         async for item in turn:
        ...             if isinstance(item, sapwood.Delta):
        ...                 print(item.text)
        ...         print(turn.result.usage.output)
        >>> asyncio.run(main())
        Herons nest in trees.
        10
        """
        parts = prompt_parts(prompt)
        sent = params if output is None else with_schema(params, output)

        async def start() -> int:
            asked = self.prompt(parts, params=sent, command_id=command_id, actor=actor)
            return (await asked).turn

        read: Callable[[str], Any] = str if output is None else reader_of(output)
        return TurnStream(self.connection, self.id, start, read)

    async def prompt(
        self,
        text: str | Sequence[PromptPart],
        *,
        params: TurnParams | None = None,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Prompted:
        """Stores a prompt as a new turn and wakes the workers of the database at once.

        The text is the prompt, whatever it begins with: it is safe for text of users. A worker, or
        `turn()` in your own program, answers it. `params` are parameters of this turn alone.
        `command_id` makes the call safe to repeat: the same id stores one prompt. `actor` is who
        asks, by default a user without a name.

        Raises `RefusedError` if a turn is open, the agent has ended, or a budget is spent.

        >>> import asyncio, sapwood
        >>> async def main() -> None:
        ...     async with sapwood.open(":memory:") as db:
        ...         agent = await db.start("lead")
        ...         await agent.prompt("/kill is a command; this is only text.", command_id="r-1")
        ...         await agent.prompt("/kill is a command; this is only text.", command_id="r-1")
        ...         print(len((await agent.request()).messages))
        >>> asyncio.run(main())
        1
        """
        prompted = accepted(
            await self.service.prompt(
                self.id,
                prompt_parts(text),
                actor=who(actor),
                command_id=command_id,
                params=params,
            )
        )
        await self.connection.work_passed()
        return prompted

    async def run_command(self, text: str) -> list[Outcome]:
        """Runs slash commands and prompts as a person types them, and returns their outcomes.

        Never pass untrusted text: it may contain any command, such as `/kill` or `/system`, and a
        command can name other agents. Use `prompt` for the text of users. The steps run in order
        and stop at the first refusal, which is the answer of the last outcome.

        Raises `RefusedError` if `text` is a single line with a command that does not exist.

        >>> import asyncio, sapwood
        >>> async def main() -> None:
        ...     async with sapwood.open(":memory:") as db:
        ...         agent = await db.start("lead")
        ...         steps = await agent.run_command("/mark T\\nFind the leak.\\n/fork T")
        ...         print(steps[0].message, steps[1].message[:15])
        >>> asyncio.run(main())
        Marked 'T'. Forked. Child:
        """
        outcomes = await self.service.submit(self.id, words(text, "text"))
        await self.connection.work_passed()
        return outcomes

    # Context

    async def mark(
        self,
        name: str = "",
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Marked:
        """Sets a mark at the current place, for `rewind`, `fork` and `diff`.

        `name` may be empty: `rewind` without a name goes to the newest mark. Raises `RefusedError`
        if the name is not a word.
        """
        done = await self._give(commands.SetMark(self.id, name), command_id, actor)
        if not done.events:  # this place has the mark already
            mark = (await self.state()).marks[-1]
            return Marked(message=done.message, events=(), name=mark.name, version=mark.version)
        place = done.events[-1].version
        [stored] = await self.events(place, place)
        named = stored.event.name if isinstance(stored.event, MarkSet) else ""
        return Marked(message=done.message, events=done.events, name=named, version=place)

    async def clear(
        self,
        keep: int | None = None,
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> ContextChanged:
        """Removes the history, except the last `keep` turns, from the context. It stays in the log.

        Without `keep` the marks are removed too; `undo` brings them back.

        Raises `RefusedError` if a turn is open or `keep` is less than 1.
        """
        command = commands.Clear(self.id) if keep is None else commands.KeepLast(self.id, keep)
        return await self._moved(command, command_id, actor)

    async def drop(
        self,
        *places: str,
        only_results: bool = False,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> ContextChanged:
        """Drops turns (`4`, `4-9`) or tool results (`4.2`) from the middle of the context.

        With `only_results`, of these turns only the tool results, which leave a one-line stub.
        Raises `RefusedError` if there is no such turn, if it has the last request, or if a turn is
        open.
        """
        command = commands.Drop(self.id, self._places(places), only_results)
        return await self._moved(command, command_id, actor)

    async def restore(
        self,
        *places: str,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> ContextChanged:
        """Brings dropped turns and tool results back to their place in the context.

        Raises `RefusedError` if there is no such turn or a turn is open.
        """
        return await self._moved(commands.Restore(self.id, self._places(places)), command_id, actor)

    def _places(self, typed: tuple[object, ...]) -> tuple[TurnPlace, ...]:
        texts = [str(each) if type(each) is int else words(each, "places") for each in typed]
        places = [parse_place(each) for each in texts]
        wrong = [each for each, place in zip(texts, places, strict=True) if place is None]
        if wrong or not typed:
            rule = "turns such as '4', '4-9' or '4.2'"
            raise RefusedError(BadValue("places", rule, " ".join(wrong) or "nothing"))
        return tuple([place for place in places if place is not None])

    async def rewind(
        self,
        mark: str | None = None,
        *,
        note: str = "",
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> ContextChanged:
        """Removes everything after `mark`, by default the newest mark, from the context.

        `note` is sent to the model with the next prompt. Raises `RefusedError` if there is no such
        mark or a turn is open.
        """
        return await self._moved(commands.Rewind(self.id, mark, note), command_id, actor)

    async def undo(
        self,
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> ContextChanged:
        """Undoes the last change of the context.

        Raises `RefusedError` if there is none or a turn is open.
        """
        return await self._moved(commands.Undo(self.id), command_id, actor)

    async def redo(
        self,
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> ContextChanged:
        """Undoes the last `undo`. Raises `RefusedError` if there is none or a turn is open."""
        return await self._moved(commands.Redo(self.id), command_id, actor)

    async def compact(
        self,
        summary: str,
        *,
        keep: int = 0,
        ledger: str = "",
        score: float | None = None,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> HistoryCompacted:
        """Replaces the history in the context, except the last `keep` turns, by `summary`.

        `ledger` is text for the end of the summary that no model wrote, such as a list of changed
        files. `score` is the result of your own check of the summary, from 0 to 1. Raises
        `RefusedError` if a turn is open or the summary is empty.
        """
        command = commands.Compact(self.id, summary, keep, ledger, score)
        moved = await self._moved(command, command_id, actor)
        stored = await self._summary_in(moved)
        return HistoryCompacted(
            message=moved.message,
            events=moved.events,
            turns=moved.turns,
            tokens=moved.tokens,
            summary=stored.text if stored else "",
            score=stored.score if stored else None,
        )

    async def _summary_in(self, moved: ContextChanged) -> ContextSummarized | None:
        """The summary that a compaction stored; None if there was nothing to replace."""
        if not moved.events:
            return None
        found = await self.connection.log.read(
            self.connection.space, self.id, moved.events[0].version, moved.events[-1].version
        )
        return next(
            (each.event for each in found if isinstance(each.event, ContextSummarized)), None
        )

    async def mask(
        self,
        over: int,
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Result:
        """Replaces tool results of more than `over` characters in the context by short stubs.

        Applies to the results so far. Raises `RefusedError` if `over` is less than 1.
        """
        return _result(await self._give(commands.MaskResults(self.id, over), command_id, actor))

    async def pin(
        self,
        name: str,
        text: str,
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Result:
        """Adds a text to every request, also after the history is cleared or compacted.

        A pin of the same name is replaced. Raises `RefusedError` if the name or the text is empty,
        the text is too long, or there are too many pins.
        """
        return _result(await self._give(commands.AddPin(self.id, name, text), command_id, actor))

    async def unpin(
        self,
        name: str,
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Result:
        """Removes a pin. Raises `RefusedError` if there is no pin of this name."""
        return _result(await self._give(commands.RemovePin(self.id, name), command_id, actor))

    async def focus(
        self,
        topic: str,
        priority: int = 1,
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Result:
        """Adds a topic to the focus of the agent, or changes its priority; 1 is the highest.

        The focus is stored in the log for other tools. It does not change the next request. Raises
        `RefusedError` if the topic is empty or there are too many topics.
        """
        return _result(
            await self._give(commands.Focus(self.id, topic, priority), command_id, actor)
        )

    async def unfocus(
        self,
        topic: str,
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Result:
        """Moves a topic from the focus to the background. Raises `RefusedError` if it is empty."""
        return _result(await self._give(commands.Unfocus(self.id, topic), command_id, actor))

    async def configure(
        self,
        *,
        model: str | None = None,
        system: str | None = None,
        cap: int | None = None,
        low_water: float | None = None,
        mask_over: int | None = None,
        offer_drops: int | None = None,
        window: int | None = None,
        levels: tuple[float, float, float] | None = None,
        params: TurnParams | None = None,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Configured:
        """Changes the given settings of the agent. The others keep their values.

        `model` is the model to call and `system` the system prompt. `cap` is the largest size of
        the history in tokens, 0 for no limit; a history above it is trimmed to the share
        `low_water` of it. Tool results over `mask_over` characters are replaced by stubs. When the
        results of older turns have more than `offer_drops` tokens, the model is told that it can
        drop them. `window` is the context window of the model in tokens, by default that of the
        given model. `levels` are the shares of the window at which the warning levels 1 to 3
        start. `params` are the parameters of its turns, such as the temperature.

        Raises `RefusedError` if a value is not valid, or if the context does not fit the window of
        the given model. With an explicit `window` the size is not checked.
        """
        change = SettingsChange(
            model=UNSET if model is None else label(model, "model"),
            system=UNSET if system is None else system,
            cap=UNSET if cap is None else cap,
            low_water=UNSET if low_water is None else low_water,
            mask_over=UNSET if mask_over is None else mask_over,
            offer_drops=UNSET if offer_drops is None else offer_drops,
            window=UNSET if window is None else window,
            levels=UNSET if levels is None else levels,
            params=UNSET if params is None else params,
        )
        if window is None:
            done = await self.service.configure(
                self.id, change, actor=who(actor), command_id=command_id
            )
        else:
            done = await self._give(commands.Configure(self.id, change), command_id, actor)
        settings = (await self.state()).settings
        return Configured(message=done.message, events=done.events, settings=settings)

    # Files

    async def checkpoint(
        self,
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Result:
        """Saves the files of the workspace, as they were before the open turn or after the last.

        Sapwood saves them automatically in the turns that it runs. If your program runs the turns,
        call this method. Raises `RefusedError` if the files cannot be saved.
        """
        saved = await self.service.checkpoint(self.id, actor=who(actor), command_id=command_id)
        return Result(message=saved.message, events=saved.events)

    async def revert(
        self,
        turn: int | str | None = None,
        *,
        anyway: bool = False,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Result:
        """Restores the files and the context as they were before a turn.

        `turn` is the number of that turn, `NAME/3` for a turn of another conversation in the same
        folder, or `back` to undo the last revert. Without it, reverts the last turn that changed
        files and was not reverted yet. `anyway` restores files that were saved on another git
        branch. Raises `RefusedError` if nothing can be restored.
        """
        if isinstance(turn, str):
            typed = words(turn, "turn")
        else:
            typed = "" if turn is None else str(count(turn, "turn"))
        args = f"{typed}{' --anyway' if flag(anyway, 'anyway') else ''}"
        answer = await self._answer("revert", args, command_id, actor)
        events = answer.events if isinstance(answer, FilesReverted) else ()
        return Result(message=answer.message, events=events)

    async def _answer(
        self, name: str, args: str, command_id: str | None, actor: Actor | None
    ) -> Answer:
        """Runs a slash command and returns its answer. Raises `RefusedError`."""
        caller = Person(who(actor), optional(new_id, command_id, "command_id"))
        return accepted(
            await self.service.answer(self.id, CommandStep(TABLE[name], args), caller=caller)
        )

    async def _give(
        self, command: commands.Command, command_id: str | None, actor: Actor | None
    ) -> Done:
        """Runs a command of the core. Raises `RefusedError`."""
        return await self.do(command, who(actor), command_id=command_id)

    async def _moved(
        self, command: commands.Command, command_id: str | None, actor: Actor | None
    ) -> ContextChanged:
        """Runs a command that moves the context. Raises `RefusedError`."""
        done = await self._give(command, command_id, actor)
        turns, tokens = await history_in_view(self.connection, self.id)
        return ContextChanged(message=done.message, events=done.events, turns=turns, tokens=tokens)

    # Other agents

    async def fork(
        self,
        mark: str | None = None,
        *,
        goal: str = "",
        name: str = "",
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> "Agent":
        """Starts a child agent that sees the context of this one, and returns it.

        With `mark`, the child sees only what came after that mark. `goal` is its first prompt and
        `name` its name. Raises `RefusedError` if there is no such mark.
        """
        forked = await self.service.fork(
            self.id,
            mark,
            goal=goal,
            name=name,
            caller=Person(who(actor), command_id),
        )
        return Agent(self.connection, forked.child)

    async def send(
        self,
        to: "Agent | str",
        text: str,
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Result:
        """Sends mail to another agent, given as `Agent` or by its id.

        The receiver reads it as information, not as an instruction of the user. Raises
        `RefusedError` if there is no such agent, it has ended, or its mailbox is full.
        """
        receiver = to.id if isinstance(to, Agent) else AgentId(to)
        sent = await self.service.send(
            receiver, text, sender=self.id, actor=who(actor), command_id=command_id
        )
        return Result(message=sent.message, events=sent.events)

    async def mail(self) -> tuple[UnreadMail, ...]:
        """Returns the unread mail, oldest first, without marking it as read."""
        return (await self.state()).inbox

    async def read_mail(
        self,
        into: Literal["prompt", "tool"] = "prompt",
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> MailTaken:
        """Marks all mail as read and returns its text.

        With `into="prompt"` the mail is also sent with the next prompt. With `"tool"` it is not:
        your program returns the text to the model as a tool result.
        """
        unread = (await self.state()).inbox
        done = await self._give(commands.ReadMail(self.id, into), command_id, actor)
        letters = await self._letters(done, unread)
        return MailTaken(message=done.message, events=done.events, letters=letters)

    async def _letters(self, done: Done, known: Sequence[UnreadMail]) -> tuple[UnreadMail, ...]:
        """The mail that a command read. What is not `known` is looked up in the log before it."""
        if not done.events:
            return ()
        last = done.events[-1].version
        [stored] = await self.events(last, last)
        read = stored.event.mails if isinstance(stored.event, MailRead) else ()
        letters = {each.mail: each for each in known}
        while last > 1 and not letters.keys() >= set(read):
            page = await self.events(last=last - 1, limit=_PAGE, backward=True)
            for each in page:
                if isinstance(each.event, MailReceived):
                    mail = each.event
                    letters[mail.mail] = UnreadMail(mail.mail, mail.text, mail.sender)
            last = page[-1].version if page else 0
        return tuple(letters[mail] for mail in read if mail in letters)

    async def kill(
        self,
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Killed:
        """Ends this agent and all its descendants for good. Their logs stay readable."""
        done = await self._give(commands.Kill(self.id), command_id, actor)
        agents = tuple(dict.fromkeys(place.agent for place in done.events))
        return Killed(message=done.message, events=done.events, agents=agents)

    async def archive(
        self,
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Result:
        """Archives this agent: it accepts no more commands. Its log stays readable.

        Raises `RefusedError` if a turn is open.
        """
        return _result(await self._give(commands.Archive(self.id), command_id, actor))

    async def unarchive(
        self,
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Result:
        """Makes this archived agent running again. Raises `RefusedError` if it is not archived."""
        return _result(await self._give(commands.Unarchive(self.id), command_id, actor))

    async def rename(
        self,
        name: str,
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Result:
        """Gives this agent another name; its id stays. Raises `RefusedError` for a blank name."""
        return _result(await self._give(commands.Rename(self.id, name), command_id, actor))

    async def label(
        self,
        *labels: str,
        remove: Sequence[str] = (),
        owner: str | None = None,
        metadata: Mapping[str, str] | None = None,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Tagged:
        """Adds labels to this agent, and changes its owner and its metadata.

        `remove` are labels to remove. `owner` replaces the owner; empty text removes it. `metadata`
        replaces the entries of the same names; an empty value removes one. No model sees any of
        this. Raises `RefusedError` if a value is too long or there are too many.

        >>> import asyncio, sapwood
        >>> async def main() -> None:
        ...     async with sapwood.open(":memory:") as db:
        ...         agent = await db.start(owner="user-42")
        ...         print((await agent.label("vip", metadata={"plan": "gold"})).labels)
        ...         print(len(await db.agents(where=sapwood.Where(label="vip"))))
        >>> asyncio.run(main())
        ('vip',)
        1
        """
        command = commands.TagAgent(
            self.id,
            optional(words, owner, "owner"),
            labels,
            tuple(items(remove, "remove")),
            entries_from(metadata),
        )
        done = await self._give(command, command_id, actor)
        tags = (await self.state()).tags or Tags()
        entries = {entry.name: entry.value for entry in tags.metadata}
        return Tagged(
            message=done.message,
            events=done.events,
            owner=tags.owner,
            labels=tags.labels,
            metadata=entries,
        )

    async def new(
        self,
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> "Agent":
        """Archives this agent and returns a new one with the same workspace, settings and pins.

        Raises `RefusedError` if a turn is open.
        """
        answer = await self._answer("new", "", command_id, actor)
        if isinstance(answer, Changed):  # a server repeats its first answer by its events
            started = next(each.agent for each in answer.events if each.agent != self.id)
            return Agent(self.connection, started)
        assert isinstance(answer, ConversationStarted)
        return Agent(self.connection, answer.agent)

    # Inspection

    async def state(self) -> State:
        """Returns the current state: context, marks, pins, mail, settings."""
        return (await self.opened()).state

    async def request(self, model: str | None = None) -> Request:
        """Returns the request that the model would get now; `model` replaces the agent's model."""
        return await request_for(self.connection, self.id, optional(label, model, "model"))

    async def budget(self) -> Budget:
        """Returns the size in tokens of each part of the context, such as pins and history."""
        return await budget_for(self.connection, self.id)

    async def events(
        self,
        first: int = 1,
        last: int | None = None,
        *,
        limit: int | None = None,
        backward: bool = False,
    ) -> list[Recorded]:
        """Returns the events of the log with versions `first` to `last`, at most `limit` of them.

        They are in the order of their versions, or in the opposite order if `backward`.
        """
        return await self.connection.log.read(
            self.connection.space,
            self.id,
            count(first, "first"),
            optional(count, last, "last"),
            limit=optional(count, limit, "limit"),
            backward=flag(backward, "backward"),
        )

    def follow(self, after: int = 0) -> AsyncIterator[Recorded]:
        """Yields every event after a version, then each new one, from any process. Never ends."""
        return self.connection.log.follow(self.connection.space, self.id, count(after, "after"))

    async def watch(self, after: int = 0, size: int = 0) -> AsyncIterator[Delta | Recorded]:
        """Yields as `follow` does, and words of replies as deltas while they arrive. Never ends.

        Each word comes once. Who begins in the middle of a reply gets its words so far first. Go on
        after the last item that you have with `watch(item.version)` for an event, and with
        `watch(item.version, item.size)` for a delta. At `reply.lost`, discard the words of the
        reply that was arriving: its process ended, and the model is asked again.
        """
        start, had = count(after, "after"), count(size, "size")
        words, log = StreamedWords(start, had), self.connection.log
        async for what in log.watch(self.connection.space, self.id, start):
            for delta in words.deltas_of(what):
                yield delta
            if isinstance(what, Recorded):
                yield what

    async def replay(self, version: int | None = None) -> Replayed:
        """Rebuilds the request of a model call from the log and compares its hash.

        `version` is the version of the call, by default the last call. Raises `LogError` if there
        is no model call at this version.
        """
        at = optional(count, version, "version")
        with suppress(RefusedError):
            found = (await self.service.replay(self.id, at)).replayed
            if found is not None:
                return found
        where = "the log" if at is None else f"version {at}"
        raise LogError(f"There is no model call at {where} of '{self.id}' to replay.")

    async def diff(self, left: str, right: str | None = None) -> ContextDiff:
        """Compares two contexts and returns the turns that only one of them has.

        `left` and `right` are marks or numbers of turns. Without `right`, `left` is compared with
        the current context. Raises `RefusedError` if there is no such mark or turn.
        """
        first, second = label(left, "left"), optional(label, right, "right")
        return (await self.service.compare(self.id, first, second)).diff
