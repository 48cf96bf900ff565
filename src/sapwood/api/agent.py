"""One agent, as a Python program holds it."""

from collections.abc import AsyncIterator, Sequence
from typing import Literal

from msgspec import UNSET, structs

from sapwood.api.arguments import count, flag, item_of, label, optional, prompt_of
from sapwood.api.arguments import text as words
from sapwood.api.handle import Handle
from sapwood.api.turn import TurnRecorder
from sapwood.app.checkpointing import checkpoint, revert
from sapwood.app.config import Config
from sapwood.core.budget import Budget, budget_of
from sapwood.core.commands import (
    AddPin,
    Archive,
    Clear,
    Compact,
    Configure,
    Focus,
    Fork,
    InterruptTurn,
    KeepLast,
    Kill,
    MaskResults,
    ReadMail,
    RecordTurn,
    Redo,
    RemovePin,
    Rewind,
    Send,
    SetMark,
    Succeed,
    Undo,
    Unfocus,
)
from sapwood.core.content import Got, PromptPart, Said
from sapwood.core.diff import ContextDiff, diff
from sapwood.core.errors import LogError, RefusedError
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId
from sapwood.core.live import Live
from sapwood.core.refusals import Refusal, UnknownMark, nearest
from sapwood.core.settings import SettingsChange
from sapwood.core.slash import parse
from sapwood.core.state import Letter, State
from sapwood.core.view import Request, view
from sapwood.runtime.dispatch import Done
from sapwood.runtime.fresh import new_agent_id, new_mail_id
from sapwood.runtime.opening import Opened, read_live
from sapwood.runtime.replay import Replayed, last_call, replay
from sapwood.runtime.submission import Outcome, carry_out

__all__ = ["Agent"]


