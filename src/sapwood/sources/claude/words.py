"""What a user row of Claude Code is: what somebody asked, or something that the program wrote.

The program writes much in the user's name: commands that it ran itself and their output, caveats,
reminders, news of background work. Only what was typed for the model is a request.
"""

import re
from typing import Literal

from msgspec import Struct

__all__ = ["Words", "words_of"]

Kind = Literal["prompt", "command", "output", "note", "interruption", "caveat"]

_INTERRUPTION = "[Request interrupted by user"
_CAVEATS = ("<local-command-caveat>", "Caveat: The messages below were generated")
_OUTPUTS = ("<local-command-stdout>", "<local-command-stderr>")
_NOTES = (
    "<system-reminder>",
    "<task-notification>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<user-memory-input>",
    "<background-task-",
)
_NAME = re.compile(r"<command-name>\s*(.*?)\s*</command-name>", re.DOTALL)
_ARGS = re.compile(r"<command-args>\s*(.*?)\s*</command-args>", re.DOTALL)
_TAGS = re.compile(r"</?(?:local-command|bash)-(?:stdout|stderr|input)>")


class Words(Struct, frozen=True):
    """What kind of words they are, and the words without their wrapping."""

    kind: Kind
    text: str


def words_of(text: str, *, meta: bool = False) -> Words:
    """What the text of a user row is; `meta` rows are never the user's own words.

    >>> words_of("<command-name>/compact</command-name><command-args>keep it</command-args>")
    Words(kind='command', text='/compact keep it')
    """
    start = text.lstrip()[:64]
    if start.startswith(_INTERRUPTION):
        return Words("interruption", text.strip())
    if start.startswith(_CAVEATS):
        return Words("caveat", text)
    if start.startswith(_OUTPUTS):
        return Words("output", _bare(text))
    if start.startswith("<command-") and (name := _NAME.search(text)):
        args = _ARGS.search(text)
        name_and_args = f"{_slashed(name[1])} {args[1] if args else ''}"
        return Words("command", name_and_args.strip())
    if start.startswith("<bash-input>"):
        return Words("note", f"! {_bare(text)}")
    if meta or start.startswith(_NOTES):
        return Words("note", _bare(text))
    return Words("prompt", text)


def _slashed(name: str) -> str:
    return name if name.startswith("/") else f"/{name}"


def _bare(text: str) -> str:
    return _TAGS.sub("", text).strip()
