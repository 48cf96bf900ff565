"""What stands beside a conversation, as HTML: budget, warnings, chapters, notes."""

from collections.abc import Sequence

from sapwood.analysis.chapter_report import Chapter, ChapterReport
from sapwood.conversation.cut_preview import CutPlan
from sapwood.conversation.surroundings import WindowUse
from sapwood.core.state import DeclaredNote
from sapwood.core.token_count import Count, show
from sapwood.display.quantities import edge_text, money
from sapwood_server.page.html_text import attribute, line, size

_CHAPTERS = 5

_KINDS = {
    "system": "k-system",
    "tools": "k-tools",
    "pins": "k-pins",
    "summary": "k-summary",
    "messages": "k-msg",
    "tool results": "k-result",
}


def budget_html(found: WindowUse, plan: CutPlan) -> str:
    """How full the window is, with what, and what the next call costs."""
    budget = found.budget
    limit = budget.limit or max(budget.total.tokens, 1)
    share = budget.share or 0.0
    bars = "".join(
        f'<i class="{_KINDS.get(name, "k-msg")} w{_percent(count.tokens, limit)}"></i>'
        for name, count in found.categories
    )
    legend = "".join(
        f'<li><span class="sw {_KINDS.get(name, "k-msg")}" aria-hidden="true"></span>'
        f'{line(name)}<span class="num">{size(count)}</span></li>'
        for name, count in found.categories
    )
    percent = round(share * 100)
    level = f'<span class="chip {"warn" if budget.level else "ok"}">{percent} %</span>'
    of = f"of {show(Count(limit, exact=True))} {budget.edge}" if budget.limit else "in view"
    ended = " (cache ended)" if plan.is_cold else ""
    next_call = "price unknown"
    if plan.now is not None:
        next_call = f"next call{ended} <b>{money(plan.now)}</b>"
    return (
        '<section class="sec"><header><h2 class="cap grow">Budget</h2>'
        '<a class="num warn" href="?view=context" data-view="context">what fills it ▸</a></header>'
        f'<div class="row-x base"><span class="big">{size(budget.used)}</span>'
        f'<span class="faint">{of}</span><span class="grow"></span>{level}</div>'
        f'<div class="budget" role="meter" aria-label="Tokens in view" aria-valuemin="0" '
        f'aria-valuemax="100" aria-valuenow="{min(100, percent)}" '
        f'aria-valuetext="{attribute(edge_text(budget))}">{bars}</div>'
        f'<ul class="legend">{legend}</ul><div class="row-x num spent">'
        f'<b>{money(found.spent.cost)}</b> so far<span class="grow"></span>{next_call}'
        "</div></section>"
    )


def _percent(part: int, whole: int) -> int:
    return min(100, round(100 * part / whole))


def warnings_html(found: WindowUse) -> str:
    """What wants attention: the limit of the window, unread mail."""
    rows: list[str] = []
    if found.budget.level:
        rows.append(
            '<li><span class="warn" aria-hidden="true">▲</span>'
            f"<span>{line(edge_text(found.budget))}</span>"
            '<button class="btn bare sm" data-fill="/compact">/compact</button></li>'
        )
    if found.unread:
        rows.append(
            '<li><span class="mk" aria-hidden="true">✉</span>'
            f"<span>{found.unread} unread</span>"
            '<button class="btn bare sm" data-run="/check-mail">/check-mail</button></li>'
        )
    if not rows:
        return ""
    return (
        f'<section class="sec"><header><h2 class="cap grow">Warnings</h2>'
        f'<span class="num faint">{len(rows)}</span></header><ul class="warns">{"".join(rows)}</ul>'
        "</section>"
    )


def chapters_html(report: ChapterReport | None) -> str:
    """The subjects of what is in view, the largest first."""
    if report is None or not report.chapters:
        return ""
    rows = "".join(
        f'<li class="chap"><span class="ell" title="{attribute(each.name)}">{line(each.name)}'
        f"{_status(each)}</span>"
        f'<span class="meter" aria-hidden="true"><i class="w{round(100 * each.share)}"></i></span>'
        f'<span class="num">{round(100 * each.share)} % '
        f"{size(Count(each.tokens, exact=False))}</span></li>"
        for each in sorted(report.chapters, key=lambda each: -each.tokens)[:_CHAPTERS]
    )
    return (
        '<section class="sec"><header><h2 class="cap grow">Chapters</h2>'
        f'<span class="num faint">of what is in view</span></header><ul>{rows}</ul></section>'
    )


def _status(chapter: Chapter) -> str:
    return f' <span class="chip">{chapter.status}</span>' if chapter.status else ""


def notes_html(notes: Sequence[DeclaredNote]) -> str:
    """What people and agents declared, the newest first."""
    if not notes:
        return ""
    rows = "".join(
        f'<li><span class="chip">{line(each.note)}</span><span>{line(each.text)[:300]}</span></li>'
        for each in reversed(notes)
    )
    return (
        f'<section class="sec"><header><h2 class="cap grow">Notes</h2>'
        f'<span class="num faint">{len(notes)}</span></header><ul class="notes">{rows}</ul>'
        "</section>"
    )
