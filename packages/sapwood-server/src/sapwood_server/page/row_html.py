"""Rows of the timeline as HTML: gutter, rail, body. The rail is solid where the model sees a row.

Every row is one `article` of the feed, with its key. Buttons name the command that they run.

A change of a file as HTML: each line with its numbers in the old and in the new file.
"""

import re
from collections.abc import Callable
from typing import assert_never

from msgspec import Struct

from sapwood.conversation.open_timeline import key_text, row_version
from sapwood.conversation.timeline_reader import ConversationRow
from sapwood.core.content import ToolCall
from sapwood.core.plural import counted
from sapwood.core.timeline import row_content
from sapwood.core.timeline.rows import (
    Banner,
    Divider,
    Fold,
    Row,
    TimelineRow,
    UndoAction,
    call_arguments,
    fold_label,
    undo_label,
)
from sapwood.core.token_count import Count, show
from sapwood.core.turn import Result
from sapwood.display.diff_lines import diff_lines
from sapwood.display.text import without_colours
from sapwood_server.page.html_text import attribute, clock_time, line, markdown, text, time_ago, who
from sapwood_server.problems import SETUP, before_shell

_MAX_LINES = 400
_MAX_CHARS = 40_000
_HIGH_SCORE = 0.8
_ASIDE = ("/rewind", "/edit", "/bring", "/undo", "/redo", "/revert")
"""Commands after which turns are a side branch: they do not stand before the head."""
_GRIP = (
    '<button class="grip" data-cut="0" aria-label="Move the head" '
    'title="Move where the context begins">⇕</button>'
)


_CHOOSE = '<a class="btn sm retry" href="/setup">Choose a model</a>'
_RETRY = (
    '<button class="btn sm retry" data-run="/retry" title="Ask your last prompt again">Retry'
    "</button>"
)
"""The page shows both where nothing has come after the end."""
_SECONDS = re.compile(r" Try again in \d+ s\.$")
"""How a failure counts to the reset of a limit. A row that stays names the time instead."""
_OWN = ("!", "!!", "btw")
"""What people ask for themselves, as the timeline names it: it is open."""
_END_LINES = 20
"""Lines at the end of a failed result that are shown; those above have to be opened."""


class RenderedRow(Struct, frozen=True):
    """A row as HTML, with its key and the version of the newest event in it."""

    key: str
    version: int
    html: str


Picture = Callable[[Row, int], str]
"""Returns the address of a file of a row's event; empty if it is not shown."""


def row_html(
    each: ConversationRow, place: int, total: int, now: int, picture: Picture | None = None
) -> RenderedRow:
    """The row at a place of the feed."""
    row = each.row
    key = key_text(row.key)
    kind, body = _parts(each, now, picture or file_address)
    out = " out" if each.dim else ""
    label = ' aria-label="not in context"' if each.dim else ""
    turn = (
        f' data-turn="{attribute(row.place)}"'
        if isinstance(row, Row) and row.kind == "prompt"
        else ""
    )
    html = (
        f'<article class="{kind}{out}" tabindex="-1" id="{attribute(key)}" '
        f'data-key="{attribute(key)}" aria-posinset="{place + 1}" aria-setsize="{total}"'
        f"{label}{turn}>{body}</article>"
    )
    return RenderedRow(key, row_version(row), html)


def file_address(row: Row, number: int) -> str:
    """Where the server has a file of the event of a row."""
    return f"/v1/agents/{row.agent}/log/{row.version}/files/{number}"


def _image(address: str, words: str) -> str:
    if not address:
        return f'<div class="words">{text(words)}</div>'
    source, label = attribute(address), attribute(words)
    return (
        f'<a href="{source}" target="_blank" rel="noopener"><img src="{source}" alt="{label}" '
        f'title="{label}" loading="lazy"></a>'
    )


