"""The drawing operations of all rows: text in a width, a bar at the left edge, the background."""

from collections.abc import Callable

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text as Words
from textual.strip import Strip

from sapwood.display.text import cut
from sapwood.tui.transcript.markdown import markdown
from sapwood.tui.transcript.styles import TranscriptColours

_GUTTER = 4
Lines = list[list[Segment]]


class RowRenderer:
    """Renders for one width and one set of colours. `finish` gives a line its background."""

    def __init__(
        self,
        console: Console,
        colours: TranscriptColours,
        width: int,
        finish: Callable[[Strip], Strip],
    ) -> None:
        self.console = console
        self.colours = colours
        self.theme = colours.markdown
        self.width = width
        self.inner = max(10, width - _GUTTER)
        self.finish = finish

    def finished(self, lines: Lines) -> list[Strip]:
        """The finished strips of some lines, all of the full width."""
        width = self.width
        strips = (Strip(line).extend_cell_length(width).crop(0, width) for line in lines)
        return [self.finish(strip) for strip in strips]

    def block(self, text: str) -> Lines:
        """The lines of one block of Markdown, without blank lines around it."""
        colours = self.colours
        with self.console.use_theme(self.theme):
            drawn = self.lines(
                markdown(text, colours.code_theme, colours.code_background), self.inner
            )
        while drawn and not _is_seen(drawn[0]):
            drawn.pop(0)
        while drawn and not _is_seen(drawn[-1]):
            drawn.pop()
        return drawn

    def headed(self, who: str, place: str, colour: str, body: Lines, heads: bool) -> Lines:
        """The lines under a heading with the speaker, if `heads` is true."""
        return [*self.head(who, place, colour), *body] if heads else body

    def head(self, who: str, place: str, colour: str) -> Lines:
        """A heading with the name of the speaker and the place in the log."""
        room = max(4, self.inner - cell_len(place) - 2)
        head = Words.assemble((cut(who, room), f"bold {colour}"))
        return self.render(head.append(f"  {place}", self.colours.faint))

    def plain(self, text: str, colour: str) -> Lines:
        """A line in one colour."""
        words = Words(text, style=colour, no_wrap=True, overflow="ellipsis")
        return self.across(words)

    def across(self, text: Words) -> Lines:
        """A line of the full width, and a blank one."""
        text.no_wrap, text.overflow = True, "ellipsis"
        return [*self.pad(self.lines(text, self.width - 3)), []]

    def pad(self, lines: Lines) -> Lines:
        """The lines, indented by one cell."""
        return [[Segment(" "), *line] for line in lines]

    def barred(self, lines: Lines, colour: str, bar: str) -> Lines:
        """The lines with a bar at their left, and a blank line."""
        return [*self.edged(lines, colour, bar), []]

    def edged(self, lines: Lines, colour: str, bar: str = "│") -> Lines:
        """The lines with a bar at their left."""
        edge = [Segment(" "), Segment(bar, Style(color=colour)), Segment(" ")]
        return [[*edge, *line] for line in lines]

    def render(self, renderable: RenderableType) -> Lines:
        """The lines of a renderable at the width of text."""
        return self.lines(renderable, self.inner)

    def lines(self, renderable: RenderableType, width: int) -> Lines:
        """The lines of a renderable at a width."""
        options = self.console.options.update(width=width, height=None)
        return self.console.render_lines(renderable, options, pad=False)


def _is_seen(line: list[Segment]) -> bool:
    return any(
        segment.text.strip() or (segment.style and segment.style.bgcolor) for segment in line
    )
