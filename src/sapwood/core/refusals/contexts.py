"""Refusals about the context: marks, undo, summaries, forks, pins and topics.

Refusals of summaries: key facts are missing, or the summary is too long.
"""

from sapwood.core.plural import counted
from sapwood.core.refusals.refusal import Refusal, cut, did_you_mean, quoted

_NAMED = 12


class BadMarkName(Refusal, frozen=True):
    """The name of a mark must differ from a number and be easy to type."""

    name: str
    says = (
        "{name!q} is not a valid name for a mark. Use up to 64 letters, digits, "
        "'_', '.' or '-', starting with a letter or '_'."
    )


class UnknownMark(Refusal, frozen=True):
    """No live mark has this name."""

    name: str
    close: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        known = f" Marks: {_newest(self.names)}." if self.names else " Type /mark NAME to set one."
        if self.names and set(self.names) <= set(self.close):
            known = ""  # the question names them all
        meant = did_you_mean(self.close)
        return f"There is no mark {quoted(self.name)}.{meant}{known} Nothing was changed."


def _newest(names: tuple[str, ...]) -> str:
    """The newest names, and how many more there are."""
    more = len(names) - _NAMED
    return ", ".join(names[-_NAMED:]) + (f" and {more} more" if more > 0 else "")


class NothingToRetry(Refusal, frozen=True):
    """No prompt is in view.

    >>> NothingToRetry().sentence
    'There is no prompt in view to retry. Type one.'
    """

    says = "There is no prompt in view to retry. Type one."


class UnknownTurn(Refusal, frozen=True):
    """The conversation has no such turn: its turns are 1 to `last`.

    >>> UnknownTurn("9", 4).sentence
    'There is no turn 9. Type a number from 1 to 4. Nothing was changed.'
    """

    typed: str
    last: int = 0
    inherits: bool = False

    @property
    def sentence(self) -> str:
        numbers = "1, the only turn" if self.last == 1 else f"a number from 1 to {self.last}"
        known = f"Type {numbers}." if self.last else "This conversation has no turn yet."
        inherited = " To name a turn that it inherited, type NAME/3." if self.inherits else ""
        turn = cut(self.typed) if self.typed.isdecimal() else quoted(self.typed)
        return f"There is no turn {turn}. {known}{inherited} Nothing was changed."


class TurnRenumbered(Refusal, frozen=True):
    """What was typed is an old number of a turn: the version of its first event.

    >>> TurnRenumbered("12", "5").sentence
    'Turn numbers have changed: turn 12 is now turn 5. Nothing was changed. Type 5 instead.'
    """

    typed: str
    now: str

    @property
    def sentence(self) -> str:
        return (
            f"Turn numbers have changed: turn {cut(self.typed)} is now turn {self.now}. Nothing "
            f"was changed. Type {self.now} instead."
        )


class LastRequestStays(Refusal, frozen=True):
    """The last user request is in every request until a bare clear, so it cannot be dropped.

    >>> LastRequestStays(9, "4-8").sentence
    'Turn 9 has your latest prompt, which cannot be dropped. Nothing was changed. Type /drop 4-8.'
    """

    number: int
    others: str = ""

    @property
    def sentence(self) -> str:
        instead = f"/drop {self.others}" if self.others else "/clear to clear everything"
        return (
            f"Turn {self.number} has your latest prompt, which cannot be dropped. Nothing was "
            f"changed. Type {instead}."
        )


class TooManyLoaded(Refusal, frozen=True):
    """As many turns are quoted in front of the live path as may be."""

    most: int
    says = (
        "{most} loaded turns are already in view, which is the limit. Nothing was "
        "changed. Type /undo to remove the last one, or /clear to remove all of them."
    )


class NoMarks(Refusal, frozen=True):
    """There is no mark to rewind to."""

    says = "There is no mark to rewind to. Set one with /mark NAME."


class UndoTakesTurns(Refusal, frozen=True):
    """Several turns were started after the command that would be undone, and leave view with it."""

    undone: str
    first: int
    last: int
    turns: int
    again = "/undo --anyway"
    says = (
        "Undoing {undone} also removes {turns} later turns ({first} to {last}) from view. Type "
        "/undo --anyway to do it; /redo then brings them back."
    )


class NothingToUndo(Refusal, frozen=True):
    """There is no context command to undo."""

    says = (
        "There is nothing to undo. /undo works after a context command such as /clear, "
        "/rewind or /compact."
    )


