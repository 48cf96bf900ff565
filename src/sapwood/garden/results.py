"""Tool results in view: what each is about, and how much room it takes."""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from sapwood.core.content import ToolCall
from sapwood.core.counting import Counter
from sapwood.core.ledger.acts.act import Edited, Ran, Read, Wrote
from sapwood.core.ledger.acts.effects import effects_of
from sapwood.core.ledger.acts.folders import Shells
from sapwood.core.ledger.acts.outcomes import Ended, ended
from sapwood.core.ledger.acts.paths import shown
from sapwood.core.ledger.acts.shell import simple_commands
from sapwood.core.ledger.acts.tools import acts_of
from sapwood.core.ledger.runs.reading import runs_tests
from sapwood.core.session import Session
from sapwood.core.turn import Result

__all__ = ["SeenResult", "results_in_view"]

About = Literal["read", "written", "edited", "test", "command", "other"]


class SeenResult(Struct, frozen=True):
    """A result that a model sees. `subject` is a path or a command line, else the tool's name.

    `tokens` are those of the result, `asked` those of the call.
    """

    turn: int
    about: About
    subject: str
    tokens: int
    asked: int
    failed: bool = False


def results_in_view(session: Session, counter: Counter) -> Iterator[SeenResult]:
    """Every result in view, oldest first."""
    numbers, about = session.numbers, _About(session.folder)
    for place in session.places_in_view:
        turn = session.turns[place]
        calls = turn.calls
        for item in turn.items:
            call = calls.get(item.call) if isinstance(item, Result) else None
            if not isinstance(item, Result) or call is None:
                continue
            how = ended(item)
            kind, subject = about.of(call, how)
            yield SeenResult(
                turn=numbers[place],
                about=kind,
                subject=subject,
                tokens=counter.count(item.content).tokens,
                asked=counter.count(call.args).tokens,
                failed=item.error or how.outcome == "failed",
            )


class _About:
    """What results are about, one after the other: a shell may keep the folder that it went to."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._shells = Shells(folder)

    def of(self, call: ToolCall, how: Ended) -> tuple[About, str]:
        for act in acts_of(call, how):
            match act:
                case Ran():
                    return self._ran(act, how)
                case Read():
                    return "read", shown(act.path, self._folder)
                case Wrote():
                    return "written", shown(act.path, self._folder)
                case Edited():
                    return "edited", shown(act.path, self._folder)
                case _:
                    pass
        return "other", call.name

    def _ran(self, act: Ran, how: Ended) -> tuple[About, str]:
        """A line that only shows one file is as good as reading it."""
        commands = simple_commands(act.command)
        if how.refused:
            return "command", act.command
        folder = self._shells.folder_of(act, commands, how)
        if runs_tests(commands):
            return "test", act.command
        effects = list(effects_of(commands, folder, how))
        if len(commands) == 1 and len(effects) == 1 and isinstance(effects[0], Read):
            return "read", shown(effects[0].path, self._folder)
        return "command", act.command
