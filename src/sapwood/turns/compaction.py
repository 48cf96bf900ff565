"""Compaction: the agent's model writes a summary, which is checked and then replaces old turns.

The request is the present one plus an instruction at the end, so the provider's cache serves the
rest. If the summary lacks too much of what the check looks for, or is too long, the model writes it
once more. If it still does, it is refused unless a person insists. A summary that is not shorter
than what it replaces is not used. If anything fails, nothing is trimmed, and the tokens that were
used are recorded.

The decisions and questions that rules found go along as a draft, and the model corrects them in a
JSON block. Without a usable block the rules' list is used, and the answer says so.

With the setting `provider_summary`, a provider that compacts on demand writes the summary and signs
it. It gets exactly the turns that leave, so thinking in the turns that stay remains valid. The
summary is checked and repaired like any other. It corrects no decisions and questions, because its
words must stay as they are.

A summary that a model wrote: what it lacks, what the model must do better, and its list.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress

from msgspec import Struct, structs

from sapwood.analysis.judgement.judged_entries import with_judged
from sapwood.analysis.judgement.summary_list import (
    ListedSummary,
    drafted_entries,
    list_instruction,
    read_summary,
)
from sapwood.analysis.ledger.entries import Decision, Question, render_ledger
from sapwood.analysis.probes import SummaryCheck, check_summary
from sapwood.core import refusals
from sapwood.core.command_table import TABLE
from sapwood.core.commands import CommandMeta, Compact, DropSummary, RecordJudgement
from sapwood.core.content import Text, Usage
from sapwood.core.errors import LogError
from sapwood.core.events import SYSTEM, JudgedSentence
from sapwood.core.history_size import calibrated, oldest
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Answer, CallHints, Failure, ToolSpec
from sapwood.core.plural import counted
from sapwood.core.settings import Settings
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.core.turn_params import TurnParams
from sapwood.core.view import Message, Request, view
from sapwood.turns.clock_and_ids import command_meta, new_nonce
from sapwood.turns.dispatch import Dispatcher, Done
from sapwood.turns.model_access import (
    ModelAccess,
    bounded_reply,
    hinted_stream,
    hints_of,
    manifest_of,
    provider_access,
)
from sapwood.turns.open_agent import OpenAgent
from sapwood.turns.summary_basis import SummaryBasis, summary_basis
from sapwood.turns.trace import Tracing, Untraced

_REPAIR = "Your summary lacks the following, which mattered. Write it again, with them: {missing}."
_SHORTEN = "Your summary is too long. Write it again, in at most {words:,} words."


class SummaryDraft(Struct, frozen=True):
    """A summary, what it lacks, and its size in tokens. `settings` are those of the agent.

    `drafted` is the number of decisions and questions that rules found, `sentences` what the model
    said of them; None if it gave no list that could be read. `signer` is the provider that wrote
    and signed the summary itself.
    """

    text: str
    checked: SummaryCheck
    tokens: int
    settings: Settings
    drafted: int = 0
    sentences: tuple[JudgedSentence, ...] | None = None
    signer: str = ""
    signature: str = ""

    @property
    def list_note(self) -> str:
        """Who made the list of decisions and questions; empty if there is none."""
        if not self.drafted:
            return ""
        if self.sentences is None:
            return (
                " Decisions and questions are listed as rules found them: the model gave no list "
                "that could be read."
            )
        return " The model corrected the list of decisions and questions."

    @property
    def lacks(self) -> bool:
        return self.checked.score < self.settings.summary_score

    @property
    def is_too_long(self) -> bool:
        return 0 < self.settings.summary_cap < self.tokens

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """Larger for a better summary."""
        return not self.lacks, not self.is_too_long, self.checked.score

    @property
    def repair(self) -> str:
        """What the model is asked to do better; empty if nothing."""
        lines: list[str] = []
        if self.lacks:
            lines.append(_REPAIR.format(missing=", ".join(self.checked.missing)))
        if self.is_too_long:
            lines.append(_SHORTEN.format(words=words_of(self.settings)))
        return " ".join(lines)

    def problem(self, turns: int) -> refusals.Refusal | None:
        """Why this summary of so many turns is not used; None if it is good enough."""
        if self.lacks:
            return refusals.SummaryLacking(turns, self.checked.probes, self.checked.missing)
        if self.is_too_long:
            return refusals.SummaryTooLong(self.tokens, self.settings.summary_cap)
        return None


def words_of(settings: Settings) -> int:
    """How many words a summary may have. Three words have about four tokens."""
    return max(1, settings.summary_cap * 3 // 4)


CONTENT = (
    "Keep what was asked, what was decided and why, what was done and in which files, what "
    "was tried and failed, and what is still open. Write names of files, functions and commands "
    "exactly. Answer with the summary alone, and call no tool."
)
INSTRUCTION = (
    "Summarise this conversation for yourself: after this, the summary is all that you will see "
    f"of it. {CONTENT}"
)
WANTED = "The user asks you to keep this in any case: {wanted}"
LENGTH = "Use at most {words:,} words."
_FACTS = "End with these facts from the log, as they are:"


def _is_new(answer: Done | refusals.Refusal) -> bool:
    """Whether a command changed something just now."""
    return isinstance(answer, Done) and bool(answer.events) and not answer.repeated


class CompactionUsage(Struct):
    """The tokens that the calls of one compaction used."""

    usage: Usage = Usage(0)


_CACHED = frozenset({"thinking", "tool_choice", "parallel_tool_calls"})
"""The parameters by which a provider finds the history in its cache. A summary is sent with them,
and not with those that limit or shape an answer."""


class Compactor:
    """Compacts agents of one space. `tools` and `params` are those of the turns of the agent."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        models: ModelAccess,
        tools: Sequence[ToolSpec] = (),
        tracing: Tracing | None = None,
        params: TurnParams | None = None,
    ) -> None:
        self._dispatcher = dispatcher
        self._models = models
        self._tools = tools
        sent = (params or TurnParams()).sent(is_first=False)
        self._params = {name: value for name, value in sent.items() if name in _CACHED}
        self._tracing = tracing or Untraced()

    async def compact(
        self,
        agent: AgentId,
        keep: int = 0,
        *,
        anyway: bool = False,
        why: CommandMeta | None = None,
        wanted: str = "",
        before_storing: Callable[[], Awaitable[None]] | None = None,
    ) -> Done | refusals.Refusal:
        """Replaces all but the last `keep` turns by a checked summary.

        `wanted` is what a person wants to be kept, in their words. A summary that lacks too much or
        is too long is refused, unless a person wants it `anyway`. It is stored under the id of
        `why`, the meta data of the command that asked for it. `before_storing` is called when it is
        written; if the history has changed by then, it is refused. Refused while a turn is open.
        Raises `Failure` if the model gives no summary.
        """
        opened = await self._dispatcher.open(agent)
        if opened.state.origin is not None:
            return refusals.Imported(agent, opened.state.origin.source)
        if opened.state.open is not None:
            return refusals.TurnIsOpen(TABLE["compact"].typed)
        return await self._compact(
            opened, keep, anyway=anyway, why=why, wanted=wanted, before_storing=before_storing
        )

    async def complete(self, agent: AgentId, keep: int = 0) -> Done | refusals.Refusal:
        """Completes the open turn of a model that asked to compact, with a checked summary.

        The turn stays open if the summary is not used. Raises `Failure` if there is none.
        """
        return await self._compact(await self._dispatcher.open(agent), keep)

    async def _compact(
        self,
        opened: OpenAgent,
        keep: int,
        *,
        anyway: bool = False,
        why: CommandMeta | None = None,
        wanted: str = "",
        before_storing: Callable[[], Awaitable[None]] | None = None,
    ) -> Done | refusals.Refusal:
        state, turns = opened.state, opened.live.all_turns
        leaving = turns[: max(0, len(turns) - max(0, keep))]
        if not leaving:
            return Done(f"Nothing to compact: {counted(len(turns), 'turn')} in view.")
        instruction = f"{INSTRUCTION} {WANTED.format(wanted=wanted)}" if wanted else INSTRUCTION
        with self._tracing.compaction(state) as ended:
            account = CompactionUsage()
            counting = asyncio.ensure_future(self._counted(opened, len(leaving)))
            try:
                basis = await self._basis(opened, leaving)
                if signer := self._signer(state):
                    draft = await self._by_provider(opened, basis, account, signer, instruction)
                else:
                    draft = await self._summarise(opened, basis, account, instruction)
                problem = None if anyway else draft.problem(len(leaving))
                answer = problem or await self._replace_turns(
                    opened, basis, keep, draft, account, ended, counting, why, before_storing
                )
            except BaseException as error:  # the tokens used before an interrupt cost money too
                await self._record_unused(state, account, str(error) or "interrupted")
                raise
            finally:
                counting.cancel()
            if isinstance(answer, refusals.Refusal):
                await self._record_unused(state, account, answer.sentence)
            elif not _is_new(answer):
                await self._record_unused(state, account, answer.message)
            return answer

    async def _basis(self, opened: OpenAgent, leaving: Sequence[Turn]) -> SummaryBasis:
        log, space = self._dispatcher.log, self._dispatcher.space
        return await summary_basis(log, space, opened.state, leaving)

    async def _record_unused(self, state: State, account: CompactionUsage, reason: str) -> None:
        """Records the tokens of a summary that is not used. Ignores errors of the log: the first
        error is raised already.
        """
        if account.usage == Usage(0):
            return
        command = DropSummary(state.agent, state.settings.model, account.usage, reason)
        with suppress(LogError):
            await self._dispatcher.dispatch(command, command_meta(SYSTEM))

    async def _replace_turns(
        self,
        opened: OpenAgent,
        basis: SummaryBasis,
        keep: int,
        draft: SummaryDraft,
        account: CompactionUsage,
        ended: Callable[[Compact], None],
        counting: Awaitable[int],
        why: CommandMeta | None,
        before_storing: Callable[[], Awaitable[None]] | None,
    ) -> Done | refusals.Refusal:
        state = opened.state
        # Any text between a signed summary and turns that stay would invalidate their thinking.
        listed = "" if draft.signature and keep else listed_ledger(basis, draft)
        if not self._saves(opened, basis.leaving, draft.text + listed):
            return Done("The summary is not shorter than what it replaces. Nothing was changed.")
        command = Compact(
            state.agent,
            draft.text,
            keep,
            listed,
            round(draft.checked.score, 3),
            state.settings.model,
            account.usage,
            signer=draft.signer,
            signature=draft.signature,
            tokens=await counting,
            context=state.context,
        )
        ended(command)
        id, request = (why.id, why.request) if why else (None, "")
        meta = command_meta(SYSTEM, command=id, request=request)
        if before_storing is not None:
            await before_storing()
        storing = asyncio.ensure_future(self._dispatcher.dispatch(command, meta))
        try:
            done = await asyncio.shield(storing)
        except asyncio.CancelledError:  # too late: the tokens are recorded with the summary
            if _is_new(await storing):
                account.usage = Usage(0)
            raise
        if isinstance(done, refusals.Refusal) or not _is_new(done):
            return done
        await self._keep_judgement(state, draft)
        return structs.replace(done, message=f"{done.message}{draft.list_note}")

    async def _counted(self, opened: OpenAgent, leaving: int) -> int:
        """The tokens of the turns that leave, as the provider counts them; 0 if it does not.

        It counts while the summary is written, so nobody waits for it.
        """
        if (provider := provider_access(self._models)) is None:
            return 0
        request = view(opened.state, opened.live, summarised=leaving)
        bare = Request(request.model, request.system, (Message("user", (Text("."),)),))
        whole, fixed = await asyncio.gather(
            provider.count(request, self._tools), provider.count(bare, self._tools)
        )
        return max(0, whole - fixed + 1) if whole and fixed else 0

    async def _keep_judgement(self, state: State, draft: SummaryDraft) -> None:
        """Stores what the model said of decisions and questions, for everything made from the log.

        The summary is stored already, so an error of the log changes nothing.
        """
        if draft.sentences:
            judged = RecordJudgement(state.agent, state.settings.model, (), draft.sentences)
            with suppress(LogError):
                await self._dispatcher.dispatch(judged, command_meta(SYSTEM))

    async def _summarise(
        self,
        opened: OpenAgent,
        basis: SummaryBasis,
        account: CompactionUsage,
        instruction: str,
    ) -> SummaryDraft:
        settings = opened.state.settings
        if settings.summary_cap:
            instruction = f"{instruction} {LENGTH.format(words=words_of(settings))}"
        entries = drafted_entries(basis.ledger)
        if entries:
            instruction = f"{instruction}\n\n{list_instruction(entries, new_nonce())}"
        draft = await self._ask(opened, instruction, account, entries, basis)
        if not draft.repair:
            return draft
        again = f"{instruction}\n\n{draft.text}\n\n{draft.repair}"
        repaired = await self._ask(opened, again, account, entries, basis)
        best, other = (repaired, draft) if repaired.rank >= draft.rank else (draft, repaired)
        return structs.replace(best, sentences=best.sentences or other.sentences)

    # The provider

    def _signer(self, state: State) -> str:
        """The provider that writes the summaries of this agent itself; '' if its model does."""
        provider = provider_access(self._models) if state.settings.provider_summary else None
        return provider.summarises(state.settings.model) if provider else ""

    async def _by_provider(
        self,
        opened: OpenAgent,
        basis: SummaryBasis,
        account: CompactionUsage,
        signer: str,
        instruction: str,
    ) -> SummaryDraft:
        settings = opened.state.settings
        if settings.summary_cap:
            instruction = f"{instruction} {LENGTH.format(words=words_of(settings))}"
        if basis.leaving < len(opened.live.all_turns):
            instruction = f"{instruction}\n\n{_FACTS}\n\n{render_ledger(basis.ledger)}"
        draft = await self._ask_provider(opened, instruction, account, basis, signer)
        if not draft.repair:
            return draft
        again = f"{draft.repair}\n\n{instruction}\n\nYour summary was:\n\n{draft.text}"
        repaired = await self._ask_provider(opened, again, account, basis, signer)
        return repaired if repaired.rank >= draft.rank else draft

    async def _ask_provider(
        self,
        opened: OpenAgent,
        instruction: str,
        account: CompactionUsage,
        basis: SummaryBasis,
        signer: str,
    ) -> SummaryDraft:
        instruction = await self._dispatcher.mask(instruction)
        request = view(opened.state, opened.live, summarised=basis.leaving)
        await self._record(opened, request, instruction, basis.leaving)
        hints = structs.replace(hints_of(opened), summarise=instruction)
        answer = await self._answer(opened.state, request, hints)
        account.usage += answer.usage or Usage(0)
        text = "".join(part.text for part in answer.parts if isinstance(part, Text))
        signature = answer.report.signature
        if answer.ended != "done" or not signature or not text.strip():
            raise Failure(
                "other",
                "The provider did not write a summary. Nothing was compacted. To have the model "
                "write it, type: /config provider_summary false",
            )
        size = self._tokens(opened, text)
        return SummaryDraft(
            text,
            check_summary(text, basis.probes),
            size,
            opened.state.settings,
            signer=signer,
            signature=signature,
        )

    # The model

    async def _ask(
        self,
        opened: OpenAgent,
        instruction: str,
        account: CompactionUsage,
        entries: Sequence[Decision | Question],
        basis: SummaryBasis,
    ) -> SummaryDraft:
        # Masked before the call, because the stored instruction must be the one that was sent.
        instruction = await self._dispatcher.mask(instruction)
        request = view(opened.state, opened.live, instruction=instruction)
        await self._record(opened, request, instruction)
        answer = await self._answer(opened.state, request, hints_of(opened))
        account.usage += answer.usage or Usage(0)
        if answer.ended != "done":
            raise Failure("cut", "The model did not finish its summary. Nothing was compacted.")
        text = "\n\n".join(part.text for part in answer.parts if isinstance(part, Text)).strip()
        summary = read_summary(text, entries, basis.turns) if entries else ListedSummary(text)
        text = summary.text
        if not text:
            raise Failure("other", "The model did not write a summary. Nothing was compacted.")
        return SummaryDraft(
            text,
            check_summary(text, basis.probes),
            self._tokens(opened, text),
            opened.state.settings,
            len(entries),
            summary.sentences,
        )

    async def _record(
        self, opened: OpenAgent, request: Request, instruction: str, summarised: int = 0
    ) -> None:
        counter = self._dispatcher.counter_for(request.model)
        manifest = manifest_of(
            opened, request, self._tools, counter, instruction, self._params, summarised
        )
        stored = await self._dispatcher.dispatch(manifest, command_meta(SYSTEM))
        if isinstance(stored, refusals.BudgetReached):
            raise Failure("budget", stored.sentence)
        if isinstance(stored, refusals.Refusal):
            raise Failure(
                "other", "The conversation changed in the meantime. Nothing was compacted."
            )

    async def _answer(self, state: State, request: Request, hints: CallHints) -> Answer:
        with self._tracing.call(state, request) as ended:
            stream = hinted_stream(self._models, request, self._tools, hints, self._params)
            async with aclosing(bounded_reply(stream)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Answer):
                        ended(await self._dispatcher.masked_answer(piece))
                        return piece
            raise Failure("cut", "The summary ended before it was complete. Nothing was compacted.")

    def _saves(self, opened: OpenAgent, leaving: int, summary: str) -> bool:
        """Whether a summary is shorter than what leaves view: turns and the summary before them."""
        counter = self._dispatcher.counter_for(opened.state.settings.model)
        turns = oldest(opened.live, counter, opened.state.ratio(), leaving).tokens
        old = opened.live.summary
        before = self._tokens(opened, old.text + old.ledger) if old is not None else 0
        return self._tokens(opened, summary) < turns + before

    def _tokens(self, opened: OpenAgent, text: str) -> int:
        counter = self._dispatcher.counter_for(opened.state.settings.model)
        return calibrated(counter.count(text).tokens, counter, opened.state.ratio()).tokens


def listed_ledger(basis: SummaryBasis, draft: SummaryDraft) -> str:
    """The ledger of the turns as text, with decisions and questions as the model corrected them."""
    judged = draft.sentences or ()
    return render_ledger(with_judged(basis.ledger, judged, len(basis.turns)))
