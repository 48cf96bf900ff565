"""Draws rows: each becomes lines of a fixed width, the same number whether dim or not."""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.segment import Segment
from rich.style import Style
from rich.text import Text as Words
from textual.cache import LRUCache
from textual.strip import Strip

from sapwood.core.content import Got, Note, Text, Thinking, ToolCall
from sapwood.core.counting import Count, show
from sapwood.core.events import (
    ContextSummarized,
    Event,
    MarkSet,
    Recorded,
    ReplyAdded,
    ToolFinished,
    TurnRecorded,
)
from sapwood.display.text import cut, one_line, plain
from sapwood.display.times import ago
from sapwood.tui.rows.row import Banner, Divider, Fold, Row, Shown, pieces
from sapwood.tui.rows.wording import arguments, ending, letter_head, told
from sapwood.tui.transcript.blocks import blocks_of
from sapwood.tui.transcript.ink import Ink, Lines
from sapwood.tui.transcript.look import Look
from sapwood.tui.transcript.markdown import markdown
from sapwood.tui.transcript.texts import Texts

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
        texts: Texts,
        finish: Callable[[Strip], Strip],
    ) -> None:
        super().__init__(console, look, width, finish)
        self._texts = texts
        self._blocks: LRUCache[str, list[Strip]] = LRUCache(512)

    def draw(
        self, row: Shown | Stream, *, dim: bool, opened: bool, now: int, working: bool
    ) -> list[Strip]:
        """The lines of a row. Raises `NotLoaded` where its text is not at hand."""
        match row:
            case Fold():
                strips = self.finished(self._fold(row, now))
            case Divider():
                strips = self.finished(self._divider(row))
            case Banner():
                strips = self.finished(self._banner(row, opened))
            case Stream():
                strips = self._stream(row)
            case Row("reply"):
                strips = self._reply(row)
            case Row():
                strips = self.finished(self._row(row, opened, working))
        if dim:
            faint = Style(color=self.look.faint)
            strips = [self.finish(Strip([Segment(each.text, faint)])) for each in strips]
        return strips

    def text_of(self, row: Shown) -> str:
        """What copying a row gives: the words themselves, whole, without any decoration."""
        match row:
            case Banner(ref):
                event = self._texts.event(ref.agent, ref.version).event
                return event.text if isinstance(event, ContextSummarized) else ""
            case Row("mark" | "end" | "event"):
                return self._said_of(self._event(row).event)
            case Row():
                piece = pieces(self._event(row).event)[row.part]
                if not isinstance(piece, ToolCall):
                    return piece.content if isinstance(piece, Got | ToolFinished) else piece.text
                result = self._result(row)
                return f"{piece.name} {piece.args}" + (f"\n{result.content}" if result else "")
            case _:
                return ""

    def _said_of(self, event: Event) -> str:
        if isinstance(event, MarkSet):
            return event.name
        return " ".join(told(event)[1:])

    def _event(self, row: Row) -> Recorded:
        return self._texts.event(row.agent, row.version)

    def _row(self, row: Row, opened: bool, working: bool) -> Lines:
        recorded = self._event(row)
        event = recorded.event
        match row.kind:
            case "mark":
                return self._mark(event)
            case "event":
                sign, words = told(event)
                return self.plain(f"{sign} {words}", self.look.faint)
            case "end":
                return self._ending(event)
            case _:
                pass
        match pieces(event)[row.part]:
            case Text(text):
                return self._said("you", f"#{row.version}", text, self.look.user, row.heads)
            case Note() as note:
                return self._letter(note)
            case Thinking(text):
                return self._thinking(text, opened)
            case ToolCall() as call:
                return self._tool(call, self._result(row), opened, working)
            case _:
                return []

    def _result(self, row: Row) -> Got | ToolFinished | None:
        if not row.result:
            return None
        event = self._texts.event(row.agent, row.result).event
        piece = pieces(event)[row.result_part]
        return piece if isinstance(piece, Got | ToolFinished) else None

    def _said(self, who: str, place: str, text: str, colour: str, heads: bool) -> Lines:
        body = self.render(Words(_clean(text), style=self.look.text))
        return self.barred(self.headed(who, place, colour, body, heads), colour, "┃")

    def _reply(self, row: Row) -> list[Strip]:
        event = self._event(row).event
        piece = pieces(event)[row.part]
        model, tokens = _speaker(event, row.part)
        place = f"#{row.version}{f' · {show(tokens)} tokens' if tokens else ''}"
        text = piece.text if isinstance(piece, Text) else ""
        return self._speech(_short(model) if row.heads else "", place, text)

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

    def _letter(self, note: Note) -> Lines:
        head = Words(f"✉ {letter_head(note)}", style=f"bold {self.look.accent}")
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

    def _tool(
        self, call: ToolCall, result: Got | ToolFinished | None, opened: bool, working: bool
    ) -> Lines:
        look = self.look
        failed = result is not None and result.error
        colour = look.error if failed else look.model if result else look.warning
        room = max(10, self.inner - cell_len(call.name) - 3)
        head = Words.assemble(("● ", colour), (call.name, f"bold {look.text}"))
        head.append(f" {cut(arguments(call.args), room)}", look.tool)
        if result is None:
            said = "running …" if working else "no result"
            return self.barred(self.render(Group(head, Words(said, look.faint))), look.faint, " ")
        return self.barred(
            self.render(Group(head, *self._output(call, result, opened))), look.faint, " "
        )

    def _output(
        self, call: ToolCall, result: Got | ToolFinished, opened: bool
    ) -> Iterable[RenderableType]:
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

    def _ending(self, event: Event) -> Lines:
        how, why = ending(event)
        colour = self.look.error if how == "failed" else self.look.warning
        text = Words.assemble(("■ ", colour), (how, f"bold {colour}"))
        if why:
            text.append(f": {one_line(why)}", self.look.text)
        return self.barred(self.render(text), colour, " ")

    def _mark(self, event: Event) -> Lines:
        name = event.name if isinstance(event, MarkSet) else ""
        colour = self.look.mark
        text = Words.assemble(("◆ ", colour), (name or "unnamed mark", f"bold {colour}"), " ")
        text.append("─" * max(0, self.width - 3 - text.cell_len), self.look.faint)
        return self.across(text)

    def _fold(self, row: Fold, now: int) -> Lines:
        look = self.look
        clipped = row.cause == "window"
        count = f"{row.messages:,} message{'' if row.messages == 1 else 's'}"
        text = Words.assemble(
            ("╌╌╌ ", look.faint),
            (
                f"{'▾' if row.open else '▸'} {count} {'clipped' if clipped else 'pruned'}",
                f"bold {look.accent}",
            ),
            (f" · {row.cause} · {ago(row.at, now)} ", look.faint),
        )
        text.append("╌" * max(0, self.width - 3 - text.cell_len), look.faint)
        return self.across(text)

    def _divider(self, row: Divider) -> Lines:
        look = self.look
        tokens = show(Count(row.tokens, exact=False))
        turns = f"{row.turns:,} turn{'' if row.turns == 1 else 's'} clipped"
        words = f" ▲ model can't see above · {turns} · {tokens} tokens "
        if cell_len(words) > self.width - 6:
            words = f" ▲ model can't see above · {turns} "
        side = max(2, (self.width - 3 - cell_len(words)) // 2)
        text = Words.assemble(("━" * side, look.warning), (words, f"bold {look.warning}"))
        text.append("━" * max(0, self.width - 3 - text.cell_len), look.warning)
        return self.across(text)

    def _banner(self, row: Banner, opened: bool) -> Lines:
        event = self._texts.event(row.ref.agent, row.ref.version).event
        if not isinstance(event, ContextSummarized):
            return []
        look = self.look
        title = Words.assemble((" Summary", f"bold {look.model}"))
        title.append(f" of {row.messages:,} messages", look.model)
        if event.score is not None:
            title.append(f" · check {event.score:.0%} ", look.model)
        body: list[RenderableType] = [
            markdown(_clean(event.text), look.code_theme, look.code_ground)
        ]
        if event.ledger:
            sign = "▾ from the log" if opened else "▸ from the log: files, commands, tests"
            body.append(Words(sign, style=look.faint))
            if opened:
                body.append(Words(_clean(event.ledger), style=look.tool))
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


def _speaker(event: Event, part: int) -> tuple[str, Count | None]:
    """Which model spoke, and how many tokens its whole message had, if that was reported."""
    if isinstance(event, ReplyAdded):
        return event.model, Count(event.usage.output, exact=True) if event.usage else None
    if isinstance(event, TurnRecorded):
        seen = len(event.prompt)
        for item in event.items:
            if isinstance(item, Got):
                seen += 1
                continue
            seen += len(item.parts)
            if part < seen:
                return item.model, Count(item.usage.output, exact=True) if item.usage else None
    return "", None
