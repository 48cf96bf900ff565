"""Conversations as Markdown."""

from typing import assert_never

from msgspec import structs

from sapwood.conversation.timeline_reader import ConversationRow, ConversationRows
from sapwood.core.content import Text, ToolCall
from sapwood.core.state import State
from sapwood.core.timeline.row_content import (
    LeftBehind,
    MarkName,
    NoteText,
    Notice,
    PromptText,
    ReplyText,
    ThinkingText,
    ToolUse,
    TurnEnd,
)
from sapwood.core.timeline.rows import Row, edge_label, mark_label
from sapwood.core.turn import Result
from sapwood.core.view.frames import framed_request, framed_summary
from sapwood.display.quantities import clock
from sapwood.display.text import one_line, plain
from sapwood.display.visible_text import json_escaped, without_colours


def conversation_markdown(state: State, conversation: ConversationRows) -> str:
    """Returns the conversation with a heading for each speaker and tool results in fences."""
    title = one_line(state.name) or state.agent
    lines = [
        f"# {title}",
        "",
        f"Agent `{state.agent}`, {one_line(state.settings.model) or 'no model'}, "
        f"started {clock(state.created)}.",
        "",
    ]
    for each in conversation.rows:
        for paragraph in _paragraphs(each):
            lines += [paragraph, ""]
    return "\n".join(lines).rstrip() + "\n"


def _paragraphs(each: ConversationRow) -> list[str]:
    row, content = each.row, each.content
    place = f"{row.agent}:{row.version}" if isinstance(row, Row) else ""
    heads = isinstance(row, Row) and row.heads
    unseen = " · out of view" if each.dim else ""
    match content:
        case PromptText(text):
            head = [f"## You ({place}){unseen}"] if heads else []
            return [*head, plain(text)]
        case NoteText(label, text):
            return [f"*{one_line(label)} ({place})*", plain(text)]
        case ThinkingText(text):
            return [_quoted(f"*Thinking*\n{text}")]
        case ReplyText(text, model):
            head = [f"### {one_line(model) or 'Model'}{unseen}"] if heads else []
            return [*head, plain(text)]
        case ToolUse(call, result):
            return _tool(call, result)
        case TurnEnd(how, why):
            return [f"*{how}: {one_line(why)}*" if why else f"*{how}*"]
        case MarkName(name, before):
            return [f"*{one_line(mark_label(name, before))}*"]
        case Notice(sign, words):
            return [f"*{sign} {one_line(words)}*"]
        case LeftBehind():
            return _left_behind(content)
        case _:
            assert_never(content)


def _tool(call: ToolCall, result: Result | None) -> list[str]:
    called = [f"Called `{one_line(call.name)}`:", _fenced(json_escaped(call.args), "json")]
    if result is None:
        return called
    failed = " (failed)" if result.error else ""
    changed = result.added or result.removed
    lines = f" (+{result.added} -{result.removed} lines)" if changed else ""
    shown = [*called, f"Result{failed}{lines}:", _fenced(plain(without_colours(result.content)))]
    return [*shown, "Change:", _fenced(plain(result.diff))] if result.diff else shown


def _left_behind(content: LeftBehind) -> list[str]:
    label = one_line(edge_label(content.row))
    found = ["---", f"*{label}*"] if label else []
    if content.summary is not None:
        found.append(_quoted(framed_summary(structs.replace(content.summary, fence="")).text))
    if content.request:
        found.append(_quoted(framed_request((Text(content.request),)).text))
    return found


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in plain(text).split("\n"))


def _fenced(text: str, language: str = "") -> str:
    """Returns the text in a fence that is longer than any fence in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return "\n".join([f"{fence}{language}", text.rstrip("\n"), fence])
