"""A report as one HTML file, which makes no request: styles, pictures and script are inside."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from sapwood.core.plural import counted
from sapwood.core.token_count import Count, show
from sapwood.programs.registry import program_title
from sapwood.report.charts import (
    Numbers,
    arcs,
    largest_needs,
    letter,
    project_name,
    share_bar,
    timeline,
)
from sapwood.report.figures import (
    CompactionFigures,
    NeededAgain,
    Report,
    SessionFigures,
    total_cost,
)

_STYLE = Path(__file__).with_name("page.css")
_MAX_ROWS = 25
_TEN = 10
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>What compaction took out of view · Sapwood report</title>
<style>
{style}</style>
</head>
<body><main class="doc">
"""
_LOGO = (
    '<svg viewBox="0 0 20 20" aria-hidden="true"><g fill="none" stroke="currentColor">'
    '<circle cx="10" cy="10" r="8.6" stroke-width="2"/><circle cx="10" cy="10" r="5.6" '
    'stroke-width="1.3"/><circle cx="10" cy="10" r="3" opacity=".55"/></g>'
    '<circle cx="10" cy="10" r="1" fill="currentColor" opacity=".55"/></svg>'
)
_SCRIPT = """<script>
for (const button of document.querySelectorAll('[data-copy]')) button.onclick = async () => {
  try {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent)
    button.textContent = 'Copied'
  } catch { getSelection().selectAllChildren(button.previousElementSibling) }
}
</script>
"""


def report_page(report: Report) -> str:
    """The whole page."""
    numbers: Numbers = {
        (session.id, each.at): place
        for place, (session, each) in enumerate(report.compactions, start=1)
    }
    parts = [
        _HEAD.format(policy=_POLICY, style=_STYLE.read_text("utf-8")),
        _opening(report),
        _tiles(report),
        _when(report, numbers),
        _what_left(report),
        _close_up(report, numbers),
        _lists(report),
        _brought_back(report),
        _note(report),
        "</main>\n",
        _SCRIPT,
        "</body></html>\n",
    ]
    return "".join(filter(None, parts))


def _opening(report: Report) -> str:
    made = _day(report.made, year=True)
    brand = (
        f'<div class="brand">{_LOGO}sapwood'
        f"<span>report · {made} · made on this machine, nothing was sent</span></div>\n"
    )
    titles = list(dict.fromkeys(program_title(each.program) for each in report.sessions))
    named = " and ".join(filter(None, (", ".join(titles[:-1]), *titles[-1:])))
    times = [at for each in report.sessions for at in (each.started, each.updated) if at]
    days = (max(times) - min(times)) // 86_400_000_000 + 1 if times else 1
    if not report.compactions:
        lead = f"{counted(days, 'day')} of {named or 'no program'} on one machine."
        return f'{brand}<h1>No session was compacted.</h1><p class="lead">{escape(lead)}</p>\n'
    needs = len(report.needs)
    headline = f"Compaction took {counted(report.turns_left, 'turn')} out of view."
    again = (
        f"the model fetched {counted(needs, 'result')} again that it had already had in view"
        if needs
        else "the model did not fetch anything again"
    )
    lead = (
        f"{counted(days, 'day')} of {named} on one machine. After "
        f"{counted(len(report.compactions), 'compaction')} {again}."
    )
    back = (
        "All of them can be brought back." if report.turns_left > 1 else "It can be brought back."
    )
    return f'{brand}<h1>{headline}<br>{back}</h1>\n<p class="lead">{escape(lead)}</p>\n'


