"""Draws rows: each becomes lines of a fixed width, the same number whether dim or not."""

from collections.abc import Callable, Iterable, Sequence
from typing import assert_never

from msgspec import Struct
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.segment import Segment
from rich.style import Style
from rich.text import Text as Words
from textual.cache import LRUCache
from textual.strip import Strip

from sapwood.core.content import ToolCall
from sapwood.core.counting import show
from sapwood.core.timeline.row_content import (
    LeftBehind,
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
from sapwood.core.timeline.row_labels import call_arguments, divider_label, fold_label
from sapwood.core.timeline.rows import Banner, Divider, Fold, Row, TimelineRow
from sapwood.core.turn import Result
from sapwood.display.text import cut, one_line, plain
from sapwood.display.times import ago
from sapwood.runtime.timeline_reader import EventCache
from sapwood.tui.transcript.blocks import blocks_of
from sapwood.tui.transcript.ink import Ink, Lines
from sapwood.tui.transcript.look import Look
from sapwood.tui.transcript.markdown import markdown

__all__ = ["Painter", "Stream"]

_RESULT_LINES = 3
_LONGEST = 20_000
"""Characters of one result that are drawn at most: a page of a log file is not for reading."""


class Stream(Struct, frozen=True, gc=False):
    """An answer on its way; gone when its event is there."""

    model: str
    text: str = ""
    thinking: str = ""
    tool: str = ""
    heads: bool = True

    @property
    def key(self) -> tuple[str, str, int, int]:
        return ("stream", "", 0, 0)


class Painter(Ink):
    """Draws for one width and one look. Blocks of Markdown are kept as they were drawn, so that a
    growing answer costs only its last block."""

    def __init__(
        self,
        console: Console,
        look: Look,
        width: int,
        events: EventCache,
        finish: Callable[[Strip], Strip],
    ) -> None:
        super().__init__(console, look, width, finish)
        self._events = events
        self._blocks: LRUCache[str, list[Strip]] = LRUCache(512)

    def draw(
        self, row: TimelineRow | Stream, *, dim: bool, opened: bool, now: int, working: bool
    ) -> list[Strip]:
        """The lines of a row. Raises `NotLoaded` where its text is not at hand."""
        match row:
            case Fold():
                strips = self.finished(self._fold(row, now))
            case Divider():
                strips = self.finished(self._divider(row))
            case Stream():
                strips = self._stream(row)
            case Banner():
                strips = self.finished(self._banner(row, self._banner_content(row), opened))
            case Row():
                strips = self._row(row, opened, working)
            case _:
                assert_never(row)
        if dim:
            faint = Style(color=self.look.faint)
            strips = [self.finish(Strip([Segment(each.text, faint)])) for each in strips]
        return strips

    def text_of(self, row: TimelineRow) -> str:
        """What copying a row gives: all of its words, without any decoration."""
        if isinstance(row, Fold | Divider):
            return ""
        return _copied(content_of(row, self._events.event))

    def _row(self, row: Row, opened: bool, working: bool) -> list[Strip]:
        content = content_of(row, self._events.event)
        match content:
            case ReplyText():
                return self._reply(row, content)
            case PromptText(text):
                lines = self._said("you", f"#{row.version}", text, self.look.user, row.heads)
            case NoteText():
                lines = self._note(content)
            case ThinkingText(text):
                lines = self._thinking(text, opened)
            case ToolUse(call, result):
                lines = self._tool(call, result, opened, working)
            case TurnEnd():
                lines = self._ending(content)
            case MarkName(name):
                lines = self._mark(name)
            case Notice(sign, words):
                lines = self.plain(f"{sign} {one_line(words)}", self.look.faint)
            case LeftBehind():
                lines = []  # folds, banners and dividers are rows of other classes
            case _:
                assert_never(content)
        return self.finished(lines)

    def _banner_content(self, row: Banner) -> LeftBehind:
        content = content_of(row, self._events.event)
        assert isinstance(content, LeftBehind)
        return content

    def _said(self, who: str, place: str, text: str, colour: str, heads: bool) -> Lines:
        body = self.render(Words(_clean(text), style=self.look.text))
        return self.barred(self.headed(who, place, colour, body, heads), colour, "┃")

    def _reply(self, row: Row, reply: ReplyText) -> list[Strip]:
        tokens = f" · {show(reply.tokens)} tokens" if reply.tokens else ""
        place = f"#{row.version}{tokens}"
        return self._speech(_short(reply.model) if row.heads else "", place, reply.text)

    def _stream(self, row: Stream) -> list[Strip]:
        look = self.look
        more: list[RenderableType] = []
        if row.thinking and not row.text:
            more.append(Words(f"∴ {_tail(row.thinking)}", style=f"italic {look.faint}"))
        if row.tool:
            more.append(Words(f"● {row.tool} …", style=look.tool))
        if not (more or row.text):
            more.append(Words("…", style=look.faint))
        return self._speech(_short(row.model) if row.heads else "", "", row.text, more)

    def _speech(
        self, who: str, place: str, text: str, more: Sequence[RenderableType] = ()
    ) -> list[Strip]:
        """What a model says: its name, then block by block, each drawn once."""
        colour = self.look.model
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
        head = Words(f"✉ {one_line(note.label)}", style=f"bold {self.look.accent}")
        body = Words(_clean(note.text), style=self.look.tool)
        return self.barred(self.render(Group(head, body)), self.look.accent, "┊")

    def _thinking(self, text: str, opened: bool) -> Lines:
        style = f"italic {self.look.faint}"
        if opened:
            body = Words.assemble(("▾ thinking\n", style), (_clean(text), style))
        else:
            words = cut(text, max(10, self.inner - 13))
            body = Words(f"▸ thinking: {words}", style=style, no_wrap=True, overflow="ellipsis")
        return self.barred(self.render(body), self.look.faint, "│")

    def _tool(self, call: ToolCall, result: Result | None, opened: bool, working: bool) -> Lines:
        look = self.look
        failed = result is not None and result.error
        colour = look.error if failed else look.model if result else look.warning
        room = max(10, self.inner - cell_len(call.name) - 3)
        head = Words.assemble(("● ", colour), (call.name, f"bold {look.text}"))
        head.append(f" {cut(call_arguments(call.args), room)}", look.tool)
        if result is None:
            said = "running …" if working else "no result"
            return self.barred(self.render(Group(head, Words(said, look.faint))), look.faint, " ")
        return self.barred(
            self.render(Group(head, *self._output(call, result, opened))), look.faint, " "
        )

    def _output(self, call: ToolCall, result: Result, opened: bool) -> Iterable[RenderableType]:
        look = self.look
        style = look.error if result.error else look.faint
        lines = _clean(result.content[:_LONGEST]).rstrip("\n").split("\n")
        if opened:
            if len(call.args) > 2:
                yield Words(_clean(call.args[:_LONGEST]), style=look.tool)
            yield Words("\n".join(lines), style=style)
            if len(result.content) > _LONGEST:
                yield Words(f"… {len(result.content) - _LONGEST:,} more characters", look.faint)
            return
        for line in lines[:_RESULT_LINES]:
            yield Words(f"  {line}", style=style, no_wrap=True, overflow="ellipsis")
        more = result.content.rstrip("\n").count("\n") + 1 - _RESULT_LINES
        if more > 0:
            yield Words(f"  ▸ {more:,} more line{'' if more == 1 else 's'}", style=look.faint)

    def _ending(self, end: TurnEnd) -> Lines:
        colour = self.look.error if end.how == "failed" else self.look.warning
        text = Words.assemble(("■ ", colour), (end.how, f"bold {colour}"))
        if end.why:
            text.append(f": {one_line(end.why)}", self.look.text)
        return self.barred(self.render(text), colour, " ")

    def _mark(self, name: str) -> Lines:
        colour = self.look.mark
        text = Words.assemble(("◆ ", colour), (name or "unnamed mark", f"bold {colour}"), " ")
        text.append("─" * max(0, self.width - 3 - text.cell_len), self.look.faint)
        return self.across(text)

    def _fold(self, row: Fold, now: int) -> Lines:
        look = self.look
        text = Words.assemble(
            ("╌╌╌ ", look.faint),
            (f"{'▾' if row.open else '▸'} {fold_label(row)}", f"bold {look.accent}"),
            (f" · {row.cause} · {ago(row.at, now)} ", look.faint),
        )
        text.append("╌" * max(0, self.width - 3 - text.cell_len), look.faint)
        return self.across(text)

    def _divider(self, row: Divider) -> Lines:
        look = self.look
        words = f" ▲ {divider_label(row)} "
        if cell_len(words) > self.width - 6:
            words = f" ▲ {divider_label(row, tokens=False)} "
        side = max(2, (self.width - 3 - cell_len(words)) // 2)
        text = Words.assemble(("━" * side, look.warning), (words, f"bold {look.warning}"))
        text.append("━" * max(0, self.width - 3 - text.cell_len), look.warning)
        return self.across(text)

    def _banner(self, row: Banner, content: LeftBehind, opened: bool) -> Lines:
        look, summary = self.look, content.summary
        title = Words.assemble((" Summary" if summary else " Last request", f"bold {look.model}"))
        if row.messages:
            title.append(f" of {row.messages:,} messages", look.model)
        if summary is not None and summary.score is not None:
            title.append(f" · check {summary.score:.0%} ", look.model)
        text = summary.text if summary else content.request
        body: list[RenderableType] = [markdown(_clean(text), look.code_theme, look.code_ground)]
        if summary is not None and summary.ledger:
            sign = "▾ from the log" if opened else "▸ from the log: files, commands, tests"
            body.append(Words(sign, style=look.faint))
            if opened:
                body.append(Words(_clean(summary.ledger), style=look.tool))
        panel = Panel(Group(*body), title=title, title_align="left", border_style=look.model)
        with self.console.use_theme(self.theme):
            return [*self.pad(self.lines(panel, self.width - 3)), []]


def _clean(text: str) -> str:
    return plain(text).expandtabs(4)


def _short(model: str) -> str:
    """A model without its provider, which nobody needs at every answer."""
    return model.rpartition(":")[2] or "model"


def _tail(text: str) -> str:
    return one_line(text)[-200:]


def _copied(content: RowContent) -> str:
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
        case LeftBehind(summary=summary, request=request):
            return summary.text if summary else request
        case _:
            assert_never(content)
