"""Markdown of the transcript: its rendering, and its division into blocks.

Each block is drawn once, so that a growing reply only costs the drawing of its last block.
"""

import re
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.syntax import Syntax


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