def _parts(each: ConversationRow, now: int, picture: Picture) -> tuple[str, str]:
    """The class of a row and what is in it."""
    row, content = each.row, each.content
    unseen = '<span class="tag">not in context</span>' if each.dim else ""
    match content:
        case row_content.PromptText(words, image, author):
            number = _number(row)
            acts = _turn_acts(row.place, dim=each.dim) if isinstance(row, Row) else ""
            if image is not None and isinstance(row, Row):
                return "row said shot", _grid("", _image(picture(row, image), words) + unseen)
            return "row said turn", _grid(
                f'<span class="you">{line(author)}</span>{number}',
                f'<div class="words">{text(words)}</div>{unseen}{acts}',
            )
        case row_content.NoteText(label, words):
            return "row note", _grid(
                '<span class="mk">note</span>',
                f'<div class="mail"><b class="mk">{line(label)}</b>'
                f'<div class="words grow">{text(words)}</div></div>',
            )
        case row_content.ThinkingText(words):
            return "row slim", _grid(
                "",
                '<details class="tool"><summary><span class="dot faint">✻</span>'
                f'<b>thinking</b><span class="grow ell">{line(words)[:160]}</span></summary>'
                f'<div class="out-text calm">{text(words)}</div></details>',
            )
        case row_content.ReplyText(words, model, tokens):
            written = show(tokens) if tokens else ""
            noun = "token" if written == "1" else "tokens"
            small = f"<small>{written} {noun}</small>" if written else ""
            return "row reply", _grid(
                f'<span class="ok">{who(model)}</span>{_number(row)}{small}',
                f'<div class="md">{markdown(words)}</div>{unseen}',
            )
        case row_content.ToolUse(call, result):
            dropped = row.dropped if isinstance(row, Row) else ""
            return "row slim", _grid("", _tool(call, result, dropped, dim=each.dim))
        case row_content.TurnEnd(how, why, failure, retry_at):
            why = before_shell(why) if failure in SETUP else why
            why = _SECONDS.sub("", why) if retry_at else why
            words = f"{how}: {why}" if why else how
            colour = "bad" if how == "failed" else "warn"
            until = f'<span class="until"> until {clock_time(retry_at)}</span>' if retry_at else ""
            acts = until + (_CHOOSE if failure in SETUP else "") + _RETRY
            return "row slim", _grid("", f'<span class="{colour} end">{line(words)}</span>{acts}')
        case row_content.MarkName(name, before):
            return _mark(name, before)
        case row_content.Notice(sign, words):
            return "row none slim", _grid(
                f'<span class="faint">{line(sign)}</span>',
                f'<span class="faint event">{line(words)}</span>',
            )
        case row_content.HiddenMessages():
            return _left_behind(content, now)
        case _:
            assert_never(content)


def _grid(gutter: str, body: str) -> str:
    return f'<div class="gut">{gutter}</div><div class="body">{body}</div>'


def _number(row: TimelineRow) -> str:
    """The turn of a row, as people name it."""
    return f" <i>#{line(row.place)}</i>" if isinstance(row, Row) and row.place else ""


def _turn_acts(place: str, *, dim: bool) -> str:
    """What can be done with a turn, each act with what it does."""
    turn = attribute(place)
    acts = [
        (f'data-run="/rewind {turn}"', "Rewind", "the context to before this turn"),
        (f'data-run="/edit {turn}"', "Edit", "rewind, with the prompt in the composer"),
    ]
    if dim:
        acts.append((f'data-run="/bring {turn}"', "Bring back", "into what the model sees"))
    else:
        cut = "show what trimming before this turn frees and costs"
        acts.append((f'data-cut="{turn}"', "Cut", cut))
    rows = "".join(
        f'<button class="opt-row" {what}><b>{name}</b><span>{about}</span></button>'
        for what, name, about in acts
    )
    pick = ""
    if not dim:
        pick = (
            f'<button class="btn bare sm pick-turn" data-pick="{turn}" aria-pressed="false" '
            f'aria-label="Pick turn {turn}" title="Pick this turn to drop it from the middle; drag '
            'to pick several">▢</button>'
        )
    return (
        f'<span class="turn-acts">{pick}<details class="turn-menu"><summary class="btn bare sm" '
        f'aria-label="Actions for turn {turn}">'
        f'⋯</summary><div class="popv">{rows}</div></details></span>'
    )


def _mark(name: str, before: str) -> tuple[str, str]:
    label = line(name) or "unnamed mark"
    acts = ""
    if name:
        acts = (
            f'<button class="btn bare sm" data-run="/rewind {attribute(name)}" '
            'title="Rewind the context to here">rewind</button>'
            f'<button class="btn bare sm" data-run="/fork {attribute(name)}" '
            'title="Start a child that sees what came after this mark">fork</button>'
        )
    place = f"<span>before #{line(before)}</span>" if before else ""
    return "div mark", (
        f'<span class="tri" aria-hidden="true">◆</span><b>{label}</b>{place}'
        f'<span class="acts row-x">{acts}</span>'
    )


