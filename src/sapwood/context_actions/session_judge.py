"""Has a model judge a session: asks about at most three stretches and twenty sentences, and stores
what it says in the log of the session's agent.

What the model says is never trusted: it is read entry by entry, bounded, and masked when it is
stored. If it says nothing that can be used, the rules stand as they are, and the caller is told.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

from msgspec import Struct

from sapwood import redaction
from sapwood.analysis.chapter_report import DeclaredStatus
from sapwood.analysis.chapters.chapter_builder import chapters_of
from sapwood.analysis.declared_notes import goals_of, with_notes
from sapwood.analysis.focus import declared_status
from sapwood.analysis.judgement.judge_request import (
    JudgeRequest,
    judge_request,
    read_answer,
    sentences_of,
    stretches_of,
)
from sapwood.analysis.judgement.judged_entries import judged_turns
from sapwood.analysis.ledger.ledger_builder import ledger_of
from sapwood.analysis.probes import spoken_words
from sapwood.analysis.session import Session
from sapwood.config.config_file import Config
from sapwood.context_actions.session_finder import Connect
from sapwood.context_actions.session_notes import SessionNotes, Statements
from sapwood.core.content import Usage
from sapwood.core.plural import counted
from sapwood.tokens.counters import CachingCounter
from sapwood.tokens.estimators import FeatureCounter
from sapwood.turns.clock_and_ids import new_nonce

_MAX_TOKENS = 500_000
"""The tokens of all judgements of one session, also where their price is unknown."""


class JudgeReply(Struct, frozen=True):
    """The text of a judge, and what it used."""

    text: str
    usage: Usage


class JudgeOutcome(Struct, frozen=True):
    """What came of it: `judged`, `nothing` to judge, no usable answer (`unread`), or a limit
    (`spent`). `usage` is what this run used.
    """

    result: Literal["judged", "nothing", "unread", "spent"]
    stretches: int = 0
    sentences: int = 0
    usage: Usage = Usage(0)

    def describe(self, judge: str) -> str:
        """What happened, in a sentence or two, with the cost."""
        used = f"{self.usage.input + self.usage.output:,} tokens"
        cost = f", ${self.usage.cost / 1_000_000:.4f}" if self.usage.cost else ""
        match self.result:
            case "judged":
                counts = f"{counted(self.stretches, 'stretch', 'stretches')} and "
                counts += counted(self.sentences, "sentence")
                return f"{judge} judged {counts} ({used}{cost})."
            case "nothing":
                return "There was nothing to judge."
            case "unread":
                return (
                    f"The judge {judge} did not return valid JSON ({used}{cost}). The results of "
                    "the rules are unchanged."
                )
            case "spent":
                return (
                    "The judge has used up its budget for this session. The results of the rules "
                    "are unchanged. To allow more, set tending.judge_cost."
                )


class SessionJudge:
    """Judges sessions. `ask` sends a text to the judge; `connect` opens the database."""

    def __init__(
        self, config: Config, connect: Connect, ask: Callable[[str], Awaitable[JudgeReply]]
    ) -> None:
        self._config = config
        self._notes = SessionNotes(config, connect)
        self._ask = ask

    async def judge(self, session: Session, secrets: tuple[str, ...] = ()) -> JudgeOutcome:
        """Judges what nobody has judged or declared yet. `secrets` are masked in the request.

        Raises the `Failure` of the judge, and `RefusedError` if the session is not in the log.
        """
        stated = await self._notes.read(session)
        if self._is_spent(stated.judged.usage):
            return JudgeOutcome("spent")
        goals = goals_of(stated.notes)
        declared = declared_status(stated.focus, goals, judged_turns(session, stated.judged))
        request = await asyncio.to_thread(_request, session, stated, declared)
        if request is None:
            return JudgeOutcome("nothing")
        reply = await self._ask(redaction.mask_secrets(request.prompt, secrets))
        answer = read_answer(reply.text)
        judge, usage = self._config.tending.judge, reply.usage
        if answer is None:
            await self._notes.record(session, judge, (), (), usage)
            return JudgeOutcome("unread", usage=usage)
        words = await asyncio.to_thread(spoken_words, session.turns)
        stretches = stretches_of(request, answer, session)
        sentences = sentences_of(request.entries, answer, words)
        await self._notes.record(session, judge, stretches, sentences, usage)
        found = bool(stretches or sentences)
        return JudgeOutcome(
            "judged" if found else "unread", len(answer.stretches), len(sentences), usage
        )

    def _is_spent(self, usage: Usage) -> bool:
        limit = self._config.tending.judge_cost
        is_over = bool(limit) and usage.cost >= limit * 1_000_000
        return is_over or usage.input + usage.output >= _MAX_TOKENS


def _request(session: Session, stated: Statements, declared: DeclaredStatus) -> JudgeRequest | None:
    counter = CachingCounter(FeatureCounter())
    return judge_request(
        session,
        with_notes(ledger_of(session), session, stated.notes),
        chapters_of(session, counter, declared),
        stated.judged,
        goals=declared.goals,
        fence=new_nonce(),
    )
