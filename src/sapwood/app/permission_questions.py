"""Asks for permissions through the log, so that any screen of any process can answer.

The question is an event of the agent that waits. The process that drives the agent may ask on its
own screen too. The first answer counts, wherever and whenever it was given.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Callable

import msgspec
from msgspec import Struct, structs

from sapwood.app.connection import Connection
from sapwood.core.commands import AnswerQuestion, AskQuestion
from sapwood.core.errors import LogUnavailable
from sapwood.core.events import HUMAN, SYSTEM, Actor, QuestionAnswered, QuestionAsked
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import AnswerAwaited
from sapwood.core.refusals import Refusal
from sapwood.turns.clock_and_ids import command_meta, now
from sapwood.workspace.permissions.permission_gate import (
    AskPermission,
    Deny,
    NobodyAnswers,
    PermissionAnswer,
    PermissionQuestion,
)

_READ_AGAIN = 1.0


class PostedQuestion(Struct, frozen=True):
    """A question in the log: its id, its hash, and what a screen shows."""

    id: str
    hash: str
    question: PermissionQuestion


class PermissionQuestions:
    """Posts the questions of the agents that this process drives, and finds the answers.

    `ask_here` asks on a screen of this process. Without it the turn is parked: nothing of it stays
    in memory, and the answer wakes the agent, whoever drives it then. A question of a program, or
    about a call whose exact text only this process has, is waited for here instead. A question has
    a time limit only if `seconds` is not 0; then the call is denied.
    """

    def __init__(
        self,
        connection: Connection,
        ask_here: AskPermission | None = None,
        seconds: float = 0.0,
        clock: Callable[[], int] = now,
    ) -> None:
        self._connection = connection
        self._ask_here = ask_here
        self._seconds = seconds
        self._clock = clock
        self.asked_here: set[str] = set()
        """Ids of questions that a screen of this process shows already."""

    async def ask(self, question: PermissionQuestion) -> PermissionAnswer:
        """Returns the first answer, also one that was given while no process ran the turn.

        Raises `AnswerAwaited` if the turn is to be parked, and `NobodyAnswers` if nobody answered
        in time.
        """
        shown = msgspec.json.encode(question).decode()
        posted = PostedQuestion(
            secrets.token_hex(6), hashlib.sha256(shown.encode()).hexdigest(), question
        )
        if (earlier := await self._earlier(posted)) is not None:
            return earlier
        if self._ask_here is not None:
            self.asked_here.add(posted.id)
        until = self._clock() + int(self._seconds * 1_000_000) if self._seconds else 0
        command = AskQuestion(
            question.agent,
            posted.id,
            question.tool,
            question.subject,
            shown,
            posted.hash,
            question.call,
            until,
        )
        done = await self._connection.dispatcher.dispatch(command, command_meta(SYSTEM))
        if isinstance(done, Refusal):
            return Deny("the turn has ended")
        if self._ask_here is None and question.call and not question.held:
            raise AnswerAwaited(self._seconds or None)
        return await self._first_answer(posted, done.events[-1].version)

    async def _earlier(self, posted: PostedQuestion) -> PermissionAnswer | None:
        """The answer to the same question of the same call, if the log has one.

        Denies a question whose time is over and raises `NobodyAnswers`.
        """
        call, agent = posted.question.call, posted.question.agent
        turn = (await self._connection.dispatcher.open(agent)).state.open if call else None
        if turn is None:
            return None
        for each in turn.answered:
            if each.call == call and each.hash == posted.hash:
                log, space = self._connection.log, self._connection.space
                [recorded] = await log.read(space, agent, each.answered, each.answered)
                assert isinstance(recorded.event, QuestionAnswered)
                if recorded.actor.role == "system":
                    raise NobodyAnswers
                return _decoded(recorded.event)
        for each in turn.questions:
            if each.call == call and 0 < each.until <= self._clock():
                waiting = structs.replace(posted, id=each.question, hash=each.hash)
                await self._deny_late(waiting)
        return None

    async def _deny_late(self, posted: PostedQuestion) -> None:
        """Denies a question that nobody answered in time. Returns if somebody just did."""
        late = Deny("nobody answered in time")
        if await send_answer(self._connection, posted, late, SYSTEM) is None:
            raise NobodyAnswers

    async def _first_answer(self, posted: PostedQuestion, after: int) -> PermissionAnswer:
        elsewhere = asyncio.ensure_future(self._answered(posted, after))
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
        if not self._seconds:
            return await asyncio.Future[None]()
        await asyncio.sleep(self._seconds)
        await self._deny_late(posted)
        return None

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
            except LogUnavailable:
                await asyncio.sleep(_READ_AGAIN)


async def waiting_questions(connection: Connection, agent: AgentId) -> list[PostedQuestion]:
    """The questions of an agent that nobody has answered, the oldest first."""
    state = (await connection.dispatcher.open(agent)).state
    found: list[PostedQuestion] = []
    for each in state.open.questions if state.open else ():
        [recorded] = await connection.log.read(connection.space, agent, each.asked, each.asked)
        if isinstance(recorded.event, QuestionAsked):
            posted = posted_question(recorded.event)
            found += [posted] if posted else []
    return found


async def all_waiting_questions(connection: Connection) -> list[PostedQuestion]:
    """The questions of all agents of the space that nobody has answered, by agent."""
    found: list[PostedQuestion] = []
    last: AgentId | None = None
    while page := await connection.log.working(connection.space, after=last):
        for each in page:
            if each.asking:
                found += await waiting_questions(connection, each.agent)
        last = page[-1].agent
    return found


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


def _decoded(event: QuestionAnswered) -> PermissionAnswer:
    try:
        answer = msgspec.json.decode(event.answer, type=PermissionAnswer)
    except msgspec.MsgspecError:
        return Deny("the answer cannot be read")
    return answer if event.allowed else (answer if isinstance(answer, Deny) else Deny())
