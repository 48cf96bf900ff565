"""The command that answers a tool call which waits for approval."""

import msgspec

from sapwood.conversation.answers import Changed
from sapwood.conversation.call import Call
from sapwood.core.commands import AnswerQuestion
from sapwood.core.errors import RefusedError
from sapwood.core.events import QuestionAsked
from sapwood.core.refusals import NoQuestion
from sapwood.workspace.permissions.permission_gate import (
    AllowAlways,
    AllowOnce,
    Deny,
    PermissionAnswer,
    PermissionQuestion,
)


async def answer(call: Call) -> Changed:
    """Answers the oldest question that waits, or the one whose id comes first.

    Without an answer, shows the question.
    """
    state = (await call.opened()).state
    waiting = state.open.questions if state.open else ()
    if not waiting:
        raise RefusedError(NoQuestion())
    word, reason = call.first_and_rest
    first = next((each for each in waiting if each.question == word), None)
    if first is not None:
        word, _, reason = reason.partition(" ")
    first = first or waiting[0]
    [recorded] = await call.space.log.read(call.space.space, call.agent, first.asked, first.asked)
    assert isinstance(recorded.event, QuestionAsked)
    question = msgspec.json.decode(recorded.event.shown, type=PermissionQuestion)
    given = _answer(word, reason, question)
    if given is None:
        raise call.misused(
            f"{question.tool} in {question.workspace or 'no folder'} wants:\n{question.preview}\n"
            "Answer yes, always or no."
        )
    command = AnswerQuestion(
        call.agent,
        first.question,
        first.hash,
        not isinstance(given, Deny),
        msgspec.json.encode(given).decode(),
    )
    done = await call.give(command)
    return Changed(call.agent, done.message, done.events)


def _answer(word: str, reason: str, question: PermissionQuestion) -> PermissionAnswer | None:
    match word:
        case "yes":
            return AllowOnce()
        case "always":
            return AllowAlways(question.always)
        case "no":
            return Deny(reason)
        case _:
            return None
