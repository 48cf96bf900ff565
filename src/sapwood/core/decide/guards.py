"""Guards: each lets a decision go on or refuses with what to do instead."""

import re

from sapwood.core.command_table import SlashCommand
from sapwood.core.context import Mark, find_mark
from sapwood.core.decide.scene import Refused
from sapwood.core.refusals import (
    AskedAgain,
    BadMarkName,
    EmptyText,
    MailboxFull,
    NoMarks,
    NotRunning,
    NoTurnOpen,
    RevertCutOff,
    TooLong,
    TurnEnded,
    TurnIsOpen,
    UnknownAgent,
    UnknownMark,
    nearest,
)
from sapwood.core.state import WAITING_LIMIT, OpenTurn, State

__all__ = [
    "MARK_NAME",
    "require_exists",
    "require_length",
    "require_mark",
    "require_mark_name",
    "require_may_run",
    "require_no_turn",
    "require_room_for_notes",
    "require_running",
    "require_text",
    "require_turn",
    "require_whole_files",
]

MARK_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")


def require_exists(state: State) -> None:
    """The agent was started once."""
    if state.status == "none":
        raise Refused(UnknownAgent(state.agent))


def require_running(state: State) -> None:
    """The agent is neither archived nor killed."""
    require_exists(state)
    if state.status != "running":
        raise Refused(NotRunning(state.agent, state.status))


def require_no_turn(state: State, command: str) -> None:
    """No turn is open."""
    require_running(state)
    if state.open is not None:
        raise Refused(TurnIsOpen(command))


def require_may_run(state: State, row: SlashCommand | None) -> None:
    """No turn is open, if the table has the command wait for its end."""
    if row is not None and not row.while_open:
        require_no_turn(state, row.typed)


def require_turn(state: State, turn: int = 0, asked: int = 0) -> OpenTurn:
    """A turn is open: the one that started at `turn`, and its last model call is at `asked`."""
    require_running(state)
    if turn and (state.open is None or state.open.first != turn):
        raise Refused(TurnEnded())
    if state.open is None:
        raise Refused(NoTurnOpen())
    if asked and state.open.asked != asked:
        raise Refused(AskedAgain())
    return state.open


def require_whole_files(state: State) -> None:
    """No revert has stopped in the middle of the files."""
    if state.reverting is not None:
        raise Refused(RevertCutOff(state.reverting.to.words, state.reverting.started))


def require_mark_name(name: str) -> None:
    """The name can be told from a number and typed without quotes."""
    if not MARK_NAME.fullmatch(name):
        raise Refused(BadMarkName(name))


def require_mark(state: State, name: str | None) -> tuple[int, Mark]:
    """A live mark of this name; without a name, the newest."""
    index = find_mark(state.marks, name)
    if index is not None:
        return index, state.marks[index]
    if name is None:
        raise Refused(NoMarks())
    names = tuple(mark.name for mark in state.marks if mark.name)
    raise Refused(UnknownMark(name, nearest(name, names)))


def require_room_for_notes(state: State) -> None:
    """The agent can take one more letter or note."""
    if len(state.inbox) + len(state.notes) >= WAITING_LIMIT:
        raise Refused(MailboxFull(state.agent, WAITING_LIMIT))


def require_text(text: str, what: str) -> None:
    """There is something to read."""
    if not text.strip():
        raise Refused(EmptyText(what))


def require_length(text: str, limit: int, what: str) -> None:
    """The text fits its place."""
    if len(text) > limit:
        raise Refused(TooLong(what, limit))
