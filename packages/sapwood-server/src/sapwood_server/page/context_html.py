"""The context page as HTML: bars by turn, the cut with its price, the largest blocks.

The calls page as HTML: what the model saw at each call, checked by its hash; differences.

The tree of turns as HTML: turns in view, turns that left it, side branches, children.
"""

from collections.abc import Iterator, Sequence

from sapwood.conversation.answers import ContextsCompared, RequestReplayed
from sapwood.conversation.context_breakdown import ContextBreakdown
from sapwood.conversation.cut_preview import Cut, CutPlan, DropPreview
from sapwood.conversation.open_timeline import LeftTurns, key_text
from sapwood.conversation.surroundings import WindowUse
from sapwood.core.command_table import TABLE
from sapwood.core.content import File, Text, Thinking, ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.core.plural import counted
from sapwood.core.timeline.rows import call_arguments
from sapwood.core.token_count import Count
from sapwood.core.turn import Turn
from sapwood.core.turn_numbers import Names, NumberedCall, joined_places, turn_place
from sapwood.core.view.request import MessagePart, ToolResult
from sapwood.display.agent_tree import state_of
from sapwood.display.quantities import money
from sapwood_server.page.html_text import attribute, explained, line, size, text, time_ago

_TREE_HELP = (
    "A turn is a prompt and everything that answered it. Filled turns are in what the model "
    "sees, hollow ones are not. The head is where that begins: drag it, or press h."
)
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


def drop_html(found: DropPreview, turns: Sequence[str]) -> str:
    """What a drop saves and costs, the thinking that it would invalidate, and what costs less."""
    command = attribute(f"{TABLE['drop'].typed} {joined_places(turns)}")
    total = Count(found.total.tokens + found.size.tokens, found.total.exact)
    verb = "leaves" if found.turns == 1 else "leave"
    said = [
        f'<b class="warn">{counted(found.turns, "turn")} {verb}</b>',
        _change(total, found.total),
    ]
    if found.once is not None and found.later is not None:
        said.append(
            f"<span>next call <b>{money(found.once)}</b> once, then "
            f"<b>{money(found.later)}</b></span>"
        )
    if found.pays_after is not None and found.pays_after > 1:
        said.append(
            f'<span class="faint">pays for itself after {counted(found.pays_after, "call")}</span>'
        )
    lost: list[str] = []
    if found.thoughts:
        lost.append(
            '<span class="warn"><span aria-hidden="true">⚠</span> '
            f"{counted(found.thoughts, 'signed thought')} after it may be dropped</span>"
        )
    if found.cheaper:
        places = attribute(" ".join(found.cheaper))
        lost.append(
            f"<span>costs less: <b>{line(joined_places(found.cheaper))}</b></span>"
            f'<button class="btn sm" data-picks="{places}">Take '
            f"{line(joined_places(found.cheaper))}</button>"
        )
    lines = "".join(f'<p class="line">{"".join(each)}</p>' for each in (said, lost) if each)
    return f'<div data-line="{command}">{lines}</div>'


def _change(now: Count, after: Count) -> str:
    """Tokens now and after; one figure if they look alike."""
    shown, then = size(now), size(after)
    before = "" if shown == then else f"{shown} → "
    return f'<span class="num">{before}<b>{then}</b></span>'


def _chart(plan: CutPlan) -> str:
    tallest = max((cut.size.tokens for cut in plan.cuts), default=1) or 1
    bars = "".join(
        f'<li data-turn="{attribute(cut.turn)}"><b>{size(cut.size)}</b>'
        f'<i class="tall{max(2, round(100 * cut.size.tokens / tallest))}"></i>'
        f"<span>#{line(cut.turn)}</span></li>"
        for cut in plan.cuts
    )
    count = len(plan.cuts)
    slider = ""
    if count:
        slider = (
            f'<label class="vh" for="cut">Where to cut</label><div class="slider '
            f'w{round(100 * (count - 1) / count)}"><input id="cut" type="range" min="0" '
            f'max="{count - 1}" value="0" step="1" aria-valuetext="nothing is removed"></div>'
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
    parts = [("k-system", "system and tools", fixed), ("k-summary", "summary", front)]
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
        '<table class="tbl"><thead><tr><th>Item</th><th class="num">Tokens</th><th>Command</th>'
        f'<th class="num">Frees</th></tr></thead><tbody>{rows}</tbody></table></section>'
    )


_MAX_TEXT = 4_000


