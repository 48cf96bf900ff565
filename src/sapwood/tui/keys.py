"""The key table of the conversation. The configuration can change each key by its name.

Example in the section `[screen.keys]`: `sidebar = "f5"`. The usual keys of lists and text fields
are defined in their widgets.
"""

from msgspec import Struct
from textual.binding import Binding


class Key(Struct, frozen=True):
    """A key: its name, its default, its action and its help. The footer shows `shown`."""

    name: str
    keys: str
    action: str
    help: str
    shown: str = ""


KEYS: tuple[Key, ...] = (
    Key("interrupt", "escape", "escape", "Close the open list, or interrupt the turn", "Interrupt"),
    Key(
        "leave",
        "ctrl+c",
        "leave_twice",
        "Copy the selection, clear the text, stop what runs; twice: quit",
    ),
    Key("suspend", "ctrl+z", "app.suspend_process", "Suspend to the shell; 'fg' resumes"),
    Key("palette", "ctrl+p", "app.command_palette", "Find a command by name", "Commands"),
    Key("mode", "shift+tab", "mode", "Next permission mode: ask, accept-edits, plan", "Mode"),
    Key("sidebar", "ctrl+b", "sidebar", "Show or hide the sidebar", "Agents"),
    Key("fold", "ctrl+o", "transcript('fold')", "Open or close the pruned section", "Pruned"),
    Key("find", "ctrl+f", "find", "Find in this conversation", "Find"),
    Key("search", "ctrl+s", "command('recall')", "Search all conversations"),
    Key("context", "ctrl+t", "command('context')", "Show what fills the context window", "Context"),
    Key("rewind", "f3", "page('rewind')", "Pick a mark or turn to go back to; also esc twice"),
    Key("resume", "ctrl+l", "command('switch')", "Pick a conversation"),
    Key("help", "f1", "command('help')", "List every key and command", "Help"),
    Key("message", "f7", "page('message')", "Show all of the last message above the composer"),
    Key("bring", "f8", "page('offer')", "Put the command that an answer offered into the composer"),
    Key("history", "ctrl+r", "page('history')", "Search the messages you sent"),
    Key("editor", "ctrl+g", "editor", "Write in your editor"),
    Key("mouse", "f2", "app.mouse", "Turn the mouse on or off"),
    Key("theme", "f4", "app.theme", "Switch to the next theme"),
    Key("page-up", "pageup", "transcript('page', -1)", "Scroll a page up"),
    Key("page-down", "pagedown", "transcript('page', 1)", "Scroll a page down"),
    Key("end", "ctrl+end,shift+end", "transcript('end')", "Go to the end and follow new output"),
    Key("start", "ctrl+home,shift+home", "transcript('start')", "Go to the first line"),
    Key("line-up", "ctrl+up", "transcript('scroll', -1)", "Scroll a line up"),
    Key("line-down", "ctrl+down", "transcript('scroll', 1)", "Scroll a line down"),
    Key("block-up", "alt+up", "transcript('cursor', -1)", "Select the block above"),
    Key("block-down", "alt+down", "transcript('cursor', 1)", "Select the block below"),
    Key("block-open", "alt+o", "transcript('open')", "Open or close the block; also enter"),
    Key("block-copy", "alt+y", "transcript('copy')", "Copy the block, or the last reply; also y"),
    Key("jump-up", "alt+pageup", "transcript('jump', -1)", "Go to the divider or mark above"),
    Key("jump-down", "alt+pagedown", "transcript('jump', 1)", "Go to the divider or mark below"),
    Key("read", "f6", "read", "Move between transcript and composer"),
)


def bindings() -> list[Binding]:
    """The bindings of all keys. They have priority over those of the text field."""
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
