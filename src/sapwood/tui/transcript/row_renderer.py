"""The drawing operations of all rows: text in a width, a bar at the left edge, the background.

Markdown of the transcript: its rendering, and its division into blocks.

Each block is drawn once, so that a growing reply only costs the drawing of its last block.

Colours of the transcript, taken from the theme, and highlighted parts of a line.
"""

import re
from collections.abc import Callable, Mapping
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.segment import Segment
from rich.style import Style
from rich.syntax import Syntax
from rich.text import Text as Words
from rich.theme import Theme
from textual.color import Color
from textual.strip import Strip

from sapwood.display.text import cut


class TranscriptColours(Struct, frozen=True):
    """The colours of one theme, by what they are used for."""

    text: str
    faint: str
    user: str
    model: str
    tool: str
    accent: str
    warning: str
    error: str
    mark: str
    background: str
    code_background: str
    code_theme: str

    @staticmethod
    def of(variables: Mapping[str, str], *, dark: bool) -> "TranscriptColours":
        """The colours of a theme, from its variables."""
        background = Color.parse(variables["background"])
        text = Color.parse(variables["foreground"])
        return TranscriptColours(
            text=text.hex,
            faint=text.blend(background, 0.5 if dark else 0.45).hex,
            user=variables["secondary"],
            model=variables["primary"],
            tool=text.blend(background, 0.3).hex,
            accent=variables["accent"],
            warning=variables["warning"],
            error=variables["error"],
            mark=variables["mark"],
            background=background.hex,
            code_background=variables["surface"],
            code_theme=variables["code-theme"],
        )

    @property
    def markdown(self) -> Theme:
        """The Rich theme for Markdown."""
        heads = {f"markdown.h{level}": f"bold {self.model}" for level in range(1, 7)}
        return Theme(
            {
                **heads,
                "markdown.code": self.accent,
                "markdown.item.bullet": self.accent,
                "markdown.item.number": self.accent,
                "markdown.link": self.user,
                "markdown.link_url": f"underline {self.user}",
                "markdown.block_quote": f"italic {self.tool}",
                "markdown.hr": self.faint,
                "markdown.table.border": self.faint,
                "markdown.table.header": f"bold {self.model}",
            }
        )


def highlighted(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """A copy of the line with the cells from `start` to `end` in this style."""
    middle = [
        Segment(each.text, (each.style or Style.null()) + style) for each in strip.crop(start, end)
    ]
    return Strip.join([strip.crop(0, start), Strip(middle), strip.crop(end)])


def highlighted_words(strip: Strip, words: str, style: Style) -> Strip:
    """A copy of the line with every occurrence of these words in this style, in any case."""
    text = strip.text
    for match in re.finditer(re.escape(words), text, re.IGNORECASE):
        start = cell_len(text[: match.start()])
        strip = highlighted(strip, start, start + cell_len(match[0]), style)
    return strip


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

    def sentence(self, sign: str, text: str, colour: str) -> Lines:
        """A sentence behind a sign. It is not cut: what to type next stands at its end."""
        edge = f" {sign} "
        first, *rest = self.lines(Words(text, style=colour), self.width - 3 - cell_len(edge))
        below = Segment(" " * cell_len(edge))
        return [[Segment(edge, Style(color=colour)), *first], *([below, *row] for row in rest), []]

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


class _Heading(Heading):
    LEVEL_ALIGN: ClassVar = dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "left")


def markdown(text: str, theme: str, background: str) -> Markdown:
    """A renderable of a text. Code uses the Pygments theme on a background of this colour."""

    class Code(CodeBlock):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            yield Syntax(
                str(self.text).rstrip(),
                self.lexer_name,
                theme=theme,
                word_wrap=True,
                padding=(0, 1),
                background_color=background,
            )

    class Drawn(Markdown):
        elements: ClassVar[dict[str, type[MarkdownElement]]] = {
            **Markdown.elements,
            "heading_open": _Heading,
            "fence": Code,
            "code_block": Code,
        }

    return Drawn(text, code_theme=theme, hyperlinks=False)


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_GOES_ON = re.compile(r"\s|[-*+] |\d{1,9}[.)] |>")
"""A line that may continue the block above: an indented line, a list item or a quotation."""


def blocks_of(text: str) -> list[str]:
    """Divides a text into blocks, at blank lines outside of code fences and lists.

    >>> blocks_of("One.\\n\\n- a\\n\\n- b\\n\\nTwo.")
    ['One.', '- a\\n\\n- b', 'Two.']
    >>> blocks_of("| a |\\n|---|\\n\\n1. one")
    ['| a |\\n|---|', '1. one']
    >>> blocks_of("```\\na\\n\\nb\\n```\\nafter")
    ['```\\na\\n\\nb\\n```', 'after']
    """
    blocks: list[str] = []
    open_lines: list[str] = []
    fence, blank = "", False
    for line in text.split("\n"):
        found = _FENCE.match(line)
        opens = found is not None and not fence
        if (
            open_lines
            and not fence
            and (opens or (blank and line and not _continues(open_lines, line)))
        ):
            _close(open_lines, blocks)
        open_lines.append(line)
        blank = not fence and not line.strip()
        if found is not None:
            if not fence:
                fence = found[1]
            elif found[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
                _close(open_lines, blocks)
    _close(open_lines, blocks)
    return blocks


def _continues(open_lines: list[str], line: str) -> bool:
    first = next((each for each in open_lines if each.strip()), "")
    return bool(_GOES_ON.match(line)) and bool(_GOES_ON.match(first))


def _close(open_lines: list[str], blocks: list[str]) -> None:
    block = "\n".join(open_lines).strip("\n")
    open_lines.clear()
    if block.strip():
        blocks.append(block)
