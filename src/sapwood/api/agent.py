"""One agent, as a Python program holds it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Literal

from msgspec import UNSET

from sapwood.api.handle import Handle
from sapwood.api.text import clean
from sapwood.api.turn import TurnRecorder, item_of, prompt_of
from sapwood.app.checkpointing import checkpoint
from sapwood.app.config import Config
from sapwood.conversation.answers import Answer, ConversationStarted
from sapwood.conversation.model_requests import budget_for, request_for
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import Outcome
from sapwood.core.budget import Budget
from sapwood.core.command_table import TABLE
from sapwood.core.commands import (
    AddPin,
    Archive,
    Clear,
    Compact,
    Configure,
    Focus,
    InterruptTurn,
    KeepLast,
    Kill,
    MaskResults,
    ReadMail,
    RecordTurn,
    Redo,
    RemovePin,
    Rewind,
    SetMark,
    Undo,
    Unfocus,
)
from sapwood.core.content import Got, PromptPart, Said
from sapwood.core.diff import ContextDiff
from sapwood.core.errors import LogError, RefusedError
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.core.settings import SettingsChange
from sapwood.core.state import Letter, State
from sapwood.core.view import Request
from sapwood.runtime.replay import Replayed

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
        await self.do(RecordTurn(self.id, prompt_of(prompt), told, status, clean(reason)))

    async def interrupt(self, reason: str = "") -> str:
        """Stops the open turn, whoever runs it, and keeps what was there."""
        return (await self.do(InterruptTurn(self.id, clean(reason)))).says

    async def submit(self, text: str) -> list[Outcome]:
        """Carries out what a person would type: commands and text, in order.

        Stops at the first refusal, which is the answer of the last outcome. The text can hold any
        command, such as `/kill` or `/system`: never pass text of somebody you do not trust.
        Raises `RefusedError` if a single line names no command.

        >>> import asyncio, sapwood
        >>> async def main() -> None:
        ...     async with sapwood.open(":memory:") as wood:
        ...         agent = await wood.start("lead")
        ...         steps = await agent.submit("/mark T\\nFind the leak.\\n/fork T")
        ...         print(steps[0].message, steps[1].message[:15])
        >>> asyncio.run(main())
        Marked 'T'. Forked. Child:
        """
        return await self.service.submit(self.id, clean(text))

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
        return (await self.do(Rewind(self.id, mark, clean(note)))).says

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
        command = Compact(self.id, clean(summary), keep, clean(ledger), score)
        return (await self.do(command)).says

    async def mask(self, over: int) -> str:
        """Shows tool results so far of more than `over` characters as stubs."""
        return (await self.do(MaskResults(self.id, over))).says

    async def pin(self, name: str, text: str) -> str:
        """Keeps a text in every request, whatever is trimmed."""
        return (await self.do(AddPin(self.id, clean(name), clean(text)))).says

    async def unpin(self, name: str) -> str:
        """Takes a pin out."""
        return (await self.do(RemovePin(self.id, name))).says

    async def focus(self, topic: str, priority: int = 1) -> str:
        """Brings a topic into focus."""
        return (await self.do(Focus(self.id, clean(topic), priority))).says

    async def unfocus(self, topic: str) -> str:
        """Sends a topic to the background."""
        return (await self.do(Unfocus(self.id, clean(topic)))).says

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
            model=UNSET if model is None else clean(model),
            system=UNSET if system is None else clean(system),
            cap=UNSET if cap is None else cap,
            low_water=UNSET if low_water is None else low_water,
            mask_over=UNSET if mask_over is None else mask_over,
            window=UNSET if window is None else window,
            levels=UNSET if levels is None else levels,
        )
        if window is None:
            return (await self.service.configure(self.id, change)).message
        return (await self.do(Configure(self.id, change))).says

    # Files

    async def checkpoint(self) -> str:
        """Saves the files of the workspace: as those before the open turn, or after the last.

        Turns that Sapwood runs do it by themselves; a loop of your own has to ask for it.
        """
        answer = await checkpoint(self.connection, Config(), self.id)
        if isinstance(answer, Refusal):
            raise RefusedError(answer)
        return answer.says

    async def revert(self, turn: int | None = None) -> str:
        """Takes files and context back to the end of a turn, given by the version it starts at.

        Without one, to before the last turn that changed files; after a revert, it takes that back.
        """
        return (await self._answer("revert", "" if turn is None else str(turn))).message

    async def _answer(self, name: str, args: str = "") -> Answer:
        """The answer to a slash command. Raises `RefusedError`."""
        answer = await self.service.answer(self.id, CommandStep(TABLE[name], args))
        if isinstance(answer, Refusal):
            raise RefusedError(answer)
        return answer

    # Other agents

    async def fork(self, mark: str | None = None, *, goal: str = "", name: str = "") -> "Agent":
        """A child that sees this context, or what came after a mark; `goal` is its first prompt."""
        forked = await self.service.fork(self.id, mark, goal=clean(goal), name=clean(name))
        return Agent(self.connection, forked.child)

    async def send(self, to: "Agent | str", text: str) -> str:
        """Sends mail to another agent or id. Mail never carries the user's authority."""
        receiver = to.id if isinstance(to, Agent) else AgentId(to)
        return (await self.service.send(receiver, clean(text), sender=self.id)).message

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
        answer = await self._answer("new")
        assert isinstance(answer, ConversationStarted)
        return Agent(self.connection, answer.agent)

    # Looking

    async def state(self) -> State:
        """What the log adds up to: context, marks, pins, mail, settings."""
        return (await self.opened()).state

    async def request(self, model: str | None = None) -> Request:
        """What the model would be sent now."""
        return await request_for(self.connection, self.id, model)

    async def budget(self) -> Budget:
        """What fills the window, block by block."""
        return await budget_for(self.connection, self.id)

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
        return await held.log.read(held.space, self.id, first, last, limit=limit, backward=backward)

    def follow(self, after: int = 0) -> AsyncIterator[Recorded]:
        """Every event after a version, then each new one as it happens, from any process."""
        return self.connection.log.follow(self.connection.space, self.id, after)

    async def replay(self, version: int | None = None) -> Replayed:
        """What the model saw at a call, rebuilt and checked by hash; by default the last.

        Raises `LogError` when no model was called there.
        """
        with suppress(RefusedError):
            found = (await self.service.replay(self.id, version)).replayed
            if found is not None:
                return found
        where = "the log" if version is None else f"version {version}"
        raise LogError(f"There is no model call at {where} of '{self.id}' to replay.")

    async def diff(self, left: str, right: str | None = None) -> ContextDiff:
        """What differs between two contexts, each a mark or a version; or between one and now."""
        return (await self.service.compare(self.id, left, right)).diff
