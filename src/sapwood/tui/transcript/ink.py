"""What every row is drawn with: text laid out to a width, a bar at its edge, the same ground."""

from collections.abc import Callable

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text as Words
from textual.strip import Strip

from sapwood.display.text import cut
from sapwood.tui.transcript.look import Look
from sapwood.tui.transcript.markdown import markdown

__all__ = ["Ink", "Lines"]

_GUTTER = 4
Lines = list[list[Segment]]


class Ink:
    """Draws for one width and one look; `finish` gives a line its ground."""

    def __init__(
        self, console: Console, look: Look, width: int, finish: Callable[[Strip], Strip]
    ) -> None:
        self.console = console
        self.look = look
        self.theme = look.markdown
        self.width = width
        self.inner = max(10, width - _GUTTER)
        self.finish = finish

    def finished(self, lines: Lines) -> list[Strip]:
        """Lines as they are painted."""
        width = self.width
        strips = (Strip(line).extend_cell_length(width).crop(0, width) for line in lines)
        return [self.finish(strip) for strip in strips]

    def block(self, text: str) -> Lines:
        """One block of Markdown, without blank lines around it."""
        look = self.look
        with self.console.use_theme(self.theme):
            drawn = self.lines(markdown(text, look.code_theme, look.code_ground), self.inner)
        while drawn and not _is_seen(drawn[0]):
            drawn.pop(0)
        while drawn and not _is_seen(drawn[-1]):
            drawn.pop()
        return drawn

    def headed(self, who: str, place: str, colour: str, body: Lines, heads: bool) -> Lines:
        """Lines under the name of who speaks."""
        return [*self.head(who, place, colour), *body] if heads else body

    def head(self, who: str, place: str, colour: str) -> Lines:
        """The name of who speaks, and where that stands."""
        room = max(4, self.inner - cell_len(place) - 2)
        head = Words.assemble((cut(who, room), f"bold {colour}"))
        return self.render(head.append(f"  {place}", self.look.faint))

    def plain(self, text: str, colour: str) -> Lines:
        """A line in one colour."""
        words = Words(text, style=colour, no_wrap=True, overflow="ellipsis")
        return self.across(words)

    def across(self, text: Words) -> Lines:
        """A line across the screen, and a blank one."""
        text.no_wrap, text.overflow = True, "ellipsis"
        return [*self.pad(self.lines(text, self.width - 3)), []]

    def pad(self, lines: Lines) -> Lines:
        """Lines with a blank before them."""
        return [[Segment(" "), *line] for line in lines]

    def barred(self, lines: Lines, colour: str, bar: str) -> Lines:
        """Lines beside a bar, and a blank one."""
        return [*self.edged(lines, colour, bar), []]

    def edged(self, lines: Lines, colour: str, bar: str = "│") -> Lines:
        """Lines beside a bar."""
        edge = [Segment(" "), Segment(bar, Style(color=colour)), Segment(" ")]
        return [[*edge, *line] for line in lines]

    def render(self, renderable: RenderableType) -> Lines:
        """Anything that can be drawn, as wide as words may be."""
        return self.lines(renderable, self.inner)

    def lines(self, renderable: RenderableType, width: int) -> Lines:
        """Anything that can be drawn, at a width."""
        options = self.console.options.update(width=width, height=None)
        return self.console.render_lines(renderable, options, pad=False)


def _is_seen(line: list[Segment]) -> bool:
    return any(
        segment.text.strip() or (segment.style and segment.style.bgcolor) for segment in line
    )
