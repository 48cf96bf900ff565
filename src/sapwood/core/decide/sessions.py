"""Decisions about the session of an agent in another program. The system gives these commands."""

from sapwood.core.commands import CommandMeta, RecordAssumed, RecordDifference, RecordNative
from sapwood.core.decide.decision import Accepted, DecisionInput, Draft
from sapwood.core.decide.guards import require_exists, require_turn
from sapwood.core.events import NativeRecorded, SessionAssumed, SessionDiffered
from sapwood.core.program_session import AssumedSession


def record_assumed(inputs: DecisionInput, command: RecordAssumed, meta: CommandMeta) -> Accepted:
    require_exists(inputs.state)
    draft = Draft(inputs.state, inputs.live, meta)
    held = AssumedSession(command.session, command.context, command.pins)
    if held == inputs.state.session and not (command.rows or command.loss):
        return draft.accepted()
    draft.add(
        SessionAssumed(
            command.session,
            command.by,
            command.context,
            command.rows,
            command.loss,
            command.pins,
        )
    )
    return draft.accepted()


def record_native(inputs: DecisionInput, command: RecordNative, meta: CommandMeta) -> Accepted:
    require_turn(inputs.state, command.turn)
    draft = Draft(inputs.state, inputs.live, meta)
    if inputs.live.open is None or inputs.live.open.native != command.rows:
        draft.add(NativeRecorded(command.rows))
    return draft.accepted()


def record_difference(
    inputs: DecisionInput, command: RecordDifference, meta: CommandMeta
) -> Accepted:
    require_exists(inputs.state)
    draft = Draft(inputs.state, inputs.live, meta)
    draft.add(SessionDiffered(command.text))
    return draft.accepted()
