"""What a model fetched again after a compaction, although it had stood in what left view.

A need is a tool result whose lines stood in an earlier result about the same file, or of the same
command, which a compaction had taken out of view. It is none if the file changed in between, if the
lines are still in view, or if a command ran after a change of files that may have been its reason.
A command that was repeated while its last output was still in view is watched, not forgotten.
"""

import re
from collections.abc import Collection, Container, Sequence
from functools import cached_property
from itertools import accumulate

from msgspec import Struct, structs

from sapwood.analysis.call_subjects import CallSubject, SubjectReader
from sapwood.analysis.ledger.operations.call_outcomes import CallOutcome, call_outcome
from sapwood.analysis.ledger.operations.working_folder import relative_path
from sapwood.analysis.session import Boundary, Session
from sapwood.core.content import File, ToolCall
from sapwood.core.turn import Reply, Result, Turn

_STOOD = 0.8
"""The share of a result's lines that must have stood in earlier results."""
_LEFT = 0.3
"""The share of a result's lines that must have left view."""
_MIN_LENGTH = 4
"""Characters of a line that says something; shorter ones stand in every file."""
_MAX_SOURCES = 12
"""The newest results about one subject that are compared."""

_NUMBERED = re.compile(r"^ *\d+(?:\t|→)", re.MULTILINE)
_VARYING = re.compile(r"\b\d+(?:\.\d+)?\s?(?:ms|s|seconds?)\b|\b\d+:\d\d(?::\d\d)?(?:\.\d+)?\b")
"""Durations and times of day, which differ each time a command runs."""
_NOT_LOOKED_UP = re.compile(
    r"^(?:todo|task|agent|update_?plan|bash_?output|write_?stdin|kill|exit_?plan|ask|skill)", re.I
)
"""Tools whose results are not looked up: plans, helpers, background work, questions."""


class Need(Struct, frozen=True):
    """A result that had to be fetched again.

    `left` and `needed` are the numbers of the turns in which it stood and in which it was needed.
    `boundary` is the index of the compaction that took it out of view. `text` is the result, or
    the lines of it that had left, and `calls` is how often the model was called with them until
    the next compaction.
    """

    call: str
    subject: str
    left: int
    needed: int
    boundary: int
    text: str
    calls: int = 0
    is_file: bool = True


class Loss(Struct, frozen=True):
    """What one compaction took out of view, and what was fetched again because of it.

    `boundary` is its index among the boundaries of the session. `turns` are the numbers of the
    turns that left, `files` the files whose content left, and `results` counts all tool results
    among them. `characters` is the length of everything that left.
    """

    boundary: int
    turns: tuple[int, ...]
    files: tuple[str, ...]
    results: int
    characters: int
    needs: tuple[Need, ...] = ()


class _Source:
    """A text that stood in the context: the index of its turn, and the order of its call.

    Most texts are never compared, so their lines are found when they are needed.
    """

    def __init__(self, turn: int, order: int, text: str, is_file: bool) -> None:
        self.turn = turn
        self.order = order
        self.text = text
        self._is_file = is_file

    @cached_property
    def lines(self) -> frozenset[str]:
        """The lines that say something."""
        return frozenset(_lines(self.text, self._is_file))


def needs_of(session: Session) -> list[Need]:
    """Returns what was needed again after the compactions of a session, in order."""
    return [need for loss in losses_of(session) for need in loss.needs]


def losses_of(session: Session) -> list[Loss]:
    """Returns what each compaction of a session took out of view; nothing if there was none."""
    wanted = [n for n, each in enumerate(session.boundaries) if each.is_compaction]
    if not wanted:
        return []
    finder = _NeedFinder(session)
    needs = finder.find()
    return [finder.loss(n, [need for need in needs if need.boundary == n]) for n in wanted]


