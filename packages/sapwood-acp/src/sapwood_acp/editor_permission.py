"""Asks in the editor whether a tool may run, when no permission rule decides."""

import secrets

from acp.helpers import text_block, tool_content
from acp.interfaces import Client
from acp.schema import AllowedOutcome, PermissionOption, PermissionOptionKind, ToolCallUpdate

from sapwood.display.permission_text import (
    AnswerChoice,
    answer_choices,
    approval_lines,
    request_sentence,
)
from sapwood.display.visible_text import visible
from sapwood.workspace.permissions.permission_gate import (
    AllowAlways,
    Deny,
    PermissionAnswer,
    PermissionQuestion,
)


async def ask_in_editor(
    client: Client, session: str, question: PermissionQuestion
) -> PermissionAnswer:
    """Shows all of what would be done, and returns the answer. A closed question is a denial."""
    choices = {each.key: each for each in answer_choices(question) if each.answer is not None}
    answered = await client.request_permission(
        session_id=session,
        tool_call=_shown(session, question),
        options=[_option(each) for each in choices.values()],
    )
    if not isinstance(answered.outcome, AllowedOutcome):
        return Deny("the question was closed")
    choice = choices.get(answered.outcome.option_id)
    return Deny() if choice is None or choice.answer is None else choice.answer


def _shown(session: str, question: PermissionQuestion) -> ToolCallUpdate:
    name = "" if question.agent == session else str(question.agent)
    lines = [f"in {question.workspace}"] if question.workspace else []
    lines += [question.why] if question.why else []
    lines += [line.text for line in approval_lines(question)]
    return ToolCallUpdate(
        tool_call_id=f"question-{secrets.token_hex(6)}",
        title=visible(request_sentence(question, name)),
        status="pending",
        content=[tool_content(text_block(visible("\n".join(lines))))],
    )


def _option(choice: AnswerChoice) -> PermissionOption:
    kind: PermissionOptionKind = "reject_once"
    if choice.allows:
        kind = "allow_always" if isinstance(choice.answer, AllowAlways) else "allow_once"
    return PermissionOption(option_id=choice.key, name=visible(choice.words), kind=kind)
