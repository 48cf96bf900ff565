"""Builds a ledger turn by turn, so that adding to a session costs only the new turns."""

from collections.abc import Iterable, Iterator

from sapwood.analysis.language.sentences import turn_sentences
from sapwood.analysis.ledger.decisions import DecisionTracker
from sapwood.analysis.ledger.entries import Ledger, TouchedFiles
from sapwood.analysis.ledger.operations.call_outcomes import CallOutcome, call_outcome
from sapwood.analysis.ledger.operations.command_effects import effects_of
from sapwood.analysis.ledger.operations.file_tracker import FileTracker
from sapwood.analysis.ledger.operations.known_tools import operations_of
from sapwood.analysis.ledger.operations.operation import BackgroundPolled, CommandLineRan, Operation
from sapwood.analysis.ledger.operations.simple_commands import SimpleCommand, simple_commands
from sapwood.analysis.ledger.operations.working_folder import WorkingFolder
from sapwood.analysis.ledger.runs.failure_tracker import FailureTracker
from sapwood.analysis.ledger.runs.run_records import RunRecord, record_run
from sapwood.analysis.session import Session, request_text
from sapwood.core.content import ToolCall
from sapwood.core.turn import Result, Turn

_PATCH_COMMANDS = ("apply_patch", "applypatch")


def ledger_of(of: Session | Iterable[Turn], folder: str = "", *, live: bool = False) -> Ledger:
    """Returns the ledger of a session, or of turns that worked in a folder.

    What was said in turns that a rewind left behind is never in it. With `live`, neither is what
    they did to files.

    >>> from sapwood.analysis.session import Session
    >>> ledger_of(Session("claude-code", "1")).files.created
    ()
    """
    if not isinstance(of, Session):
        builder = LedgerBuilder(folder)
        for turn in of:
            builder.add(turn)
        return builder.ledger()
    builder, rewound = LedgerBuilder(of.folder), frozenset(of.abandoned)
    for index, (number, turn) in enumerate(zip(of.numbers, of.turns, strict=True)):
        if index not in rewound:
            builder.add(turn, number)
        elif not live:
            builder.add_rewound(turn, number)
    return builder.ledger()


def files_of(turn: Turn, folder: str = "") -> TouchedFiles:
    """Returns the files that one turn touched."""
    operations = _Operations(folder)
    for call, outcome in _calls_with_outcomes(turn):
        for operation in operations_of(call, outcome):
            operations.add(operation, outcome)
    return operations.files.files()


def _calls_with_outcomes(turn: Turn) -> Iterator[tuple[ToolCall, CallOutcome]]:
    results = {item.call: item for item in turn.items if isinstance(item, Result)}
    for call in turn.calls.values():
        yield call, call_outcome(results.get(call.id))


class _Operations:
    """Tracks the files that operations touched, and the working folder of the shell."""

    def __init__(self, folder: str) -> None:
        self.files = FileTracker(folder)
        self._working_folder = WorkingFolder(folder)

    def add(self, operation: Operation, outcome: CallOutcome) -> tuple[SimpleCommand, ...]:
        """Adds one more operation. Returns the commands if it ran a command line."""
        if not isinstance(operation, CommandLineRan):
            self.files.add(operation)
            return ()
        if outcome.refused:
            return ()
        commands = simple_commands(operation.command)
        folder = self._working_folder.folder_of(operation, commands, outcome)
        for effect in effects_of(commands, folder, outcome):
            self.files.add(effect)
        return commands


class LedgerBuilder:
    """Builds the ledger of a session from its turns."""

    def __init__(self, folder: str = "") -> None:
        self._number = 0
        self._operations = _Operations(folder)
        self._runs: list[RunRecord] = []
        self._background: dict[str, int] = {}
        self._last_request = ""
        self._decisions = DecisionTracker()

    def add(self, turn: Turn, number: int | None = None) -> None:
        """Adds one more turn. Without a number, it has the one that it has in its conversation."""
        self._number = (turn.number or self._number + 1) if number is None else number
        request = request_text(turn)
        self._last_request = request or self._last_request
        for call, outcome in _calls_with_outcomes(turn):
            self._add_call(call, outcome)
        if turn.is_request and not request:
            return  # it asks Sapwood for figures, and decides nothing
        self._decisions.add(turn_sentences(turn, self._number))

    def add_rewound(self, turn: Turn, number: int) -> None:
        """Adds the tool calls of a turn that a rewind left behind."""
        self._number = number
        for call, outcome in _calls_with_outcomes(turn):
            self._add_call(call, outcome)

    def ledger(self) -> Ledger:
        """Returns the ledger of all turns so far."""
        failures = FailureTracker()
        for each in self._runs:
            failures.add(each.attempt)
        return Ledger(
            files=self._operations.files.files(),
            commands=tuple(each.run for each in self._runs),
            tests=tuple(each.suite for each in self._runs if each.suite is not None),
            failing=failures.failing(),
            decisions=self._decisions.decisions(),
            last_request=self._last_request,
        )

    def _add_call(self, call: ToolCall, outcome: CallOutcome) -> None:
        for operation in operations_of(call, outcome):
            commands = self._operations.add(operation, outcome)
            match operation:
                case CommandLineRan():
                    self._add_run(operation.command, commands, outcome)
                case BackgroundPolled():
                    self._update_run(operation.handle, outcome)
                case _:
                    pass

    def _add_run(
        self, line: str, commands: tuple[SimpleCommand, ...], outcome: CallOutcome
    ) -> None:
        if any(
            command.texts[:1] not in [(name,) for name in _PATCH_COMMANDS] for command in commands
        ):
            if outcome.handle:
                self._background[outcome.handle] = len(self._runs)
            self._runs.append(record_run(line, commands, outcome, self._number))

    def _update_run(self, handle: str, outcome: CallOutcome) -> None:
        """Records how a command in the background ended."""
        index = self._background.get(handle)
        if index is None or outcome.status == "unknown":
            return
        old = self._runs[index].run
        self._runs[index] = record_run(old.command, simple_commands(old.command), outcome, old.turn)