class Agent(Handle):
    """One conversation. Made by `Sapwood.start` or `Sapwood.agent`, never directly.

    Every method that changes something raises `RefusedError` when it may not, with a sentence
    that says what to do instead, and returns the line that a person would be shown.

    >>> import asyncio, sapwood
    >>> async def main() -> None:
    ...     async with sapwood.open(":memory:") as wood:
    ...         agent = await wood.start("demo")
    ...         await agent.record("What is 6 x 7?", "42")
    ...         await agent.mark("EASY")
    ...         await agent.record("What is the meaning of it?", "That is harder.")
    ...         print(await agent.rewind("EASY"))
    ...         print(await agent.undo())
    >>> asyncio.run(main())
    Rewound to 'EASY'.
    Undone.
    """

    def __repr__(self) -> str:
        return f"Agent({self.id!r})"

    # Turns

    def turn(self, prompt: str | Sequence[PromptPart] | None = None) -> TurnRecorder:
        """Opens a turn: `async with agent.turn("…") as turn: await turn.reply("…")`.

        Without a prompt it takes up the turn that is open: the goal of a child, a submitted
        prompt, or what a process that died left behind.
        """
        return TurnRecorder(self, prompt)

    async def record(
        self,
        prompt: str | Sequence[PromptPart],
        *items: str | Said | Got,
        status: Literal["completed", "interrupted", "failed"] = "completed",
        reason: str = "",
    ) -> None:
        """A whole turn that ran elsewhere, in one transaction.

        After the prompt come replies and tool results in order; a plain text is a reply.

        >>> import asyncio, sapwood
        >>> from sapwood import Got, Said, ToolCall
        >>> async def main() -> None:
        ...     async with sapwood.open(":memory:") as wood:
        ...         agent = await wood.start("weather")
        ...         ask = Said((ToolCall("1", "weather"),))
        ...         await agent.record("Is it cold?", ask, Got("1", "-3 degrees"), "Yes.")
        ...         print([message.role for message in (await agent.request()).messages])
        >>> asyncio.run(main())
        ['user', 'assistant', 'user', 'assistant']
        """
        told = tuple(item_of(item) for item in items)
        await self.do(RecordTurn(self.id, prompt_of(prompt), told, status, reason))

    async def interrupt(self, reason: str = "") -> str:
        """Stops the open turn, whoever runs it, and keeps what was there."""
        return (await self.do(InterruptTurn(self.id, reason))).says

    async def submit(self, text: str) -> list[Outcome]:
        """What a person would type: commands and text, carried out in order.

        >>> import asyncio, sapwood
        >>> async def main() -> None:
        ...     async with sapwood.open(":memory:") as wood:
        ...         agent = await wood.start("lead")
        ...         steps = await agent.submit("/mark T\\nFind the leak.\\n/fork T")
        ...         print(steps[0].done.says, steps[1].done.says[:15])
        >>> asyncio.run(main())
        Marked 'T'. Forked. Child:
        """
        script = parse(words(text, "text"))
        if isinstance(script, Refusal):
            raise RefusedError(script)
        held = self.connection
        return await carry_out(
            held.log, held.space, held.dispatcher, self.id, script, self._fit_model
        )

    # Context

    async def mark(self, name: str = "") -> str:
        """Names this place, to come back to or to fork from."""
        return (await self.do(SetMark(self.id, name))).says

    async def clear(self, keep: int | None = None) -> str:
        """Starts afresh, or keeps the last `keep` turns in view."""
        command = Clear(self.id) if keep is None else KeepLast(self.id, keep)
        return (await self.do(command)).says

    async def rewind(self, mark: str | None = None, *, note: str = "") -> str:
        """Goes back to a mark, or to the newest; `note` reaches the model with the next prompt."""
        return (await self.do(Rewind(self.id, mark, note))).says

    async def undo(self) -> str:
        """Takes the last context command back."""
        return (await self.do(Undo(self.id))).says

    async def redo(self) -> str:
        """Takes the last undo back."""
        return (await self.do(Redo(self.id))).says

    async def compact(
        self, summary: str, *, keep: int = 0, ledger: str = "", score: float | None = None
    ) -> str:
        """Puts a summary in place of the history, but for the last `keep` turns.

        `ledger` is what is known without a model, such as files changed; it stands below the
        summary. `score`, from 0 to 1, says how well a check of yours found the summary to hold.
        """
        command = Compact(self.id, summary, keep, ledger, score)
        return (await self.do(command)).says

    async def mask(self, over: int) -> str:
        """Shows tool results so far of more than `over` characters as stubs."""
        return (await self.do(MaskResults(self.id, over))).says

    async def pin(self, name: str, text: str) -> str:
        """Keeps a text in every request, whatever is trimmed."""
        return (await self.do(AddPin(self.id, name, text))).says

    async def unpin(self, name: str) -> str:
        """Takes a pin out."""
        return (await self.do(RemovePin(self.id, name))).says

    async def focus(self, topic: str, priority: int = 1) -> str:
        """Brings a topic into focus."""
        return (await self.do(Focus(self.id, topic, priority))).says

    async def unfocus(self, topic: str) -> str:
        """Sends a topic to the background."""
        return (await self.do(Unfocus(self.id, topic))).says

    async def configure(
        self,
        *,
        model: str | None = None,
        system: str | None = None,
        cap: int | None = None,
        low_water: float | None = None,
        mask_over: int | None = None,
        window: int | None = None,
        levels: tuple[float, float, float] | None = None,
    ) -> str:
        """Changes settings; what is not named stays.

        Another model brings its window along, and is refused if what is in view does not fit it;
        where you name the `window` yourself, you are believed.
        """
        change = SettingsChange(
            model=UNSET if model is None else label(model, "model"),
            system=UNSET if system is None else system,
            cap=UNSET if cap is None else cap,
            low_water=UNSET if low_water is None else low_water,
            mask_over=UNSET if mask_over is None else mask_over,
            window=UNSET if window is None else window,
            levels=UNSET if levels is None else levels,
        )
        if change.model and window is None:
            change = await self._switched(change.model, change)
        return (await self.do(Configure(self.id, change))).says

    async def _switched(self, model: str, change: SettingsChange) -> SettingsChange:
        fitting = await self._fit_model(model, self.id)
        if isinstance(fitting, Refusal):
            raise RefusedError(fitting)
        return structs.replace(change, **fitting.given())

    async def _fit_model(self, model: str, agent: AgentId) -> SettingsChange | Refusal:
        from sapwood.app.choosing import fit_model

        return await fit_model(self.connection, model, agent)

    # Files

    async def checkpoint(self) -> str:
        """Saves the files of the workspace: as those before the open turn, or after the last.

        Turns that Sapwood runs do it by themselves; a loop of your own has to ask for it.
        """
        return self._says(await checkpoint(self.connection, Config(), self.id))

    async def revert(self, turn: int | None = None) -> str:
        """Takes files and context back to the end of a turn, given by the version it starts at.

        Without one, to before the last turn that changed files; after a revert, it takes that back.
        """
        typed = "" if turn is None else str(count(turn, "turn"))
        return self._says(await revert(self.connection, Config(), self.id, typed))

    def _says(self, answer: Done | Refusal) -> str:
        if isinstance(answer, Refusal):
            raise RefusedError(answer)
        return answer.says

    # Other agents

    async def fork(self, mark: str | None = None, *, goal: str = "", name: str = "") -> "Agent":
        """A child that sees this context, or what came after a mark; `goal` is its first prompt."""
        child = new_agent_id()
        await self.do(Fork(self.id, child, mark, goal, name=name))
        return Agent(self.connection, child)

    async def send(self, to: "Agent | str", text: str) -> str:
        """Sends mail to another agent or id. Mail never carries the user's authority."""
        receiver = to.id if isinstance(to, Agent) else AgentId(to)
        return (await self.do(Send(receiver, new_mail_id(), text, sender=self.id))).says

    async def mail(self) -> tuple[Letter, ...]:
        """Unread mail, oldest first; looking does not read it."""
        return (await self.state()).inbox

    async def read_mail(self, into: Literal["prompt", "tool"] = "prompt") -> str:
        """Reads all mail. It goes out with the next prompt, or a tool result carries it."""
        return (await self.do(ReadMail(self.id, into))).says

    async def kill(self) -> str:
        """Ends this agent and all its descendants. Their logs stay."""
        return (await self.do(Kill(self.id))).says

    async def archive(self) -> str:
        """Puts this agent to rest."""
        return (await self.do(Archive(self.id))).says

    async def new(self) -> "Agent":
        """Archives this agent and starts a fresh one with its workspace, settings and pins."""
        successor = new_agent_id()
        await self.do(Succeed(self.id, successor))
        return Agent(self.connection, successor)

    # Looking

    async def state(self) -> State:
        """What the log adds up to: context, marks, pins, mail, settings."""
        return (await self.opened()).state

    async def request(self, model: str | None = None) -> Request:
        """What the model would be sent now."""
        named = optional(label, model, "model")
        opened = await self.opened()
        return view(opened.state, opened.live, named)

    async def budget(self) -> Budget:
        """What fills the window, block by block."""
        opened = await self.opened()
        counter = self.connection.counter_for(opened.state.settings.model)
        return budget_of(opened.state, opened.live, counter)

    async def events(
        self,
        first: int = 1,
        last: int | None = None,
        *,
        limit: int | None = None,
        backward: bool = False,
    ) -> list[Recorded]:
        """The log itself, versions `first` to `last`, newest first if `backward`."""
        held = self.connection
        return await held.log.read(
            held.space,
            self.id,
            count(first, "first"),
            optional(count, last, "last"),
            limit=optional(count, limit, "limit"),
            backward=flag(backward, "backward"),
        )

    def follow(self, after: int = 0) -> AsyncIterator[Recorded]:
        """Every event after a version, then each new one as it happens, from any process."""
        return self.connection.log.follow(self.connection.space, self.id, count(after, "after"))

    async def replay(self, version: int | None = None) -> Replayed:
        """What the model saw at a call, rebuilt and checked by hash; by default the last."""
        held = self.connection
        asked = optional(count, version, "version")
        at = await last_call(held.log, held.space, self.id) if asked is None else asked
        found = await replay(held.log, held.space, self.id, at) if at is not None else None
        if found is None:
            where = "the log" if asked is None else f"version {asked}"
            raise LogError(f"There is no model call at {where} of '{self.id}' to replay.")
        return found

    async def diff(self, left: str, right: str | None = None) -> ContextDiff:
        """What differs between the contexts of two marks, or between a mark and now."""
        first, second = label(left, "left"), optional(label, right, "right")
        opened = await self.opened()
        one = await self._at_mark(opened, first)
        other = opened.live if second is None else await self._at_mark(opened, second)
        return diff(one, other)

    async def _at_mark(self, opened: Opened, name: str) -> Live:
        for mark in opened.state.marks:
            if mark.name == name:
                held = self.connection
                return await read_live(held.log, held.space, opened.state, context=mark.context)
        names = [mark.name for mark in opened.state.marks if mark.name]
        raise RefusedError(UnknownMark(name, nearest(name, names)))