def _tiles(report: Report) -> str:
    programs = Counter(program_title(each.program) for each in report.sessions)
    named = " and ".join(f"{count:,} {title}" for title, count in programs.most_common())
    turns = sum(each.turns for each in report.sessions)
    needs = [need for _, need in report.needs]
    share = report.tokens_again / report.tokens_left if report.tokens_left else 0.0
    of_left = (
        f"{share:.0%}".replace("%", "\N{NO-BREAK SPACE}%")
        if share >= 0.01 or not needs
        else "< 1\N{NO-BREAK SPACE}%"
    )
    sessions, _, sessions_noun = counted(len(report.sessions), "session").partition(" ")
    compactions, _, compactions_noun = counted(len(report.compactions), "compaction").partition(" ")
    left, _, left_noun = counted(report.turns_left, "turn").partition(" ")
    compacted = counted(len(report.compacted), "session")
    tiles = (
        (sessions, f"{sessions_noun}, {named}; {counted(turns, 'turn')}", ""),
        (compactions, f"{compactions_noun} in {compacted}", ""),
        (left, f"{left_noun} left view, {_tokens(report.tokens_left)} tokens", "warn"),
        (_tokens(report.tokens_again), f"tokens fetched again, {of_left} of what left", ""),
        (_cost(total_cost(needs)), "at list prices, for what was fetched again", ""),
    )
    cells = (
        f'<div><b class="{kind}">{escape(big)}</b><span>{escape(small)}</span></div>'
        for big, small, kind in tiles
    )
    return f'<div class="tiles">{"".join(cells)}</div>\n'


def _when(report: Report, numbers: Numbers) -> str:
    if not any(each.started for each in report.sessions):
        return ""
    keys = ("session", "k1"), ("session with a compaction", "k2"), ("compaction", "k3")
    return _section(
        "When it happened",
        "Each bar is a session. The numbers refer to the compactions in the table below.",
        f'<div class="fig">{timeline(report, numbers)}{_key(keys)}</div>',
    )


def _what_left(report: Report) -> str:
    pairs = list(enumerate(report.compactions, start=1))
    if not pairs:
        return ""
    shown = sorted(pairs, key=lambda pair: -pair[1][1].tokens_again)[:_MAX_ROWS]
    costliest, largest = _costliest(report), max(each.tokens for _, (_, each) in shown)
    rows = [
        _compaction_row(number, session, each, largest, is_hot=each is costliest)
        for number, (session, each) in sorted(shown)
    ]
    needs = [need for _, need in report.needs]
    foot = (
        f"<tfoot><tr><td></td><td>All {len(pairs):,}</td>{_n(f'{report.turns_left:,}', 'narrow')}"
        f'{_n(_tokens(report.tokens_left))}<td class="bar wide"></td><td class="n wide"></td>'
        f"{_n(f'{len(needs):,}', 'narrow')}{_n(_tokens(report.tokens_again))}"
        f"{_n(_cost(total_cost(needs)))}</tr></tfoot>"
    )
    head = _head(
        ("", "n"),
        ("Session", ""),
        ("turns left", "n narrow"),
        ("tokens left", "n"),
        ("of these, fetched again", "bar wide"),
        ("summary", "n wide"),
        ("fetched again", "n narrow"),
        ("tokens again", "n"),
        ("cost", "n"),
    )
    table = _table(head, rows, foot, kind="what-left")
    rest = f" Only the top {len(shown)} by tokens fetched again." if len(pairs) > len(shown) else ""
    about = f"The turns were replaced with a summary.{rest}"
    return _section("What left, and what was fetched again", about, table)


def _compaction_row(
    number: int, session: SessionFigures, each: CompactionFigures, largest: int, *, is_hot: bool
) -> str:
    cells = (
        _n(str(number), "b"),
        f"<td>{_titled(session, _day(each.at))}</td>",
        _n(f"{each.turns:,}", "narrow"),
        _n(show(Count(each.tokens, exact=each.is_reported))),
        f'<td class="bar wide">{share_bar(each.tokens, each.tokens_again, largest)}</td>',
        _n(_tokens(each.summary_tokens), "wide"),
        _n(f"{len(each.needs):,}", "narrow"),
        _n(_tokens(each.tokens_again)),
        _n(_cost(total_cost(each.needs)), "b"),
    )
    return f"<tr{' class=hot' if is_hot else ''}>{''.join(cells)}</tr>"


