"""How full the context window of a session is, and what fills it.

The total is what the program reported, if it did. The parts are counted here, and scaled down if
their sum is larger than the total. What a program does not report is unknown, not guessed.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from sapwood.analysis.call_subjects import results_in_view
from sapwood.analysis.chapter_report import ChapterReport
from sapwood.analysis.session import Session
from sapwood.core.content import File, Note, Text, Thinking, ToolCall
from sapwood.core.token_count import ZERO, Count, Counter
from sapwood.core.turn import Reply, Turn

_MAX_FILES = 20
LEVELS = (0.5, 0.65, 0.85)


class Amount(Struct, frozen=True):
    """The tokens of one kind, file or chapter, and their share of the total, from 0 to 1."""

    name: str
    tokens: int
    exact: bool
    share: float


class Estimate(Struct, frozen=True):
    """How full the window is.

    `used` is exact if the program reported it; None if nothing is known. `level` is the number of
    warning levels reached. `compactions` is the number of earlier compactions.
    """

    source: str
    session: str
    folder: str
    model: str
    turns: int
    in_view: int
    compactions: int
    used: int | None
    exact: bool
    window: int | None
    share: float | None
    level: int


class Breakdown(Struct, frozen=True):
    """What fills the window: all kinds, all chapters, and the largest files."""

    estimate: Estimate
    kinds: tuple[Amount, ...]
    files: tuple[Amount, ...]
    chapters: tuple[Amount, ...]


def estimate(
    session: Session,
    counter: Counter,
    *,
    total: Count | None = None,
    beside: Mapping[str, Count] | None = None,
    levels: Sequence[float] = LEVELS,
) -> Estimate:
    """Returns how full the window of a session is.

    `total` is the known size of the view, if the program did not report it. `beside` is what the
    model sees in addition to the conversation, by kind.
    """
    used = _reported(session, total) or _sum(_counted(session, counter, beside))
    return _estimate(session, used, levels)


def _estimate(session: Session, used: Count | None, levels: Sequence[float]) -> Estimate:
    share = used.tokens / session.window if used and session.window else None
    return Estimate(
        source=session.source,
        session=session.id,
        folder=session.folder,
        model=session.model,
        turns=len(session.turns),
        in_view=len(session.indexes_in_view),
        compactions=len(session.compactions),
        used=used.tokens if used else None,
        exact=used.exact if used else False,
        window=session.window,
        share=share,
        level=sum((share or 0.0) >= level for level in levels),
    )


def break_down(
    session: Session,
    counter: Counter,
    report: ChapterReport,
    *,
    total: Count | None = None,
    beside: Mapping[str, Count] | None = None,
    levels: Sequence[float] = LEVELS,
) -> Breakdown:
    """Returns what fills the window of a session; the arguments are those of `estimate`."""
    counter = _CountedOnce(counter)
    counted = _counted(session, counter, beside)
    used = _reported(session, total) or _sum(counted)
    total_tokens = used.tokens if used else 0
    ratio = min(1.0, total_tokens / max(1, sum(count.tokens for count in counted.values())))

    def scaled(found: Mapping[str, Count]) -> dict[str, Count]:
        return {
            name: Count(round(count.tokens * ratio), count.exact and ratio == 1.0)
            for name, count in found.items()
        }

    kinds = scaled(counted)
    if used and (rest := total_tokens - sum(count.tokens for count in kinds.values())) > 0:
        known = used.exact and counter.exact and ratio == 1.0
        kinds["system, tools and the rest"] = Count(rest, exact=known)
    return Breakdown(
        estimate=_estimate(session, used, levels),
        kinds=_amounts(kinds, total_tokens),
        files=_amounts(scaled(_files(session, counter)), total_tokens)[:_MAX_FILES],
        chapters=_amounts(scaled(_chapters(session, counter, report)), total_tokens),
    )


class _CountedOnce:
    """Counts each text object once; the session keeps all of them while they are counted."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._counts: dict[int, Count] = {}

    @property
    def name(self) -> str:
        return self._counter.name

    @property
    def exact(self) -> bool:
        return self._counter.exact

    def count(self, text: str) -> Count:
        found = self._counts.get(id(text))
        if found is None:
            found = self._counts[id(text)] = self._counter.count(text)
        return found


def _amounts(found: Mapping[str, Count], total_tokens: int) -> tuple[Amount, ...]:
    """Returns the amounts, the largest first."""
    largest = sorted(found.items(), key=lambda each: -each[1].tokens)
    return tuple(
        Amount(
            name, count.tokens, count.exact, count.tokens / total_tokens if total_tokens else 0.0
        )
        for name, count in largest
        if count.tokens
    )


def _reported(session: Session, total: Count | None) -> Count | None:
    """Returns the size of the view that the program or the caller reported."""
    return total if session.used is None else Count(session.used, exact=True)


def _sum(counted: Mapping[str, Count]) -> Count | None:
    """Returns an estimate, even from exact counts: what the program adds is not counted."""
    tokens = sum(count.tokens for count in counted.values())
    return Count(tokens, exact=False) if tokens else None


def _counted(
    session: Session, counter: Counter, beside: Mapping[str, Count] | None
) -> dict[str, Count]:
    """Returns the tokens in view by kind."""
    found = dict(beside or {})
    texts = _compaction_texts(session)
    for turn in session.in_view:
        texts += _texts(turn)
    for kind, text in texts:
        found[kind] = found.get(kind, ZERO) + counter.count(text)
    return found


def _compaction_texts(session: Session) -> list[tuple[str, str]]:
    """Returns the texts that a compaction put before the turns in view."""
    if not session.boundaries:
        return []
    last = session.boundaries[-1]
    return [("summary", last.summary), ("quoted", last.quoted)]


def _texts(turn: Turn) -> list[tuple[str, str]]:
    found = [("notes" if isinstance(p, Note) else "prompts", p.text) for p in turn.prompt]
    for item in turn.items:
        if not isinstance(item, Reply):
            found.append(("tool results", item.content))
            continue
        for part in item.parts:
            match part:
                case ToolCall():
                    found += [("tool calls", part.name), ("tool calls", part.args)]
                case Thinking():
                    found.append(("thinking", part.text))
                case Text() | File():
                    found.append(("replies", part.text))
    return found


def _files(session: Session, counter: Counter) -> dict[str, Count]:
    """Returns the tokens in view of reading and writing each file."""
    found: dict[str, Count] = {}
    for result in results_in_view(session, counter):
        if result.kind in ("read", "written", "edited"):
            size = Count(result.tokens + result.call_tokens, counter.exact)
            found[result.subject] = found.get(result.subject, ZERO) + size
    return found


def _chapters(session: Session, counter: Counter, report: ChapterReport) -> dict[str, Count]:
    """Returns the tokens in view by chapter."""
    names = report.names_by_turn()
    numbers = session.numbers
    found: dict[str, Count] = {}
    for index in session.indexes_in_view:
        name = names.get(numbers[index], "")
        sizes = (counter.count(text) for text in session.turns[index].texts())
        found[name] = sum(sizes, found.get(name, ZERO))
    return found
