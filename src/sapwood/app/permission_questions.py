"""Asks for permissions through the log, so that any screen of any process can answer.

The question is an event of the agent that waits. The process that drives the agent may ask on its
own screen too. The first answer counts, wherever it was given.
"""

import asyncio
import hashlib
import secrets

import msgspec
from msgspec import Struct

from sapwood.app.connection import Connection
from sapwood.core.commands import AnswerQuestion, AskQuestion
from sapwood.core.errors import LogAway
from sapwood.core.events import HUMAN, SYSTEM, Actor, QuestionAnswered, QuestionAsked
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.runtime.clock_and_ids import command_meta
from sapwood.workspace.permissions.permission_gate import (
    AskPermission,
    Deny,
    NobodyAnswers,
    PermissionAnswer,
    PermissionQuestion,
)

__all__ = ["PermissionQuestions", "PostedQuestion", "posted_question", "send_answer"]

_READ_AGAIN = 1.0


class PostedQuestion(Struct, frozen=True):
    """A question in the log: its id, its hash, and what a screen shows."""

    id: str
    hash: str
    question: PermissionQuestion


class PermissionQuestions:
    """Posts the questions of the agents that this process drives, and waits for the answers.

    `ask_here` asks on a screen of this process. Without it, a question waits for `seconds`.
    """

    def __init__(
        self, connection: Connection, ask_here: AskPermission | None = None, seconds: float = 0.0
    ) -> None:
        self._connection = connection
        self._ask_here = ask_here
        self._seconds = seconds
        self.asked_here: set[str] = set()
        """Ids of questions that a screen of this process shows already."""

    async def ask(self, question: PermissionQuestion) -> PermissionAnswer:
        """Returns the first answer. Raises `NobodyAnswers` if there is none in time."""
        shown = msgspec.json.encode(question).decode()
        posted = PostedQuestion(secrets.token_hex(6), _hash(shown), question)
        if self._ask_here is not None:
            self.asked_here.add(posted.id)
        command = AskQuestion(
            question.agent, posted.id, question.tool, question.subject, shown, posted.hash
        )
        done = await self._connection.dispatcher.dispatch(command, command_meta(SYSTEM))
        if isinstance(done, Refusal):
            return Deny("the turn has ended")
        elsewhere = asyncio.ensure_future(self._answered(posted, done.events[-1].version))
        here = asyncio.ensure_future(self._asked_here(posted))
        try:
            await asyncio.wait({elsewhere, here}, return_when=asyncio.FIRST_COMPLETED)
            if elsewhere.done():
                return elsewhere.result()
            # If the answer of this process came too late, the first one counts.
            return here.result() or await elsewhere
        finally:
            for task in (elsewhere, here):
                task.cancel()
            await asyncio.gather(elsewhere, here, return_exceptions=True)
            self.asked_here.discard(posted.id)

    async def _asked_here(self, posted: PostedQuestion) -> PermissionAnswer | None:
        """Asks on the screen of this process, or waits; returns None if another answer counts."""
        if self._ask_here is not None:
            answer = await self._ask_here(posted.question)
            refused = await send_answer(self._connection, posted, answer)
            return None if refused else answer
        await asyncio.sleep(self._seconds)
        late = Deny(f"nobody answered within {self._seconds:.0f} seconds")
        if await send_answer(self._connection, posted, late, SYSTEM):
            return None
        raise NobodyAnswers

    async def _answered(self, posted: PostedQuestion, after: int) -> PermissionAnswer:
        """Waits until the log has an answer."""
        log, agent = self._connection.log, posted.question.agent
        while True:
            try:
                async for recorded in log.follow(self._connection.space, agent, after):
                    after = recorded.version
                    event = recorded.event
                    if isinstance(event, QuestionAnswered) and event.question == posted.id:
                        return _decoded(event)
            except LogAway:
                await asyncio.sleep(_READ_AGAIN)


def posted_question(event: QuestionAsked) -> PostedQuestion | None:
    """The question of an event; None if this version cannot read it."""
    try:
        question = msgspec.json.decode(event.shown, type=PermissionQuestion)
    except msgspec.MsgspecError:
        return None
    return PostedQuestion(event.question, event.hash, question)


async def send_answer(
    connection: Connection, posted: PostedQuestion, answer: PermissionAnswer, actor: Actor = HUMAN
) -> Refusal | None:
    """Answers a question. Returns why the answer does not count, if it does not."""
    agent: AgentId = posted.question.agent
    command = AnswerQuestion(
        agent,
        posted.id,
        posted.hash,
        not isinstance(answer, Deny),
        msgspec.json.encode(answer).decode(),
    )
    done = await connection.dispatcher.dispatch(command, command_meta(actor))
    return done if isinstance(done, Refusal) else None


def _hash(shown: str) -> str:
    return hashlib.sha256(shown.encode()).hexdigest()


def _decoded(event: QuestionAnswered) -> PermissionAnswer:
    try:
        answer = msgspec.json.decode(event.answer, type=PermissionAnswer)
    except msgspec.MsgspecError:
        return Deny("the answer cannot be read")
    return answer if event.allowed else (answer if isinstance(answer, Deny) else Deny())
