"""The context page as HTML: bars by turn, the cut with its price, the largest blocks."""

from sapwood.conversation.context_breakdown import ContextBreakdown
from sapwood.conversation.cut_preview import CutPlan
from sapwood.core.token_count import Count
from sapwood.display.quantities import money
from sapwood_server.page.html_text import attribute, line, size

_LABELLED = 0.06
"""The least share of the request in which a label fits."""


def context_html(found: ContextBreakdown, plan: CutPlan, *, is_open: bool) -> str:
    """What fills the window, and what each cut frees and costs."""
    return (
        '<div class="page"><header class="row-x"><div class="grow"><h1 class="h1">What fills the '
        'window</h1><p class="faint">Move the cut. Nothing is deleted: what is removed stays '
        "in the log, and <code>/undo</code> brings it back. Nothing happens until you trim."
        "</p></div>"
        '<a class="btn" href="?" data-view="timeline">Back to the timeline</a></header>'
        f'<div class="ctx">{_chart(plan)}{_prices(plan, is_open=is_open)}{_request(found, plan)}'
        f"{_largest(found)}</div></div>"
    )


def _chart(plan: CutPlan) -> str:
    most = max((cut.size.tokens for cut in plan.cuts), default=1) or 1
    bars = "".join(
        f'<li data-turn="{cut.turn}"><b>{size(cut.size)}</b>'
        f'<i class="tall{max(2, round(100 * cut.size.tokens / most))}"></i>'
        f"<span>#{cut.turn}</span></li>"
        for cut in plan.cuts
    )
    count = len(plan.cuts)
    slider = ""
    if count:
        slider = (
            f'<label class="vh" for="cut">Where to cut</label><input id="cut" type="range" min="0" '
            f'max="{count - 1}" value="0" step="1" aria-valuetext="nothing is removed">'
        )
    return (
        '<section class="card chartcard"><header><h2 class="grow">By turn</h2>'
        '<span class="num faint"><span class="sw k-msg"></span> stays '
        '<span class="sw leaves"></span> would be removed</span></header>'
        f'<div class="chart"><ul class="bars" aria-hidden="true">{bars}</ul>{slider}</div>'
        "</section>"
    )


def _prices(plan: CutPlan, *, is_open: bool) -> str:
    now = money(plan.now) if plan.now is not None else "unknown"
    cap = f"{plan.total.tokens / plan.cap:.0%}".replace("%", " %") if plan.cap else "–"
    blocked = (
        '<p class="warn" id="blocked">A turn is open. Wait until it ends, or interrupt it.</p>'
        if is_open
        else ""
    )
    disabled = " disabled" if is_open or not plan.cuts else ""
    return (
        '<section class="card"><header><h2 class="grow">If you cut here</h2>'
        '<span class="chip warn" id="leaving">nothing is removed</span></header><div class="pad">'
        '<table class="ba"><thead><tr><th><span class="vh">Figure</span></th>'
        "<th>now</th><th>after</th></tr></thead><tbody>"
        f'<tr><th>Tokens in view</th><td>{size(plan.total)}</td><td id="after-total"></td></tr>'
        f'<tr><th>Share of the cap</th><td>{cap}</td><td id="after-cap"></td></tr>'
        f'<tr><th>Next call, one-time</th><td>{now}</td><td id="after-once"></td></tr>'
        f'<tr><th>Each later call</th><td>{now}</td><td id="after-later"></td></tr>'
        f'</tbody></table><p id="advice" class="faint" role="status"></p>{blocked}'
        f'<div class="row-x"><button class="btn cut" id="trim" data-run=""{disabled}>Trim here'
        f'</button><button class="btn" id="compact-here" data-run=""{disabled}>Compact to here'
        '</button><span class="grow"></span>'
        '<button class="btn" data-run="/undo">Undo <kbd>u</kbd></button></div></div></section>'
    )


def _request(found: ContextBreakdown, plan: CutPlan) -> str:
    whole = max(found.budget.total.tokens, 1)
    fixed = plan.fixed.tokens
    front = found.budget.summary.tokens
    parts = [("k-system", "fixed", fixed), ("k-summary", "summary", front)]
    parts += [("t k-msg", f"#{cut.turn}", cut.size.tokens) for cut in plan.cuts]
    inside = "".join(
        f'<i class="{kind} w{max(1, round(100 * tokens / whole))}" title="{attribute(name)}">'
        f"{f'<span>{line(name)}</span>' if tokens >= whole * _LABELLED else ''}</i>"
        for kind, name, tokens in parts
        if tokens
    )
    return (
        '<section class="card"><header><h2 class="grow">The request, in the order in which it is '
        f'sent</h2><span class="num faint">{size(found.budget.total)}</span></header>'
        f'<div class="pad"><div class="core" aria-hidden="true">{inside}</div></div></section>'
    )


def _largest(found: ContextBreakdown) -> str:
    rows = "".join(
        f'<tr><td><b>{line(item.what)}</b> <span class="faint">{line(item.name)[:80]}</span></td>'
        f'<td class="num">{size(item.size)}</td><td><button class="btn bare sm" '
        f'data-fill="{attribute(item.command)}"><code>{line(item.command)}</code></button></td>'
        f'<td class="num">{size(item.frees or Count(item.size.tokens, item.size.exact))}</td></tr>'
        for item in found.largest
    )
    return (
        '<section class="card"><header><h2>Largest items, and how to free them</h2></header>'
        '<table class="tbl"><thead><tr><th>Block</th><th class="num">holds</th><th>to trim it</th>'
        f'<th class="num">frees</th></tr></thead><tbody>{rows}</tbody></table></section>'
    )
