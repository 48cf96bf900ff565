"""Characters that hide or reorder text: refused in commands and paths, which people approve. Pure.

A person who approves a command has to see what runs. A terminal acts on control characters, and
bidirectional overrides show text in another order than that in which it is run.
"""

import re
import unicodedata

from sapwood.workspace.tool_output import ToolError

_BIDI = "\u202a-\u202e\u2066-\u2069"
_IN_PATHS = re.compile(f"[\x00-\x1f\x7f-\x9f{_BIDI}\ud800-\udfff]")
_IN_COMMANDS = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}\ud800-\udfff]")
_NAMES = {
    "\0": "a null character",
    "\x1b": "an escape character",
    "\n": "a new line",
    "\t": "a tab",
}


def require_visible(text: str, what: str, *, lines: bool = False) -> None:
    """Raises `ToolError` if the text contains a control character, an override or half a character.

    `what` names the text in the message. With `lines`, new lines and tabs are accepted.

    >>> require_visible("git status\\n\\tgit diff", "command", lines=True)
    >>> require_visible("git status\\x1b]", "command", lines=True)
    Traceback (most recent call last):
    ...
    sapwood.workspace.tool_output.ToolError: The command contains an escape character (U+001B) ...
    """
    found = (_IN_COMMANDS if lines else _IN_PATHS).search(text)
    if found is None:
        return
    name = _NAMES.get(found[0]) or _description(found[0])
    raise ToolError(
        f"The {what} contains {name} (U+{ord(found[0]):04X}) at position {found.start() + 1}, "
        "which would not be visible to the user. Nothing was done. Send it without."
    )


def _description(char: str) -> str:
    if "\ud800" <= char <= "\udfff":
        return "half of a surrogate pair"
    name = unicodedata.name(char, "")
    return f"the character {name}" if name else "a control character"
