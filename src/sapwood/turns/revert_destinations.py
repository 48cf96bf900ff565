"""The destinations of a revert: the places before the turns that changed files."""

from collections.abc import Sequence
from typing import assert_never

from msgspec import Struct

from sapwood.core.checkpoint import Destination
from sapwood.core.events import CheckpointMade, CheckpointMissed, ContextReverted, RevertStarted
from sapwood.core.refusals import NoCheckpoint, UnknownCheckpoint
from sapwood.turns.checkpoints import FilesAt, Link

_NAMED = 5


class _Change(Struct, frozen=True):
    """A turn that changed files, the link with the files before it, and the change before."""

    turn: int
    before: Link
    earlier: "_Change | None"


class FileHistory:
    """The turns that changed the files of a workspace, from an agent's chain of checkpoints.

    A revert takes turns out of the present line of changes, and a revert of that revert brings
    them back. So a bare revert that is repeated goes further back each time.
    """

    def __init__(self, chain: Sequence[Link]) -> None:
        self._links = list(reversed(chain))
        self._lines: dict[int, _Change | None] = {}
        self._turns: dict[int, Link] = {}
        self._started: list[RevertStarted] = []
        line: _Change | None = None
        previous: Link | None = None
        for link in self._links:
            line = self._after(line, previous, link)
            self._lines[link.version] = line
            previous = link
        self._line = line

    @property
    def turns(self) -> list[int]:
        """The turns that can be reverted, newest first."""
        return [turn for turn, before in reversed(self._turns.items()) if before.files]

    def last_change(self) -> Destination | NoCheckpoint:
        """The place before the last turn that changed files and was not reverted."""
        if self._line is None:
            return NoCheckpoint(*self._reasons()[:1])
        return _before(self._line.turn, self._line.before)

    def at(self, version: int) -> Destination | None:
        """The place of a checkpoint or of the start of a revert; None if there is none."""
        for link in self._links:
            if link.version == version and not isinstance(link.event, CheckpointMissed):
                return Destination(version, version, _words(link.event, version))
        return None

    def before_turn(self, turn: int) -> Destination | NoCheckpoint:
        """The place before a turn.

        The files before a turn that could not change any were not saved: then edits that a person
        made up to the next checkpoint are kept. If there is no later checkpoint, the files of the
        destination are 0: they stay as they are.
        """
        earlier: Link | None = None
        for link in self._links:
            if link.version > turn:
                found = link if _is_before_changes(link, turn, earlier) else earlier
                return _before(turn, found) if found else NoCheckpoint()
            earlier = link
        if earlier is not None and isinstance(earlier.event, CheckpointMissed):
            return NoCheckpoint(earlier.event.reason)
        return Destination(0, turn - 1, f"before turn {turn}")

    def unknown(self, typed: str) -> NoCheckpoint | UnknownCheckpoint:
        """The refusal of a number that names no place."""
        if not self._links:
            return NoCheckpoint()
        turns = tuple(str(turn) for turn in self.turns[:_NAMED])
        return UnknownCheckpoint(typed, turns, tuple(str(each) for each in self._reverts()[:1]))

    def _reverts(self) -> list[int]:
        """The versions at which reverts started, newest first."""
        links = reversed(self._links)
        return [link.version for link in links if isinstance(link.event, RevertStarted)]

    def _reasons(self) -> list[str]:
        """Why there is no place to go back to, newest first."""
        events = [link.event for link in reversed(self._links)]
        missed = [event.reason for event in events if isinstance(event, CheckpointMissed)]
        return missed + [
            f"No earlier turn changed files. To undo the last revert, type /revert {version}."
            for version in self._reverts()[:1]
        ]

    def _after(self, line: _Change | None, previous: Link | None, link: Link) -> _Change | None:
        """The line of changes after a link."""
        match link.event:
            case ContextReverted(to):
                if self._started and self._started[-1].of:
                    return None  # the files are those of another conversation
                return self._lines.get(to.files) if to.files else line
            case CheckpointMissed(turn=turn, moment="before"):
                before = link
            case CheckpointMissed(turn=turn) | CheckpointMade(turn=turn, moment="after"):
                before = previous
            case RevertStarted():
                self._started.append(link.event)
                return line
            case CheckpointMade():
                return line
            case _:
                assert_never(link.event)
        if not turn or before is None or (line is not None and line.turn == turn):
            return line
        self._turns.setdefault(turn, before)
        return _Change(turn, before, line)


def _before(turn: int, link: Link) -> Destination | NoCheckpoint:
    if isinstance(link.event, CheckpointMissed):
        return NoCheckpoint(link.event.reason)
    return Destination(link.version, turn - 1, f"before turn {turn}")


def _is_before_changes(link: Link, turn: int, earlier: Link | None) -> bool:
    """Whether a link after the start of a turn has the files before that turn changed any.

    While checkpoints are missed, changes are not recorded: then only a checkpoint of the turn
    itself has them.
    """
    if earlier is not None and isinstance(earlier.event, CheckpointMissed):
        return isinstance(link.event, CheckpointMade) and (
            (link.event.turn, link.event.moment) == (turn, "before")
        )
    match link.event:
        case (
            CheckpointMade(turn=other, moment=moment) | CheckpointMissed(turn=other, moment=moment)
        ):
            return moment == "before" or 0 < other < turn
        case RevertStarted():
            return True
        case ContextReverted():
            return False
        case _:
            assert_never(link.event)


def _words(event: FilesAt, version: int) -> str:
    match event:
        case CheckpointMade(turn=turn, moment=moment):
            return f"{moment} turn {turn}" if turn else f"at {version}"
        case RevertStarted():
            return f"before the revert at {version}"
        case ContextReverted():
            return f"after the revert at {version}"
        case _:
            assert_never(event)
