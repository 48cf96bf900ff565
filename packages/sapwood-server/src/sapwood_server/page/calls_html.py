"""The calls page as HTML: what the model saw at each call, checked by its hash; differences."""

from collections.abc import Sequence

from sapwood.conversation.answers import ContextsCompared, RequestReplayed
from sapwood.core.content import File, Text, Thinking, ToolCall
from sapwood.core.events import ModelCalled, Recorded
from sapwood.core.plural import counted
from sapwood.core.timeline.rows import call_arguments
from sapwood.core.turn import Turn
from sapwood.core.view.request import MessagePart, ToolResult
from sapwood_server.page.html_text import line, text, time_ago

_MOST = 4_000


def calls_html(
    calls: Sequence[Recorded],
    shown: RequestReplayed,
    compared: ContextsCompared | None,
    marks: Sequence[str],
    now: int,
) -> str:
    """The calls, the request of one of them, and the difference of two contexts."""
    selected = shown.replayed.ref.version if shown.replayed else 0
    rows = "".join(
        f'<li><a href="?view=calls&amp;call={each.version}" data-call="{each.version}"'
        f"{' aria-current=true' if each.version == selected else ''}><b>#{each.version}</b> "
        f'<span class="faint">{time_ago(each.at, now)}</span> '
        f'<span class="num">{line(each.event.model)}</span></a></li>'
        for each in calls
        if isinstance(each.event, ModelCalled)
    )
    none = '<p class="pad faint">No model has been called yet.</p>'
    return (
        '<div class="page"><header class="row-x"><div class="grow"><h1 class="h1">What the model '
        'saw</h1><p class="faint">Every call is rebuilt from the log and compared with the hash '
        'that was stored before it was sent.</p></div><a class="btn" href="?" '
        'data-view="timeline">Back to the timeline</a></header><div class="saw">'
        '<section class="card"><header><h2>Calls</h2></header>'
        f'<ul class="calls">{rows or none}</ul></section>'
        f'<section class="card">{_request(shown)}</section>'
        f'<section class="card"><header><h2 class="grow">Compare two contexts</h2></header>'
        f"{_compare_form(marks)}{comparison_html(compared) if compared else ''}</section></div>"
        "</div>"
    )


def _request(shown: RequestReplayed) -> str:
    found = shown.replayed
    if found is None:
        return (
            '<header><h2>Request</h2></header><p class="pad faint">Nothing has been sent yet.</p>'
        )
    if found.matches:
        hashed = "<b>✓ The hash matches: this is what was sent</b>"
    else:
        hashed = '<b class="bad">✗ The hash does not match</b>'
    blocks = "".join(
        _block(block.kind, f"{block.kind} {block.name}".strip(), text(block.text[:_MOST]))
        for block in found.request.system
    )
    blocks += "".join(
        _block(message.role, message.role, "".join(_part(part) for part in message.parts))
        for message in found.request.messages
    )
    return (
        f'<header><h2 class="grow">Call #{found.ref.version}</h2>'
        f'<span class="num faint">{line(found.called.model)}</span></header>'
        f'<div class="hash">{hashed}'
        f'<span class="mono">sha256 {line(found.called.hash)}</span></div>'
        f'<div class="scroll">{blocks}</div>'
    )


def _block(kind: str, name: str, inside: str) -> str:
    return f'<div class="blk {kind}"><header>{line(name)}</header><pre>{inside}</pre></div>'


def _part(part: MessagePart) -> str:
    match part:
        case Text() | File():
            return text(part.text[:_MOST])
        case Thinking(words):
            return f'<span class="faint">{text(words[:_MOST])}</span>'
        case ToolCall(_, name, args):
            return f"→ <b>{line(name)}</b> {line(call_arguments(args))}\n"
        case ToolResult(_, name, content):
            return f"← <b>{line(name)}</b> {text(content[:_MOST])}\n"


def _compare_form(marks: Sequence[str]) -> str:
    """The form that opens this page again with a comparison. It needs no script."""
    options = "".join(f"<option>{line(name)}</option>" for name in marks if name)
    return (
        '<form class="row-x pad" data-compare><input type="hidden" name="view" value="calls">'
        '<label>A <input name="a" list="places" required '
        'placeholder="mark or version"></label><label>B <input name="b" list="places" '
        f'placeholder="now"></label><datalist id="places">{options}</datalist>'
        '<button class="btn">Compare</button></form>'
    )


def comparison_html(found: ContextsCompared) -> str:
    """The turns that only one of two contexts shows."""
    diff = found.diff
    left = "".join(_turn(each, "del", "−") for each in diff.only_left)
    right = "".join(_turn(each, "add", "+") for each in diff.only_right)
    front = '<li class="chg">~ the summary or the carried-over request differs</li>'
    return (
        f'<p class="pad" role="status">{line(found.message)}</p><ul class="differs">'
        f'<li class="same">{counted(diff.shared, "turn")} in both</li>{left}{right}'
        f"{front if diff.front_differs else ''}</ul>"
    )


def _turn(turn: Turn, kind: str, sign: str) -> str:
    words = " ".join(part.text for part in turn.prompt if isinstance(part, Text))
    return f'<li class="{kind}">{sign} <b>#{turn.first}</b> {line(words)[:160]}</li>'
