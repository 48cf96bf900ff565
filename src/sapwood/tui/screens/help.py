"""Help: every key and every command, from where they are defined."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.content import Content

from sapwood.conversation.answers import CommandHelp
from sapwood.tui.keys import KEYS
from sapwood.tui.screens.reader import Reader

__all__ = ["HelpPage"]

_TYPING = (
    ("enter", "Send; while a turn runs, queue"),
    ("shift+enter, ctrl+j", "A new line"),
    ("up", "Edit what is queued last, else what was sent before"),
    ("tab", "Complete"),
    ("esc esc", "Pick a mark to go back to"),
)


class HelpPage(Reader):
    """Keys in force, whatever the configuration made of them."""

    HEADING: ClassVar = "Help"

    def __init__(self, remapped: Mapping[str, str], rows: Sequence[CommandHelp]) -> None:
        super().__init__()
        self._remapped = remapped
        self._rows = rows

    async def body(self) -> Content:
        """One command, or everything."""
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
                    "Other keys: [screen.keys] in the configuration, by these names:", "$faint"
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