def _costliest(report: Report) -> CompactionFigures | None:
    """The compaction after which most was fetched again."""
    found = [each for _, each in report.compactions if each.needs]
    return max(found, key=lambda each: each.tokens_again, default=None)


def _close_up(report: Report, numbers: Numbers) -> str:
    costliest = _costliest(report)
    for session, each in report.compactions:
        if each is costliest and costliest is not None:
            number = numbers[session.id, each.at]
            keys = ("left view", "k4"), ("in view after it", "k2")
            return _section(
                f"The costliest one, close up: {session.title}, {_day(each.at)}",
                "Each arc starts where something stood and ends where the model needed it again. "
                "Thicker means more tokens.",
                f'<div class="fig">{arcs(session, each, number)}{_key(keys)}</div>'
                f'<div class="two">{_close_list(each, number)}{_largest_needs(report)}</div>',
            )
    return ""


def _close_list(each: CompactionFigures, number: int) -> str:
    shown = largest_needs(each)
    rows = [
        f'<tr><td class="m letter">{letter(place)}</td>{_need_cells(need)}</tr>'
        for place, need in enumerate(shown)
    ]
    about = (
        f"{counted(len(each.needs), 'result')}, {_tokens(each.tokens_again)} tokens, "
        f"{_cost(total_cost(each.needs))}. Letters as above."
    )
    return _list(f"Fetched again after compaction {number}", about, rows, _NEED_HEAD)


def _largest_needs(report: Report) -> str:
    rows = [
        f'<tr><td class="n">{place}</td>{_need_cells(need, session.title)}</tr>'
        for place, (session, need) in enumerate(report.needs[:_TEN], start=1)
    ]
    about = "Turn where it stood → turn that needed it."
    return _list("The ten largest, across all sessions", about, rows, _NEED_HEAD)


_NEED_HEAD = (("", ""), ("What", ""), ("stood → needed", "n"), ("tokens", "n"), ("cost", "n"))


def _need_cells(need: NeededAgain, below: str = "") -> str:
    subject = need.subject if need.is_file else f"$ {need.subject}"
    small = f"<small>{escape(below)}</small>" if below else ""
    return (
        f'<td class="m">{escape(_cut(subject))}{small}</td>'
        f"{_n(f'{need.left} → {need.needed}')}{_n(_tokens(need.tokens))}{_n(_cost(need.cost))}"
    )


def _lists(report: Report) -> str:
    head = _head(("Session", ""), ("turns", "n"), ("compactions", "n"), ("size", "n"))
    rows = [
        f"<tr><td>{_titled(each, project_name(each))}</td>{_n(f'{each.turns:,}')}"
        f"{_n(f'{len(each.compactions):,}')}{_n(size_text(each.size))}</tr>"
        for each in report.largest
    ]
    table = _table(head, rows)
    return _section("The largest sessions", "By the size of their transcripts.", table)


def _brought_back(report: Report) -> str:
    if not report.restorable and not report.swept:
        return ""
    head = _head(("Session", ""), ("turns", "n"), ("tokens", "n wide"), ("", ""))
    rows = [
        f"<tr><td>{_titled(each)}</td>{_n(f'{each.turns_left:,}')}"
        f"{_n(_tokens(each.tokens_left), 'wide')}{_copied(each.restore, each.title)}</tr>"
        for each in report.restorable[:_MAX_ROWS]
    ]
    rows += [
        f"<tr><td>{escape(each.title)}<small>{escape(program_title(each.program))} deleted it; "
        f'Sapwood has it</small></td><td class="n none">–</td><td class="n wide"></td>'
        f"{_copied(each.restore, each.title)}</tr>"
        for each in report.swept[:_MAX_ROWS]
    ]
    keep = (
        '<div class="all"><p><b>Keep a copy of all of them</b>, also when their program deletes '
        "them</p><code>sapwood import</code><button data-copy>Copy</button></div>"
    )
    table = _table(head, rows, kind="rows")
    about = (
        "Each command undoes the last compaction of a session: its turns are in view again, "
        "and the session keeps its id. Close the session first. To undo an earlier compaction too, "
        "run the command again."
    )
    return _section("What can be brought back", about, keep + table)


