"""Compaction: the agent's own model summarises, the log checks it, and only then is anything cut.

The request is the present one with an instruction after it, so that the provider's cache serves
all of the prefix. A summary that lacks what mattered gets one repair round; one that saves nothing
is not used. Whatever fails, nothing is trimmed, and what was used for it is in the account.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from sapwood.core.calling import Answer, Failure, ToolSpec
from sapwood.core.commands import Compact, DropSummary
from sapwood.core.content import Text, Usage
from sapwood.core.counting import Counter
from sapwood.core.errors import LogError
from sapwood.core.events import SYSTEM
from sapwood.core.ids import AgentId
from sapwood.core.ledger import ledger_of, render_ledger
from sapwood.core.measure import calibrated, history
from sapwood.core.probes import Checked, check_summary, probes_of
from sapwood.core.refusals import Refusal, TurnIsOpen
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.core.view import Request, view
from sapwood.runtime.dispatch import Dispatcher, Done
from sapwood.runtime.fresh import given
from sapwood.runtime.manifest import manifest_of
from sapwood.runtime.model import ModelAccess
from sapwood.runtime.opening import Opened
from sapwood.runtime.tracing import Tracing, Untraced

__all__ = ["INSTRUCTION", "REPAIR", "Compactor"]

INSTRUCTION = (
    "Summarise this conversation for yourself: after this, the summary is all that you will see "
    "of it. Keep what was asked, what was decided and why, what was done and in which files, what "
    "was tried and failed, and what is still open. Write names of files, functions and commands "
    "exactly. Answer with the summary alone, and call no tool."
)
REPAIR = "Your summary lacks the following, which mattered. Write it again, with them: {missing}."
ENOUGH = 0.8


class _Draft(Struct, frozen=True):
    text: str
    checked: Checked


class _Account(Struct):
    """What the calls of one compaction used, whatever comes of it."""

    usage: Usage = Usage(0)


class Compactor:
    """Compacts agents of one space."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        models: ModelAccess,
        counter_for: Callable[[str], Counter],
        tools: Sequence[ToolSpec] = (),
        tracing: Tracing | None = None,
    ) -> None:
        self._dispatcher = dispatcher
        self._models = models
        self._counter_for = counter_for
        self._tools = tools
        self._tracing = tracing or Untraced()

    async def compact(self, agent: AgentId, keep: int = 0) -> Done | Refusal:
        """Puts a checked summary in place of all but the last turns. Raises `Failure`."""
        opened = await self._dispatcher.open(agent)
        if opened.state.open is not None:
            return TurnIsOpen("/compact")
        return await self._compacted(opened, keep)

    async def complete(self, agent: AgentId, keep: int = 0) -> Done | Refusal:
        """Completes the open turn of a model that asked to compact, with a checked summary.

        Raises `Failure`. Where nothing comes of it the turn stays open.
        """
        return await self._compacted(await self._dispatcher.open(agent), keep)

    async def _compacted(self, opened: Opened, keep: int) -> Done | Refusal:
        state, turns = opened.state, opened.live.all_turns
        leaving = turns[: max(0, len(turns) - max(0, keep))]
        if not leaving:
            return Done(f"Nothing to compact: {len(turns)} turns in view.")
        with self._tracing.compaction(state) as ended:
            account = _Account()
            try:
                answer = await self._written(opened, leaving, keep, account, ended)
            except BaseException as error:  # an interrupt too leaves something to pay
                await self._drop(state, account, str(error) or "interrupted")
                raise
            if isinstance(answer, Refusal):
                await self._drop(state, account, answer.sentence)
            elif not answer.events:
                await self._drop(state, account, answer.says)
            return answer

    async def _drop(self, state: State, account: _Account, reason: str) -> None:
        """Stores what was used for nothing. Where the log is away, its error is told already."""
        if account.usage == Usage(0):
            return
        command = DropSummary(state.agent, state.settings.model, account.usage, reason)
        with suppress(LogError):
            await self._dispatcher.dispatch(command, given(SYSTEM))

    async def _written(
        self,
        opened: Opened,
        leaving: Sequence[Turn],
        keep: int,
        account: _Account,
        ended: Callable[[Compact], None],
    ) -> Done | Refusal:
        state, ledger = opened.state, ledger_of(leaving)
        draft = await self._summarise(opened, probes_of(leaving, ledger), account)
        listed = render_ledger(ledger)
        if not self._saves(opened, draft.text + listed):
            return Done("The summary is no shorter than what it replaces. Nothing was changed.")
        command = Compact(
            state.agent,
            draft.text,
            keep,
            listed,
            round(draft.checked.score, 3),
            state.settings.model,
            account.usage,
            state.context.tip,
        )
        ended(command)
        return await self._dispatcher.dispatch(command, given(SYSTEM))

    async def _summarise(self, opened: Opened, probes: Sequence[str], account: _Account) -> _Draft:
        draft = await self._ask(opened, INSTRUCTION, probes, account)
        if draft.checked.score >= ENOUGH:
            return draft
        missing = ", ".join(draft.checked.missing)
        again = f"{INSTRUCTION}\n\n{draft.text}\n\n{REPAIR.format(missing=missing)}"
        repaired = await self._ask(opened, again, probes, account)
        return repaired if repaired.checked.score >= draft.checked.score else draft

    async def _ask(
        self, opened: Opened, instruction: str, probes: Sequence[str], account: _Account
    ) -> _Draft:
        # As it will be stored: what is recorded of the call must be what was sent.
        instruction = self._dispatcher.masked(instruction)
        request = view(opened.state, opened.live, instruction=instruction)
        await self._record(opened, request, instruction)
        answer = await self._answer(opened.state, request)
        account.usage += answer.usage or Usage(0)
        if answer.ended != "done":
            raise Failure("cut", "The model did not finish its summary. Nothing was trimmed.")
        text = "\n\n".join(part.text for part in answer.parts if isinstance(part, Text)).strip()
        if not text:
            raise Failure("other", "The model wrote no summary. Nothing was trimmed.")
        return _Draft(text, check_summary(text, probes))

    async def _record(self, opened: Opened, request: Request, instruction: str) -> None:
        counter = self._counter_for(request.model)
        manifest = manifest_of(opened, request, self._tools, counter, instruction)
        stored = await self._dispatcher.dispatch(manifest, given(SYSTEM))
        if isinstance(stored, Refusal):
            raise Failure("other", "The conversation went on meanwhile. Nothing was trimmed.")

    async def _answer(self, state: State, request: Request) -> Answer:
        with self._tracing.call(state, request) as heard:
            async for piece in self._models.stream(request, self._tools):
                if isinstance(piece, Answer):
                    heard(piece)
                    return piece
            raise Failure("cut", "The summary ended before it was whole. Nothing was trimmed.")

    def _saves(self, opened: Opened, summary: str) -> bool:
        counter = self._counter_for(opened.state.settings.model)
        ratio = opened.state.ratio()
        cost = calibrated(counter.count(summary).tokens, counter, ratio).tokens
        return cost < history(opened.live, counter, ratio).tokens
