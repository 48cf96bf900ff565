"""Colours of the transcript, taken from the theme."""

from collections.abc import Mapping

from msgspec import Struct
from rich.style import Style
from rich.theme import Theme
from textual.color import Color

__all__ = ["Look"]


class Look(Struct, frozen=True):
    """What each kind of thing looks like under one theme."""

    text: str
    faint: str
    user: str
    model: str
    tool: str
    accent: str
    warning: str
    error: str
    mark: str
    ground: str
    code_ground: str
    code_theme: str

    @staticmethod
    def of(variables: Mapping[str, str], *, dark: bool) -> "Look":
        """The look under a theme, given its variables."""
        ground = Color.parse(variables["background"])
        text = Color.parse(variables["foreground"])
        return Look(
            text=text.hex,
            faint=text.blend(ground, 0.5 if dark else 0.45).hex,
            user=variables["secondary"],
            model=variables["primary"],
            tool=text.blend(ground, 0.3).hex,
            accent=variables["accent"],
            warning=variables["warning"],
            error=variables["error"],
            mark=variables["mark"],
            ground=ground.hex,
            code_ground=variables["surface"],
            code_theme=variables["code-theme"],
        )

    @property
    def markdown(self) -> Theme:
        """How Markdown is styled."""
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

    def style(self, colour: str, *, bold: bool = False, italic: bool = False) -> Style:
        """A style in this colour."""
        return Style(color=colour, bold=bold or None, italic=italic or None)