def calls_html(
    calls: Sequence[NumberedCall],
    shown: RequestReplayed,
    compared: ContextsCompared | None,
    marks: Sequence[str],
    now: int,
    *,
    compares: bool = False,
) -> str:
    """The calls, and the request of one of them or the difference of two contexts."""
    selected = shown.replayed.ref.version if shown.replayed else 0
    rows = "".join(_call_row(each, selected, now) for each in calls)
    none = '<p class="pad faint">No model has been called yet.</p>'
    places = {each.recorded.version: each.place for each in calls}
    title = places.get(selected, "Call")
    right = _call_request(shown, title) if compared is None and not compares else ""
    if not right:
        right = _compare_form(marks) + (comparison_html(compared) if compared else "")
    return (
        '<div class="page"><header class="row-x"><div class="grow"><h1 class="h1">What the model '
        'saw</h1><p class="faint">Every call is rebuilt from the log and compared with the hash '
        'that was stored before it was sent.</p></div><a class="btn" href="?" '
        'data-view="timeline">Back to the timeline</a></header><div class="saw">'
        f'<section class="card"><header><h2 class="grow">Calls</h2><span class="num faint">'
        f'{len(calls)}</span></header><ul class="calls scroll" tabindex="0" aria-label="Calls">'
        f"{rows or none}</ul></section>"
        f'<section class="card"><header><nav class="seg" aria-label="What to show">'
        f"{_mode('Request', '?view=calls', here=not (compares or compared))}"
        f"{_mode('Difference', '?view=calls&amp;compare=1', here=bool(compares or compared))}"
        f"</nav></header>{right}</section></div></div>"
    )


def _call_row(call: NumberedCall, selected: int, now: int) -> str:
    version = call.recorded.version
    return (
        f'<li><a href="?view=calls&amp;call={version}" data-call="{version}"'
        f"{' aria-current=true' if version == selected else ''}><b>{_capitalised(call.place)}</b> "
        f'<span class="faint">{time_ago(call.recorded.at, now)}</span> '
        f'<span class="num ell">{line(call.called.model)}</span></a></li>'
    )


def _capitalised(place: str) -> str:
    return line(place[:1].upper() + place[1:])


def _mode(name: str, address: str, *, here: bool) -> str:
    return f'<a href="{address}"{" aria-current=true" if here else ""}>{name}</a>'


def _call_request(shown: RequestReplayed, place: str) -> str:
    found = shown.replayed
    if found is None:
        return '<p class="pad faint">Nothing has been sent yet.</p>'
    if found.matches:
        hashed = "<b>✓ The hash matches: this is what was sent</b>"
    else:
        hashed = '<b class="bad">✗ The hash does not match</b>'
    blocks = "".join(
        _block(block.kind, f"{block.kind} {block.name}".strip(), text(block.text[:_MAX_TEXT]))
        for block in found.request.system
    )
    blocks += "".join(
        _block(message.role, message.role, "".join(_part(part) for part in message.parts))
        for message in found.request.messages
    )
    return (
        f'<div class="row-x pad"><h2 class="grow">{_capitalised(place)}</h2>'
        f'<span class="num faint">{line(found.called.model)}</span></div>'
        f'<div class="hash">{hashed}'
        f'<span class="mono">sha256 {line(found.called.hash)}</span></div>'
        f'<div class="scroll" tabindex="0" aria-label="The request">{blocks}</div>'
    )


def _block(kind: str, name: str, inside: str) -> str:
    return f'<div class="blk {kind}"><header>{line(name)}</header><pre>{inside}</pre></div>'


def _part(part: MessagePart) -> str:
    match part:
        case Text() | File():
            return text(part.text[:_MAX_TEXT])
        case Thinking(words):
            return f'<span class="faint">{text(words[:_MAX_TEXT])}</span>'
        case ToolCall(_, name, args):
            return f"→ <b>{line(name)}</b> {line(call_arguments(args))}\n"
        case ToolResult(_, name, content):
            return f"← <b>{line(name)}</b> {text(content[:_MAX_TEXT])}\n"


def _compare_form(marks: Sequence[str]) -> str:
    """The form that opens this page again with a comparison. It needs no script."""
    options = "".join(f"<option>{line(name)}</option>" for name in marks if name)
    return (
        '<form class="row-x pad" method="get" data-compare>'
        '<input type="hidden" name="view" value="calls">'
        '<label>A <input name="a" list="places" required '
        'placeholder="mark or turn"></label><label>B <input name="b" list="places" '
        f'placeholder="now"></label><datalist id="places">{options}</datalist>'
        '<button class="btn">Compare</button></form>'
    )


