"""Conversations as plain text, and the comparison of two contexts.

Conversations as Markdown.
"""

from collections.abc import Callable
from typing import Literal, assert_never

from msgspec import structs

from sapwood.conversation.answers import ContextsCompared
from sapwood.conversation.timeline_reader import ConversationRow, ConversationRows
from sapwood.core.content import Text, ToolCall
from sapwood.core.plural import counted
from sapwood.core.state import State
from sapwood.core.timeline.row_content import (
    HiddenMessages,
    MarkName,
    NoteText,
    Notice,
    PromptText,
    ReplyText,
    ThinkingText,
    ToolUse,
    TurnEnd,
)
from sapwood.core.timeline.rows import Row, TimelineRow, dropped_label, edge_label, mark_label
from sapwood.core.turn import Result, Turn
from sapwood.core.turn_numbers import Names, turn_place
from sapwood.core.view.frames import framed_request, framed_summary
from sapwood.display.quantities import clock
from sapwood.display.text import (
    cut,
    indented,
    json_escaped,
    one_line,
    plain,
    without_colours,
    wrapped,
)

TextStyle = Literal["strong", "faint", "tool", "error", "warning"]
Paint = Callable[[str, TextStyle], str]
"""Adds a style to a line, such as colours on a terminal."""

_RESULT_LINES = 8


def _unstyled(text: str, style: TextStyle) -> str:
    return text


def conversation_lines(
    conversation: ConversationRows, width: int, *, whole: bool = False, paint: Paint = _unstyled
) -> list[str]:
    """Returns the lines of all rows, oldest first, with long results cut unless `whole`."""
    lines: list[str] = []
    before: TimelineRow | None = None
    text = _TimelineText(width, whole, paint)
    for each in conversation.rows:
        if before is not None and not _is_joined(before, each.row):
            lines.append("")
        lines += text.lines(each)
        before = each.row
    if conversation.is_open:
        lines.append(paint("(open)", "warning"))
    return lines or ["The context is empty."]


def _is_joined(before: TimelineRow, row: TimelineRow) -> bool:
    """Returns whether two rows are printed without a blank line: rows of one turn."""
    return isinstance(before, Row) and isinstance(row, Row) and before.turn == row.turn


class _TimelineText:
    def __init__(self, width: int, whole: bool, paint: Paint) -> None:
        self._width = width
        self._whole = whole
        self._paint = paint

    def lines(self, each: ConversationRow) -> list[str]:
        """Returns the lines of one row. A row that the model does not see is faint."""
        row, content = each.row, each.content
        place = f"#{row.place}" if isinstance(row, Row) and row.place else ""
        heads = isinstance(row, Row) and row.heads
        match content:
            case PromptText(text, author=who):
                lines = [*self._head(one_line(who), place, heads), *wrapped(text, self._width)]
            case NoteText(label, text):
                head = self._head(f"[{one_line(label)}]", place, True)
                lines = [*head, *wrapped(text, self._width)]
            case ThinkingText(text):
                lines = self._thinking(text)
            case ReplyText(text, model):
                head = self._head(one_line(model) or "model", "", heads)
                lines = [*head, *wrapped(text, self._width)]
            case ToolUse(call, result):
                lines = self._tool(call, result)
                if dropped := dropped_label(row):
                    lines.append(self._paint(f"  {dropped}", "warning"))
            case TurnEnd(how, why):
                words = f"({how}: {plain(why)})" if why else f"({how})"
                lines = [self._paint(line, "warning") for line in wrapped(words, self._width)]
            case MarkName(name, before):
                lines = [self._rule(mark_label(name, before))]
            case Notice(sign, words):
                lines = [self._paint(cut(f"{sign} {words}", self._width), "faint")]
            case HiddenMessages():
                lines = self._left_behind(content)
            case _:
                assert_never(content)
        return [self._paint(line, "faint") for line in lines] if each.dim else lines

    def _head(self, who: str, place: str, heads: bool) -> list[str]:
        if not heads:
            return []
        who = cut(who, max(10, self._width - len(place) - 1))
        gap = " " * max(1, self._width - len(who) - len(place)) if place else ""
        return [self._paint(who, "strong") + gap + (self._paint(place, "faint") if place else "")]

    def _rule(self, words: str) -> str:
        words = one_line(words)
        side = "─" * max(1, (self._width - len(words) - 2) // 2)
        return self._paint(cut(f"{side} {words} {side}", self._width), "faint")

    def _thinking(self, text: str) -> list[str]:
        words = f"thinking: {text}"
        lines = wrapped(words, self._width) if self._whole else [cut(words, self._width)]
        return [self._paint(line, "faint") for line in lines]

    def _tool(self, call: ToolCall, result: Result | None) -> list[str]:
        lines = [self._paint(cut(f"→ {call.name} {call.args}", self._width), "tool")]
        return [*lines, *self._result(result)] if result else lines

    def _result(self, result: Result) -> list[str]:
        lines = wrapped(without_colours(result.content), self._width, "  ")
        over = len(lines) - _RESULT_LINES
        if over > 1 and not self._whole:
            lines = [*lines[:_RESULT_LINES], f"  … {over} more lines"]
        if result.diff:
            lines += indented(result.diff, "  ")
        if result.added or result.removed:
            lines.append(f"  (+{result.added} -{result.removed} lines)")
        style: TextStyle = "error" if result.error else "faint"
        return [self._paint(line, style) for line in lines]

    def _left_behind(self, content: HiddenMessages) -> list[str]:
        blocks: list[list[str]] = []
        if label := edge_label(content.row):
            blocks.append([self._rule(label)])
        if content.summary is not None:
            summary = framed_summary(structs.replace(content.summary, fence=""))
            blocks.append(wrapped(summary.text, self._width))
        if content.request:
            request = framed_request((Text(content.request),)).text
            blocks.append(wrapped(request, self._width))
        return [line for block in blocks for line in ("", *block)][1:]


def comparison_lines(compared: ContextsCompared, width: int) -> list[str]:
    """Returns a line with a minus or a plus for each turn that only one context has."""
    found = compared.diff
    if found.same:
        return [compared.message]
    names = compared.names
    lines = [_turn("-", turn, names, width) for turn in found.only_left]
    lines += [_turn("+", turn, names, width) for turn in found.only_right]
    lines.append(f"{counted(found.shared, 'turn')} in both.")
    if found.front_differs:
        lines.append("The summary or carried-over request before the turns is different.")
    if found.mask_differs:
        lines.append("Different tool results are masked.")
    return lines


def _turn(sign: str, turn: Turn, names: Names, width: int) -> str:
    words = " ".join(part.text for part in turn.prompt if isinstance(part, Text))
    return cut(f"{sign} #{turn_place(turn.agent, turn.number, names)} {words}", width)


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
    place = f" (#{row.place})" if isinstance(row, Row) and row.place else ""
    heads = isinstance(row, Row) and row.heads
    unseen = " · out of view" if each.dim else ""
    match content:
        case PromptText(text, author=who):
            head = [f"## {one_line(who).capitalize()}{place}{unseen}"] if heads else []
            return [*head, plain(text)]
        case NoteText(label, text):
            return [f"*{one_line(label)}{place}*", plain(text)]
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
        case HiddenMessages():
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


def _left_behind(content: HiddenMessages) -> list[str]:
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
