"""Decisions about questions of tool calls to people. The first answer counts; no model answers."""

from sapwood.core.command_table import TABLE
from sapwood.core.commands import AnswerQuestion, AskQuestion, CommandMeta
from sapwood.core.decide.decision import Accepted, DecisionInput, Draft, Refused
from sapwood.core.decide.guards import require_running, require_turn
from sapwood.core.events import QuestionAnswered, QuestionAsked
from sapwood.core.refusals import HumanOnly, NoQuestion, OtherQuestion


def ask_question(inputs: DecisionInput, command: AskQuestion, meta: CommandMeta) -> Accepted:
    require_turn(inputs.state, command.turn)
    draft = Draft(inputs.state, inputs.live, meta)
    draft.add(
        QuestionAsked(
            command.question,
            command.tool,
            command.subject,
            command.shown,
            command.hash,
            command.of_call,
            command.until,
        )
    )
    return draft.accepted()


def answer_question(inputs: DecisionInput, command: AnswerQuestion, meta: CommandMeta) -> Accepted:
    state = inputs.state
    require_running(state)
    if command.allowed and meta.actor.role != "human":
        raise Refused(HumanOnly(TABLE.label_of(AnswerQuestion)))
    waiting = state.open.questions if state.open else ()
    asked = next((each for each in waiting if each.question == command.question), None)
    if asked is None:
        raise Refused(NoQuestion())
    if asked.hash != command.hash:
        raise Refused(OtherQuestion())
    draft = Draft(state, inputs.live, meta)
    draft.add(QuestionAnswered(command.question, command.allowed, command.answer))
    return draft.accepted("Allowed." if command.allowed else "Denied.")
