"""Adds the turns that left the window to the summary, in the background. A setting, off by default.

The model gets the present request, which has the summary so far, and at its end the turns that left
as a quotation. The longer summary is checked as in a compaction. It is stored between two turns if
the context was not moved since. If anything fails, nothing changes, and the tokens that were used
are recorded.
"""

from collections.abc import Awaitable, Callable, Sequence

from sapwood.core.commands import ExtendSummary
from sapwood.core.context import undo_step
from sapwood.core.events import SYSTEM
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal, TurnIsOpen
from sapwood.core.turn import Turn, quoted_turn
from sapwood.core.view.frames import framed_departure
from sapwood.turns.clock_and_ids import command_meta, new_nonce
from sapwood.turns.compaction import (
    CONTENT,
    CompactionUsage,
    Compactor,
    SummaryDraft,
    listed_ledger,
)
from sapwood.turns.dispatch import Done
from sapwood.turns.open_agent import OpenAgent, read_live
from sapwood.turns.summary_basis import SummaryBasis

EXTEND = (
    "The turns that are quoted above have left your view. Write one summary of all that you do not "
    "see any more: what the summary at the beginning says, if there is one, and what the quoted "
    f"turns add. {CONTENT}"
)


class SummaryExtension(Compactor):
    """Writes the longer summary of one agent after the window has moved."""

    async def extend(
        self, agent: AgentId, next_commit: Callable[[], Awaitable[None]]
    ) -> Done | Refusal | None:
        """Extends the summary. Returns None if the settings or the context do not ask for it.

        If a turn is open when the summary is ready, waits with `next_commit` until it has ended.
        Raises `Failure` if the model gives no summary.
        """
        opened = await self._dispatcher.open(agent)
        leaving = await self._left(opened)
        if not leaving:
            return None
        account = CompactionUsage()
        try:
            basis = await self._basis(opened, leaving)
            draft = await self._draft(opened, leaving, basis, account)
            answer = draft.problem(len(leaving)) or await self._store(
                opened, basis, draft, account, next_commit
            )
        except BaseException as error:  # the tokens used before the process ends cost money too
            await self._record_unused(opened.state, account, str(error) or "interrupted")
            raise
        if isinstance(answer, Refusal):
            await self._record_unused(opened.state, account, answer.sentence)
        return answer

    async def _left(self, opened: OpenAgent) -> Sequence[Turn]:
        """The turns that the newest move of the window took out of view."""
        state = opened.state
        step = state.undo[-1] if state.undo else None
        if not state.settings.extend_summary or state.origin is not None or opened.turn:
            return ()
        if step is None or step.cause != "window":
            return ()
        context, _ = undo_step(step, state.context, state.marks)
        log, space = self._dispatcher.log, self._dispatcher.space
        before = await read_live(log, space, state, context=context)
        in_view = {turn.ref for turn in opened.live.turns}
        return [turn for turn in before.turns if turn.ref not in in_view]

    async def _draft(
        self,
        opened: OpenAgent,
        leaving: Sequence[Turn],
        basis: SummaryBasis,
        account: CompactionUsage,
    ) -> SummaryDraft:
        quoted = "\n\n".join(map(quoted_turn, leaving))
        instruction = f"{framed_departure(quoted, new_nonce())}\n\n{EXTEND}"
        return await self._summarise(opened, basis, account, instruction)

    async def _store(
        self,
        opened: OpenAgent,
        basis: SummaryBasis,
        draft: SummaryDraft,
        account: CompactionUsage,
        next_commit: Callable[[], Awaitable[None]],
    ) -> Done | Refusal:
        state = opened.state
        command = ExtendSummary(
            state.agent,
            draft.text,
            state.window_moved_at,
            listed_ledger(basis, draft),
            round(draft.checked.score, 3),
            state.settings.model,
            account.usage,
        )
        while True:
            done = await self._dispatcher.dispatch(command, command_meta(SYSTEM))
            if not isinstance(done, TurnIsOpen):
                if not isinstance(done, Refusal):
                    await self._keep_judgement(state, draft)
                return done
            await next_commit()
