"""Classifies the text of a user row of Claude Code: a prompt, or a text of the program.

The program writes many texts in the user's name: commands that it ran and their output, caveats,
reminders, news of background work. Only what the user typed for the model is a prompt.
"""

import re
from typing import Literal

from msgspec import Struct

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


class UserText(Struct, frozen=True):
    """The kind of a text, and the text without the program's tags."""

    kind: Kind
    text: str


def classify_user_text(text: str, *, meta: bool = False) -> UserText:
    """Classifies the text of a user row; a `meta` row is never a prompt of the user.

    >>> classify_user_text(
    ...     "<command-name>/compact</command-name><command-args>keep it</command-args>"
    ... )
    UserText(kind='command', text='/compact keep it')
    """
    start = text.lstrip()[:64]
    if start.startswith(_INTERRUPTION):
        return UserText("interruption", text.strip())
    if start.startswith(_CAVEATS):
        return UserText("caveat", text)
    if start.startswith(_OUTPUTS):
        return UserText("output", _bare(text))
    if start.startswith("<command-") and (name := _NAME.search(text)):
        args = _ARGS.search(text)
        name_and_args = f"{_slashed(name[1])} {args[1] if args else ''}"
        return UserText("command", name_and_args.strip())
    if start.startswith("<bash-input>"):
        return UserText("note", f"! {_bare(text)}")
    if meta or start.startswith(_NOTES):
        return UserText("note", _bare(text))
    return UserText("prompt", text)


def _slashed(name: str) -> str:
    return name if name.startswith("/") else f"/{name}"


def _bare(text: str) -> str:
    return _TAGS.sub("", text).strip()
