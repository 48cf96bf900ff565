"""The pictures of a report, as SVG: sessions over time, and where things left and were needed."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import PurePath

from sapwood.core.plural import counted
from sapwood.core.token_count import Count, show
from sapwood.report.figures import CompactionFigures, NeededAgain, Report, SessionFigures

_WIDTH = 1040
_LEFT, _RIGHT = 150, 1024
_ROW = 46
_MAX_PROJECTS = 8
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
MAX_ARCS = 12
"""The largest needs of a compaction that are drawn and listed."""

Numbers = dict[tuple[str, int], int]
"""The number of each compaction in the page, by its session and its time."""


def project_name(session: SessionFigures) -> str:
    """The last part of the folder in which a session ran."""
    return PurePath(session.project).name or "unknown folder"


def timeline(report: Report, numbers: Numbers) -> str:
    """Sessions as bars in a row for each project, with their compactions as ticks."""
    timed = [each for each in report.sessions if each.started]
    rows = _projects(timed)
    first = min(each.started for each in timed)
    last = max(max(each.updated, each.started) for each in timed)
    scale = _Scale(first, max(last, first + 3_600_000_000))
    height = len(rows) * _ROW + 56
    parts = list(_days(scale, height))
    for place, (name, sessions) in enumerate(rows):
        parts += _row(name, sessions, 28 + place * _ROW, scale, numbers)
    label = f"{counted(len(timed), 'session')} in {counted(len(rows), 'project')}"
    return _svg(height, f"{label}, with {counted(len(report.compactions), 'compaction')}", parts)


class _Scale:
    """Maps times to the width of the picture."""

    def __init__(self, first: int, last: int) -> None:
        self.first, self.last = first, last

    def x(self, at: int) -> float:
        share = (min(max(at, self.first), self.last) - self.first) / (self.last - self.first)
        return _LEFT + share * (_RIGHT - _LEFT)


def _projects(sessions: Sequence[SessionFigures]) -> list[tuple[str, list[SessionFigures]]]:
    """The sessions by project; those with most compactions first, and the rest in one row."""
    found: dict[str, list[SessionFigures]] = {}
    for each in sessions:
        found.setdefault(project_name(each), []).append(each)
    ordered = sorted(found.items(), key=lambda row: (-_weight(row[1]), row[0]))
    if len(ordered) <= _MAX_PROJECTS:
        return ordered
    shown, others = ordered[: _MAX_PROJECTS - 1], ordered[_MAX_PROJECTS - 1 :]
    rest = [each for _, row in others for each in row]
    return [*shown, (counted(len(others), "other project"), rest)]


def _weight(sessions: Sequence[SessionFigures]) -> int:
    return 1_000 * sum(len(each.compactions) for each in sessions) + len(sessions)


def _days(scale: _Scale, height: int) -> Iterator[str]:
    begin = datetime.fromtimestamp(scale.first / 1_000_000, UTC)
    whole = timedelta(microseconds=scale.last - scale.first)
    for step in range(6):
        at = begin + whole * step / 5
        x = scale.x(int(at.timestamp() * 1_000_000))
        anchor = "start" if step == 0 else "end" if step == 5 else "middle"
        text = f"{at:%H:%M}" if whole < timedelta(days=2) else f"{at.day} {at:%b}"
        yield f'<path d="M{x:.1f} 22V{height - 26}" class="grid day"/>'
        place = f'x="{x:.1f}" y="{height - 8}" text-anchor="{anchor}"'
        yield f'<text {place} class="faint">{text}</text>'


def _row(
    name: str, sessions: Sequence[SessionFigures], top: int, scale: _Scale, numbers: Numbers
) -> Iterator[str]:
    yield f'<text x="0" y="{top + 19}" class="name">{escape(_cut(name, 20))}</text>'
    yield f'<text x="0" y="{top + 33}" class="faint">{counted(len(sessions), "session")}</text>'
    yield f'<path d="M{_LEFT} {top + _ROW - 4}H{_RIGHT}" class="grid"/>'
    for each in sorted(sessions, key=lambda one: bool(one.compactions)):
        left, right = scale.x(each.started), scale.x(max(each.updated, each.started))
        kind = "full" if each.compactions else "quiet"
        width = max(5.0, right - left)
        left = min(left, _RIGHT - width)
        yield (
            f'<rect x="{left:.1f}" y="{top + 14}" width="{width:.1f}" height="16" rx="3" '
            f'class="{kind}"><title>{escape(each.title)}</title></rect>'
        )
    last = -100.0
    for each in sessions:
        for one in each.compactions:
            x = scale.x(one.at)
            yield f'<path d="M{x:.1f} {top + 8}V{top + 36}" class="tick"/>'
            number = numbers.get((each.id, one.at))
            if number and abs(x - last) > 14:
                yield f'<text x="{x:.1f}" y="{top + 4}" class="number">{number}</text>'
                last = x


def arcs(session: SessionFigures, each: CompactionFigures, number: int) -> str:
    """Arcs from the turns in which things stood to those that needed them, around a compaction."""
    needs = largest_needs(each)
    last = max([each.turn + 1, *(need.needed for need in needs)])
    first = max(1, min([each.turn - each.turns + 1, *(need.left for need in needs)]))
    step = (1007 - 33) / max(1, last - first + 1)

    def x(turn: int) -> float:
        return 33 + (turn - first + 0.5) * step

    edge = 33 + (each.turn - first + 1) * step
    largest = max(need.tokens for need in needs)
    parts = [
        '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><path d="M0 0V6" stroke="var(--amber)" stroke-width="2" '
        'opacity=".6"/></pattern></defs>',
        f'<rect x="33" y="196" width="{edge - 33:.1f}" height="14" class="gone"/>',
        f'<rect x="33" y="196" width="{edge - 33:.1f}" height="14" fill="url(#hatch)"/>',
        f'<rect x="{edge:.1f}" y="196" width="{1007 - edge:.1f}" height="14" rx="2" class="full"/>',
    ]
    for need in needs:
        a, b = x(need.left), x(need.needed)
        top = max(-8.0, 196 - (b - a) * 0.6)
        wide = 1.5 + 5.5 * need.tokens / largest
        parts.append(
            f'<path d="M{a:.0f} 196Q{(a + b) / 2:.0f} {top:.0f} {b:.0f} 196" class="arc" '
            f'stroke-width="{wide:.1f}"/><circle cx="{b:.0f}" cy="196" r="3.5" class="dot"/>'
        )
    parts += _edge(each, number, edge)
    parts += _turn_labels(first, each.turn, last, x)
    parts += _badges(needs, x)
    label = f"{counted(len(needs), 'result')} that left with compaction {number}, fetched again"
    return _svg(252, label, parts)


def largest_needs(each: CompactionFigures) -> list[NeededAgain]:
    """The largest needs of a compaction, in the order in which they came up."""
    largest = sorted(each.needs, key=lambda need: -need.tokens)[:MAX_ARCS]
    return sorted(largest, key=lambda need: (need.needed, need.left))


def letter(place: int) -> str:
    """The letter of the need at a place."""
    return _LETTERS[place % len(_LETTERS)]


def _edge(each: CompactionFigures, number: int, x: float) -> Iterator[str]:
    yield f'<path d="M{x:.1f} 14V218" class="tick"/>'
    tokens = show(Count(each.tokens, exact=each.is_reported))
    text = f"compaction {number}: {counted(each.turns, 'turn')}, {tokens} tokens leave"
    side, at = ("start", x + 8) if x < 700 else ("end", x - 8)
    yield f'<text x="{at:.1f}" y="22" class="number {side}">{text}</text>'


def _turn_labels(first: int, edge: int, last: int, x: Callable[[int], float]) -> Iterator[str]:
    shown = {first, edge, last, *range(first, last, max(1, (last - first) // 8 or 1))}
    previous = -100.0
    for turn in sorted(shown):
        at = x(turn)
        if at - previous > 30:
            yield f'<text x="{at:.0f}" y="230" class="faint" text-anchor="middle">{turn}</text>'
            previous = at
    yield '<text x="33" y="247" class="faint">turn where it stood</text>'
    yield '<text x="1007" y="247" class="faint" text-anchor="end">turn that needed it</text>'


def _badges(needs: Sequence[NeededAgain], x: Callable[[int], float]) -> Iterator[str]:
    """The letters of the needs where they stood, moved to the right if they would overlap."""
    free = 0.0
    for place, need in sorted(enumerate(needs), key=lambda each: each[1].left):
        at = max(x(need.left), free)
        free = at + 18
        yield f'<circle cx="{at:.0f}" cy="203" r="8" class="badge"/>'
        yield f'<text x="{at:.0f}" y="207" class="number">{letter(place)}</text>'


def share_bar(left: int, again: int, largest: int) -> str:
    """A small bar: what left, and how much of it was fetched again."""
    width = 140 * left / max(largest, 1)
    part = min(width, 140 * again / max(largest, 1))
    return (
        '<svg viewBox="0 0 140 10" class="mini" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{width:.1f}" height="10" rx="2" class="gone"/>'
        f'<rect width="{part:.1f}" height="10" rx="2" class="again"/></svg>'
    )


def _svg(height: int, label: str, parts: Sequence[str]) -> str:
    head = f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(label)}">'
    return head + "".join(parts) + "</svg>"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