def _tool(call: ToolCall, result: Result | None, dropped: str, *, dim: bool) -> str:
    if result is None:
        dot, state = '<span class="dot warn" aria-hidden="true">◌</span>', "running"
    elif result.error:
        dot, state = '<span class="dot bad" aria-hidden="true">✗</span>', "failed"
    else:
        dot, state = '<span class="dot ok" aria-hidden="true">●</span>', "done"
    added, removed, lines = diff_html(result.diff) if result else (0, 0, "")
    if result and not lines:
        added, removed = result.added, result.removed
    facts: list[str] = []
    if added or removed:
        facts.append(f'<span class="ok">+{added}</span> <span class="bad">−{removed}</span>')
    if result:
        facts.append(counted(len(result.content.splitlines()), "line"))
    else:
        facts.append(state)
    back = ""
    if dropped:
        facts.append('<span class="warn">result dropped</span>')
        back = (
            f'<span class="acts"><button class="btn bare sm" data-run="/load {attribute(dropped)}"'
            f' title="Bring the result back into view">load {line(dropped)}</button></span>'
        )
    own = " own" if call.name in _OWN else ""
    opens = lines or (result and (result.error or own))
    is_open = " open" if not dim and not dropped and opens else ""
    body = lines
    if result and call.name == "btw" and not result.error:
        body += f'<div class="md">{markdown(result.content)}</div>'
    elif result and (not lines or result.error):
        calm = "" if result.error else " calm"
        shown = _failed_output(result.content) if result.error else _output(result.content)
        body += f'<div class="out-text{calm}">{shown}</div>'
    return (
        f'<details class="tool{own}"{is_open}><summary>{dot}<span class="vh">{state}: </span>'
        f'<b>{line(call.name)}</b><span class="grow ell">{line(call_arguments(call.args))[:400]}'
        f'</span><span class="num">{" · ".join(facts)}</span>{back}</summary>'
        f"{_arguments(call, bool(lines))}{body}</details>"
    )


def _arguments(call: ToolCall, has_diff: bool) -> str:
    """The arguments, unless the line above or the change below says the same."""
    short = call_arguments(call.args)
    if has_diff or (len(short) <= 90 and call.args.count('":') <= 1):
        return ""
    return f'<pre class="args">{text(call.args)[:_MAX_CHARS]}</pre>'


def _output(content: str) -> str:
    """The result of a tool, its beginning if it is long."""
    shown = without_colours(content[:_MAX_CHARS])
    lines = shown.split("\n")
    left = content.count("\n") + 1 - min(len(lines), _MAX_LINES)
    more = f'\n<span class="faint">… {left:,} more lines</span>' if left > 0 else ""
    return text("\n".join(lines[:_MAX_LINES])) + more


def _failed_output(content: str) -> str:
    """The end of the result of a tool that failed; what is above can be opened."""
    lines = without_colours(content[-_MAX_CHARS:]).rstrip("\n").split("\n")
    above, end = lines[:-_END_LINES], text("\n".join(lines[-_END_LINES:]))
    if not above:
        return end
    hidden = text("\n".join(above[-_MAX_LINES:]))
    return (
        f'<details class="above"><summary>… {counted(len(above), "line")} above</summary>{hidden}'
        f"</details>{end}"
    )


def _left_behind(content: row_content.HiddenMessages, now: int) -> tuple[str, str]:
    row = content.row
    match row:
        case Fold(cause=cause, at=at):
            grip = "" if cause.startswith(_ASIDE) or not row.back else _GRIP
            return "foldbox", _divider(
                f'{grip}<button class="btn bare sm" data-fold="{attribute(key_text(row.key))}" '
                f'aria-expanded="false"><span class="tri" aria-hidden="true">▸</span>'
                f"<b>{fold_label(row)}</b></button>"
                f"<span>{line(cause)} · {time_ago(at, now)} · {counted(row.turns, 'turn')}</span>"
                f"{_back(row.back)}",
                "div",
            ) + _request(content.request) + '<div class="inside" hidden></div>'
        case Divider(turns=turns, tokens=tokens, exact=exact, at=at):
            freed = show(Count(tokens, exact))
            return "headbox", _divider(
                '<a class="grip" href="?view=context" aria-label="Move the cut">⇕</a>'
                "<b>▲ model can’t see above</b>"
                f"<span>window · {counted(turns, 'turn')} clipped, −{freed} · "
                f"{time_ago(at, now)}</span>{_back(row.back)}",
                "div head",
            ) + _request(content.request)
        case Banner():
            return _banner(content, row, now)
        case _:
            assert_never(row)


