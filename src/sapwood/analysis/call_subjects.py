"""What each tool call of a session is about: a file, a command line, or the tool itself.

And the tool results in view, with the subject and the tokens of each.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct, structs

from sapwood.analysis.ledger.operations.call_outcomes import CallOutcome, call_outcome
from sapwood.analysis.ledger.operations.command_effects import effects_of
from sapwood.analysis.ledger.operations.known_tools import operations_of
from sapwood.analysis.ledger.operations.operation import (
    CommandLineRan,
    FileDeleted,
    FileEdited,
    FileMoved,
    FileRead,
    FileRestored,
    FileWritten,
    Operation,
)
from sapwood.analysis.ledger.operations.simple_commands import changes_folder, simple_commands
from sapwood.analysis.ledger.operations.working_folder import WorkingFolder, relative_path
from sapwood.analysis.ledger.runs.command_names import named_command
from sapwood.analysis.ledger.runs.run_records import runs_tests
from sapwood.analysis.session import Session
from sapwood.core.content import ToolCall
from sapwood.core.token_count import Counter
from sapwood.core.turn import Result

SubjectKind = Literal["read", "written", "edited", "test", "command", "other"]


class CallSubject(Struct, frozen=True):
    """What a call is about. `subject` is a path or a command line, else the name of the tool.

    `folder` is where a command line ran. `inspects` if it only looks at something. `changes` are
    the paths of the files that the call changed; an empty path means any file. `content` is what it
    wrote to its file, if that is known.
    """

    kind: SubjectKind
    subject: str
    folder: str = ""
    inspects: bool = False
    changes: tuple[str, ...] = ()
    content: str | None = None


class SubjectReader:
    """Finds the subject of each call in order, and tracks the working folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._working_folder = WorkingFolder(folder)

    def subject_of(self, call: ToolCall, outcome: CallOutcome) -> CallSubject:
        """The subject of a call. Calls must be given in the order in which they ran."""
        # Neither the kind nor the path depends on the output, which may be long.
        operations = operations_of(call, structs.replace(outcome, output=""))
        changes = self._changes(operations)
        for operation in operations:
            match operation:
                case CommandLineRan():
                    return self._ran(operation, outcome)
                case FileRead():
                    return CallSubject("read", self._relative(operation.path))
                case FileWritten():
                    path = self._relative(operation.path)
                    return CallSubject("written", path, changes=changes, content=operation.content)
                case FileEdited():
                    return CallSubject("edited", self._relative(operation.path), changes=changes)
                case _:
                    pass
        return CallSubject("other", call.name, changes=changes)

    def _ran(self, operation: CommandLineRan, outcome: CallOutcome) -> CallSubject:
        """A line that only prints one file counts as reading it."""
        commands = simple_commands(operation.command)
        if outcome.refused:
            return CallSubject("command", operation.command)
        folder = self._working_folder.folder_of(operation, commands, outcome)
        if runs_tests(commands):
            return CallSubject("test", operation.command, folder)
        effects = list(effects_of(commands, folder, outcome))
        doing = [each for each in commands if not changes_folder(each)]
        if len(doing) == 1 and len(effects) == 1 and isinstance(effects[0], FileRead):
            return CallSubject("read", self._relative(effects[0].path))
        changes = self._changes(effects)
        inspects = not changes and all(named_command(each).inspects for each in doing)
        return CallSubject("command", operation.command, folder, inspects, changes)

    def _changes(self, operations: "list[Operation] | tuple[Operation, ...]") -> tuple[str, ...]:
        paths: list[str] = []
        for each in operations:
            match each:
                case FileWritten() | FileEdited() | FileDeleted() | FileRestored():
                    paths.append(self._relative(each.path) if each.path else "")
                case FileMoved():
                    paths += [self._relative(each.source), self._relative(each.target)]
                case _:
                    pass
        return tuple(paths)

    def _relative(self, path: str) -> str:
        return relative_path(path, self._folder)


class ResultInView(Struct, frozen=True):
    """A result in view. `subject` is a path or a command line, else the name of the tool.

    `tokens` counts the result, `call_tokens` the arguments of the call.
    """

    turn: int
    kind: SubjectKind
    subject: str
    tokens: int
    call_tokens: int
    failed: bool = False


def results_in_view(session: Session, counter: Counter) -> Iterator[ResultInView]:
    """Yields every result in view, oldest first."""
    numbers, subjects = session.numbers, SubjectReader(session.folder)
    for index in session.indexes_in_view:
        turn = session.turns[index]
        calls = turn.calls
        for item in turn.items:
            call = calls.get(item.call) if isinstance(item, Result) else None
            if not isinstance(item, Result) or call is None:
                continue
            outcome = call_outcome(item)
            about = subjects.subject_of(call, outcome)
            yield ResultInView(
                turn=numbers[index],
                kind=about.kind,
                subject=about.subject,
                tokens=counter.count(item.content).tokens,
                call_tokens=counter.count(call.args).tokens,
                failed=item.error or outcome.status == "failed",
            )
