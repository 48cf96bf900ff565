"""Colours of the transcript, taken from the theme, and highlighted parts of a line."""

from collections.abc import Mapping

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style
from rich.theme import Theme
from textual.color import Color
from textual.strip import Strip


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
    text = strip.text.casefold()
    found = text.find(words)
    while found >= 0:
        strip = highlighted(strip, found, found + len(words), style)
        found = text.find(words, found + len(words))
    return strip
