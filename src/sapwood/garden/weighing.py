"""How full a session's window is, and with what.

The total is what the program reported, where it did; parts are counted here, and corrected where
they come to more than that. What a program does not tell is unknown, never made up.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.counting import ZERO, Count, Counter
from sapwood.core.session import Session
from sapwood.core.turn import Reply, Turn
from sapwood.garden.drift import Drift
from sapwood.garden.results import results_in_view

__all__ = ["Amount", "Breakdown", "Estimate", "break_down", "estimate"]

_FILES = 20
LEVELS = (0.5, 0.65, 0.85)


class Amount(Struct, frozen=True):
    """So many tokens of something, and their share of the whole, from 0 to 1."""

    name: str
    tokens: int
    exact: bool
    share: float


class Estimate(Struct, frozen=True):
    """How full the window is.

    `used` is exact if the program reported it; None if nothing is known. `level` is how many of
    the three warning levels are passed. `compactions` counts those that came before.
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
    """What fills the window. `files` are the largest; topics and kinds are all there are."""

    estimate: Estimate
    kinds: tuple[Amount, ...]
    files: tuple[Amount, ...]
    topics: tuple[Amount, ...]


def estimate(
    session: Session,
    counter: Counter,
    *,
    total: Count | None = None,
    beside: Mapping[str, Count] | None = None,
    levels: Sequence[float] = LEVELS,
) -> Estimate:
    """How full the window of a session is.

    `total` is how much is known to be in view, if the program did not report it itself; `beside`
    is what the model sees beside the conversation, by kind.
    """
    used = _known(session, total) or _sum(_counted(session, counter, beside))
    share = used.tokens / session.window if used and session.window else None
    return Estimate(
        source=session.source,
        session=session.id,
        folder=session.folder,
        model=session.model,
        turns=len(session.turns),
        in_view=len(session.places_in_view),
        compactions=len(session.boundaries),
        used=used.tokens if used else None,
        exact=used.exact if used else False,
        window=session.window,
        share=share,
        level=sum((share or 0.0) >= level for level in levels),
    )


def break_down(
    session: Session,
    counter: Counter,
    drift: Drift,
    *,
    total: Count | None = None,
    beside: Mapping[str, Count] | None = None,
    levels: Sequence[float] = LEVELS,
) -> Breakdown:
    """What fills the window of a session."""
    counted = _counted(session, counter, beside)
    used = _known(session, total) or _sum(counted)
    whole = used.tokens if used else 0
    ratio = min(1.0, whole / max(1, sum(count.tokens for count in counted.values())))

    def fitted(found: Mapping[str, Count]) -> dict[str, Count]:
        return {
            name: Count(round(count.tokens * ratio), count.exact and ratio == 1.0)
            for name, count in found.items()
        }

    kinds = fitted(counted)
    if used and (rest := whole - sum(count.tokens for count in kinds.values())) > 0:
        known = used.exact and counter.exact and ratio == 1.0
        kinds["system, tools and the rest"] = Count(rest, exact=known)
    return Breakdown(
        estimate=estimate(session, counter, total=total, beside=beside, levels=levels),
        kinds=_amounts(kinds, whole),
        files=_amounts(fitted(_files(session, counter)), whole)[:_FILES],
        topics=_amounts(fitted(_topics(session, counter, drift)), whole),
    )


def _amounts(found: Mapping[str, Count], whole: int) -> tuple[Amount, ...]:
    """What there is of each, the largest first."""
    largest = sorted(found.items(), key=lambda each: -each[1].tokens)
    return tuple(
        Amount(name, count.tokens, count.exact, count.tokens / whole if whole else 0.0)
        for name, count in largest
        if count.tokens
    )


def _known(session: Session, total: Count | None) -> Count | None:
    """What is in view by what the program reported, or whoever runs the agent."""
    return total if session.used is None else Count(session.used, exact=True)


def _sum(counted: Mapping[str, Count]) -> Count | None:
    """An estimate even of exact counts, because what the program adds by itself is not in it."""
    tokens = sum(count.tokens for count in counted.values())
    return Count(tokens, exact=False) if tokens else None


def _counted(
    session: Session, counter: Counter, beside: Mapping[str, Count] | None
) -> dict[str, Count]:
    """Tokens by kind of what is in view."""
    found = dict(beside or {})
    texts = _before(session)
    for turn in session.in_view:
        texts += _texts(turn)
    for kind, text in texts:
        found[kind] = found.get(kind, ZERO) + counter.count(text)
    return found


def _before(session: Session) -> list[tuple[str, str]]:
    """What a compaction put before the turns in view."""
    if not session.boundaries:
        return []
    last = session.boundaries[-1]
    return [("summary", last.summary), ("quoted", last.quoted)]


def _texts(turn: Turn) -> list[tuple[str, str]]:
    found = [("prompts" if isinstance(p, Text) else "notes", p.text) for p in turn.prompt]
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
                case Text():
                    found.append(("replies", part.text))
    return found


def _files(session: Session, counter: Counter) -> dict[str, Count]:
    """Tokens by file of what was read and written, in view."""
    found: dict[str, Count] = {}
    for seen in results_in_view(session, counter):
        if seen.about in ("read", "written", "edited"):
            size = Count(seen.tokens + seen.asked, counter.exact)
            found[seen.subject] = found.get(seen.subject, ZERO) + size
    return found


def _topics(session: Session, counter: Counter, drift: Drift) -> dict[str, Count]:
    """Tokens by topic of the turns in view."""
    topic = {place.turn: place.topic for place in drift.turns}
    numbers = session.numbers
    found: dict[str, Count] = {}
    for place in session.places_in_view:
        name = topic.get(numbers[place], "")
        sizes = (counter.count(text) for text in session.turns[place].texts())
        found[name] = sum(sizes, found.get(name, ZERO))
    return found
