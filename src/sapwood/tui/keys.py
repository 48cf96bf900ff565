"""Every key of the conversation, under a name by which the configuration can change it.

`[screen.keys]` in the configuration: `agents = "f3"`. Keys of lists and text fields are those of
every terminal program and stand beside their widgets.
"""

from msgspec import Struct
from textual.binding import Binding

__all__ = ["KEYS", "Key", "bindings"]


class Key(Struct, frozen=True):
    """A key: its name, what it is by default, what it does, and the words that tell so.

    `shown` ones stand in the footer.
    """

    name: str
    keys: str
    action: str
    help: str
    shown: str = ""


KEYS: tuple[Key, ...] = (
    Key(
        "interrupt", "escape", "escape", "Close what is open, else interrupt the turn", "Interrupt"
    ),
    Key("leave", "ctrl+c", "leave_twice", "Copy a selection, else empty the line; twice: leave"),
    Key("palette", "ctrl+p", "app.command_palette", "Every command by name", "Commands"),
    Key("sidebar", "ctrl+b", "sidebar", "Show or hide the sidebar", "Agents"),
    Key("fold", "ctrl+o", "transcript('fold')", "Open or close the pruned section", "Pruned"),
    Key("find", "ctrl+f", "find", "Find in this conversation", "Find"),
    Key("search", "ctrl+s", "command('recall')", "Search everything ever said"),
    Key("context", "ctrl+t", "command('context')", "What fills the window", "Context"),
    Key("rewind", "f3", "page('rewind')", "Pick a mark to go back to; also esc twice"),
    Key("resume", "ctrl+l", "command('switch')", "Pick a conversation"),
    Key("help", "f1", "command('help')", "Every key and command", "Help"),
    Key("history", "ctrl+r", "page('history')", "Search what you sent"),
    Key("editor", "ctrl+g", "editor", "Write in your editor"),
    Key("mouse", "f2", "app.mouse", "Leave the mouse to the terminal, or take it back"),
    Key("theme", "f4", "app.theme", "The next theme"),
    Key("page-up", "pageup", "transcript('page', -1)", "A page up"),
    Key("page-down", "pagedown", "transcript('page', 1)", "A page down"),
    Key("end", "ctrl+end,shift+end", "transcript('end')", "To the end, and follow it"),
    Key("start", "ctrl+home,shift+home", "transcript('start')", "To the first line"),
    Key("line-up", "ctrl+up", "transcript('scroll', -1)", "A line up"),
    Key("line-down", "ctrl+down", "transcript('scroll', 1)", "A line down"),
    Key("block-up", "alt+up", "transcript('cursor', -1)", "The block above"),
    Key("block-down", "alt+down", "transcript('cursor', 1)", "The block below"),
    Key("block-open", "alt+o", "transcript('open')", "Open or close the block; also enter"),
    Key(
        "block-copy", "alt+y", "transcript('copy')", "Copy the block, else the last answer; also y"
    ),
    Key("jump-up", "alt+pageup", "transcript('jump', -1)", "The divider or mark above"),
    Key("jump-down", "alt+pagedown", "transcript('jump', 1)", "The divider or mark below"),
    Key("read", "f6", "read", "Between transcript and composer"),
)


def bindings() -> list[Binding]:
    """The keys as Textual takes them. They come before those of the text field."""
    return [
        Binding(
            key.keys,
            key.action,
            key.shown or key.help,
            show=bool(key.shown),
            priority=True,
            id=key.name,
        )
        for key in KEYS
    ]
