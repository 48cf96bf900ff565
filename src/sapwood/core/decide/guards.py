"""Guards: each checks one condition of a command and raises `Refused` if it does not hold."""

import re

from sapwood.core import commands, refusals
from sapwood.core.command_table import SlashCommand
from sapwood.core.context import Mark, find_mark
from sapwood.core.decide.decision import Refused
from sapwood.core.erasure import archive_in
from sapwood.core.ids import can_be_stored
from sapwood.core.state import WAITING_LIMIT, OpenTurn, State
from sapwood.core.turn_params import TurnParams

MARK_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")


def require_exists(state: State) -> None:
    """The agent exists: it was started."""
    if state.status == "none":
        raise Refused(refusals.UnknownAgent(state.agent))


def require_not_in_archive(state: State) -> None:
    """The agent has its conversation, and is not only the stub of one in object storage."""
    if state.status == "archived" and archive_in(state.tags):
        raise Refused(refusals.InArchive(state.agent))


def require_running(state: State) -> None:
    """The agent is neither archived nor killed."""
    require_exists(state)
    require_not_in_archive(state)
    if state.status != "running":
        raise Refused(refusals.NotRunning(state.agent, state.status))


def require_no_turn(state: State, command: str) -> None:
    """No turn is open."""
    require_running(state)
    if state.open is not None:
        raise Refused(refusals.TurnIsOpen(command))


def require_params(params: TurnParams | None) -> None:
    """The parameters of a turn are valid."""
    problem = params.problem() if params is not None else None
    if problem is not None:
        name, rule = problem
        raise Refused(refusals.BadSetting(f"params.{name}", rule))


def require_recordable(state: State, meta: commands.CommandMeta, command: str) -> None:
    """No turn is open, and the agent is running.

    An imported agent may also be archived: its program continues the conversation all the same.
    """
    is_import = state.origin is not None and meta.actor.role == "system"
    if not (is_import and state.status == "archived"):
        require_running(state)
    if state.open is not None:
        raise Refused(refusals.TurnIsOpen(command))


def require_may_run(state: State, row: SlashCommand | None) -> None:
    """No turn is open, if the command table says that the command cannot run while one is."""
    if row is not None and not row.during_turn:
        require_no_turn(state, row.typed)


def require_turn(state: State, turn: int = 0, asked: int = 0) -> OpenTurn:
    """Returns the open turn. It must start at `turn`, with its last model call at `asked`."""
    require_running(state)
    if turn and (state.open is None or state.open.first != turn):
        raise Refused(refusals.TurnEnded())
    if state.open is None:
        raise Refused(refusals.NoTurnOpen())
    if asked and state.open.asked != asked:
        raise Refused(refusals.AskedAgain())
    return state.open


def require_whole_files(state: State) -> None:
    """No revert is unfinished: the files are those of one moment."""
    if state.reverting is not None:
        raise Refused(refusals.RevertCutOff(state.reverting.to.words))


def require_mark_name(name: str) -> None:
    """The name differs from a number and can be typed without quotes."""
    if not MARK_NAME.fullmatch(name):
        raise Refused(refusals.BadMarkName(name))


def require_mark(state: State, name: str | None) -> tuple[int, Mark]:
    """Returns the index and the mark of this name; without a name, of the newest mark."""
    index = find_mark(state.marks, name)
    if index is not None:
        return index, state.marks[index]
    if name is None:
        raise Refused(refusals.NoMarks())
    names = tuple(mark.name for mark in state.marks if mark.name)
    raise Refused(refusals.UnknownMark(name, refusals.nearest(name, names), names))


def require_room_for_notes(state: State) -> None:
    """The agent has room for one more letter or note."""
    if len(state.inbox) + len(state.notes) >= WAITING_LIMIT:
        raise Refused(refusals.MailboxFull(state.agent, WAITING_LIMIT))


def require_budget(problem: refusals.BudgetReached | None) -> None:
    """No budget is used up."""
    if problem is not None:
        raise Refused(problem)


def require_text(text: str, what: str) -> None:
    """The text is not blank."""
    if not text.strip():
        raise Refused(refusals.EmptyText(what))


def require_length(text: str, limit: int, what: str) -> None:
    """The text has at most `limit` characters."""
    if len(text) > limit:
        raise Refused(refusals.TooLong(what, limit))


def bad_id(command: commands.Command, meta: commands.CommandMeta) -> refusals.BadId | None:
    """Returns the refusal of the first id in a command that no store can hold, or None."""
    names = (command.agent, meta.id, meta.actor.name, *_others(command))
    return next((refusals.BadId(name) for name in names if not can_be_stored(name)), None)


def _others(command: commands.Command) -> tuple[str, ...]:
    match command:
        case commands.StartAgent():
            return (command.parent or "",)
        case commands.Fork():
            return (command.child,)
        case commands.StartSuccessor():
            return (command.successor,)
        case commands.Send():
            return (command.sender or "",)
        case commands.Kill():
            return (command.by or "",)
        case _:
            return ()


def require_word(text: str, max_length: int, what: str) -> None:
    """A name that indexes can hold: printable, not blank, of at most `max_length` characters."""
    require_text(text, what)
    require_length(text, max_length, what)
    if not text.isprintable() or text != text.strip():
        raise Refused(
            refusals.BadSetting(what, "printable text without leading or trailing spaces")
        )
