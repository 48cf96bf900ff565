"""The tool results in view: the kind, the subject and the tokens of each."""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct, structs

from sapwood.analysis.ledger.operations.call_outcomes import CallOutcome, call_outcome
from sapwood.analysis.ledger.operations.command_effects import effects_of
from sapwood.analysis.ledger.operations.known_tools import operations_of
from sapwood.analysis.ledger.operations.operation import (
    CommandLineRan,
    FileEdited,
    FileRead,
    FileWritten,
)
from sapwood.analysis.ledger.operations.simple_commands import simple_commands
from sapwood.analysis.ledger.operations.working_folder import WorkingFolder, relative_path
from sapwood.analysis.ledger.runs.run_records import runs_tests
from sapwood.analysis.session import Session
from sapwood.core.content import ToolCall
from sapwood.core.token_count import Counter
from sapwood.core.turn import Result

ResultKind = Literal["read", "written", "edited", "test", "command", "other"]


class ResultInView(Struct, frozen=True):
    """A result in view. `subject` is a path or a command line, else the name of the tool.

    `tokens` counts the result, `call_tokens` the arguments of the call.
    """

    turn: int
    kind: ResultKind
    subject: str
    tokens: int
    call_tokens: int
    failed: bool = False


def results_in_view(session: Session, counter: Counter) -> Iterator[ResultInView]:
    """Yields every result in view, oldest first."""
    numbers, subjects = session.numbers, _Subjects(session.folder)
    for index in session.indexes_in_view:
        turn = session.turns[index]
        calls = turn.calls
        for item in turn.items:
            call = calls.get(item.call) if isinstance(item, Result) else None
            if not isinstance(item, Result) or call is None:
                continue
            outcome = call_outcome(item)
            kind, subject = subjects.of(call, outcome)
            yield ResultInView(
                turn=numbers[index],
                kind=kind,
                subject=subject,
                tokens=counter.count(item.content).tokens,
                call_tokens=counter.count(call.args).tokens,
                failed=item.error or outcome.status == "failed",
            )


class _Subjects:
    """Finds the kind and the subject of each result in order, and tracks the working folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._working_folder = WorkingFolder(folder)

    def of(self, call: ToolCall, outcome: CallOutcome) -> tuple[ResultKind, str]:
        # Neither the kind nor the path depends on the output, which may be long.
        for operation in operations_of(call, structs.replace(outcome, output="")):
            match operation:
                case CommandLineRan():
                    return self._ran(operation, outcome)
                case FileRead():
                    return "read", relative_path(operation.path, self._folder)
                case FileWritten():
                    return "written", relative_path(operation.path, self._folder)
                case FileEdited():
                    return "edited", relative_path(operation.path, self._folder)
                case _:
                    pass
        return "other", call.name

    def _ran(self, operation: CommandLineRan, outcome: CallOutcome) -> tuple[ResultKind, str]:
        """A line that only prints one file counts as reading it."""
        commands = simple_commands(operation.command)
        if outcome.refused:
            return "command", operation.command
        folder = self._working_folder.folder_of(operation, commands, outcome)
        if runs_tests(commands):
            return "test", operation.command
        effects = list(effects_of(commands, folder, outcome))
        if len(commands) == 1 and len(effects) == 1 and isinstance(effects[0], FileRead):
            return "read", relative_path(effects[0].path, self._folder)
        return "command", operation.command