def comparison_html(found: ContextsCompared) -> str:
    """The turns that only one of two contexts shows."""
    diff = found.diff
    left = "".join(_turn(each, found.names, "del", "−") for each in diff.only_left)
    right = "".join(_turn(each, found.names, "add", "+") for each in diff.only_right)
    front = '<li class="chg">~ the summary or the carried-over request differs</li>'
    return (
        f'<p class="pad" role="status">{line(found.message)}</p><ul class="differs">'
        f'<li class="same">{counted(diff.shared, "turn")} in both</li>{left}{right}'
        f"{front if diff.front_differs else ''}</ul>"
    )


def _turn(turn: Turn, names: Names, kind: str, sign: str) -> str:
    words = " ".join(part.text for part in turn.prompt if isinstance(part, Text))
    place = turn_place(turn.agent, turn.number, names)
    return f'<li class="{kind}">{sign} <b>#{line(place)}</b> {line(words)[:160]}</li>'


def tree_html(
    found: WindowUse, plan: CutPlan, left: Sequence[LeftTurns], family: Sequence[AgentSummary]
) -> str:
    """Turns before the head are hollow, those in view filled, side branches stand aside."""
    in_view = {cut.turn for cut in plan.cuts}
    before = [each for each in left if not in_view or not (plan.earlier or each.after in in_view)]
    aside = [each for each in left if each not in before]
    rows = [row for each in before for row in _left(each, aside=False)]
    if before:
        rows.append(
            '<li role="treeitem" aria-selected="false" class="cutline"><button class="head" '
            'data-cut="0" title="Move the head by hand">head</button></li>'
        )
    if plan.earlier:
        words = f'<span class="faint">{counted(plan.earlier, "earlier turn")} in view</span>'
        rows.append(_node("", "in", words))
    for cut in plan.cuts:
        rows.append(_cut(cut))
        for each in aside:
            if each.after == cut.turn:
                rows += _left(each, aside=True)
    if found.open_turn:
        rows.append(
            '<li role="treeitem" aria-selected="true" aria-current="true" class="tip">'
            '<span class="node tipnode" aria-hidden="true"></span>'
            f'<span class="t">#{found.open_turn}</span>'
            '<span class="ell"><span class="chip warn">working</span></span></li>'
        )
    rows += [_child(each, found.agent) for each in family if each.agent != found.agent]
    if not rows:
        return ""
    return (
        '<section class="sec pane grow" tabindex="0" aria-label="Turn tree"><header>'
        f'<h2 class="cap grow">Turn tree</h2><span class="num faint">● in ○ out ▢ agent</span>'
        f"{explained(_TREE_HELP)}</header>"
        f'<ul class="tree" role="tree" aria-label="Turns">{"".join(rows)}</ul></section>'
    )


def _node(attributes: str, kind: str, inside: str, *, row: str = "") -> str:
    named = f' class="{row}"' if row else ""
    return (
        f'<li role="treeitem" aria-selected="false"{named}{attributes}>'
        f'<span class="node {kind}" aria-hidden="true"></span>{inside}</li>'
    )


def _cut(cut: Cut) -> str:
    return _node(
        f' data-turn-to="{attribute(cut.turn)}"',
        "in",
        f'<span class="t">#{line(cut.turn)}</span><span class="ell">{line(cut.title)}</span>'
        f'<span class="num">{size(cut.size)}</span>',
    )


def _left(each: LeftTurns, *, aside: bool) -> Iterator[str]:
    """A line for the turns that left together, and one for each of the first of them."""
    row = "o aside" if aside else "o"
    edge = each.edge
    what = "side branch: " if aside else "out of context: "
    yield _node(
        f' data-to="{key_text(edge.key)}"',
        "out",
        f'<span class="vh">{what}</span><span class="ell">{counted(edge.turns, "turn")} '
        f'<span class="faint">· {line(edge.cause)}</span></span>',
        row=row,
    )
    for turn, title in each.prompts:
        yield _node(
            f' data-turn-to="{attribute(turn)}"',
            "out",
            f'<span class="t">#{line(turn)}</span><span class="ell faint">'
            f"{line(title) or 'an image'}</span>",
            row=f"{row} past",
        )
    if each.prompts and edge.turns > len(each.prompts):
        more = edge.turns - len(each.prompts)
        yield _node("", "none", f'<span class="faint">… {more} more</span>', row=f"{row} past")


def _child(summary: AgentSummary, agent: AgentId) -> str:
    relation = "child" if summary.parent == agent else "family"
    name = line(summary.name) or line(summary.agent)
    return _node(
        "",
        "kid",
        f'<span class="vh">{relation}: </span>'
        f'<a class="ell" href="/c/{attribute(summary.agent)}">{name} '
        f'<span class="faint">{line(state_of(summary))}</span></a>'
        f'<span class="num">{size(Count(summary.tokens, summary.exact))}</span>',
        row="l2",
    )
