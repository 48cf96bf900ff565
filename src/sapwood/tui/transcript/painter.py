"""Draws each kind of row as lines of a fixed width. A dimmed row has the same number of lines."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import assert_never

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.segment import Segment
from rich.style import Style
from rich.text import Text as Words
from textual.cache import LRUCache
from textual.strip import Strip

from sapwood.conversation.timeline_reader import EventCache
from sapwood.core.content import ToolCall
from sapwood.core.plural import counted
from sapwood.core.timeline.row_content import (
    HiddenMessages,
    MarkName,
    NoteText,
    Notice,
    PromptText,
    ReplyText,
    RowContent,
    ThinkingText,
    ToolUse,
    TurnEnd,
    content_of,
)
from sapwood.core.timeline.rows import (
    Banner,
    Divider,
    Fold,
    Row,
    TimelineRow,
    call_arguments,
    divider_label,
    dropped_label,
    fold_label,
)
from sapwood.core.token_count import show_tokens
from sapwood.core.turn import Result
from sapwood.display.diff_lines import diff_lines
from sapwood.display.quantities import ago
from sapwood.display.text import cut, one_line, plain, visible, without_colours
from sapwood.tui.transcript.row_renderer import (
    Lines,
    RowRenderer,
    TranscriptColours,
    blocks_of,
    markdown,
)
from sapwood.tui.transcript.sink import PartialReply

_RESULT_LINES = 3
_MAX_LENGTH = 20_000
"""The most characters of one tool result that are drawn."""
_DIFF_LINES = 12
"""Lines of a change that are drawn before the row is opened."""


class Painter(RowRenderer):
    """Draws for one width and one set of colours.

    Drawn blocks of Markdown are cached, so that a growing reply only costs its last block.
    """

    def __init__(
        self,
        console: Console,
        colours: TranscriptColours,
        width: int,
        events: EventCache,
        finish: Callable[[Strip], Strip],
    ) -> None:
        super().__init__(console, colours, width, finish)
        self._events = events
        self._blocks: LRUCache[str, list[Strip]] = LRUCache(512)

    def draw(
        self, row: TimelineRow | PartialReply, *, dim: bool, opened: bool, now: int, working: bool
    ) -> list[Strip]:
        """The lines of a row. Raises `NotLoaded` if its text is not loaded."""
        match row:
            case Fold():
                strips = self.finished(self._fold(row, now))
            case Divider():
                strips = self.finished(self._divider(row))
            case PartialReply():
                strips = self._stream(row)
            case Banner():
                strips = self.finished(self._banner(row, self._banner_content(row), opened))
            case Row():
                strips = self._row(row, opened, working)
            case _:
                assert_never(row)
        if dim:
            faint = Style(color=self.colours.faint)
            strips = [self.finish(Strip([Segment(each.text, faint)])) for each in strips]
        return strips

    def text_of(self, row: TimelineRow) -> str:
        """The text that copying a row gives, without decoration. Raises `NotLoaded`."""
        if isinstance(row, Fold | Divider):
            return ""
        return _copy_text(content_of(row, self._events.event))

    def _row(self, row: Row, opened: bool, working: bool) -> list[Strip]:
        content = content_of(row, self._events.event)
        match content:
            case ReplyText():
                return self._reply(row, content)
            case PromptText(text, author=who):
                lines = self._message(who, f"#{row.place}", text, self.colours.user, row.heads)
            case NoteText():
                lines = self._note(content)
            case ThinkingText(text):
                lines = self._thinking(text, opened)
            case ToolUse(call, result):
                lines = self._tool(call, result, opened, working, dropped_label(row))
            case TurnEnd():
                lines = self._ending(content)
            case MarkName(name, before):
                lines = self._mark(name, before)
            case Notice(sign, words):
                lines = self.sentence(sign, one_line(words), self.colours.faint)
            case HiddenMessages():
                lines = []  # folds, banners and dividers are rows of other classes
            case _:
                assert_never(content)
        return self.finished(lines)

    def _banner_content(self, row: Banner) -> HiddenMessages:
        content = content_of(row, self._events.event)
        assert isinstance(content, HiddenMessages)
        return content

    def _message(self, who: str, place: str, text: str, colour: str, heads: bool) -> Lines:
        body = self.render(Words(_clean(text), style=self.colours.text))
        return self.barred(self.headed(who, place, colour, body, heads), colour, "┃")

    def _reply(self, row: Row, reply: ReplyText) -> list[Strip]:
        tokens = f" · {show_tokens(reply.tokens)}" if reply.tokens else ""
        place = f"#{row.place}{tokens}" if row.place else tokens.removeprefix(" · ")
        return self._speech(_short(reply.model) if row.heads else "", place, reply.text)

    def _stream(self, row: PartialReply) -> list[Strip]:
        return [*(self._partial(row) if row.model else ()), *self._running_shell(row)]

    def _running_shell(self, row: PartialReply) -> list[Strip]:
        """A shell command of the person that runs, with the end of its output."""
        if not row.shell:
            return []
        call = ToolCall("", "!", json.dumps({"command": row.shell}))
        lines = self._tool(call, None, opened=False, working=True)
        shown = _clean(without_colours(row.output)).rstrip("\n").split("\n")[-_RESULT_LINES:]
        for line in filter(None, shown):
            words = Words(f"  {line}", style=self.colours.faint, no_wrap=True, overflow="ellipsis")
            lines = [*lines, *self.barred(self.render(words), self.colours.faint, " ")]
        return self.finished([*lines, []])

    def _partial(self, row: PartialReply) -> list[Strip]:
        colours = self.colours
        more: list[RenderableType] = []
        if row.thinking and not row.text:
            more.append(Words(f"∴ {_tail(row.thinking)}", style=f"italic {colours.faint}"))
        if row.tool:
            more.append(Words(f"● {one_line(row.tool)} …", style=colours.tool))
        if not (more or row.text):
            more.append(Words("…", style=colours.faint))
        return self._speech(_short(row.model) if row.heads else "", "", row.text, more)

    def _speech(
        self, who: str, place: str, text: str, more: Sequence[RenderableType] = ()
    ) -> list[Strip]:
        """A reply: the name of the model, then its blocks, each drawn once."""
        colour = self.colours.model
        strips = self.finished(self.edged(self.head(who, place, colour), colour)) if who else []
        gap = self.finished(self.edged([[]], colour))
        for number, block in enumerate(blocks_of(_clean(text))):
            kept = self._blocks.get(block)
            if kept is None:
                kept = self.finished(self.edged(self.block(block), colour))
                self._blocks[block] = kept
            strips += [*gap, *kept] if number else kept
        for each in more:
            strips += self.finished(self.edged(self.render(each), colour))
        return [*strips, *self.finished([[]])]

    def _note(self, note: NoteText) -> Lines:
        head = Words(f"✉ {one_line(note.label)}", style=f"bold {self.colours.accent}")
        body = Words(_clean(note.text), style=self.colours.tool)
        return self.barred(self.render(Group(head, body)), self.colours.accent, "┊")

    def _thinking(self, text: str, opened: bool) -> Lines:
        style = f"italic {self.colours.faint}"
        if opened:
            body = Words.assemble(("▾ thinking\n", style), (_clean(text), style))
        else:
            words = cut(text, max(10, self.inner - 13))
            body = Words(f"▸ thinking: {words}", style=style, no_wrap=True, overflow="ellipsis")
        return self.barred(self.render(body), self.colours.faint, "│")

    def _tool(
        self, call: ToolCall, result: Result | None, opened: bool, working: bool, dropped: str = ""
    ) -> Lines:
        colours = self.colours
        failed = result is not None and result.error
        colour = colours.error if failed else colours.model if result else colours.warning
        name = one_line(call.name)
        room = max(10, self.inner - cell_len(name) - 3)
        head = Words.assemble(("● ", colour), (name, f"bold {colours.text}"))
        head.append(f" {cut(call_arguments(call.args), room)}", colours.tool)
        if result is None:
            state = "running …" if working else "no result"
            return self.barred(
                self.render(Group(head, Words(state, colours.faint))), colours.faint, " "
            )
        shown = [*self._output(call, result, opened)] if opened or not dropped else []
        if dropped:
            shown.append(Words(f"  {dropped}", style=colours.warning))
        return self.barred(self.render(Group(head, *shown)), colours.faint, " ")

    def _output(self, call: ToolCall, result: Result, opened: bool) -> Iterable[RenderableType]:
        colours = self.colours
        style = colours.error if result.error else colours.faint
        lines = _clean(without_colours(result.content[:_MAX_LENGTH])).rstrip("\n").split("\n")
        if opened:
            if len(call.args) > 2:
                yield Words(visible(call.args[:_MAX_LENGTH]).expandtabs(4), style=colours.tool)
            yield Words("\n".join(lines), style=style)
            yield from self._diff(result.diff, len(result.diff))
            if len(result.content) > _MAX_LENGTH:
                yield Words(
                    f"… {len(result.content) - _MAX_LENGTH:,} more characters", colours.faint
                )
            return
        more = result.content.rstrip("\n").count("\n") + 1 - _RESULT_LINES
        if result.error and more > 0:  # what went wrong stands at the end
            end = _clean(without_colours(result.content[-_MAX_LENGTH:])).rstrip("\n").split("\n")
            yield Words(f"  ▸ {counted(more, 'line')} above", style=colours.faint)
            lines, more = end[-_RESULT_LINES:], 0
        for line in lines[:_RESULT_LINES]:
            yield Words(f"  {line}", style=style, no_wrap=True, overflow="ellipsis")
        if more > 0:
            yield Words(f"  ▸ {counted(more, 'more line')}", style=colours.faint)
        yield from self._diff(result.diff, _DIFF_LINES)

    def _diff(self, diff: str, max_lines: int) -> Iterable[RenderableType]:
        """The change that a call made to a file, at most so many lines of it."""
        colours = self.colours
        styles = {"added": colours.model, "removed": colours.error}
        lines = [line for line in diff_lines(diff) if line.kind != "file"] if diff else []
        for line in lines[:max_lines]:
            text = visible(line.text).expandtabs(4)
            style = styles.get(line.kind, colours.faint)
            yield Words(f"  {text}", style=style, no_wrap=True, overflow="ellipsis")
        if len(lines) > max_lines:
            yield Words(
                f"  ▸ {len(lines) - max_lines:,} more lines of the change", style=colours.faint
            )

    def _ending(self, end: TurnEnd) -> Lines:
        colour = self.colours.error if end.how == "failed" else self.colours.warning
        text = Words.assemble(("■ ", colour), (end.how, f"bold {colour}"))
        if end.why:
            text.append(f": {one_line(end.why)}", self.colours.text)
        return self.barred(self.render(text), colour, " ")

    def _mark(self, name: str, before: str) -> Lines:
        colour = self.colours.mark
        text = Words.assemble(
            ("◆ ", colour), (one_line(name) or "unnamed mark", f"bold {colour}"), " "
        )
        if before:
            text.append(f"before #{before} ", self.colours.faint)
        text.append("─" * max(0, self.width - 3 - text.cell_len), self.colours.faint)
        return self.across(text)

    def _fold(self, row: Fold, now: int) -> Lines:
        colours = self.colours
        text = Words.assemble(
            ("╌╌╌ ", colours.faint),
            (f"{'▾' if row.open else '▸'} {one_line(fold_label(row))}", f"bold {colours.accent}"),
            (f" · {row.cause} · {ago(row.at, now)} ", colours.faint),
        )
        text.append("╌" * max(0, self.width - 3 - text.cell_len), colours.faint)
        return self.across(text)

    def _divider(self, row: Divider) -> Lines:
        colours = self.colours
        words = f" ▲ {divider_label(row)} "
        if cell_len(words) > self.width - 6:
            words = f" ▲ {divider_label(row, tokens=False)} "
        side = max(2, (self.width - 3 - cell_len(words)) // 2)
        text = Words.assemble(("━" * side, colours.warning), (words, f"bold {colours.warning}"))
        text.append("━" * max(0, self.width - 3 - text.cell_len), colours.warning)
        return self.across(text)

    def _banner(self, row: Banner, content: HiddenMessages, opened: bool) -> Lines:
        colours, summary = self.colours, content.summary
        title = Words.assemble(
            (" Summary" if summary else " Last request", f"bold {colours.model}")
        )
        if row.messages:
            title.append(f" of {counted(row.messages, 'message')}", colours.model)
        if summary is not None and summary.score is not None:
            title.append(f" · check {summary.score:.0%} ", colours.model)
        text = summary.text if summary else content.request
        body: list[RenderableType] = [
            markdown(_clean(text), colours.code_theme, colours.code_background)
        ]
        if summary is not None and summary.ledger:
            sign = "▾ from the log" if opened else "▸ from the log: files, commands, tests"
            body.append(Words(sign, style=colours.faint))
            if opened:
                body.append(Words(_clean(summary.ledger), style=colours.tool))
        panel = Panel(Group(*body), title=title, title_align="left", border_style=colours.model)
        with self.console.use_theme(self.theme):
            return [*self.pad(self.lines(panel, self.width - 3)), []]


def _clean(text: str) -> str:
    return plain(text).expandtabs(4)


def _short(model: str) -> str:
    """The name of a model without its provider."""
    return one_line(model.rpartition(":")[2]) or "model"


def _tail(text: str) -> str:
    return one_line(text)[-200:]


def _copy_text(content: RowContent) -> str:
    match content:
        case (
            PromptText(text=text)
            | NoteText(text=text)
            | ThinkingText(text=text)
            | ReplyText(text=text)
        ):
            return text
        case ToolUse(call, result):
            return f"{call.name} {call.args}" + (f"\n{result.content}" if result else "")
        case TurnEnd(how, why):
            return f"{how}: {why}" if why else how
        case MarkName(name):
            return name
        case Notice(words=words):
            return words
        case HiddenMessages(summary=summary, request=request):
            return summary.text if summary else request
        case _:
            assert_never(content)