def _divider(inside: str, kind: str) -> str:
    return f'<div class="{kind}">{inside}</div>'


def _back(back: UndoAction | None) -> str:
    """The button that brings messages back; several undos are given one after the other."""
    if back is None:
        return ""
    lines = "\n".join([back.typed] * back.times)
    word = back.command if back.times == 1 else f"{back.command} × {back.times}"
    return (
        f'<span class="acts"><button class="btn bare sm" data-run="{lines}" '
        f'title="{attribute(undo_label(back))}">{word}</button></span>'
    )


def _request(request: str) -> str:
    if not request:
        return ""
    return (
        '<div class="row carried"><div class="gut"><span class="you">your last request</span></div>'
        f'<div class="body"><div class="words">{text(request)}</div>'
        '<span class="chip ok">in every call</span></div></div>'
    )


def _banner(content: row_content.HiddenMessages, row: Banner, now: int) -> tuple[str, str]:
    summary = content.summary
    out = "" if row.in_view else " out"
    if summary is None:
        return f"reqbox{out}", _request(content.request)
    title = f"Summary of {counted(row.messages, 'message')}" if row.messages else "Summary"
    when = f"{line(row.cause)} · {time_ago(row.at, now)}" if row.at else line(row.cause)
    score = ""
    if summary.score is not None:
        good = summary.score >= _HIGH_SCORE
        colour = "ok" if good else "warn"
        insisted = "" if good else '<span class="warn">accepted anyway</span>'
        score = (
            f'<span class="score {colour}"><span class="meter" aria-hidden="true">'
            f'<i class="w{round(summary.score * 100)}"></i></span>'
            f"check {round(summary.score * 100)} %</span>{insisted}"
        )
    seen = (
        '<span class="chip ok">in every call</span>'
        if row.in_view
        else '<span class="tag">not in context</span>'
    )
    ledger = ""
    if summary.ledger:
        ledger = (
            '<details class="tool"><summary><b>ledger</b></summary>'
            f'<div class="out-text calm">{text(summary.ledger)}</div></details>'
        )
    inside = _grid(
        '<span class="ok">summary</span>',
        f'<section class="sum" aria-label="Summary"><header><b>{title}</b>'
        f'<span class="faint">{when}</span><span class="grow"></span>{score}{seen}'
        f'{_back(row.back)}</header><div class="md">{markdown(summary.text)}</div>{ledger}'
        "</section>",
    )
    return "sumbox", f'<div class="row summary{out}">{inside}</div>{_request(content.request)}'


_MAX_DIFF_LINES = 600


def diff_html(diff: str) -> tuple[int, int, str]:
    """The numbers of added and removed lines, and the lines; empty if there is no change."""
    if not diff.strip():
        return 0, 0, ""
    added = removed = 0
    old = new = 0
    rows: list[str] = []
    for each in diff_lines(diff):
        match each.kind:
            case "hunk":
                old, new = each.old, each.new
                rows.append(f'<div class="hunk">{line(each.text)}</div>')
            case "added":
                added += 1
                rows.append(_line("add", "", str(new or ""), "+", each.text[1:]))
                new += bool(new)
            case "removed":
                removed += 1
                rows.append(_line("del", str(old or ""), "", "−", each.text[1:]))
                old += bool(old)
            case "note":
                rows.append(_line("faint", "", "", "", each.text))
            case "text" if each.text:
                rows.append(_line("", str(old or ""), str(new or ""), "", each.text[1:]))
                old, new = old + bool(old), new + bool(new)
            case "text" | "file":
                pass
    more = len(rows) - _MAX_DIFF_LINES
    if more > 0:
        rows = [*rows[:_MAX_DIFF_LINES], f'<div class="hunk">… {more:,} more lines</div>']
    return added, removed, f'<div class="code">{"".join(rows)}</div>'


def _line(kind: str, old: str, new: str, sign: str, words: str) -> str:
    return (
        f'<div class="ln {kind}"><i>{old}</i><i>{new}</i><b>{sign}</b>'
        f"<span>{text(words)}</span></div>"
    )
