"""Markdown as the transcript draws it: headings on the left, code on its own ground."""

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.syntax import Syntax

__all__ = ["markdown"]


class _Heading(Heading):
    LEVEL_ALIGN: ClassVar = dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "left")


def markdown(text: str, theme: str, ground: str) -> Markdown:
    """A renderable; code is highlighted after a Pygments theme on a ground of this colour."""

    class Code(CodeBlock):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            yield Syntax(
                str(self.text).rstrip(),
                self.lexer_name,
                theme=theme,
                word_wrap=True,
                padding=(0, 1),
                background_color=ground,
            )

    class Drawn(Markdown):
        elements: ClassVar[dict[str, type[MarkdownElement]]] = {
            **Markdown.elements,
            "heading_open": _Heading,
            "fence": Code,
            "code_block": Code,
        }

    return Drawn(text, code_theme=theme, hyperlinks=False)
