"""Converts the contents of Codex items."""

import re

from sapwood.core.content import Usage
from sapwood.programs.codex.rows import Content, Item, Output, Tokens, decode_output

_BETWEEN_TURNS = ("<user_shell_command>", "<subagent_notification>")
"""What happened between turns: it waits for the next prompt."""
_TOLD_ONCE = ("<turn_aborted>", *_BETWEEN_TURNS)
"""What happened in the thread: the program never writes it again."""
_SCAFFOLDING = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "<skill",
    "<INSTRUCTIONS>",
    "# AGENTS.md instructions",
    *_TOLD_ONCE,
)
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,9})$", re.MULTILINE)
_WRAPPED = '{"output":'


def is_scaffolding(text: str) -> bool:
    """Whether the program wrote this text in the user's name."""
    return text.lstrip().startswith(_SCAFFOLDING)


def is_told_once(text: str) -> bool:
    """Whether the program wrote this text in the user's name, and never writes it again."""
    return text.lstrip().startswith(_TOLD_ONCE)


def is_between_turns(text: str) -> bool:
    """Whether the program wrote this text in the user's name, for the next prompt."""
    return text.lstrip().startswith(_BETWEEN_TURNS)


def text_of(content: list[Content] | str | None) -> str:
    """The text of a message; a placeholder for an image."""
    if isinstance(content, str):
        return content
    return "\n\n".join(filter(None, map(_shown, content or ())))


def _shown(part: Content) -> str:
    return part.text or ("[image]" if "image" in part.type else "")


def output_of(item: Item) -> tuple[str, bool]:
    """The output of a tool, and whether the tool failed."""
    output = item.output
    if isinstance(output, str) and output.startswith(_WRAPPED):
        output = decode_output(output.encode("utf-8", "replace")) or output
    if isinstance(output, Output):
        ended = output.metadata.exit_code if output.metadata else None
        failed = output.success is False or bool(ended)
        return output.output or output.content or "", failed
    text = text_of(output)
    ended = _EXIT.search(text[:1000])
    return text, ended is not None and int(ended[1]) != 0


def patch_of(patch: str) -> tuple[int, int]:
    """The number of lines that a patch adds and removes.

    >>> patch_of("*** Update File: a.py\\n@@\\n-x = 1\\n+x = 2\\n+y = 3")
    (2, 1)
    """
    signs = [line[:1] for line in patch.splitlines() if line[:3] not in ("+++", "---")]
    return signs.count("+"), signs.count("-")


def usage_of(tokens: Tokens) -> Usage:
    """The usage of one model call."""
    return Usage(
        input=tokens.input_tokens or 0,
        output=tokens.output_tokens or 0,
        cache_read=tokens.cached_input_tokens or 0,
        cache_write=tokens.cache_write_input_tokens or 0,
    )
