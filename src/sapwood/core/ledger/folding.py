"""From turns to a ledger: one turn after the other, so that a growing session costs its growth."""

from collections.abc import Iterable, Iterator

from sapwood.core.content import Text, ToolCall
from sapwood.core.ledger.acts.act import Act, Polled, Ran
from sapwood.core.ledger.acts.effects import effects_of
from sapwood.core.ledger.acts.files import FileBook
from sapwood.core.ledger.acts.folders import Shells
from sapwood.core.ledger.acts.outcomes import Ended, ended
from sapwood.core.ledger.acts.shell import Simple, simple_commands
from sapwood.core.ledger.acts.tools import acts_of
from sapwood.core.ledger.entries import Files, Ledger
from sapwood.core.ledger.runs.leftovers import Leftovers
from sapwood.core.ledger.runs.reading import RunRead, read_run
from sapwood.core.ledger.speech.decisions import DecisionBook
from sapwood.core.ledger.speech.questions import QuestionBook
from sapwood.core.ledger.speech.utterances import spoken
from sapwood.core.session import Session
from sapwood.core.turn import Result, Turn

__all__ = ["LedgerFold", "files_of", "ledger_of"]

_PATCHES = ("apply_patch", "applypatch")


def ledger_of(of: Session | Iterable[Turn], folder: str = "") -> Ledger:
    """The ledger of a session, or of turns that worked in a folder.

    >>> from sapwood.core.session import Session
    >>> ledger_of(Session("claude-code", "1")).files.created
    ()
    """
    fold = LedgerFold(of.folder if isinstance(of, Session) else folder)
    for turn in of.turns if isinstance(of, Session) else of:
        fold.add(turn)
    return fold.ledger()


def files_of(turn: Turn, folder: str = "") -> Files:
    """The files that one turn touched."""
    seen = _Seen(folder)
    for call, how in _ended_calls(turn):
        for act in acts_of(call, how):
            seen.enter(act, how)
    return seen.files.files()


def _ended_calls(turn: Turn) -> Iterator[tuple[ToolCall, Ended]]:
    results = {item.call: item for item in turn.items if isinstance(item, Result)}
    for call in turn.calls.values():
        yield call, ended(results.get(call.id))


class _Seen:
    """The files that acts touched, and the folder that a shell is in which keeps it."""

    def __init__(self, folder: str) -> None:
        self.files = FileBook(folder)
        self._shells = Shells(folder)

    def enter(self, act: Act, how: Ended) -> tuple[Simple, ...]:
        """One more act; the commands of one that ran a line."""
        if not isinstance(act, Ran):
            self.files.enter(act)
            return ()
        if how.refused:
            return ()
        commands = simple_commands(act.command)
        folder = self._shells.folder_of(act, commands, how)
        for effect in effects_of(commands, folder, how):
            self.files.enter(effect)
        return commands


class LedgerFold:
    """A ledger that grows with its session."""

    def __init__(self, folder: str = "") -> None:
        self._turns = 0
        self._seen = _Seen(folder)
        self._runs: list[RunRead] = []
        self._background: dict[str, int] = {}
        self._last_request = ""
        self._decisions = DecisionBook()
        self._questions = QuestionBook()

    def add(self, turn: Turn) -> None:
        """One more turn. One that only goes on counts with the turn before it."""
        if not (turn.goes_on and self._turns):
            self._turns += 1
        if turn.is_request:
            self._last_request = "\n".join(p.text for p in turn.prompt if isinstance(p, Text))
        for call, how in _ended_calls(turn):
            self._call(call, how)
        said = spoken(turn, self._turns)
        self._decisions.add(said)
        self._questions.add(said)

    def ledger(self) -> Ledger:
        """The ledger of all turns so far."""
        left = Leftovers()
        for each in self._runs:
            left.enter(each.attempt)
        return Ledger(
            files=self._seen.files.files(),
            commands=tuple(each.run for each in self._runs),
            tests=tuple(each.suite for each in self._runs if each.suite is not None),
            failing=left.failing(),
            decisions=self._decisions.decisions(),
            questions=self._questions.questions(),
            last_request=self._last_request,
        )

    def _call(self, call: ToolCall, how: Ended) -> None:
        for act in acts_of(call, how):
            commands = self._seen.enter(act, how)
            match act:
                case Ran():
                    self._ran(act.command, commands, how)
                case Polled():
                    self._polled(act.handle, how)
                case _:
                    pass

    def _ran(self, line: str, commands: tuple[Simple, ...], how: Ended) -> None:
        if any(command.texts[:1] not in [(name,) for name in _PATCHES] for command in commands):
            if how.handle:
                self._background[how.handle] = len(self._runs)
            self._runs.append(read_run(line, commands, how, self._turns))

    def _polled(self, handle: str, how: Ended) -> None:
        """How a command ended that was left running."""
        place = self._background.get(handle)
        if place is None or how.outcome == "unknown":
            return
        old = self._runs[place].run
        self._runs[place] = read_run(old.command, simple_commands(old.command), how, old.turn)