class NothingToRedo(Refusal, frozen=True):
    """There is no undone command to redo."""

    says = "There is nothing to redo. /redo works after /undo, until the next context command."


class SummaryOutdated(Refusal, frozen=True):
    """Turns were added while the summary was written."""

    @property
    def sentence(self) -> str:
        return self.sentence_for("/compact")

    def sentence_for(self, compact: str) -> str:
        """The sentence, with the command that compacts as it is typed."""
        return (
            "The conversation changed while the summary was being written. Nothing was compacted. "
            f"Type {compact} again."
        )


class NoGoal(Refusal, frozen=True):
    """A fork from a mark in the open turn needs a goal, or text that was written after the mark."""

    mark: str
    says = "The goal after '{mark}' is missing. Write it there, or add -- GOAL."


class UnknownPin(Refusal, frozen=True):
    """No pin has this name."""

    name: str
    close: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return (
            f"There is no pin {quoted(self.name)}.{did_you_mean(self.close)} Type /context to list "
            "the pins."
        )


class TooManyPins(Refusal, frozen=True):
    """The agent has as many pins as it can have."""

    limit: int
    says = "There are already {limit} pins, which is the limit. Type /unpin NAME to remove one."


class TooManyJobs(Refusal, frozen=True):
    """Too many background commands run."""

    limit: int

    @property
    def sentence(self) -> str:
        limit = f"At most {self.limit} background commands run at once."
        return f"{limit} To end one, type /jobs end NUMBER."


class JobNotRunning(Refusal, frozen=True):
    """No background command with this number runs."""

    job: int
    says = "No job {job} is running. To list the jobs, type /jobs."


class TooManyTodos(Refusal, frozen=True):
    """A to-do list has too many items."""

    limit: int
    says = "A to-do list has at most {limit} items. Write fewer, or join some of them."


class TooManyTopics(Refusal, frozen=True):
    """As many topics are in focus as there can be."""

    limit: int
    says = (
        "There are already {limit} topics in focus, which is the limit. Remove one "
        "first: sapwood context unfocus TOPIC."
    )


class TooManyNotes(Refusal, frozen=True):
    """As many notes are in force as there can be."""

    limit: int
    says = (
        "There are already {limit} active notes, which is the limit. To replace one, "
        "type 'sapwood context note decision TEXT --replaces ID'."
    )


class UnknownNote(Refusal, frozen=True):
    """No note in force has this id."""

    note: int
    says = "There is no active note {note}. To list the active notes, type 'sapwood context note'."


def _remedy(compact: str) -> str:
    return (
        f"Nothing was changed. Type {compact} to try again, or {compact} --anyway to accept any "
        "summary."
    )


_SUMMARIES_NAMED = 5


class SummaryLacking(Refusal, frozen=True):
    """The summary lacks too many key facts, also after the model was asked to add them.

    >>> SummaryLacking(11, 4, ("a.py", "npm test", "retry", "cap")).sentence[:75]
    '11 turns summarised, but none of the key facts are in the summary. Nothing '
    """

    turns: int
    probes: int
    missing: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return self.sentence_for("/compact")

    def sentence_for(self, compact: str) -> str:
        """The sentence, with the command that compacts as it is typed."""
        remedy = _remedy(compact)
        turns = f"{counted(self.turns, 'turn')} summarised"
        found = self.probes - len(self.missing)
        if found <= 0:
            return f"{turns}, but none of the key facts are in the summary. {remedy}"
        lacking = ", ".join(self.missing[:_SUMMARIES_NAMED])
        are = "is" if found == 1 else "are"
        return (
            f"{turns}, but only {found} of {self.probes} key facts {are} in the summary. Missing: "
            f"{lacking}. {remedy}"
        )


class SummaryTooLong(Refusal, frozen=True):
    """The summary has more tokens than summaries may have, also after a second try."""

    tokens: int
    cap: int

    @property
    def sentence(self) -> str:
        return self.sentence_for("/compact")

    def sentence_for(self, compact: str) -> str:
        """The sentence, with the command that compacts as it is typed."""
        return (
            f"The summary is {self.tokens:,} tokens long, but the limit is {self.cap:,}. "
            f"{_remedy(compact)} To change the limit, type /config summary_cap."
        )