class _NeedFinder:
    """Goes through the turns once, and remembers every text by its subject."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._numbers = session.numbers
        self._subjects = SubjectReader(session.folder)
        self._sources: dict[tuple[str, ...], list[_Source]] = {}
        self._changes: dict[str, int] = {}
        self._watched: set[tuple[str, ...]] = set()
        self._order = 0
        self._views = _Views(session)
        self._files: dict[int, set[str]] = {}
        # How many replies there were before each turn, and in all.
        self._replies = [0, *accumulate(map(_replies, session.turns))]

    def find(self) -> list[Need]:
        """Returns the needs of all turns, in order."""
        found: list[Need] = []
        for index, turn in enumerate(self._session.turns):
            view = self._views.at(index)
            calls = turn.calls
            for place, item in enumerate(turn.items):
                call = calls.get(item.call) if isinstance(item, Result) else None
                if isinstance(item, Result) and call is not None:
                    need = self._take(call, item, index, view)
                    if need is not None:
                        found.append(self._with_calls(need, index, place))
        return found

    def loss(self, boundary: int, needs: Sequence[Need]) -> Loss:
        """What a compaction took out of view; `find` must have run."""
        left = self._views.left_by(boundary)
        turns = [self._session.turns[index] for index in left]
        files = {path for index in left for path in self._files.get(index, ())}
        return Loss(
            boundary=boundary,
            turns=tuple(dict.fromkeys(self._numbers[index] for index in left)),
            files=tuple(sorted(files)),
            results=sum(isinstance(item, Result) for turn in turns for item in turn.items),
            characters=sum(map(_length, turns)),
            needs=tuple(needs),
        )

    def _take(self, call: ToolCall, result: Result, index: int, view: "_View") -> Need | None:
        self._order += 1
        outcome = call_outcome(result)
        about = self._subjects.subject_of(call, outcome)
        need = None
        if (key := _key(call, about, outcome)) is not None:
            text = outcome.output
            need = self._need(key, about, call, text, index, view)
            self._note_repetition(key, about, index, view)
            self._remember(key, text, index)
            if key[0] == "file":
                self._files.setdefault(index, set()).add(key[1])
        for path in about.changes:
            self._changes[path] = self._changes["*"] = self._order
        if about.content:
            self._remember(("file", about.subject), about.content, index)
            self._files.setdefault(index, set()).add(about.subject)
        return need

    def _remember(self, key: tuple[str, ...], text: str, index: int) -> None:
        sources = self._sources.setdefault(key, [])
        sources.append(_Source(index, self._order, text, key[0] == "file"))
        del sources[:-_MAX_SOURCES]

    def _note_repetition(
        self, key: tuple[str, ...], about: CallSubject, index: int, view: "_View"
    ) -> None:
        """Notes a command that ran again although nothing had changed and its output was there."""
        last = self._sources.get(key, [])[-1:]
        if about.kind in ("command", "test") and last:
            changed = self._changes.get("*", 0) > last[0].order
            if not changed and view.has(last[0].turn, index):
                self._watched.add(key)

    def _need(
        self,
        key: tuple[str, ...],
        about: CallSubject,
        call: ToolCall,
        text: str,
        index: int,
        view: "_View",
    ) -> Need | None:
        if view.boundary is None or key in self._watched or self._is_shown(key, index, view):
            return None
        changed = self._changed_at(key, about)
        sources = [
            each for each in self._sources.get(key, ()) if each.order >= changed and each.text
        ]
        here = [each for each in sources if view.has(each.turn, index, each.text)]
        left = [each for each in sources if each not in here and view.had(each.turn)]
        if not left:
            return None
        lines = _lines(text, key[0] == "file")
        seen, stood = _all_lines(here), _all_lines(left)
        gone = [each for each in lines if each not in seen]
        again = [each for each in gone if each in stood]
        if not lines or len(again) < _LEFT * len(lines):
            return None
        if len(again) + len(lines) - len(gone) < _STOOD * len(lines):
            return None
        best = max(left, key=lambda each: (len(each.lines.intersection(again)), each.order))
        boundary = self._views.boundary_after(best.turn, index)
        if boundary is None or not self._session.boundaries[boundary].is_compaction:
            return None
        numbers = self._numbers
        return Need(
            call=call.id,
            subject=about.subject if about.kind != "other" else f"{call.name} {call.args}",
            left=numbers[best.turn],
            needed=numbers[index],
            boundary=boundary,
            text=text if len(again) == len(lines) else "\n".join(again),
            is_file=key[0] == "file",
        )

    def _is_shown(self, key: tuple[str, ...], index: int, view: "_View") -> bool:
        """Whether the program itself showed the file again after the last compaction."""
        after = view.boundary.after if view.boundary else 0
        return any(
            after <= turn <= index and ("file", relative_path(path, self._session.folder)) == key
            for turn, path in self._session.shown_files
        )

    def _changed_at(self, key: tuple[str, ...], about: CallSubject) -> int:
        """When something changed that makes earlier results about the subject old."""
        if key[0] == "file":
            return max(self._changes.get(key[1], 0), self._changes.get("", 0))
        if about.inspects or about.kind == "other":
            return 0  # its output shows whether anything changed
        return self._changes.get("*", 0)

    def _with_calls(self, need: Need, index: int, place: int) -> Need:
        """Counts how often the model was called with the result, up to the next compaction."""
        here = _replies(self._session.turns[index], place)
        until = self._views.next_boundary(index)
        return structs.replace(need, calls=here + self._replies[until] - self._replies[index + 1])


def _replies(turn: Turn, after: int = -1) -> int:
    return sum(isinstance(item, Reply) for item in turn.items[after + 1 :])


def _length(turn: Turn) -> int:
    """The characters of a turn that a model is given."""
    prompt = sum(len(part.text) for part in turn.prompt if not isinstance(part, File))
    return prompt + sum(map(_item_length, turn.items))


def _item_length(item: Reply | Result) -> int:
    if isinstance(item, Result):
        return len(item.content)
    parts = (part.args if isinstance(part, ToolCall) else part.text for part in item.parts)
    return sum(map(len, parts))


def _key(call: ToolCall, about: CallSubject, outcome: CallOutcome) -> tuple[str, ...] | None:
    """What two calls must share to be about the same thing; None for a call that looks up nothing.

    A call that changes files has no result that could be needed.
    """
    if outcome.refused or outcome.handle or about.changes:
        return None
    match about.kind:
        case "read":
            return "file", about.subject
        case "command" | "test":
            return "command", about.folder, " ".join(about.subject.split())
        case "other" if not _NOT_LOOKED_UP.match(call.name):
            return "call", call.name, call.args
        case _:
            return None


def _lines(text: str, is_file: bool) -> list[str]:
    """The lines of a text that say something.

    Those of a file are without line numbers, those of a command without durations and times of day.
    """
    if is_file:
        text = _NUMBERED.sub("", text) if _NUMBERED.match(text) else text
    else:
        text = _VARYING.sub("", text)
    stripped = map(str.strip, text.splitlines())
    return [line for line in stripped if len(line) >= _MIN_LENGTH]


def _all_lines(sources: Sequence[_Source]) -> frozenset[str]:
    return frozenset[str]().union(*(each.lines for each in sources))


class _View(Struct, frozen=True):
    """What a turn could see: its ancestors, and which of them had left by then.

    Of the ancestors, those in `kept` and those from `start` on are in view. `boundary` is the last
    one before the turn; None before the first.
    """

    ancestors: Container[int]
    kept: frozenset[int] = frozenset()
    start: int = 0
    boundary: Boundary | None = None

    def has(self, turn: int, current: int, text: str = "") -> bool:
        """Whether a text of a turn is in view; the turn itself sees what it did before."""
        if turn == current or (turn >= self.start and turn in self.ancestors) or turn in self.kept:
            return True
        return bool(text and self.boundary and text in self.boundary.quoted)

    def had(self, turn: int) -> bool:
        """Whether a turn is on the way to this one, so that only a boundary can have hidden it."""
        return turn in self.ancestors


class _Views:
    """The view of each turn, from the boundaries of a session and the parents of its turns."""

    def __init__(self, session: Session) -> None:
        self._turns = session.turns
        self._boundaries = session.boundaries
        parents = [turn.parent.first if turn.parent else 0 for turn in session.turns]
        self._is_line = parents == list(range(len(parents)))

    def at(self, index: int) -> _View:
        """The view of a turn."""
        before = [each for each in self._boundaries if each.after <= index]
        ancestors = self._ancestors(index)
        if not before:
            return _View(ancestors)
        boundary = before[-1]
        return _View(ancestors, self._kept(ancestors, boundary), boundary.after, boundary)

    def boundary_after(self, turn: int, until: int) -> int | None:
        """The index of the boundary that took a turn out of the view of a later one."""
        for number, each in enumerate(self._boundaries):
            if turn < each.after <= until and turn not in self._kept(self._ancestors(until), each):
                return number
        return None

    def left_by(self, number: int) -> list[int]:
        """The indexes of the turns that a boundary took out of view."""
        boundary = self._boundaries[number]
        last = boundary.after - 1
        if not 0 <= last < len(self._turns):
            return []
        path = self._ancestors(last + 1) if self._is_line else {*self._ancestors(last), last}
        before = self._boundaries[number - 1] if number else None
        stayed = self._kept(path, before) if before else frozenset[int]()
        visible = {each for each in path if not before or each >= before.after or each in stayed}
        return sorted(visible - self._kept(path, boundary))

    def next_boundary(self, index: int) -> int:
        """The index of the first turn after the next boundary; the number of turns without one."""
        after = (each.after for each in self._boundaries if each.after > index)
        return next(after, len(self._turns))

    def _kept(self, path: Collection[int], boundary: Boundary) -> frozenset[int]:
        """The turns of a path before a boundary that it left in view."""
        if boundary.listed:
            return frozenset(boundary.listed)
        if not boundary.kept:
            return frozenset()
        earlier = sorted(place for place in path if place < boundary.after)
        return frozenset(boundary.turns or earlier[len(earlier) - boundary.kept :])

    def _ancestors(self, index: int) -> Collection[int]:
        """The turns before a turn on its branch."""
        if self._is_line:
            return range(index)
        found: set[int] = set()
        parent = self._turns[index].parent
        while parent is not None and parent.first <= len(self._turns):
            found.add(parent.first - 1)
            parent = self._turns[parent.first - 1].parent
        return found