def _copied(command: str, title: str) -> str:
    label = escape(f"Copy the command for {title}", quote=True)
    return (
        f'<td class="command"><code>{escape(command)}</code>'
        f'<button data-copy aria-label="{label}">Copy</button></td>'
    )


def _note(report: Report) -> str:
    notes = [
        "<b>Fetched again</b> means: a tool result whose lines had stood in an earlier result "
        "about the same file, or of the same command, and had left view. It does not count if the "
        "file changed in between, if the lines were still in view, or if files changed before a "
        "command ran again.",
        "It does not prove that the compaction was the reason. What the model got wrong because "
        "something was missing is not in these numbers.",
        "Tokens that left are the program’s own counts where it reports both sizes. A tilde marks "
        "an estimate.",
        f"Dollars are list prices of {_day(report.made, year=True)}: written to the cache once, "
        "then read by the calls up to the next compaction. On a plan with a flat fee you paid none "
        "of it.",
        "Subagents are not counted.",
    ]
    if report.problems:
        notes.append(f"{counted(len(report.problems), 'file')} could not be read.")
    items = "".join(f"<li>{each}</li>" for each in notes)
    title = "How this was counted, and what it does not show"
    return f'<footer class="note"><h2>{title}</h2><ul>{items}</ul></footer>\n'


def _section(title: str, about: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2><p>{escape(about)}</p>{body}</section>\n"


def _table(head: str, rows: Sequence[str], foot: str = "", *, kind: str = "") -> str:
    body = f"{head}<tbody>{''.join(rows)}</tbody>{foot}"
    return f'<div class="scroll"><table class="{kind}">{body}</table></div>'


def _list(title: str, about: str, rows: Sequence[str], head: Iterable[tuple[str, str]]) -> str:
    return (
        f"<section><h2>{escape(title)}</h2><p>{escape(about)}</p><table>"
        f"{_head(*head)}<tbody>{''.join(rows)}</tbody></table></section>"
    )


def _key(entries: Iterable[tuple[str, str]]) -> str:
    marks = (f'<span><i class="{kind}"></i>{text}</span>' for text, kind in entries)
    return f'<div class="key">{"".join(marks)}</div>'


def _head(*columns: tuple[str, str]) -> str:
    cells = (f'<th class="{kind}">{text}</th>' for text, kind in columns)
    return f"<thead><tr>{''.join(cells)}</tr></thead>"


def _n(text: str, kind: str = "") -> str:
    return f'<td class="{f"n {kind}".strip()}">{escape(text)}</td>'


def _titled(session: SessionFigures, more: str = "") -> str:
    below = ", ".join(filter(None, (program_title(session.program), more)))
    return f"{escape(session.title or session.id)}<small>{escape(below)}</small>"


def _tokens(number: int) -> str:
    return show(Count(number, exact=False)) if number else "0"


def _cost(cost: int | None) -> str:
    if cost is None:
        return "–"
    dollars = cost / 1_000_000
    return "< $0.01" if 0 < dollars < 0.01 else f"${dollars:,.2f}"


def size_text(size: int) -> str:
    """A number of bytes for people.

    >>> size_text(48_300), size_text(1_260_000)
    ('48 kB', '1.3 MB')
    """
    return f"{size / 1_000_000:.1f} MB" if size >= 100_000 else f"{size / 1_000:.0f} kB"


def _day(at: int, *, year: bool = False) -> str:
    try:
        day = datetime.fromtimestamp(at / 1_000_000, UTC).astimezone()
    except (ValueError, OverflowError, OSError):
        return ""
    return f"{day.day} {day:%b %Y}" if year else f"{day.day} {day:%b}"


def _cut(text: str, length: int = 90) -> str:
    words = " ".join(text.split())
    return words if len(words) <= length else f"{words[: length - 1]}…"
