"""The page of `/help`: every key and every command, from their tables."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.content import Content

from sapwood.conversation.answers import CommandHelp
from sapwood.tui.keys import KEYS
from sapwood.tui.screens.modal_page import TextPage

_TYPING = (
    ("enter", "Send the message; while a turn runs, queue it"),
    ("shift+enter, alt+enter", "Start a new line; also ctrl+j, or \\ and enter"),
    ("up", "Edit the last queued or sent message"),
    ("tab", "Complete the word"),
    ("esc esc", "Pick a mark or turn to go back to"),
)


class HelpPage(TextPage):
    """Shows the help of one command, or all keys and commands."""

    HEADING: ClassVar = "Help"

    def __init__(self, remapped: Mapping[str, str], rows: Sequence[CommandHelp]) -> None:
        super().__init__()
        self._remapped = remapped
        self._rows = rows

    async def body(self) -> Content:
        """The help of one command, or of everything, with the keys of the configuration."""
        if len(self._rows) == 1:
            [command] = self._rows
            return Content.assemble((command.line, "bold $accent"), f"\n\n{command.help}.")
        keys = [(self._remapped.get(key.name, key.keys), key.help) for key in KEYS]
        commands = [(command.line, command.help) for command in self._rows]
        return Content("\n").join(
            [
                *_section("Typing", _TYPING),
                *_section("Keys", keys),
                *_section("Commands", commands),
                Content.styled(
                    "To change a key, set it by name in [screen.keys] of the configuration:",
                    "$faint",
                ),
                Content.styled(", ".join(key.name for key in KEYS), "$faint"),
            ]
        )


def _section(
    title: str, rows: tuple[tuple[str, str], ...] | list[tuple[str, str]]
) -> list[Content]:
    width = max(len(left) for left, _ in rows) + 2
    lines = [Content.assemble((f"{left:<{width}}", "$accent"), right) for left, right in rows]
    return [Content.styled(title, "bold"), *lines, Content("")]
